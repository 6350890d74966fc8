"""States Verify Volume Before and Verify Volume After."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewarm.contracts.events import VerifyVolumeEvent
from rewarm.contracts.values import NewVolume
from rewarm.domain.errors import (
    AgentFailedError,
    AgentUnreachableError,
    InstanceAwayError,
    RestoreCancelledError,
    ThrottledError,
    VolumeNotFastError,
    VolumeUnreadableError,
)
from rewarm.domain.model import CommandStatus, InstanceEbsLimits
from rewarm.steps.verify.verify_volume import VerifyVolumePorts, verify_volume
from tests.support.builders import (
    INSTANCE_ID,
    RESTORE_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    instance,
    measurement,
    request,
)
from tests.support.wired import wired


def verify(
    world,
    phase="after",
    pending=None,
    *,
    minute=0.0,
    volume=None,
    warm_ups=0,
    scope="written",
    agent_lost=False,
    **changes,
):
    event = VerifyVolumeEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=request(**changes),
        volume=volume or assignment(),
        volume_id=VOLUME_ID,
        phase=phase,
        scope=scope,
        pending=pending,
        warm_ups=warm_ups,
        agent_lost=agent_lost,
    )
    return verify_volume(
        event,
        wired(VerifyVolumePorts, world),
    )


def finish_slowly(world, pending, command_id, p99_ms=91.0):
    slow = measurement("slow", p99_ms)
    world.commands.finish(command_id, stdout=slow, status="Failed", status_details="Failed", exit_code=1)
    return pending


class TestVerifyVolume:
    def test_measures_as_the_request_says(self):
        world = World()
        result = verify(world, verify={"samples": 500, "maxP99Ms": 12.5})
        assert not result.finished
        parameters = world.commands.sent[0][2]
        assert (parameters["action"], parameters["progressUrl"]) == ("verify", "none")
        assert parameters["arguments"] == "--samples 500 --max-p99-ms 12.5"

    @pytest.mark.parametrize(
        ("limit", "said"),
        [(0.001, "0.001"), (0.00125, "0.001"), (33_333.333, "33333.333"), (60_000, "60000")],
    )
    def test_the_agent_reads_the_limit_without_an_exponent(self, limit, said):
        world = World()
        verify(world, verify={"maxP99Ms": float(limit)})
        assert world.commands.sent[0][2]["arguments"].endswith(f"--max-p99-ms {said}")

    def test_whoever_cleans_up_knows_the_command_that_measures(self):
        world = World()
        first = verify(world)
        noted = {"commandId": first.command_id, "instanceId": INSTANCE_ID, "volumeId": VOLUME_ID}
        assert world.table.records[RESTORE_ID]["measurement0"] == noted
        world.commands.finish(first.command_id, stdout=measurement("slow", 90.0), exit_code=1)
        second = verify(world, pending=first, minute=1)
        assert world.table.records[RESTORE_ID]["measurement0"]["commandId"] == second.command_id

    @pytest.mark.parametrize("phase", ["before", "after"])
    def test_stops_where_it_was_cancelled(self, phase):
        world = World()
        world.table.update(RESTORE_ID, {"cancelRequested": True})
        with pytest.raises(RestoreCancelledError):
            verify(world, phase)
        assert world.commands.sent == []

    @pytest.mark.parametrize("error", [AgentUnreachableError, InstanceAwayError])
    def test_an_agent_that_was_given_up_is_not_waited_for(self, error):
        """A plan without it took over; EC2 has said that every block is there."""
        world = World()
        world.commands.failure = error("i-1 is not online")
        with pytest.raises(error):
            verify(world)
        told = verify(world, agent_lost=True)
        assert (told.finished, told.verdict, told.reason) == (True, "unmeasured", "i-1 is not online")

    def test_blocks_that_cannot_be_read_are_never_passed_over(self):
        world = World()
        first = verify(world)
        numbers = {**measurement(), "verdict": "failed", "errors": 3}
        world.commands.finish(first.command_id, stdout=numbers, status="Failed", exit_code=1)
        with pytest.raises(VolumeUnreadableError, match="reads of the measurement failed"):
            verify(world, pending=first, minute=1, agent_lost=True)

    def test_takes_only_a_few_cold_reads_before(self):
        world = World()
        verify(world, "before", verify={"samples": 500})
        assert world.commands.sent[0][2]["arguments"] == "--samples 24 --max-p99-ms 20"

    @pytest.mark.parametrize(
        ("wanted", "said"),
        [
            ({"samples": 1, "maxP99Ms": 200.0}, "--samples 256 --max-p99-ms 20"),
            ({"samples": 500, "maxP99Ms": 5.0}, "--samples 500 --max-p99-ms 5"),
        ],
    )
    def test_no_request_makes_it_easier_to_call_an_adopted_volume_warm(self, wanted, said):
        world = World()
        verify(world, "before", volume=assignment(adopts=VOLUME_ID), verify=wanted)
        assert world.commands.sent[0][2]["arguments"] == said

    def test_reads_do_not_tell_whether_an_adopted_disk_is_warm(self):
        world = World()
        disk = NewVolume(volume_type="sc1", size_gib=125, iops=None, throughput_mib_s=None)
        result = verify(world, "before", volume=assignment(adopts=VOLUME_ID, volume=disk))
        assert (result.verdict, world.commands.sent) == ("unmeasured", [])

    def test_waits_while_the_command_runs(self):
        world = World()
        pending = verify(world)
        assert not verify(world, pending=pending).finished
        world.commands.statuses["command-1"] = CommandStatus("InProgress", "InProgress", None, "", "")
        again = verify(world, pending=pending)
        assert (again.finished, again.command_id) == (False, "command-1")
        assert len(world.commands.sent) == 1

    def test_half_a_day_of_waiting_fits_the_history(self):
        world = World()
        much = {"samples": 10_000}
        pending, minute, looks = verify(world, verify=much), 0.0, 0
        world.commands.statuses["command-1"] = CommandStatus("InProgress", "InProgress", None, "", "")
        while minute < 14 * 60:
            pending = verify(world, pending=pending, minute=minute, verify=much)
            minute, looks = minute + pending.wait_seconds / 60, looks + 1
        assert looks * 9 < 12_500

    def test_tells_the_numbers_of_a_fast_volume(self):
        world = World()
        pending = verify(world)
        world.commands.finish("command-1", stdout=measurement())
        result = verify(world, pending=pending)
        assert (result.finished, result.verdict) == (True, "fast")
        assert result.result is not None
        assert result.result.latency_ms.p99 == 1.9
        assert result.reason == "256 reads of 4 KiB: p50 0.6 ms, p99 1.9 ms, 1,630 IOPS"

    def test_measures_a_slow_volume_once_more(self):
        world = World()
        pending = finish_slowly(world, verify(world), "command-1")
        again = verify(world, pending=pending)
        assert (again.finished, again.command_id, again.measurements) == (False, "command-2", 2)
        world.commands.finish("command-2", stdout=measurement())
        result = verify(world, pending=again)
        assert (result.finished, result.verdict, result.measurements) == (True, "fast", 2)

    def test_fails_with_the_numbers_of_a_volume_that_stays_slow(self):
        world = World()
        pending = finish_slowly(world, verify(world), "command-1")
        again = finish_slowly(world, verify(world, pending=pending), "command-2", 92.0)
        words = r"still slow, measured 2 times: .* p99 92.0 ms.*at most 20 ms is allowed"
        with pytest.raises(VolumeNotFastError, match=words):
            verify(world, pending=again)
        assert len(world.commands.sent) == 2

    def test_measures_a_rewound_volume_of_a_busy_machine_three_times_more_after_pauses(self):
        """Its blocks are there; what is slow is the machine, which has other work."""
        world, rewound = World(), assignment().model_copy(update={"rewinds": VOLUME_ID})
        pending, pauses = verify(world, volume=rewound), []
        for number in range(1, 4):
            again = verify(world, pending=finish_slowly(world, pending, f"command-{number}"), volume=rewound)
            pauses.append(again.wait_seconds)
            assert (again.command_id, again.measurements) == (None, number + 1)
            pending = verify(world, pending=again, volume=rewound)
            assert pending.measurements == number + 1
        assert pauses == [30, 60, 120]
        finish_slowly(world, pending, "command-4")
        words = rf"{VOLUME_ID} is rewound to snap-\w+ and proven, but slow: measured 4 times: .*p99 91.0 ms"
        with pytest.raises(VolumeNotFastError, match=words):
            verify(world, pending=pending, volume=rewound)

    def test_a_volume_whose_rewind_is_undone_is_no_snapshot_although_it_is_slow(self):
        world, rewound = World(), assignment().model_copy(update={"rewinds": VOLUME_ID})
        pending = finish_slowly(world, verify(world, volume=rewound), "command-1")
        last = pending.model_copy(update={"measurements": 4})
        target = {"instanceId": rewound.instance_id, "mode": "rewind"}
        with pytest.raises(VolumeNotFastError, match="rewound to what it had before restore-0 and proven"):
            verify(world, pending=last, volume=rewound, source={"undoOf": "restore-0"}, target=target)

    def test_a_rewound_volume_that_is_fast_the_second_time_is_fast(self):
        world, rewound = World(), assignment().model_copy(update={"rewinds": VOLUME_ID})
        pending = finish_slowly(world, verify(world, volume=rewound), "command-1")
        pending = verify(world, pending=verify(world, pending=pending, volume=rewound), volume=rewound)
        world.commands.finish("command-2", stdout=measurement())
        result = verify(world, pending=pending, volume=rewound)
        assert (result.finished, result.verdict, result.measurements) == (True, "fast", 2)

    def test_a_volume_of_which_only_the_used_blocks_were_asked_for_may_stay_slow(self):
        world = World()
        again = verify(world, pending=finish_slowly(world, verify(world), "command-1"), scope="used")
        result = verify(world, pending=finish_slowly(world, again, "command-2"), scope="used")
        assert (result.finished, result.verdict, result.measurements) == (True, "slow", 2)
        assert "p99 91.0 ms" in result.reason
        assert result.reason.endswith("with warmUp.scope used those of no file stay cold")

    def test_says_that_a_second_warm_up_did_not_help(self):
        world = World()
        pending = finish_slowly(world, verify(world), "command-1")
        again = finish_slowly(world, verify(world, pending=pending), "command-2")
        with pytest.raises(VolumeNotFastError, match="still slow, also after a second warm-up, measured 2"):
            verify(world, pending=again, warm_ups=1)

    @pytest.mark.parametrize("phase", ["before", "after"])
    def test_tells_what_the_volume_promises_beside_what_was_measured(self, phase):
        world = World()
        pending = verify(world, phase)
        world.commands.finish("command-1", stdout=measurement())
        result = verify(world, phase, pending)
        assert result.expected is not None
        assert result.to_json()["expected"] == {
            "p50Ms": 10.0,
            "p99Ms": 20.0,
            "iops": 100.0,
            "limitedBy": "latency of gp3",
        }
        assert result.result is not None
        assert sum(one.count for one in result.result.histogram) == result.result.samples

    def test_a_volume_promises_no_more_than_its_ebs_card_gives(self):
        world = World()
        world.instances.limits = replace(
            world.instances.limits, cards=(world.instances.limits, InstanceEbsLimits(1.0, 1.0, 50, 50))
        )
        on_card = assignment(card=1)
        pending = verify(world, volume=on_card)
        world.commands.finish("command-1", stdout=measurement())
        result = verify(world, pending=pending, volume=on_card)
        assert (result.expected.iops, result.expected.limited_by) == (50.0, "IOPS of the instance")

    def test_a_disk_is_not_measured_by_the_promise_of_an_ssd(self):
        world = World()
        disk = NewVolume(volume_type="st1", size_gib=125, iops=None, throughput_mib_s=None)
        verify(world, volume=assignment(volume=disk))
        assert world.commands.sent[0][2]["arguments"] == "--samples 256 --max-p99-ms 409.6"

    def test_a_cold_volume_is_what_is_expected_before(self):
        world = World()
        pending = finish_slowly(world, verify(world, "before"), "command-1")
        result = verify(world, "before", pending)
        assert (result.finished, result.verdict) == (True, "slow")
        assert len(world.commands.sent) == 1

    def test_does_not_measure_where_the_request_says_so(self):
        world = World()
        result = verify(world, verify={"samples": 0})
        assert (result.finished, result.verdict) == (True, "unmeasured")
        assert world.commands.sent == []

    def test_an_instance_that_was_terminated_ends_the_wait(self):
        """Run Command shows its command as in progress until delivery and execution had their time."""
        world = World()
        pending = verify(world)
        world.commands.statuses["command-1"] = CommandStatus("InProgress", "InProgress", None, "", "")
        world.instances.add(instance(state="terminated", ssm_online=False))
        assert not verify(world, pending=pending, minute=1).finished
        with pytest.raises(AgentUnreachableError, match=r"i-0123456789abcdef0 is terminated$"):
            verify(world, pending=pending, minute=3)

    @pytest.mark.parametrize("phase", ["before", "after"])
    def test_measures_nothing_where_no_agent_works(self, phase):
        world = World()
        result = verify(world, phase, volume=assignment(agent_available=False))
        assert (result.finished, result.verdict) == (True, "unmeasured")
        assert result.reason.endswith("does not work on i-0123456789abcdef0 (m7g.large)")
        assert world.commands.sent == []

    def test_goes_on_without_a_measurement_before(self):
        world = World()
        world.instances.add(instance(ssm_online=False))
        result = verify(world, "before")
        assert (result.finished, result.verdict) == (True, "unmeasured")
        assert "not online" in result.reason

    def test_is_retried_where_aws_is_busy_even_before(self):
        world = World()
        world.commands.failure = ThrottledError("SendCommand: slow down")
        with pytest.raises(ThrottledError):
            verify(world, "before")

    def test_fails_where_the_agent_gives_no_result(self):
        world = World()
        pending = verify(world)
        world.commands.finish(
            "command-1", status="Failed", status_details="Failed", exit_code=3, stderr="cannot open /dev/x"
        )
        with pytest.raises(
            AgentFailedError, match="gave no result: Failed, exit status 3: cannot open /dev/x"
        ):
            verify(world, pending=pending)

    def test_fails_where_the_command_was_never_delivered(self):
        world = World()
        pending = verify(world)
        world.commands.finish(
            "command-1", status="TimedOut", status_details="DeliveryTimedOut", exit_code=None
        )
        with pytest.raises(AgentUnreachableError, match="never reached the instance: DeliveryTimedOut"):
            verify(world, pending=pending)

    def test_does_not_wait_for_ever_for_a_command_that_ssm_has_lost(self):
        world = World()
        pending = verify(world)
        assert not verify(world, pending=pending, minute=9).finished
        with pytest.raises(AgentUnreachableError, match="knows nothing of the command command-1"):
            verify(world, pending=pending, minute=11)

    @pytest.mark.parametrize("phase", ["before", "after"])
    def test_does_not_wait_for_ever_for_a_command_that_ssm_shows_as_running(self, phase):
        """100,000 looks do not fit into the history of an execution."""
        world = World()
        pending = verify(world, phase)
        world.commands.statuses["command-1"] = CommandStatus("InProgress", "InProgress", None, "", "")
        assert not verify(world, phase, pending=pending, minute=24).finished
        if phase == "before":
            found = verify(world, phase, pending=pending, minute=60)
            assert (found.finished, found.verdict) == (True, "unmeasured")
            return
        with pytest.raises(AgentUnreachableError, match=r"has all of its data; .* as InProgress for"):
            verify(world, phase, pending=pending, minute=60)

    @pytest.mark.parametrize("stdout", ["", '{"event": "res'])
    def test_by_the_exit_status_it_is_fast_though_the_figures_are_lost(self, stdout):
        world = World()
        pending = verify(world)
        world.commands.finish("command-1", stdout=stdout)
        found = verify(world, pending=pending)
        assert (found.finished, found.verdict) == (True, "unmeasured")
        assert "so p99 was within the limit" in str(found.reason)
