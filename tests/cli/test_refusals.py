"""Refusals in words of restores: what is wrong, and what to type instead."""

from __future__ import annotations

import json
import sys

import pytest

from rewarm_cli.main import run
from rewarm_cli.problems import DONE, FAILED, REFUSED, USAGE
from tests.support.commands.stack_api import RefusedError

TO = ("--volume", "vol-0123456789abcdef0", "--instance", "i-0123456789abcdef0")
CANCELLED = {"event": "cancel-requested", "at": "2026-11-22T10:00:00Z", "title": "Cancelled by alice"}


def refusing(stack, status, name, detail, *errors):
    def refuse(_call):
        raise RefusedError(status, name, detail, *errors)

    stack.before = refuse


@pytest.mark.parametrize(
    ("name", "todo"),
    [
        ("ACCESS_DENIED", "execute-api:Invoke"),
        ("INVALID_SIGNATURE", "Check the secret access key"),
        ("EXPIRED_TOKEN", "log in again"),
        ("DEFAULT_4XX", "Check the access key"),
        ("MISSING_AUTHENTICATION_TOKEN", "with /v1 at its end"),
    ],
)
def test_who_is_not_let_in_reads_what_to_check(rewarm, stack, name, todo):
    refusing(stack, 403, name, "no")
    shown = rewarm("list")
    assert (shown.status, todo in shown.err) == (REFUSED, True)


def test_an_address_without_its_stage_is_said_to_be_none(rewarm, stack):
    stack.answers["GET", "/restores"] = 403, {"message": "Forbidden"}
    said = rewarm("list").err
    assert "GET /restores answered 403 Forbidden" in said
    assert "with /v1 at its end" in said
    assert "execute-api" not in said


def test_an_answer_of_another_program_is_a_failure_and_no_traceback(rewarm, stack):
    stack.answers["GET", "/restores"] = 200, "<html>" + 5_000 * "x"
    shown = rewarm("list")
    assert shown.status == FAILED
    assert shown.err.startswith("Error: GET /restores answered 200 <html>")
    assert len(shown.err) < 400


def test_a_target_that_is_missing_is_said_by_the_options(rewarm, stack):
    fault = {"field": "target", "found": None, "allowed": None, "message": "is missing"}
    refusing(stack, 400, "InvalidRequestError", "target: is missing", fault)
    assert "target: is missing: say where to, with --instance or --zone" in rewarm("plan", *TO[:2]).err


@pytest.mark.parametrize(("given", "meant"), [("--json", "-o json"), ("--yaml", "-o yaml")])
def test_options_of_other_programs_name_ours(capsys, given, meant):
    assert run(["list", given]) == USAGE
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err


def test_bytes_that_are_no_text_are_refused(capsys):
    assert run(["status", "\udcff"]) == USAGE
    assert "found '\\udcff', which is no UTF-8" in capsys.readouterr().err


@pytest.fixture
def own_depth():
    """Python's own limit of recursion: jsonata, which a worker of these tests imports, raises it tenfold."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("own_depth")
@pytest.mark.parametrize("value", ["[" * 5_000, "!!int x", "0b_", "!!set {a}", ".nan", "&a [*a]", "{[1]: 2}"])
def test_a_value_that_json_has_not_is_refused(rewarm, stack, value):
    shown = rewarm("plan", *TO, "--set", f"warmUp={value}")
    assert (shown.status, stack.calls) == (USAGE, [])
    assert "--set" in shown.err


def test_what_is_no_id_is_refused_before_anything_is_sent(rewarm, stack):
    for words in (("status", ""), ("cancel", "a b"), ("fleet", "status", "/"), ("volume", "get", "vol 1")):
        shown = rewarm(*words)
        assert (shown.status, stack.calls) == (USAGE, [])
        assert "an id such as restore-0123456789abcdef is allowed" in shown.err
    assert "the name of an alarm" in rewarm("runbook", "get", "").err


class TestFleets:
    @pytest.fixture(autouse=True)
    def fleet(self, stack):
        progress = {"volumeCount": 2, "counts": {"ready": 2}, "eta": None, "slowest": [], "failed": []}
        stack.fleets["fleet-1"] = {
            "fleetId": "fleet-1", "status": "ready", "startedAt": "2026-11-22T10:00:00Z", "run": 1,
            "restoreCount": 1, "progress": progress, "reportUrl": "https://example.com", "events": [],
        }  # fmt: skip

    def test_a_fleet_s_id_works_where_a_restore_s_does(self, rewarm):
        assert "fleet-1 is ready" in rewarm("status", "fleet-1").out
        assert "fleet-1 is ready" in rewarm("status", "fleet-1", "--wait").out
        assert rewarm("report", "fleet-1", "--url").out == "https://example.com\n"
        assert "fleet-1 ends as cancelled" in rewarm("cancel", "fleet-1", "--yes").out

    def test_watching_shows_its_messages_and_states_once_each(self, rewarm, stack):
        stack.fleets["fleet-1"]["events"] = [
            {"event": "ready", "at": "2026-11-22T10:05:00Z", "title": "done"}
        ]
        said = rewarm("fleet", "status", "fleet-1", "--watch").out
        assert said.startswith("2026-11-22 10:05:00 UTC  done\nready: 2 ready\nfleet-1 is ready")

    def test_a_fleet_that_was_cancelled_already_says_when(self, rewarm, stack):
        stack.fleets["fleet-1"]["events"] = [CANCELLED]
        assert (
            rewarm("cancel", "fleet-1", "--yes").out
            == "fleet-1 was cancelled already at 2026-11-22 10:00 UTC\n"
        )


def test_a_restore_that_was_cancelled_already_says_when_and_by_whom(rewarm, stack):
    stack.put({"restoreId": "restore-1", "status": "restoring", "volumes": [], "events": [CANCELLED],
               "cancelledBy": {"kind": "iam", "name": "alice"}})  # fmt: skip
    shown = rewarm("cancel", "restore-1", "--yes")
    assert shown.status == DONE
    assert shown.out == "restore-1 was cancelled already at 2026-11-22 10:00 UTC, by alice\n"


def test_status_without_an_id_shows_what_runs(rewarm, stack):
    assert "Nothing runs." in rewarm("status").out
    for number, status in enumerate(("ready", "initializing", "planning"), start=1):
        stack.put({"restoreId": f"restore-{number}", "status": status, "volumes": [],
                   "startedAt": f"2026-11-22T10:0{number}:00Z"})  # fmt: skip
    stack.fleets["fleet-1"] = {"fleetId": "fleet-1", "status": "restoring"}
    lines = rewarm("status").out.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "restore-3", "restore-2", "id", "fleet-1"]
    found = json.loads(rewarm("status", "-o", "json").out)
    assert [one["restoreId"] for one in found["restores"]] == ["restore-3", "restore-2"]
    assert rewarm("status", "--watch").status == USAGE


def test_a_part_that_the_stack_was_deployed_without_is_named_with_its_parameter(rewarm, stack):
    said = "this stack was deployed without rewinds and direct writes; deploy it with Rewinds=yes"
    refusing(stack, 422, "PartLeftOutError", said)
    shown = rewarm("undo-log", "list")
    assert shown.status == REFUSED
    assert " ".join(shown.err.split()).count(said) == 1


def test_a_calibration_of_a_stack_without_its_document_names_the_parameter(account, stack, rewarm):
    stack.answers["GET", "/calibration"] = 200, {"stack": "rewarm", "leases": []}
    account.answers |= {"DescribeSnapshots": {"Snapshots": []}, "DescribeVolumes": {"Volumes": []}}
    shown = rewarm("calibrate", "--instance", "i-0123456789abcdef0", "--yes")
    assert shown.status == FAILED
    assert "deploy it with Calibration=yes" in " ".join(shown.err.split())
