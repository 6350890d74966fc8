"""What 0.1.0 has left behind is understood: requests, events of running executions, and the table's items.

`version_0_1_0` holds them as that version wrote them: examples of its events, and the table of its fast lab
with a restore that is ready, one that was still loading, a runbook and what was learned.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from local.soak.lab.lab import FastLab
from rewarm.contracts import events, parse_restore_request
from rewarm.contracts.benchmarks import BenchmarkRequest
from rewarm.contracts.performance import parse_performance_request

FOLDER = Path(__file__).with_name("version_0_1_0")
ITEMS, EVENTS, REQUESTS = (
    json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("items", "events", "requests")
)
READY, LOADING, ALARM = "restore-ae66267594c94950", "restore-dfdd2e7ec9464ec7", "rewarm-orders"


@pytest.fixture
def lab():
    """A stack of this version with the table of that one."""
    with FastLab(2) as lab:
        for item in ITEMS:
            lab.table("RestoresTable").put(item)
        yield lab


@pytest.mark.parametrize("name", ["minimal-request", "restore-request"])
def test_a_request_is_accepted(name):
    parse_restore_request(REQUESTS[name])


def test_a_schedule_s_a_benchmark_s_and_a_performance_s_request_are_accepted():
    parse_restore_request(REQUESTS["scheduled-drill"]["request"])
    BenchmarkRequest.model_validate(REQUESTS["benchmark-request"])
    parse_performance_request(REQUESTS["performance-request"])


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_a_running_execution_s_event_is_understood(name):
    """An execution keeps the definition that it started with, and meets the functions of the new version."""
    modules = (events, importlib.import_module("rewarm.contracts.performance"))
    model = next(getattr(module, name) for module in modules if hasattr(module, name))
    model.model_validate(EVENTS[name])


def test_a_restore_that_has_ended_is_shown_and_listed(lab):
    status, restore = lab.api("GET", f"/restores/{READY}")
    assert (status, restore["status"]) == (200, "ready")
    assert restore["volumes"][0]["volume"]["strategy"] == "warm-up-agent"
    status, listed = lab.api("GET", "/restores")
    assert status == 200
    assert {one["restoreId"]: one["status"] for one in listed["restores"]} == {
        READY: "ready",
        LOADING: "initializing",
    }
    assert lab.api("DELETE", f"/restores/{READY}")[0] == 409


def test_a_runbook_is_shown_and_lists_again_once_it_is_stored_again(lab):
    status, runbook = lab.api("GET", f"/runbooks/{ALARM}")
    assert status == 200
    parse_restore_request(runbook["request"])
    assert lab.api("GET", "/runbooks") == (200, {"runbooks": [], "nextToken": None})
    assert lab.api("PUT", f"/runbooks/{ALARM}", runbook["request"])[0] == 200
    assert [one["alarmName"] for one in lab.api("GET", "/runbooks")[1]["runbooks"]] == [ALARM]


def test_a_restore_that_was_running_is_shown_and_ended_once_its_execution_is_gone(lab):
    status, restore = lab.api("GET", f"/restores/{LOADING}")
    assert (status, restore["status"]) == (200, "initializing")
    lab.pass_time(3_600)
    status, restore = lab.api("GET", f"/restores/{LOADING}")
    assert (status, restore["status"]) == (200, "failed")


def test_what_was_learned_is_used(lab):
    snapshot, instance = (
        lab.region.add_snapshot(size_gib=8),
        lab.region.add_instance(instance_type="m5.large"),
    )
    request = {"source": {"snapshotId": snapshot}, "target": {"instanceId": instance}}
    status, plan = lab.api("POST", "/plans", request)
    assert status == 200
    (agent,) = (one for one in plan["plans"][0]["fallbacks"] if one["strategy"] == "warm-up-agent")
    assert agent["basis"] == {"source": "history", "restores": 1}
