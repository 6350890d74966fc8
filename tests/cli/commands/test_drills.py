"""`rewarm drill` on an API that answers by the contract."""

from __future__ import annotations

import json

import pytest

from rewarm_cli.problems import DONE, NOT_FOUND, NOT_READY

NAME = "rewarm-orders"
PASSED = {
    "restoreId": "restore-1", "runbook": NAME, "at": "2026-11-20T03:00:00Z", "outcome": "passed",
    "recoverySeconds": 450, "recoveryObjectiveSeconds": 600, "pointSeconds": 86_400,
    "pointObjectiveSeconds": None,
}  # fmt: skip
FAILED = {
    **PASSED,
    "restoreId": "restore-2",
    "at": "2026-11-21T03:00:00Z",
    "outcome": "failed",
    "recoverySeconds": None,
}


@pytest.fixture
def drilled(stack):
    stack.answers["GET", f"/runbooks/{NAME}"] = (
        200,
        {"alarmName": NAME, "request": {}, "drills": [PASSED, FAILED]},
    )
    return stack


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ([], {"drill": {}}),
        (["--instance", "i-1", "--recovery-time", "60"],
         {"drill": {"recoveryTimeMinutes": 60}, "target": {"instanceId": "i-1"}}),
        (["--zone", "us-east-1a", "--recovery-point", "1d"],
         {"drill": {"recoveryPointMinutes": 1440}, "target": {"availabilityZone": "us-east-1a"}}),
    ],
)  # fmt: skip
def test_start_sends_a_restore_of_the_runbook_as_a_drill(rewarm, stack, options, sent):
    shown = rewarm("drill", "start", NAME, "--yes", *options)
    assert shown.status == DONE
    (call,) = [call for call in stack.calls if call.method == "POST"]
    assert (call.path, call.body) == ("/restores", {"source": {"alarm": NAME}, **sent})


@pytest.mark.parametrize(("outcome", "status"), [("passed", DONE), ("late", NOT_READY)])
def test_a_drill_that_missed_an_objective_ends_as_one_that_is_not_ready(rewarm, stack, outcome, status):
    stack.put(
        {"restoreId": "restore-1", "status": "ready", "startedAt": "2026-11-20T03:00:00Z", "volumes": []}
    )
    stack.answers["POST", "/restores"] = 202, {"restoreId": "restore-1", "status": "accepted"}
    done = {**PASSED, "restoreId": "restore-1", "outcome": outcome}
    stack.answers["GET", f"/runbooks/{NAME}"] = 200, {"alarmName": NAME, "request": {}, "drills": [done]}
    shown = rewarm("drill", "start", NAME, "--yes", "--wait")
    assert shown.status == status
    assert ("missed an objective" in shown.err) == (outcome == "late")


def test_list_shows_the_newest_first_against_its_objectives(rewarm, drilled):
    lines = rewarm("drill", "list", NAME).out.splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == ["restore-2", "restore-1"]
    assert "failed" in lines[1]
    assert "- of 10 min" in lines[1]
    assert "8 min of 10 min" in lines[2]
    assert json.loads(rewarm("drill", "list", NAME, "-o", "json").out) == {"drills": [PASSED, FAILED]}


def test_report_is_that_of_the_latest_drill(rewarm, drilled):
    drilled.answers["GET", "/restores/restore-2"] = 200, {
        "restoreId": "restore-2", "status": "failed", "reportUrl": "https://pages/2",
    }  # fmt: skip
    shown = rewarm("drill", "report", NAME, "--url")
    assert (shown.status, shown.out.strip()) == (DONE, "https://pages/2")


def test_a_runbook_without_drills_has_no_report(rewarm, stack):
    stack.answers["GET", f"/runbooks/{NAME}"] = 200, {"alarmName": NAME, "request": {}, "drills": []}
    shown = rewarm("drill", "report", NAME)
    assert shown.status == NOT_FOUND
    assert "was not drilled yet" in shown.err


def test_the_recovery_time_of_an_application_is_marked(rewarm, drilled):
    drilled.answers["GET", f"/runbooks/{NAME}"][1]["drills"] = [{**PASSED, "recoveryOf": "application"}]
    assert "(application)" in rewarm("drill", "list", NAME).out
