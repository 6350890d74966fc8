"""The sweeper with thousands of restores in flight."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.domain.errors import ThrottledError
from rewarm.domain.model import FastSnapshotRestore
from rewarm.steps.clean_up.missing_reports import LATE_REPORTS
from tests.support.builders import NOW, SNAPSHOT_ID, ZONE, at
from tests.support.worlds.sweeping import MADE, SweepWorld

PLACE = (SNAPSHOT_ID, ZONE)
MANY = 2_000
SOME = 600
"""More than one sweep ends, each of which is slow here."""


def many(count=MANY, *, running=True):
    world = SweepWorld()
    for number in range(count):
        world.begun(f"restore-{number}", volume0=None)
        if running:
            world.ended("RUNNING", f"restore-{number}")
    return world


def test_those_that_run_cost_no_call_each():
    world = many()
    world.ended("ABORTED", "restore-1234")
    found = world.sweep()
    assert [(one.resource, one.state) for one in found] == [("restore-1234", "ended")]
    assert world.executions.calls < 10


def test_money_comes_first_and_what_is_throttled_is_no_alarm():
    world = many(running=False)
    world.executions.most_calls = 300
    world.fast_restores.states[PLACE] = FastSnapshotRestore("enabled")
    world.fast_restores.since[PLACE] = NOW
    world.table.claim_fast_snapshot_restore(*PLACE, "restore-0/0", asked_at=NOW)
    found = world.sweep()
    assert world.fast_restores.disabled == [PLACE]
    assert {one.state for one in found} == {"ended", "ending"}
    assert sum(one.state == "ended" for one in found) > 50


def test_where_the_list_is_throttled_each_is_looked_at():
    world = many()
    world.ended("ABORTED", "restore-7")

    def throttled():
        raise ThrottledError("ListExecutions: slow down")

    world.executions.names_running = throttled
    assert [one.resource for one in world.sweep()] == ["restore-7"]


def test_it_stops_in_time_and_all_get_their_turn():
    world = many(SOME, running=False)
    for number in range(60):
        world.seconds_left = 200
        before = len(world.messages.sent)
        found = world.sweep(now=at(30) + timedelta(minutes=15 * number))
        assert {one.state for one in found} <= {"ended", "ending"}
        assert len(world.messages.sent) - before <= 200
        if not world.holds.running():
            break
    assert len(world.messages.sent) == SOME
    assert number < 6


def test_boosts_stop_in_time_and_go_on_with_others():
    world = SweepWorld()
    for number in range(100):
        name, target = f"vol-{number:017x}", "gp3 iops=3000 throughputMibS=125"
        world.made(name, boost=target, restore_id=f"restore-{number}")
        boost = {"volumeId": name, "state": "boosted", "targetSettings": target}
        world.table.update_volume(f"restore-{number}", 0, {"volume": {"volumeId": name}, "boost": boost})
    firsts = set()
    for number in range(8):
        world.seconds_left = 1
        found = world.sweep(now=at(30) + timedelta(minutes=15 * number))
        assert found[1].reason == "no time is left; the next sweep begins elsewhere"
        firsts.add(found[0].resource)
    assert len(firsts) > 4


def test_what_always_fails_takes_nobodys_turn():
    world = many(SOME, running=False)
    ending = world.executions.ending

    def some_fail(restore_id):
        if int(restore_id.rpartition("-")[2]) < SOME // 2:
            raise ThrottledError("slow down")
        return ending(restore_id)

    world.executions.ending = some_fail
    for number in range(12):
        world.seconds_left = 400
        world.sweep(now=at(30) + timedelta(minutes=15 * number))
    assert len(world.messages.sent) == SOME // 2


CHANGED_ITEMS = {
    "startedAt": "yesterday",
    "request": {"volumeType": 3},
    "volume0": "vol-1",
    "plan0": ["x"],
    "cleanUp0": "done",
    "volumeCount": "many",
    "status": {"is": "new"},
}


@pytest.mark.parametrize("attribute", CHANGED_ITEMS)
def test_an_item_that_somebody_changed_keeps_no_other_restore_from_its_end(attribute):
    world = SweepWorld()
    for name in ("restore-0", "restore-1", "restore-2"):
        world.begun(name, volume0={**MADE, "volumeId": f"vol-{name[-1] * 17}"})
        world.made(f"vol-{name[-1] * 17}", restore_id=name)
        world.ended("ABORTED", name)
    world.table.records["restore-1"][attribute] = CHANGED_ITEMS[attribute]
    found = [one for one in world.sweep() if one.sweep != LATE_REPORTS]
    assert {"restore-0", "restore-2"} <= {one.resource for one in found if one.state == "ended"}
    assert {"vol-" + "0" * 17, "vol-" + "2" * 17}.isdisjoint(world.volumes.volumes)
    changed = [one for one in found if one.resource == "restore-1"]
    assert changed
    assert all(one.reason for one in changed if one.state == "left")
