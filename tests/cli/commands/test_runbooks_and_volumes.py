"""`rewarm runbook` and `rewarm volume` on an API that answers by the contract."""

from __future__ import annotations

import json

import pytest
import yaml

from rewarm_cli.commands import volumes
from rewarm_cli.problems import DONE, FAILED, NOT_FOUND, NOT_READY, USAGE
from tests.support.commands.stack_api import RefusedError

ALARM = "rewarm-orders database/volume 100 %"
RUNBOOK = {"source": {"volumeId": "vol-1"}, "target": {"instanceId": "i-1"}}
SUMMARY = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0.75", "deadlineMissed": False, "notes": []}


class TestRunbooks:
    def test_put_get_list_delete_by_any_alarm_s_name(self, rewarm, stack):
        assert rewarm("runbook", "put", ALARM, "--volume", "vol-1", "--instance", "i-1").status == DONE
        assert stack.runbooks == {ALARM: RUNBOOK}
        assert stack.calls[0].path == "/runbooks/rewarm-orders%20database%2Fvolume%20100%20%25"
        assert yaml.safe_load(rewarm("runbook", "get", ALARM).out) == RUNBOOK
        assert json.loads(rewarm("runbook", "list", "-o", "json").out)["runbooks"][0]["alarmName"] == ALARM
        assert rewarm("runbook", "list").out.split("\n")[1].split("  ")[0] == ALARM
        assert rewarm("runbook", "delete", ALARM, "--yes").status == DONE
        assert rewarm("runbook", "get", ALARM).status == NOT_FOUND

    def test_what_get_prints_is_a_file_for_put(self, rewarm, stack, tmp_path):
        stack.runbooks["rewarm-a"] = {**RUNBOOK, "warmUp": {"first": [], "depth": None}, "dryRun": False}
        file = tmp_path / "runbook.yaml"
        file.write_text(rewarm("runbook", "get", "rewarm-a").out, encoding="utf-8")
        rewarm("runbook", "put", "rewarm-b", "--file", str(file))
        assert stack.runbooks["rewarm-b"] == {**RUNBOOK, "dryRun": False}

    def test_without_a_request_nothing_is_put(self, rewarm, stack):
        assert rewarm("runbook", "put", "rewarm-a").status == USAGE
        assert stack.calls == []

    def test_check_plans_what_is_stored_or_what_is_in_a_file(self, rewarm, stack):
        stack.answers["POST", "/plans"] = 200, {"plans": [], "summary": SUMMARY}
        assert rewarm("runbook", "check", "rewarm-a").status == DONE
        assert rewarm("runbook", "check", "--volume", "vol-1", "--instance", "i-1").status == DONE
        assert [call.body for call in stack.calls] == [{"source": {"alarm": "rewarm-a"}}, RUNBOOK]
        assert rewarm("runbook", "check").status == USAGE

    def test_a_check_that_misses_the_deadline_says_so_to_scripts(self, rewarm, stack):
        stack.answers["POST", "/plans"] = 200, {"plans": [], "summary": {**SUMMARY, "deadlineMissed": True}}
        shown = rewarm("runbook", "check", "rewarm-a")
        assert shown.status == NOT_READY
        assert "after the deadline" in shown.out
        assert "Missing: time." in shown.out

    def test_a_check_names_what_is_missing(self, rewarm, stack):
        volume = {
            "snapshotId": "snap-1", "snapshotStartedAt": "2026-11-22T03:00:00Z", "dataBytes": 1,
            "instanceId": "i-1", "consistentSet": False,
        }  # fmt: skip
        planned = {"volume": volume, "candidates": [], "facts": {"agentAvailable": False}}
        stack.answers["POST", "/plans"] = 200, {"plans": [planned], "summary": SUMMARY}
        shown = rewarm("runbook", "check", "rewarm-a")
        assert shown.status == DONE
        assert "Missing: the agent cannot run on i-1." in shown.out
        assert "Missing: a set of snapshots taken together" in shown.out

    def test_a_test_is_a_dry_run_until_its_plan(self, rewarm, stack):
        def plan(call):
            if call.method == "GET":
                stack.put({**stack.restores["restore-1"], "status": "planned"})

        stack.before = plan
        shown = rewarm("runbook", "test", "rewarm-a")
        assert shown.status == DONE
        assert "restore-1 is planned" in shown.out
        assert stack.calls[0].body == {"source": {"alarm": "rewarm-a"}, "dryRun": True}


class TestVolumes:
    PATH = "/volumes/vol-1/performance"
    SETTINGS = {"volumeType": "gp3", "iops": 3000, "throughputMibS": 125}
    FACTS = {"volumeId": "vol-1", "performance": SETTINGS, "modification": None, "change": None,
             "slots": {"nextFreeAt": "2026-11-22T11:00:00Z", "reason": "four within 24 hours"}}  # fmt: skip

    @pytest.fixture(autouse=True)
    def no_pause(self, monkeypatch):
        monkeypatch.setattr(volumes, "PAUSE_SECONDS", 0.0)

    def test_settings_and_the_next_change(self, rewarm, stack):
        stack.answers["GET", self.PATH] = 200, self.FACTS
        shown = rewarm("volume", "get", "vol-1")
        assert "vol-1 is gp3, 3,000 IOPS, 125 MiB/s" in shown.out
        assert "next change: 2026-11-22 11:00 UTC, four within 24 hours" in shown.out

    @pytest.mark.parametrize(("end", "status"), [("changed", DONE), ("failed", FAILED)])
    def test_a_change_is_sent_once_and_waited_for(self, rewarm, stack, end, status):
        started = {
            "changeId": "performance-1",
            "status": "accepted",
            "target": {**self.SETTINGS, "iops": 4000},
        }
        stack.answers["POST", self.PATH] = 202, started
        states = [{"changeId": "performance-0", "status": "changed"}]
        states += [{"changeId": "performance-1", "status": name} for name in ("changing", end)]

        def proceed(call):
            if call.method == "GET":
                stack.answers["GET", self.PATH] = 200, {**self.FACTS, "change": states.pop(0)}

        stack.before = proceed
        shown = rewarm("volume", "set", "vol-1", "--iops", "4000", "--type", "gp3", "--wait", "--yes")
        assert shown.status == status
        assert f"change performance-1: {end}" in shown.out
        assert [call.body for call in stack.calls if call.method == "POST"] == [
            {"volumeType": "gp3", "iops": 4000}
        ]

    def test_a_change_that_is_refused_is_not_sent_again(self, rewarm, stack):
        def refuse(_call):
            raise RefusedError(503, "ServiceUnavailableError", "later")

        stack.before = refuse
        assert rewarm("volume", "set", "vol-1", "--iops", "4000", "--yes").status == FAILED
        assert len(stack.calls) == 1

    def test_nothing_to_change_is_a_wrong_option(self, rewarm):
        assert rewarm("volume", "set", "vol-1").status == USAGE
