"""The fast lab: virtual time, the interpreter, and restores by the real handlers within it."""

from __future__ import annotations

import random
import time

import pytest

from local.aws.clock import ManualClock
from local.aws.region import FaultRule
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.lab import FastLab
from local.soak.lab.scheduler import Fiber, Scheduler
from local.soak.lab.states.errors import StateError
from local.soak.lab.states.execution import limit
from local.soak.lab.states.expressions import QueryError, by_jsonata, evaluate, follow
from local.soak.lab.states.machines import Machine, StepFunctions
from local.soak.lab.template import ACCOUNT, REGION
from local.soak.lab.transport import Call, NoInterference, Refusal
from local.soak.trouble.paths.paths import request, restored, snapshot, snapshot_of

NAMES = {
    "nothing": None,
    "flag": False,
    "plan": {"strategy": "background", "list": [1], "none": None},
    "states": {"input": {"volume": {"index": 0}}, "result": {"Payload": {"waitSeconds": 61}}},
}


class TestExpressions:
    @pytest.mark.parametrize(
        "expression",
        [
            "$nothing",
            "$flag",
            "$plan",
            "$plan.strategy",
            "$plan.list",
            "$plan.none",
            "$states.input.volume.index",
            "$states.result.Payload.waitSeconds",
        ],
    )
    def test_a_path_that_is_followed_has_the_value_that_jsonata_gives_it(self, expression):
        assert follow(expression, NAMES) == by_jsonata(expression, NAMES)

    def test_expressions_are_found_anywhere_in_a_template(self):
        template = {"a": ["{% $plan.strategy = 'background' %}"], "b": "text", "c": "{% $nothing %}"}
        assert evaluate(template, NAMES) == {"a": [True], "b": "text", "c": None}

    @pytest.mark.parametrize("expression", ["$plan.missing", "$unknown", "$unknown.member"])
    def test_no_value_is_an_error_as_on_aws(self, expression):
        with pytest.raises(QueryError, match="did not return a result"):
            evaluate(f"{{% {expression} %}}", NAMES)


class TestTime:
    def test_code_that_sleeps_lets_others_go_on(self):
        scheduler = Scheduler(ManualClock(0), random.Random(1))
        told = []

        def work(name, seconds):
            told.append((scheduler.now, name))
            fibers[name].sleep(seconds)
            told.append((scheduler.now, name))
            return name

        fibers: dict[str, Fiber] = {}
        fibers["a"] = scheduler.fiber(lambda: work("a", 10), None, 60)
        scheduler.after(1, lambda: fibers.update(b=scheduler.fiber(lambda: work("b", 2), None, 60)))
        while scheduler.step():
            pass
        assert told == [(0, "a"), (1, "b"), (3, "b"), (10, "a")]
        assert fibers["a"].result.value == "a"
        scheduler.close()

    def test_code_that_takes_too_long_is_ended_at_its_limit(self):
        scheduler = Scheduler(ManualClock(0), random.Random(1))
        went_on = []
        fiber = scheduler.fiber(lambda: (fiber.sleep(100), went_on.append(1)), None, 60, "too late")
        while scheduler.step():
            pass
        assert (fiber.result.value, scheduler.now, went_on) == ("too late", 60, [])
        scheduler.close()

    def test_what_still_runs_ends_with_its_lab_and_not_in_the_next_one(self):
        scheduler, ended = Scheduler(ManualClock(0), random.Random(1)), []

        def waiting(name):
            try:
                yield scheduler.sleep(60)
            finally:
                ended.append(name)

        processes = [scheduler.start(waiting(name)) for name in "ab"]
        scheduler.step()
        scheduler.step()
        scheduler.close()
        assert (sorted(ended), [one.result.done for one in processes]) == (["a", "b"], [True, True])


def machine(states, **top):
    return Machine(
        "arn:aws:states:us-east-1:1:stateMachine:m",
        "m",
        {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states, **top},
    )


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
def test_a_task_names_a_resource_of_its_machines_own_partition(partition):
    def call(of):
        return {"Type": "Task", "Resource": f"arn:{of}:states:::states:startExecution.sync:2", "End": True}

    arn, head = (
        f"arn:{partition}:states:any:1:stateMachine:m",
        {"QueryLanguage": "JSONata", "StartAt": "Call"},
    )
    Machine(arn, "m", {**head, "States": {"Call": call(partition)}})
    for other in {"aws", "aws-cn", "aws-us-gov"} - {partition}:
        with pytest.raises(ValueError, match=f"arn:{other}:states:::.* is not interpreted"):
            Machine(arn, "m", {**head, "States": {"Call": call(other)}})


def run(states, data=None, **top):
    scheduler = Scheduler(ManualClock(0), random.Random(1))
    events = []
    service = StepFunctions(scheduler, random.Random(1), None, lambda *event: events.append(event), None)
    made = machine(states, **top)
    service.machines[made.arn] = made
    execution = service.start(made.arn, "one", data)
    while scheduler.step():
        pass
    execution.told = [event[2]["status"] for event in events]
    return execution


class TestInterpreter:
    def test_assign_and_output_see_the_variables_as_they_were(self):
        found = run(
            {
                "A": {"Type": "Pass", "Assign": {"n": 1}, "Next": "B"},
                "B": {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Output": "{% $n %}", "Next": "C"},
                "C": {"Type": "Succeed", "Output": {"was": "{% $states.input %}", "is": "{% $n %}"}},
            }
        )
        assert (found.status, found.output) == ("SUCCEEDED", {"was": 1, "is": 2})
        assert found.told == ["RUNNING", "SUCCEEDED"]

    def test_the_items_of_a_map_run_at_once_and_keep_their_order(self):
        inner = {
            "StartAt": "W",
            "States": {
                "W": {"Type": "Wait", "Seconds": "{% $states.input.seconds %}", "Next": "O"},
                "O": {"Type": "Pass", "Output": "{% $states.input.seconds %}", "End": True},
            },
        }
        found = run(
            {
                "M": {
                    "Type": "Map",
                    "Items": [30, 10, 20],
                    "ItemSelector": {"seconds": "{% $states.context.Map.Item.Value %}"},
                    "ItemProcessor": inner,
                    "End": True,
                }
            }
        )
        assert (found.output, found.stopped) == ([30, 10, 20], 30)

    def test_a_time_limit_ends_an_execution_without_any_catch(self):
        wait = {"Type": "Wait", "Seconds": 100, "Next": "S"}
        found = run({"W": wait, "S": {"Type": "Succeed"}}, TimeoutSeconds=60)
        assert (found.status, found.stopped, found.error) == ("TIMED_OUT", 60, "States.Timeout")

    def test_what_fails_says_so_by_expressions(self):
        fail = {"Type": "Fail", "Error": "{% 'E' & 'x' %}", "Cause": "because"}
        found = run({"F": fail})
        assert (found.status, found.error, found.cause) == ("FAILED", "Ex", "because")

    def test_a_type_that_it_does_not_know_is_refused(self):
        with pytest.raises(ValueError, match="the type Parallel is not interpreted"):
            machine({"P": {"Type": "Parallel"}})

    def test_no_value_is_larger_than_a_state_may_carry(self):
        limit("text", "x" * 262_142)
        with pytest.raises(StateError, match="DataLimitExceeded"):
            limit("text", "x" * 262_143)

    def test_states_all_does_not_catch_what_aws_says_it_does_not(self):
        assert StateError("Any").matches(["States.ALL"])
        assert not StateError("States.DataLimitExceeded").matches(["States.ALL"])
        assert not StateError("States.Timeout").matches(["States.TaskFailed"])


def restore(lab, strategy="warm-up-agent", gib=1, **objective):
    instance_id = lab.region.add_instance()
    extents = ((0, 1_000), (4_000, 1_000))
    snapshot_id = lab.region.add_snapshot(size_gib=8 * gib, extents=extents)
    restore_id = lab.start(
        {
            "source": {"snapshotId": snapshot_id},
            "target": {"instanceId": instance_id},
            "objective": {"strategy": strategy, **objective},
        }
    )
    return lab.finish(lab.execution("RestoreStateMachine", restore_id))


class Throttled(NoInterference):
    """Every call of one operation is throttled."""

    def __init__(self, operation):
        self.operation = operation
        self.refused = 0

    def before(self, call: Call) -> Refusal | None:
        if call.operation != self.operation:
            return None
        self.refused += 1
        return Refusal("RequestLimitExceeded", "Request limit exceeded.", 503)


class TestRestores:
    @pytest.mark.parametrize(
        "strategy", ["warm-up-agent", "provisioned-rate", "fast-snapshot-restore", "background"]
    )
    def test_a_restore_ends_ready_with_every_block_local(self, strategy):
        with FastLab(seed=1) as lab:
            ended = restore(lab, strategy)
            assert (ended.status, ended.output["verdict"]) == ("SUCCEEDED", "ready"), ended.cause
            (volume,) = [one for one in lab.data_plane.volumes.values() if one.written]
            assert volume.cold_share == 0
            assert lab.undelivered == []
            assert lab.slack

    def test_one_that_learns_says_at_its_end_how_many_first_reads_were_cold(self):
        with FastLab(1) as lab:
            source = {"snapshotId": snapshot_of(lab, 12_000)}
            asked = request(lab, "warm-up-agent", source=source, warmUp={"learn": {"minutes": 1}})
            (restore_id,) = restored(lab, asked).restore_ids
            answer = lab.api("GET", f"/restores/{restore_id}")[1]
        found = answer["volumes"][0]["recording"]
        assert (found["blocks"], found["coldBlocks"]) == (40, 8)
        (told,) = [news["text"] for news in answer["events"] if news["event"] == "ready"]
        assert told.endswith("Of the first 40 blocks that the application read, at most 8 were cold.")

    @pytest.mark.parametrize(
        ("trouble", "words"),
        [
            ("no-download", "failed: could not download the warm-up agent."),
            (None, "still runs."),
        ],
    )
    def test_people_hear_what_became_of_the_recording(self, trouble, words):
        with FastLab(1) as lab:
            if trouble:
                lab.data_plane.troubles.append(Trouble(trouble, "observe", 0.0))
            source, learn = {"snapshotId": snapshot_of(lab, 12_000)}, {"learn": {"minutes": 60}}
            asked = request(lab, "warm-up-agent", source=source, warmUp=learn)
            (restore_id,) = restored(lab, asked).restore_ids
            answer = lab.api("GET", f"/restores/{restore_id}")[1]
        (told,) = [news["text"] for news in answer["events"] if news["event"] == "ready"]
        assert f"The recording of its reads {words}" in told
        assert answer["volumes"][0]["recording"]["state"] == ("failed" if trouble else "running")

    def test_nothing_is_recorded_of_what_a_tag_protects(self):
        with FastLab(1) as lab:
            tagged = snapshot(lab, tags={"rewarm:learn": "false"})
            learn = {"learn": {"minutes": 1}}
            asked = request(lab, "warm-up-agent", source={"snapshotId": tagged}, warmUp=learn)
            (restore_id,) = restored(lab, asked).restore_ids
            lab.pass_time(300)
            answer = lab.api("GET", f"/restores/{restore_id}")[1]
            assert lab.api("GET", "/hot-sets")[1] == {"hotSets": []}
        reason = f"{tagged} has the tag rewarm:learn with the value false"
        assert f"What is read of {tagged} is not recorded: {reason}." in answer["summary"]["notes"]
        (volume,) = answer["volumes"]
        assert not volume.get("recording")

    def test_what_one_copy_of_a_snapshot_needed_first_is_read_first_of_the_next(self):
        copied = {"volume_id": "vol-ffffffff", "tags": {"rewarm:lineage": "vol-0123456789abcdef0"}}
        with FastLab(1) as lab:
            for warm_up in ({"learn": {"minutes": 1}}, {}):
                source = {"snapshotId": snapshot(lab, **copied)}
                asked = request(lab, "warm-up-agent", source=source, warmUp=warm_up)
                (restore_id,) = restored(lab, asked).restore_ids
                lab.pass_time(300)
            (kept,) = lab.api("GET", "/hot-sets")[1]["hotSets"]
            answer = lab.api("GET", f"/restores/{restore_id}")[1]
        assert kept["lineage"] == "copies-of-vol-0123456789abcdef0"
        assert [note for note in answer["summary"]["notes"] if note.startswith("Hot set: ")]

    @pytest.mark.parametrize("notify", [{}, {"hot": False}])
    def test_the_message_of_the_hot_set_can_be_switched_off(self, notify):
        with FastLab(1) as lab:
            source, learn = {"snapshotId": snapshot_of(lab, 12_000)}, {"learn": {"minutes": 1}}
            restored(lab, request(lab, "warm-up-agent", source=source, warmUp=learn))
            lab.pass_time(300)
            asked = request(lab, "warm-up-agent", source=source, notify=notify)
            (restore_id,) = restored(lab, asked).restore_ids
            told = [news["event"] for news in lab.api("GET", f"/restores/{restore_id}")[1]["events"]]
        assert told.count("hot") == (0 if notify else 1)
        assert "ready" in told

    def test_the_same_seed_gives_the_same_run(self):
        def trace():
            with FastLab(seed=7) as lab:
                ended = restore(lab, "provisioned-rate")
                (volume,) = [one for one in lab.states.executions.values() if one is not ended]
                return ended.stopped, volume.visits, dict(lab.calls), ended.output["volumes"][0]["volumeId"]

        assert trace() == trace()

    def test_backing_off_takes_virtual_time_only(self):
        began = time.monotonic()
        with FastLab(seed=1, interference=(faults := Throttled("CreateVolume"))) as lab:
            ended = restore(lab)
            spent = ended.stopped - ended.started
        assert (ended.status, ended.error) == ("FAILED", "ThrottledError")
        assert faults.refused >= 9 * 3
        assert spent > 60
        assert time.monotonic() - began < spent

    def test_an_event_of_aws_ends_a_long_wait(self):
        with FastLab(seed=2) as lab:
            ended = restore(lab, "fast-snapshot-restore", gib=200)
            child = lab.execution("RestoreVolumeStateMachine", f"{ended.name}-0")
        assert "Await Signal Of Snapshot" in child.visits
        assert ("WakeUpFunction", "stepfunctions", "SendTaskSuccess") in lab.calls

    def test_an_alarm_about_rewarm_itself_ends_without_a_restore(self):
        detail = {"alarmName": "operations-of-rewarm-restore-failed", "state": {"value": "ALARM"}}
        with FastLab(seed=3) as lab:
            event = {"source": "aws.cloudwatch", "account": ACCOUNT, "region": REGION, "detail": detail}
            ended = lab.finish(lab.begin("own-alarm", event))
            assert (ended.status, ended.output) == (
                "SUCCEEDED",
                {"verdict": "suppressed", "duplicateOf": None},
            )
            assert lab.slack == []
            assert list(lab.states.executions.values()) == [ended]

    def test_the_regions_own_faults_are_met_too(self):
        with FastLab(seed=3) as lab:
            lab.region.faults.add(FaultRule("volume:creation", effect="volume-error"))
            ended = restore(lab)
        assert ended.error == "VolumeFailedError"
