"""State Dispatch Warmer."""

from __future__ import annotations

import pytest

from rewarm.contracts.values import ChangedBlocks
from rewarm.domain.errors import (
    AgentUnreachableError,
    InstanceAwayError,
    RestoreCancelledError,
    ServiceUnavailableError,
    TargetNotUsableError,
)
from rewarm.domain.model import Extent, ReadActivity
from rewarm.steps.warm.dispatch_warmer import DispatchWarmerEvent, DispatchWarmerPorts, dispatch_warmer
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SOURCE_VOLUME_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    instance,
    request,
)
from tests.support.fakes import FakeArtifacts
from tests.support.wired import wired
from tests.support.worlds.recordings import keep


def dispatch(
    world, *, volume=None, volume_id=VOLUME_ID, warm_ups=0, measured_before=False, phase="warm", **changes
):
    event = DispatchWarmerEvent(
        restore_id=RESTORE_ID,
        now=NOW,
        request=request(**changes),
        volume=volume or assignment(),
        volume_id=volume_id,
        warm_ups=warm_ups,
        measured_before=measured_before,
        phase=phase,
    )
    return dispatch_warmer(
        event,
        wired(DispatchWarmerPorts, world),
    )


class TestDispatchWarmer:
    def test_sends_the_agent_with_everything_it_needs(self):
        world = World()
        result = dispatch(world)
        ((command_id, instance_id, parameters),) = world.commands.sent
        assert (result.command_id, result.instance_id, instance_id) == (command_id, INSTANCE_ID, INSTANCE_ID)
        assert parameters["action"] == "warm"
        assert parameters["volumeId"] == VOLUME_ID
        assert parameters["agentUrl"].startswith("https://artifacts.example/get/agent/warmer-linux-arm64")
        assert parameters["agentSha256"] == "b" * 64
        assert f"restores/{RESTORE_ID}/0/blocks.map" in parameters["mapUrl"]
        assert result.progress_key in parameters["progressUrl"]
        assert parameters["arguments"] == "--depth auto"
        assert parameters["firstUrl"] == "none"

    def test_the_agent_measures_the_cold_volume_first(self):
        world = World()
        dispatch(world, verify={"maxP99Ms": 12.5})
        assert world.commands.sent[0][2]["coldArguments"] == "--samples 24 --max-p99-ms 12.5"

    def test_no_more_is_measured_before_than_after(self):
        world = World()
        dispatch(world, verify={"samples": 8})
        assert world.commands.sent[0][2]["coldArguments"] == "--samples 8 --max-p99-ms 20"

    @pytest.mark.parametrize(
        "changes",
        [{"verify": {"samples": 0}}, {"measured_before": True}, {"warm_ups": 1}],
        ids=["nothing is to be measured", "it was measured before", "it is warm, and looked slow"],
    )
    def test_what_is_not_cold_or_not_wanted_is_not_measured(self, changes):
        world = World()
        dispatch(world, **changes)
        assert world.commands.sent[0][2]["coldArguments"] == ""

    def test_passes_the_users_limits_on(self):
        world = World()
        dispatch(world, warmUp={"maxMibPerSecond": 80, "depth": 32})
        assert world.commands.sent[0][2]["arguments"] == "--depth 32 --max-mib-s 80"

    def test_passes_scope_and_politeness_on(self):
        world = World()
        dispatch(world, warmUp={"scope": "used", "politeLatencyMs": 12.5})
        parameters = world.commands.sent[0][2]
        assert parameters["arguments"] == "--depth auto --scope used --polite-latency-ms 12.5"
        assert "blocks.map" in parameters["mapUrl"]

    @pytest.mark.parametrize(
        ("order", "flag"),
        [(["lists", "changed", "recent", "lists"], "lists,recent"), ([], "none"), (["changed"], "none")],
    )
    def test_passes_on_what_the_agent_is_to_look_for(self, order, flag):
        world = World()
        dispatch(world, warmUp={"order": order})
        assert world.commands.sent[0][2]["arguments"] == f"--depth auto --order {flag}"

    def test_the_whole_volume_needs_no_map(self):
        world = World()
        dispatch(world, warmUp={"scope": "whole"})
        parameters = world.commands.sent[0][2]
        assert (parameters["arguments"], parameters["mapUrl"]) == ("--depth auto --scope whole", "none")
        assert parameters["executionTimeout"] == str(100 * 1024 // 5 + 600)

    def test_lays_what_comes_first_beside_the_map_in_its_order(self):
        world = World()
        extents = [{"startBlock": 70, "blockCount": 2}, {"startBlock": 3, "blockCount": 1}]
        dispatch(world, warmUp={"first": extents})
        key = f"restores/{RESTORE_ID}/0/first.map"
        assert world.artifacts.maps[key] == [Extent(70, 2), Extent(3, 1)]
        parameters = world.commands.sent[0][2]
        assert f"get/{key}?" in parameters["firstUrl"]
        assert parameters["arguments"] == "--depth auto"

    def test_reads_the_hot_set_after_what_the_request_names(self):
        world = World()
        keep(world.artifacts, [900, 901, 12])
        volume, extents = assignment(lineage=SOURCE_VOLUME_ID), [{"startBlock": 70, "blockCount": 2}]
        result = dispatch(world, volume=volume, warmUp={"first": extents, "politeLatencyMs": 5})
        found = world.artifacts.maps[f"restores/{RESTORE_ID}/0/first.map"]
        assert found == [Extent(70, 2), Extent(900, 2), Extent(12, 1)]
        assert result.hot_blocks == 3
        arguments = world.commands.sent[0][2]["arguments"]
        assert arguments == "--depth auto --polite-latency-ms 5 --first-unlimited"

    def test_the_agent_takes_a_tenth_of_the_written_blocks_for_the_hot_set(self):
        world = World()
        keep(world.artifacts, range(900, 950))
        extents = [{"startBlock": 70, "blockCount": 2}, {"startBlock": 80, "blockCount": 1}]
        volume = assignment(lineage=SOURCE_VOLUME_ID, written_blocks=400)
        result = dispatch(world, volume=volume, warmUp={"first": extents})
        found = world.artifacts.maps[f"restores/{RESTORE_ID}/0/first.map"]
        assert found == [Extent(70, 2), Extent(80, 1), Extent(900, 50)], "40 of which are written"
        assert result.hot_blocks == 40
        assert world.commands.sent[0][2]["arguments"] == "--depth auto --first-most 43"

    def test_reads_what_has_changed_first_where_nobody_knows_better_and_politely(self):
        world = World()
        changed = ChangedBlocks(since_snapshot_id="snap-0bbbbbbbbbbbbbbbb", blocks=3)
        volume = assignment(lineage=SOURCE_VOLUME_ID, changed=changed)
        assert dispatch(world, volume=volume, warmUp={"politeLatencyMs": 5}).hot_blocks == 0
        assert world.artifacts.maps == {}, "Select Snapshot wrote it"
        parameters = world.commands.sent[0][2]
        assert f"get/restores/{RESTORE_ID}/0/first.map?" in parameters["firstUrl"]
        assert parameters["arguments"] == "--depth auto --polite-latency-ms 5"

    def test_reads_no_hot_set_where_it_is_switched_off(self):
        world = World()
        keep(world.artifacts, [900])
        result = dispatch(world, volume=assignment(lineage=SOURCE_VOLUME_ID), warmUp={"hot": "off"})
        assert (world.artifacts.maps, result.hot_blocks) == ({}, 0)

    def test_warms_up_without_an_order_where_the_bucket_takes_none(self):
        class Full(FakeArtifacts):
            def put_map(self, key, parts):
                raise ServiceUnavailableError(f"no room for {key}")

        world = World(artifacts=Full())
        keep(world.artifacts, [900])
        volume = assignment(lineage=SOURCE_VOLUME_ID)
        assert dispatch(world, volume=volume).hot_blocks == 0
        assert world.commands.sent[0][2]["firstUrl"] == "none"
        with pytest.raises(ServiceUnavailableError):
            dispatch(world, volume=volume, warm_ups=1, warmUp={"first": [{"startBlock": 7, "blockCount": 1}]})

    def test_nobody_knows_how_long_a_polite_agent_takes(self):
        world = World()
        dispatch(world, warmUp={"politeLatencyMs": 5})
        assert world.commands.sent[0][2]["executionTimeout"] == "172800"

    def test_gives_it_time_for_the_slowest_volume(self):
        world = World()
        dispatch(world)
        assert world.commands.sent[0][2]["executionTimeout"] == str(40 * 1024 // 5 + 600)

    def test_never_asks_for_more_than_48_hours(self):
        world = World()
        dispatch(world, volume=assignment(written_blocks=64 * 1024 * 1024 * 2))
        assert world.commands.sent[0][2]["executionTimeout"] == "172800"

    def test_sends_one_command_however_often_it_is_retried(self):
        world = World()
        first, second = dispatch(world), dispatch(world)
        assert first == second
        assert len(world.commands.sent) == 1

    def test_another_volume_gets_a_command_of_its_own(self):
        world = World()
        dispatch(world)
        dispatch(world, volume_id="vol-00000000000000002")
        assert len(world.commands.sent) == 2

    def test_a_second_warm_up_ends_the_first_and_has_its_own_progress(self):
        world = World()
        first = dispatch(world)
        world.metrics.activity = [ReadActivity(at(-1), 90_000.0, 0.0, 0.0)]
        second, retried = dispatch(world, warm_ups=1), dispatch(world, warm_ups=1)
        assert world.commands.cancelled == [first.command_id]
        assert (second, len(world.commands.sent)) == (retried, 2)
        assert second.progress_key == f"restores/{RESTORE_ID}/0/progress-1.json" != first.progress_key
        assert second.read_ops_before == first.read_ops_before == 0.0

    def test_a_volume_that_no_agent_has_read_yet_is_warmed_up_too(self):
        world = World()
        assert dispatch(world, warm_ups=1).command_id == "command-1"
        assert world.commands.cancelled == []

    def test_notes_how_much_was_read_before(self):
        world = World()
        world.metrics.activity = [
            ReadActivity(at(-minute), ops, 0.0, 0.0) for minute, ops in ((3, 100.0), (2, 120.0), (1, 5_000.0))
        ]
        assert dispatch(world).read_ops_before == 120.0

    def test_a_new_volume_was_not_read_before(self):
        assert dispatch(World()).read_ops_before == 0.0

    @pytest.mark.parametrize(
        ("state", "error", "says"),
        [
            ("running", InstanceAwayError, "not online in Systems Manager"),
            ("stopped", InstanceAwayError, "stopped"),
            ("terminated", AgentUnreachableError, "terminated"),
        ],
    )
    def test_tells_whether_an_instance_that_cannot_be_reached_may_come_back(self, state, error, says):
        world = World()
        world.instances.add(instance(ssm_online=False, state=state))
        with pytest.raises(error, match=f"{INSTANCE_ID} is {says}$") as raised:
            dispatch(world)
        assert type(raised.value) is error

    def test_tells_that_there_is_no_agent_for_the_instance(self):
        with pytest.raises(TargetNotUsableError, match="no agent for windows"):
            dispatch(World(), volume=assignment(platform="windows"))

    def test_sends_nothing_once_the_restore_is_cancelled(self):
        world = World()
        world.table.put_new(RESTORE_ID, {})
        world.table.request_cancel(RESTORE_ID)
        with pytest.raises(RestoreCancelledError):
            dispatch(world)
        assert world.commands.sent == []
