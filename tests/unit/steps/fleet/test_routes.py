"""The routes of fleets."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import (
    AccessDeniedError,
    FleetBusyError,
    FleetNotFoundError,
    RestoreEndedError,
    ServiceUnavailableError,
)
from rewarm.domain.fleets import FleetVolume
from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.steps.fleet.progress import keep_volumes
from rewarm.steps.fleet.routes import (
    FleetPorts,
    begin_plan,
    cancel_fleet,
    fleet_id_of,
    get_fleet,
    get_plan,
    redrive_fleet,
    start_fleet,
)
from tests.support.builders import ALICE, BOB, NOW, SNAPSHOT_ID, ZONE, World, at
from tests.support.fakes import FakeFleets
from tests.support.wired import wired

FLEET_ID = "fleet-0123456789abcdef"
BODY = {"source": {"items": [{"source": {"snapshotId": SNAPSHOT_ID}, "target": {"availabilityZone": ZONE}}]}}


class Fleets:
    def __init__(self, status=None, **restores):
        self.world, self.fleets = World(), FakeFleets()
        self.ports = wired(FleetPorts, self.world, fleets=self.fleets)
        if status is not None:
            start_fleet(BODY, fleet_id=FLEET_ID, by=ALICE, now=NOW, ports=self.ports)
            self.world.table.update(FLEET_ID, {"status": f"fleet-{status}"})
        for name, state in restores.items():
            self.world.table.put_new(name, {"status": state, "startedAt": "2026-11-21T03:00:00Z"})
        volumes = [FleetVolume({"snapshot": {"snapshotId": "snap-1"}}, name, 0) for name in restores]
        keep_volumes(FLEET_ID, 1, volumes, self.world.artifacts)

    def shown(self):
        return get_fleet(FLEET_ID, now=at(10), ports=self.ports)


def test_a_fleet_begins_with_its_id_alone():
    one = Fleets()
    answer = start_fleet(BODY, fleet_id=FLEET_ID, by=ALICE, now=NOW, ports=one.ports)
    assert (answer["fleetId"], answer["status"], answer["run"]) == (FLEET_ID, "accepted", 1)
    assert one.fleets.started == {FLEET_ID: {"fleetId": FLEET_ID, "run": 1}}
    assert one.shown()["status"] == "accepted"


def test_the_same_call_starts_one_fleet_and_none_that_is_over():
    one = Fleets("ready")
    one.fleets.started.clear()
    start_fleet(BODY, fleet_id=FLEET_ID, by=ALICE, now=NOW, ports=one.ports)
    assert one.fleets.started == {}
    call = {"key": "a", "body": BODY}
    assert fleet_id_of(call) == fleet_id_of(dict(call)) != fleet_id_of({**call, "key": "b"})


def test_a_start_that_is_refused_is_noted_and_one_without_an_answer_is_not():
    for error, status in ((AccessDeniedError("no"), "failed"), (ServiceUnavailableError("?"), "accepted")):
        one = Fleets()
        one.fleets.failure = error
        with pytest.raises(type(error)):
            start_fleet(BODY, fleet_id=FLEET_ID, by=ALICE, now=NOW, ports=one.ports)
        assert one.shown()["status"] == status


def test_shows_how_far_it_is():
    shown = Fleets("restoring", first="ready", second="failed", third="restoring", fourth="restoring").shown()
    assert shown["progress"]["counts"] == {"failed": 1, "ready": 1, "restoring": 2}
    assert shown["progress"]["eta"] == "2026-11-21T03:20:00Z"
    assert [one["restoreId"] for one in shown["progress"]["slowest"]] == ["fourth", "third"]


def test_a_fleet_that_runs_is_stopped_once():
    one = Fleets("restoring", first="restoring")
    assert cancel_fleet(FLEET_ID, by=BOB, now=NOW, ports=one.ports)["cancelRequested"] is True
    assert list(one.fleets.stopped) == [one.fleets.arn_of(FLEET_ID)]
    assert one.shown()["cancelRequested"] is True


def test_who_asked_for_a_run_and_who_cancelled_it_is_shown():
    one = Fleets("restoring", first="failed")
    assert one.shown()["trigger"]["askedBy"]["name"] == ALICE.name
    cancel_fleet(FLEET_ID, by=BOB, now=NOW, ports=one.ports)
    cancel_fleet(FLEET_ID, by=ALICE, now=NOW, ports=one.ports)
    assert one.shown()["cancelledBy"]["name"] == BOB.name
    assert [news["title"] for news in one.shown()["events"]] == [f"Cancelled by {BOB.name}"]
    one.world.table.update(FLEET_ID, {"status": "fleet-cancelled"})
    redrive_fleet(FLEET_ID, by=BOB, now=at(60), ports=one.ports)
    assert (one.shown()["trigger"]["askedBy"]["name"], one.shown()["cancelledBy"]) == (BOB.name, None)
    assert one.shown()["events"][-1]["title"] == f"{BOB.name} asked for run 2"


@pytest.mark.parametrize("status", ["ready", "incomplete", "failed", "cancelled"])
def test_a_fleet_that_has_ended_cannot_be_cancelled(status):
    with pytest.raises(RestoreEndedError, match=f"it is {status}"):
        cancel_fleet(FLEET_ID, by=BOB, now=NOW, ports=Fleets(status).ports)


def test_a_redrive_is_another_execution():
    one = Fleets("incomplete", first="ready", second="failed")
    assert redrive_fleet(FLEET_ID, by=BOB, now=at(60), ports=one.ports)["run"] == 2
    assert one.fleets.started[f"{FLEET_ID}-2"] == {"fleetId": FLEET_ID, "run": 2}
    shown = one.shown()
    assert (shown["status"], shown["run"], shown["finishedAt"]) == ("accepted", 2, None)
    cancel_fleet(FLEET_ID, by=BOB, now=NOW, ports=one.ports)
    assert list(one.fleets.stopped) == [one.fleets.arn_of(f"{FLEET_ID}-2")]


@pytest.mark.parametrize(
    ("status", "restore", "error"),
    [
        ("restoring", "restoring", FleetBusyError),
        ("cancelled", "restoring", FleetBusyError),
        ("ready", "ready", RestoreEndedError),
    ],
)
def test_a_redrive_waits_until_nothing_runs_and_needs_something_to_do(status, restore, error):
    with pytest.raises(error):
        redrive_fleet(FLEET_ID, by=BOB, now=NOW, ports=Fleets(status, first=restore).ports)


@pytest.mark.parametrize("name", ["fleet-0", "restore-0123456789abcdef", ""])
def test_what_is_no_fleet_is_not_found(name):
    with pytest.raises(FleetNotFoundError):
        get_fleet(name, now=NOW, ports=Fleets("ready").ports)


PLAN_ID = "fleet-plan-0123456789abcdef"


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        ("FAILED", ServiceUnavailableError, "its execution ended without an account"),
        ("TIMED_OUT", ServiceUnavailableError, "its execution ran into its time limit"),
        ("GONE", FleetNotFoundError, "there is no plan"),
        ("SUCCEEDED", FleetNotFoundError, "there is no plan"),
    ],
)
def test_a_plan_that_never_comes_is_not_waited_for(status, error, words):
    one = Fleets()
    begun = begin_plan(BODY, plan_id=PLAN_ID, ports=one.ports)
    assert get_plan(PLAN_ID, ports=one.ports) == (begun, 202)
    (name,) = one.fleets.started
    one.fleets.ends[one.fleets.arn_of(name)] = ExecutionEnd(status)
    with pytest.raises(error, match=words):
        get_plan(PLAN_ID, ports=one.ports)
