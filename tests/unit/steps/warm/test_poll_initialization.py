"""State Poll Initialization."""

from __future__ import annotations

import json

import pytest

from rewarm.contracts.events import PollInitializationEvent
from rewarm.domain.errors import (
    AgentFailedError,
    AgentUnreachableError,
    InitializationStalledError,
    RestoreCancelledError,
    VolumeFailedError,
    VolumeNotFoundError,
    VolumeUnreadableError,
)
from rewarm.domain.model import GIB, CommandStatus, InitializationStatus, ReadActivity, Strategy
from rewarm.steps.warm.poll_initialization import PollInitializationPorts, poll_initialization
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    at,
    dispatch,
    instance,
    measurement,
    plan,
    request,
    warm_result,
)
from tests.support.wired import wired

RUNNING = CommandStatus("InProgress", "InProgress", None, "", "")
PROGRESS_KEY = dispatch().progress_key
EVENTS_A_LOOK = 9
"""A Wait has 2 events in the history, a Task 5, a Choice 2."""


@pytest.fixture
def world():
    world = World()
    settings = assignment().volume.settings()
    world.volumes.create(SNAPSHOT_ID, ZONE, settings, rate_mib_s=None, client_token="t")
    world.volumes.attach(VOLUME_ID, INSTANCE_ID, "/dev/sdf")
    return world


def poll(
    world,
    strategy=Strategy.WARM_UP_AGENT,
    *,
    minute=0.0,
    previous=None,
    the_plan=None,
    scope="written",
    sent=None,
    **changes,
):
    event = PollInitializationEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=request(**{"warmUp": {"scope": scope}, **changes}),
        volume=assignment(),
        volume_id=VOLUME_ID,
        plan=the_plan or plan(strategy),
        started_at=NOW,
        dispatch=sent or (dispatch() if strategy.reads_with_agent else None),
        previous=previous,
    )
    return poll_initialization(
        event,
        wired(PollInitializationPorts, world),
    )


def reads(minute, ops):
    return ReadActivity(at(minute), float(ops), ops * 262_144.0, ops * 0.001)


class TestWarmUpAgent:
    @pytest.mark.parametrize("strategy", [Strategy.WARM_UP_AGENT, Strategy.BOOSTED_WARM_UP])
    def test_follows_the_agents_progress(self, world, strategy):
        world.commands.statuses["command-1"] = RUNNING
        progress = {"event": "progress", "bytesDone": 10 * GIB, "bytesTotal": 40 * GIB, "mibPerSecond": 124.0}
        world.artifacts.objects[PROGRESS_KEY] = {**progress, "etaSeconds": 248}
        result = poll(world, strategy, minute=2)
        assert (result.ready, result.progress_percent, result.bytes_done) == (False, 25.0, 10 * GIB)
        assert (result.mib_per_second, result.eta_seconds, result.wait_seconds) == (124.0, 248, 60)
        assert result.signals.agent == world.artifacts.objects[PROGRESS_KEY]

    def test_follows_the_hot_set_and_looks_again_soon(self, world):
        world.commands.statuses["command-1"] = RUNNING
        progress = {"event": "progress", "bytesDone": 1 * GIB, "bytesTotal": 40 * GIB, "etaSeconds": 5_000}
        store = world.artifacts.objects
        store[PROGRESS_KEY] = {**progress, "firstBlocksTotal": 8_000, "firstBlocksDone": 2_000}
        first = poll(world, sent=dispatch(hot_blocks=8_192))
        assert (first.hot_seconds, first.wait_seconds) == (None, 10)
        assert first.reasons[-1] == "the agent has read 25 % of the hot set"
        assert poll(world, minute=60, sent=dispatch(hot_blocks=8_192)).wait_seconds == 83, "the agent's own"
        store[PROGRESS_KEY] |= {"firstBlocksDone": 8_000, "elapsedSeconds": 31.5}
        second = poll(world, minute=1, previous=first, sent=dispatch(hot_blocks=8_192))
        assert (second.hot_seconds, second.wait_seconds) == (31.5, 83)
        store[PROGRESS_KEY] |= {"elapsedSeconds": 90.0}
        third = poll(world, minute=2, previous=second, sent=dispatch(hot_blocks=8_192))
        assert (third.hot_seconds, third.reasons[-1]) == (31.5, "the hot set was warm after 32 s")

    def test_the_agents_result_says_when_the_hot_set_was_warm(self, world):
        told = warm_result(firstBlocksTotal=100, firstBlocksDone=100, firstSeconds=4.25)
        world.commands.statuses["command-1"] = CommandStatus("Success", "Success", 0, json.dumps(told), "")
        assert poll(world, minute=9, sent=dispatch(hot_blocks=128)).hot_seconds == 4.25

    def test_says_nothing_of_a_hot_set_where_there_is_none(self, world):
        world.commands.statuses["command-1"] = RUNNING
        told = {"event": "progress", "bytesDone": 0, "firstBlocksTotal": 100, "firstBlocksDone": 100}
        world.artifacts.objects[PROGRESS_KEY] = told
        assert poll(world).hot_seconds is None, "the request's own extents"
        told |= {"firstBlocksTotal": 0, "firstBlocksDone": 0}
        result = poll(world, sent=dispatch(hot_blocks=9))
        assert (result.hot_seconds, len(result.reasons)) == (None, 1), "none of them is in the scope"

    def test_waits_where_nothing_is_known_yet(self, world):
        result = poll(world)
        assert (result.ready, result.progress_percent, result.wait_seconds) == (False, 0.0, 2)
        assert poll(world, minute=1).wait_seconds == 5

    @pytest.mark.parametrize(
        ("changes", "minute", "words"),
        [
            ({"state": "terminated", "ssm_online": False}, 3, f"interrupted: {INSTANCE_ID} is terminated$"),
            ({"state": "stopped", "ssm_online": False}, 11, f"{INSTANCE_ID} is stopped, for 11 min$"),
            ({"ssm_online": False}, 11, f"{INSTANCE_ID} is not online in Systems Manager, for 11 min$"),
            (None, 3, f"interrupted: there is no instance {INSTANCE_ID}$"),
        ],
    )
    def test_a_command_that_goes_on_where_the_instance_is_away_is_given_up(
        self, world, changes, minute, words
    ):
        """Run Command shows it as in progress for as long as it might still run."""
        world.commands.statuses["command-1"] = RUNNING
        first = poll(world)
        world.instances.instances.clear()
        if changes is not None:
            world.instances.add(instance(**changes))
        assert not poll(world, minute=2, previous=first).ready
        with pytest.raises(AgentUnreachableError, match=words):
            poll(world, minute=minute, previous=first)

    def test_an_instance_that_restarts_is_waited_for(self, world):
        world.commands.statuses["command-1"] = RUNNING
        first = poll(world)
        world.instances.add(instance(ssm_online=False))
        assert not poll(world, minute=9, previous=first).ready
        world.instances.add(instance())
        assert not poll(world, minute=20, previous=first).ready

    def test_is_ready_as_soon_as_the_agent_has_read_everything_where_it_is_measured(self, world):
        world.commands.finish("command-1", stdout=warm_result())
        world.metrics.activity = [reads(4, 29_000), reads(5, 12_000)]
        result = poll(world, minute=5.1)
        assert (result.ready, result.reasons) == (True, ["the agent has read every written block"])

    def test_what_the_agent_measured_before_is_told_once(self, world):
        line = {**measurement("slow", 152.5), "event": "before"}
        world.commands.finish("command-1", stdout=f"{json.dumps(line)}\n{json.dumps(warm_result())}\n")
        first = poll(world, minute=5, verify={"samples": 0})
        assert first.before is not None
        assert first.before.finished
        assert (first.before.verdict, first.before.result.latency_ms.p99) == ("slow", 152.5)
        assert first.signals.agent["verdict"] == "complete"
        assert poll(world, minute=6, previous=first, verify={"samples": 0}).before is None

    @pytest.mark.parametrize("line", ["", '{"event": "before"}', '{"event": "before", "verdict": "slow"}'])
    def test_without_a_figure_of_the_cold_volume_the_restore_goes_on(self, world, line):
        world.commands.finish("command-1", stdout=f"{line}\n{json.dumps(warm_result())}\n")
        result = poll(world, minute=5)
        assert (result.ready, result.before) == (True, None)

    def test_is_not_ready_before_the_reads_have_gone_quiet_where_nothing_is_measured(self, world):
        world.commands.finish("command-1", stdout=warm_result())
        world.metrics.activity = [reads(4, 29_000), reads(5, 12_000)]
        result = poll(world, minute=5.5, verify={"samples": 0})
        assert not result.ready
        assert result.agent_finished_at == at(5.5)
        assert any("no VolumeReadOps of a whole minute" in reason for reason in result.reasons)

    def test_is_ready_when_the_agent_has_finished_and_the_reads_are_quiet(self, world):
        world.commands.finish("command-1", stdout=warm_result())
        unmeasured = {"verify": {"samples": 0}}
        first = poll(world, minute=5.5, **unmeasured)
        world.metrics.activity = [reads(5, 12_000), reads(6, 3)]
        result = poll(world, minute=7, previous=first, **unmeasured)
        assert result.ready
        assert (result.polls, result.progress_percent) == (2, 100.0)
        assert result.signals.read_ops_per_minute == [12_000.0, 3.0]
        assert result.reasons[0] == "the agent has read every written block"

    def test_remembers_the_end_of_the_agent_when_ssm_forgets_it(self, world):
        world.commands.finish("command-1", stdout=warm_result())
        first = poll(world, minute=5)
        world.commands.statuses.clear()
        second = poll(world, minute=6, previous=first)
        assert second.agent_finished_at == at(5)
        assert second.signals.agent is not None
        assert second.signals.agent["verdict"] == "complete"

    def test_takes_the_result_from_the_bucket_where_ssm_has_cut_it(self, world):
        world.commands.finish("command-1", stdout="--output truncated--")
        world.artifacts.objects[PROGRESS_KEY] = warm_result()
        assert poll(world, minute=5).agent_finished_at == at(5)

    def test_of_the_whole_volume_every_block_counts(self, world):
        assert poll(world, scope="whole").bytes_total == 100 * GIB
        everything = warm_result(scope="whole", bytesDone=100 * GIB, bytesTotal=100 * GIB)
        world.commands.finish("command-1", stdout=everything)
        result = poll(world, minute=5, scope="whole")
        assert (result.bytes_done, result.reasons[0]) == (100 * GIB, "the agent has read every block")

    def test_the_written_blocks_are_not_the_whole_volume(self, world):
        world.commands.finish("command-1", stdout=warm_result())
        with pytest.raises(AgentFailedError, match="only 40 GiB of the 100 GiB that the volume has"):
            poll(world, minute=5, scope="whole")

    def test_of_what_is_used_the_agents_own_total_counts(self, world):
        world.commands.finish(
            "command-1", stdout=warm_result(scope="used", bytesDone=25 * GIB, bytesTotal=25 * GIB)
        )
        result = poll(world, minute=5, scope="used")
        assert (result.bytes_done, result.bytes_total, result.progress_percent) == (25 * GIB, 25 * GIB, 100)
        assert result.reasons[0] == "the agent has read every written block that its file systems use"

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            ("used", {"scope": "written", "bytesDone": 25 * GIB, "bytesTotal": 25 * GIB}),
            ("written", {"scope": "used", "bytesDone": 25 * GIB, "bytesTotal": 25 * GIB}),
            ("used", {"scope": "used", "bytesDone": 24 * GIB, "bytesTotal": 25 * GIB}),
        ],
    )
    def test_fewer_blocks_than_the_map_has_are_enough_only_where_they_were_asked_for(
        self, world, asked, told
    ):
        world.commands.finish("command-1", stdout=warm_result(**told))
        with pytest.raises(AgentFailedError, match="and took that for everything"):
            poll(world, minute=5, scope=asked)

    def test_used_falls_back_to_what_is_written(self, world):
        world.commands.finish("command-1", stdout=warm_result(scope="written"))
        result = poll(world, minute=5, scope="used")
        assert result.reasons[0] == "the agent has read every written block"

    def test_fails_with_the_agents_numbers(self, world):
        numbers = warm_result(verdict="incomplete", bytesDone=39 * GIB, errors=12)
        world.commands.finish(
            "command-1", stdout=numbers, status="Failed", status_details="Failed", exit_code=1, stderr="EIO"
        )
        with pytest.raises(
            VolumeUnreadableError,
            match=r"39 GiB of 40 GiB, 12 blocks unreadable; Failed, exit status 1: EIO",
        ):
            poll(world, minute=5)

    @pytest.mark.parametrize("other", ["vol-0fedcba9876543210", None])
    def test_what_the_agent_has_read_of_another_volume_counts_for_nothing(self, world, other):
        world.commands.finish("command-1", stdout=warm_result(volumeId=other))
        with pytest.raises(
            AgentFailedError, match=f"read nothing here: it worked on .*, and not on {VOLUME_ID}"
        ):
            poll(world, minute=5)

    def test_fails_where_a_success_has_no_result(self, world):
        world.commands.finish("command-1", stdout="")
        with pytest.raises(AgentFailedError, match=r"nobody knows whether .*: Success, exit status 0"):
            poll(world, minute=5)

    @pytest.mark.parametrize("status", [RUNNING, None])
    def test_an_agent_that_has_read_everything_is_not_waited_for_though_ssm_does_not_say_so(
        self, world, status
    ):
        """Run Command may show the command as running for ever, or know nothing of it any more."""
        world.artifacts.objects[PROGRESS_KEY] = warm_result()
        if status is not None:
            world.commands.statuses["command-1"] = status
        first = poll(world, minute=12)
        assert not first.ready
        assert poll(world, minute=14.1, previous=first).ready

    def test_an_agent_that_says_to_have_read_less_is_not_believed_either(self, world):
        world.artifacts.objects[PROGRESS_KEY] = warm_result(bytesDone=39 * GIB)
        world.commands.statuses["command-1"] = RUNNING
        first = poll(world, minute=12)
        with pytest.raises(AgentFailedError, match="and took that for everything"):
            poll(world, minute=14.1, previous=first)

    @pytest.mark.parametrize("details", ["DeliveryTimedOut", "Undeliverable", "Delivery Timed Out"])
    def test_says_where_the_command_never_arrived(self, world, details):
        world.commands.finish("command-1", status="TimedOut", status_details=details, exit_code=None)
        with pytest.raises(AgentUnreachableError, match="never reached"):
            poll(world, minute=5)

    def test_fails_where_the_agent_ran_out_of_time(self, world):
        world.commands.finish(
            "command-1", status="TimedOut", status_details="ExecutionTimedOut", exit_code=None
        )
        with pytest.raises(AgentFailedError, match="ExecutionTimedOut"):
            poll(world, minute=5)

    def test_does_not_wait_for_ever_for_a_command_that_ssm_has_lost(self, world):
        with pytest.raises(AgentUnreachableError, match="knows nothing"):
            poll(world, minute=11)

    def test_notices_a_standstill(self, world):
        world.commands.statuses["command-1"] = RUNNING
        world.artifacts.objects[PROGRESS_KEY] = {
            "event": "progress",
            "bytesDone": GIB,
            "bytesTotal": 40 * GIB,
        }
        first = poll(world, minute=1)
        assert not poll(world, minute=30, previous=first).ready
        with pytest.raises(InitializationStalledError, match=r"no progress for 31 min at 2 %"):
            poll(world, minute=32, previous=first)

    def test_reads_are_a_sign_of_life_where_no_progress_arrives(self, world):
        world.commands.statuses["command-1"] = RUNNING
        first = poll(world, minute=1)
        world.metrics.activity = [reads(minute, 29_000) for minute in range(1, 60)]
        later = poll(world, minute=60, previous=first)
        assert (later.ready, later.last_progress_at) == (False, at(60))
        with pytest.raises(InitializationStalledError):
            poll(world, minute=95, previous=later)

    def test_two_days_without_a_remaining_time_fit_the_history(self, world):
        world.commands.statuses["command-1"] = RUNNING
        world.artifacts.objects[PROGRESS_KEY] = {"event": "progress", "bytesDone": GIB, "etaSeconds": 30}
        minute, looks, previous = 0.0, 0, None
        while minute < 48 * 60:
            world.metrics.activity = [reads(int(minute), 29_000)]
            previous = poll(world, minute=minute, previous=previous)
            minute, looks = minute + previous.wait_seconds / 60, looks + 1
        assert looks * EVENTS_A_LOOK < 20_000

    @pytest.mark.parametrize("done", [0, 39 * GIB, None])
    def test_complete_by_another_map_is_not_complete(self, world, done):
        world.commands.finish("command-1", stdout=warm_result(bytesDone=done, bytesTotal=done))
        with pytest.raises(AgentFailedError, match="of the 40 GiB that the snapshot holds"):
            poll(world, minute=5)

    def test_an_application_that_reads_the_volume_does_not_hold_it_up_for_ever(self, world):
        world.commands.finish("command-1", stdout=warm_result())
        unmeasured = {"verify": {"samples": 0}}
        first = poll(world, minute=5, **unmeasured)
        world.metrics.activity = [reads(minute, 9_000) for minute in range(1, 21)]
        assert not first.ready
        later = poll(world, minute=6, previous=first, **unmeasured)
        assert later.ready
        assert "something else reads the volume, at 1.0 ms a read" in later.reasons[1]

    def test_without_a_measurement_to_follow_cloudwatch_is_waited_for(self, world):
        world.commands.finish("command-1", stdout=warm_result())
        unmeasured = {"verify": {"samples": 0}}
        first = poll(world, minute=5, **unmeasured)
        assert not poll(world, minute=9.9, previous=first, **unmeasured).ready
        assert poll(world, minute=10, previous=first, **unmeasured).ready

    def test_the_end_of_the_command_counts_and_not_when_it_was_seen(self, world):
        world.commands.finish("command-1", stdout=warm_result(), ended_at=at(5))
        result = poll(world, minute=6)
        assert (result.ready, result.agent_finished_at) == (True, at(5))

    @pytest.mark.parametrize("nonsense", [at(-1), at(7)])
    def test_an_instance_with_a_wrong_clock_changes_nothing(self, world, nonsense):
        world.commands.finish("command-1", stdout=warm_result(), ended_at=nonsense)
        assert poll(world, minute=6).agent_finished_at == at(6)

    def test_tells_how_long_a_read_takes(self, world):
        world.commands.statuses["command-1"] = RUNNING
        world.metrics.activity = [reads(1, 9_000)]
        assert poll(world, minute=2).signals.read_latency_ms == pytest.approx(1.0)

    def test_a_standstill_is_what_the_request_says(self, world):
        world.commands.statuses["command-1"] = RUNNING
        rules = {"readiness": {"stalledAfterMinutes": 10}}
        first = poll(world, **rules)
        with pytest.raises(InitializationStalledError, match="no progress for 11 min"):
            poll(world, minute=11, previous=first, **rules)


class TestOtherStrategies:
    @pytest.mark.parametrize(
        "strategy", [Strategy.PROVISIONED_RATE, Strategy.BACKGROUND, Strategy.VOLUME_CLONE]
    )
    def test_needs_completed_and_100_percent(self, world, strategy):
        for state, progress, ready in (
            (None, None, False),
            ("initializing", 100, False),
            ("completed", 75, False),
            ("completed", None, False),
            ("completed", 100, True),
        ):
            world.volumes.statuses[VOLUME_ID] = InitializationStatus(state, "default", progress, None)
            assert poll(world, strategy).ready is ready, (state, progress)

    @pytest.mark.parametrize(
        ("strategy", "ready_p90_seconds", "minutes"),
        [
            (Strategy.PROVISIONED_RATE, 840, 30),
            (Strategy.PROVISIONED_RATE, 18_000, 60),
            (Strategy.VOLUME_CLONE, 840, 30),
            (Strategy.VOLUME_CLONE, 7_200, 120),
            (Strategy.BACKGROUND, 840, 1_440),
            (Strategy.BACKGROUND, 86_400, 4_320),
        ],
    )
    def test_a_standstill_is_many_times_the_time_of_a_step(self, world, strategy, ready_p90_seconds, minutes):
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("initializing", "default", 40, None)
        slow = plan(strategy, ready_p90_seconds=ready_p90_seconds)
        first = poll(world, strategy, the_plan=slow)
        still = poll(world, strategy, minute=minutes, previous=first, the_plan=slow)
        with pytest.raises(InitializationStalledError, match="no progress for"):
            poll(world, strategy, minute=minutes + 0.1, previous=still, the_plan=slow)

    def test_details_that_aws_drops_after_completion_hinder_nothing(self, world):
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("initializing", "default", 99, None)
        first = poll(world, Strategy.BACKGROUND)
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("completed", None, None, None)
        assert poll(world, Strategy.BACKGROUND, minute=15, previous=first).ready

    def test_completed_alone_must_stand_for_longer_than_aws_may_lag(self, world):
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("initializing", "default", 40, None)
        looks = [poll(world, Strategy.BACKGROUND)]
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("completed", None, None, None)
        for minute in (60, 62, 64, 65.1):
            looks.append(poll(world, Strategy.BACKGROUND, minute=minute, previous=looks[-1]))
        assert [(look.ready, look.progress_percent) for look in looks] == [
            (False, 40.0), (False, 40.0), (False, 40.0), (False, 40.0), (True, 100.0),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("change", "error", "words"),
        [
            ({"attachments": ()}, VolumeFailedError, "was detached from i-[0-9a-f]* meanwhile$"),
            ({"state": "error"}, VolumeFailedError, "is error, and was to be ready"),
            (None, VolumeNotFoundError, VOLUME_ID),
        ],
    )
    def test_a_volume_that_somebody_took_away_is_not_ready(self, world, change, error, words):
        """All signals may be good by then: it was fast until a moment ago."""
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("completed", "default", 100, None)
        if change is None:
            del world.volumes.volumes[VOLUME_ID]
        else:
            world.volumes.change(VOLUME_ID, **change)
        with pytest.raises(error, match=words):
            poll(world, Strategy.BACKGROUND)

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            ("terminated", f"was detached from {INSTANCE_ID} meanwhile: the instance is terminated$"),
            ("shutting-down", "meanwhile: the instance is shutting-down$"),
            (None, "meanwhile: EC2 no longer shows the instance, so it was terminated$"),
        ],
    )
    def test_an_instance_that_was_terminated_is_named_as_the_reason(self, world, state, words):
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("completed", "default", 100, None)
        world.volumes.change(VOLUME_ID, attachments=(), state="available")
        world.instances.instances.clear()
        if state is not None:
            world.instances.add(instance(state=state, ssm_online=False))
        with pytest.raises(VolumeFailedError, match=words):
            poll(world, Strategy.BACKGROUND)

    def test_waits_by_the_time_that_aws_names(self, world):
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("initializing", "provisioned-rate", 40, 300)
        result = poll(world, Strategy.PROVISIONED_RATE)
        assert (result.eta_seconds, result.wait_seconds, result.progress_percent) == (300, 60, 40.0)
        assert result.bytes_done == 16 * GIB

    def test_waits_longer_the_longer_it_lasts(self, world):
        the_plan = plan(Strategy.BACKGROUND, ready_p50_seconds=600)
        first = poll(world, Strategy.BACKGROUND, the_plan=the_plan)
        later = poll(world, Strategy.BACKGROUND, the_plan=the_plan, minute=8 * 60, previous=first)
        assert later.wait_seconds == 900

    def test_fast_snapshot_restore_is_ready_at_once(self, world):
        world.volumes.change(VOLUME_ID, fast_restored=True)
        result = poll(world, Strategy.FAST_SNAPSHOT_RESTORE)
        assert result.ready
        assert result.signals.fast_restored is True

    def test_without_a_credit_it_loads_in_the_background_and_says_so(self, world):
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("initializing", "default", 3, None)
        result = poll(world, Strategy.FAST_SNAPSHOT_RESTORE)
        assert not result.ready
        assert "no credit left" in result.reasons[0]
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("completed", "default", 100, None)
        assert poll(world, Strategy.FAST_SNAPSHOT_RESTORE, previous=result, minute=60).ready

    def test_a_rate_that_makes_no_progress_is_noticed(self, world):
        world.volumes.statuses[VOLUME_ID] = InitializationStatus("initializing", "provisioned-rate", 40, None)
        first = poll(world, Strategy.PROVISIONED_RATE)
        poll(world, Strategy.PROVISIONED_RATE, minute=29, previous=first)
        with pytest.raises(
            InitializationStalledError, match=r"at 40 %: initialization state is initializing"
        ):
            poll(world, Strategy.PROVISIONED_RATE, minute=31, previous=first)

    def test_a_copy_is_given_the_time_that_was_promised(self, world):
        the_plan = plan(Strategy.VOLUME_CLONE, ready_p90_seconds=6 * 3_600)
        first = poll(world, Strategy.VOLUME_CLONE, the_plan=the_plan)
        poll(world, Strategy.VOLUME_CLONE, the_plan=the_plan, minute=5.9 * 60, previous=first)
        with pytest.raises(InitializationStalledError):
            poll(world, Strategy.VOLUME_CLONE, the_plan=the_plan, minute=6.1 * 60, previous=first)

    def test_background_loading_is_given_a_day(self, world):
        first = poll(world, Strategy.BACKGROUND)
        poll(world, Strategy.BACKGROUND, minute=23 * 60, previous=first)
        with pytest.raises(InitializationStalledError):
            poll(world, Strategy.BACKGROUND, minute=25 * 60, previous=first)


class TestRecord:
    def test_shows_how_far_it_is(self, world):
        poll(world)
        record = world.table.records[RESTORE_ID]
        assert record["status"] == "initializing"
        assert record["initialization0"]["progressKey"] == PROGRESS_KEY

    def test_stops_when_the_restore_is_cancelled(self, world):
        poll(world)
        world.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError):
            poll(world)
