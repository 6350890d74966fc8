"""`rewarm fleet` on an API that answers by the contract."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest

from rewarm_cli.commands import fleets
from rewarm_cli.problems import DONE, NOT_FOUND, NOT_READY, USAGE
from tests.support.commands.stack_api import FLEET_PLAN

REQUEST = """\
source:
  items:
    - source: {snapshotId: snap-1}
target: {instanceId: i-1}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(REQUEST, encoding="utf-8")
    return str(path)


def test_a_file_starts_a_fleet_once(rewarm, stack, file):
    ended = rewarm("fleet", "start", "-f", file, "--yes", "--idempotency-key", "k")
    assert ended.status == DONE
    assert "rewarm fleet status fleet-1" in ended.out
    assert stack.fleets["fleet-1"]["request"]["target"] == {"instanceId": "i-1"}
    assert stack.calls[-1].headers["idempotency-key"] == "k"
    assert rewarm("fleet", "start").status == USAGE


def test_shows_how_far_it_is_and_what_failed(rewarm, stack, file):
    rewarm("fleet", "start", "-f", file, "--yes")
    failed = {"restoreId": "r2", "index": 1, "snapshot": {"snapshotId": "snap-2"}, "state": "failed"}
    slow = {"restoreId": "r1", "status": "restoring", "startedAt": "2026-11-22T10:00:00Z"}
    stack.fleets["fleet-1"]["progress"] = {
        "volumeCount": 3,
        "counts": {"failed": 1, "ready": 1, "restoring": 1},
        "eta": "2026-11-22T11:00:00Z",
        "slowest": [slow],
        "failed": [{**failed, "cause": "no capacity"}],
    }
    said = rewarm("fleet", "status", "fleet-1").out
    assert "3 volumes by 1 restores: 1 failed, 1 ready, 1 restoring" in said
    assert "r1 is restoring" in said
    assert "r2 volume 1 (snap-2) failed: no capacity" in said
    assert json.loads(rewarm("fleet", "status", "fleet-1", "-o", "json").out)["run"] == 1


@pytest.mark.parametrize(("end", "status"), [("ready", DONE), ("incomplete", NOT_READY)])
def test_who_waits_gets_an_exit_status(rewarm, stack, file, monkeypatch, end, status):
    rewarm("fleet", "start", "-f", file, "--yes")
    slept = SimpleNamespace(
        sleep=lambda _: stack.fleets["fleet-1"].update(status=end), monotonic=time.monotonic
    )
    monkeypatch.setattr(fleets, "time", slept)
    assert rewarm("fleet", "status", "fleet-1", "--wait").status == status


def test_what_it_has_left_has_its_price_and_the_command_that_ends_it(rewarm, stack, file):
    rewarm("fleet", "start", "-f", file, "--yes")
    (fleet_id,) = stack.fleets
    thing = {"thing": "vol-1", "usdPerMonth": "8.00", "remove": "aws ec2 delete-volume"}
    stack.fleets[fleet_id]["left"] = {"count": 3, "usdPerMonth": "24.00", "things": [thing]}
    out = rewarm("fleet", "status", fleet_id).out
    assert "Still costs money: vol-1, $8.00 a month. To end it: aws ec2 delete-volume\n" in out
    assert f"And 2 other things: rewarm fleet report {fleet_id}\n" in out
    assert "Together they cost $24.00 a month" in out
    stack.fleets[fleet_id]["left"] = {"count": 0, "usdPerMonth": "0", "things": []}
    assert "It has left nothing that costs money" in rewarm("fleet", "status", fleet_id).out


def test_list_cancel_and_redrive(rewarm, stack, file):
    rewarm("fleet", "start", "-f", file, "--yes")
    rewarm("fleet", "start", "-f", file, "--yes")
    listed = json.loads(rewarm("fleet", "list", "-o", "json").out)["fleets"]
    assert [one["fleetId"] for one in listed] == ["fleet-2", "fleet-1"]
    assert "fleet-2" in rewarm("fleet", "list").out
    assert rewarm("fleet", "cancel", "fleet-1", "--yes").status == DONE
    assert stack.fleets["fleet-1"]["status"] == "cancelled"
    assert json.loads(rewarm("fleet", "redrive", "fleet-1", "--yes", "-o", "json").out)["run"] == 2


def test_the_report_is_there_when_the_fleet_has_ended(rewarm, stack, file):
    rewarm("fleet", "start", "-f", file, "--yes")
    assert rewarm("fleet", "report", "fleet-1").status == NOT_FOUND
    stack.fleets["fleet-1"]["reportUrl"] = "https://pages.example/report.html"
    assert rewarm("fleet", "report", "fleet-1", "--url").out.strip() == "https://pages.example/report.html"
    assert rewarm("fleet", "status", "fleet-9").status == NOT_FOUND


@pytest.mark.parametrize("has_browser", [True, False])
def test_the_link_is_printed_where_no_browser_takes_it(rewarm, stack, file, monkeypatch, has_browser):
    monkeypatch.setattr("webbrowser.open", lambda _link: has_browser)
    rewarm("fleet", "start", "-f", file, "--yes")
    stack.fleets["fleet-1"]["reportUrl"] = "https://pages.example/report.html"
    said = rewarm("fleet", "report", "fleet-1").out.strip()
    assert said == ("" if has_browser else "https://pages.example/report.html")


def test_shows_what_a_fleet_would_cost_before_it_is_started(rewarm, stack, file):
    said = rewarm("fleet", "plan", "-f", file).out
    assert "4 volumes by 3 restores" in said
    assert "2 by provisioned-rate, for $0.50, at full speed by 2026-11-22 10:50" in said
    assert "1 plan on their own: EC2 shows no snap-9" in said
    assert "after the deadline, for $0.5" in said
    assert json.loads(rewarm("fleet", "plan", "-f", file, "-o", "json").out)["restoreCount"] == 3
    assert stack.fleets == {}


def test_a_plan_that_takes_longer_is_waited_for(rewarm, stack, file, monkeypatch):
    begun = {"planId": "fleet-plan-1", "status": "planning"}
    made = iter([(202, begun), (200, FLEET_PLAN)])
    stack.answers["POST", "/fleets/plans"] = 202, begun

    def later(_seconds: float) -> None:
        stack.answers["GET", "/fleets/plans/fleet-plan-1"] = next(made)

    # Not time.sleep itself, which other threads of this process call as well.
    monkeypatch.setattr(fleets, "time", SimpleNamespace(sleep=later))
    assert json.loads(rewarm("fleet", "plan", "-f", file, "-o", "json").out)["restoreCount"] == 3
    assert list(made) == []


def test_a_fleet_that_waits_is_approved_as_a_restore_is(rewarm, stack, file):
    rewarm("fleet", "start", "-f", file, "--yes")
    asked = {"askedAt": "2026-11-22T10:00:00Z", "until": "2026-11-22T11:00:00Z", "usd": "3.2"}
    stack.fleets["fleet-1"] |= {
        "status": "awaiting-approval",
        "approval": {**asked, "reason": "It costs more than $1.00."},
        "plan": {
            "why": "3 volumes: 3 x provisioned-rate.",
            "totalCostUsd": "3.2",
            "readyP90At": "2026-11-22T10:50:00Z",
            "deadlineMissed": False,
        },
    }
    answer = {"restoreId": "fleet-1", "approval": {"by": "alice"}}
    stack.answers["POST", "/restores/fleet-1/approve"] = 202, answer
    said = rewarm("approve", "fleet-1", "--yes").out
    assert "3 volumes: 3 x provisioned-rate." in said
    assert "then the fleet fails, and nothing was made" in said
    assert "rewarm status fleet-1 --watch" in said
    assert stack.calls[-1].query["askedAt"] == "2026-11-22T10:00:00Z"
    assert "Planned: $3.20, at full speed by" in rewarm("fleet", "status", "fleet-1").out
