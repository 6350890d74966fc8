"""State Report Fleet."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rewarm.contracts.fleets import ReportFleetEvent
from rewarm.contracts.values import Failure
from rewarm.domain.fleets import FleetVolume
from rewarm.steps.fleet.progress import keep_volumes
from rewarm.steps.fleet.report_fleet import TOO_MANY_FAILED, ReportFleetPorts, report_fleet
from rewarm.steps.record.bucket import fleet_request_key
from tests.support.builders import NOW, World, at
from tests.support.wired import wired

FLEET_ID = "fleet-0123456789abcdef"


def world(**statuses):
    world = World()
    world.artifacts.put_json(fleet_request_key(FLEET_ID), {"notify": {"slack": False}})
    volumes = [FleetVolume({"snapshot": {"snapshotId": "snap-1"}}, name, 0) for name in statuses]
    keep_volumes(FLEET_ID, 1, volumes, world.artifacts)
    for name, status in statuses.items():
        world.table.put_new(name, {"status": status, "failure": {"cause": f"{name} could not"}})
    world.table.put_new(FLEET_ID, {"status": "fleet-restoring"})
    return world


def report(world, failure=None, draw=lambda account: f"<p>{account['verdict']}</p>"):
    event = ReportFleetEvent(restore_id=FLEET_ID, now=at(20), run=1, started_at=NOW, failure=failure)
    return report_fleet(event, wired(ReportFleetPorts, world, draw=draw))


def test_a_fleet_whose_volumes_are_all_ready_is_ready():
    one = world(first="ready", second="ready")
    result = report(one)
    assert (result.verdict, result.ready, result.failed) == ("ready", 2, [])
    assert not result.notify.slack
    account = one.artifacts.objects[f"restores/{FLEET_ID}/report.json"]
    assert account["progress"]["counts"] == {"ready": 2}
    assert one.artifacts.pages[f"restores/{FLEET_ID}/report.html"] == "<p>ready</p>"


def test_names_what_failed_and_why():
    result = report(world(first="ready", second="failed"))
    assert (result.verdict, result.ready) == ("incomplete", 1)
    assert [(one.restore_id, one.cause) for one in result.failed] == [("second", "second could not")]


@pytest.mark.parametrize(
    ("error", "verdict"), [(TOO_MANY_FAILED, "incomplete"), ("States.ItemReaderFailed", "failed")]
)
def test_what_ended_it_early_decides_the_verdict(error, verdict):
    result = report(world(first="failed"), Failure(error=error, cause="because"))
    assert (result.verdict, result.cause) == (verdict, "because")


def test_a_fleet_that_was_cancelled_and_is_not_ready_was_cancelled():
    one = world(first="ready", second="cancelled")
    one.table.request_cancel(FLEET_ID)
    assert report(one).verdict == "cancelled"


def test_a_page_that_cannot_be_drawn_is_missed_by_nothing():
    assert report(world(first="ready"), draw=lambda _: None).page_key is None


def test_a_fleet_that_never_had_volumes_failed():
    assert report(world(), Failure(error="InvalidRequestError", cause="no")).verdict == "failed"


def test_what_its_restores_have_left_is_priced_and_named_with_the_command():
    one = world(first="ready", second="failed")
    things = [
        {"thing": f"vol-{number}", "usdPerMonth": "8.00", "remove": f"delete vol-{number}"}
        for number in range(25)
    ]
    unpriced = {
        "thing": "the undo log of first",
        "usdPerMonth": None,
        "remove": "rewarm undo-log delete first",
    }
    one.table.update("first", {"left": [unpriced]})
    one.table.update("second", {"left": things})
    left = report(one).left
    assert (left.count, left.usd_per_month, len(left.things)) == (26, Decimal("200.00"), 20)
    assert (left.things[0].thing, left.things[1].remove) == ("the undo log of first", "delete vol-0")
    assert len(one.artifacts.objects[f"restores/{FLEET_ID}/report.json"]["left"]) == 26


def test_a_fleet_that_leaves_nothing_says_so():
    assert report(world(first="ready")).left.to_json() == {"count": 0, "usdPerMonth": "0", "things": []}
