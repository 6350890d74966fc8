"""The function of Announce Unreported: told and counted only where the report is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from rewarm import runtime
from rewarm.contracts.events import ReportEvent
from rewarm.contracts.results import ReportResult
from tests.support.builders import NOW, RESTORE_ID, VOLUME_ID, request
from tests.support.fakes import FakeMessages, FakeTable
from tests.unit.handlers.conftest import Context

EVENT = {
    "restoreId": RESTORE_ID,
    "now": NOW.isoformat(),
    "event": "unreported",
    "request": request().to_json(),
    "details": {
        "failure": {"state": "Report", "error": "States.Timeout", "cause": ""},
        "results": [{"index": 0, "verdict": "ready", "volumeId": VOLUME_ID}],
    },
}


def metrics(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    return [line for line in lines if "_aws" in line]


@pytest.mark.parametrize("reported", [True, False])
def test_nothing_is_told_or_counted_where_only_the_answer_of_report_was_lost(
    context: Context,
    capsys: pytest.CaptureFixture[str],
    reported: bool,  # noqa: FBT001
) -> None:
    table, messages = FakeTable(), FakeMessages()
    written = {"reportKey": "restores/r/report.json"} if reported else {}
    table.put_new(RESTORE_ID, {"status": "initializing", **written})
    answer = runtime.state_function("announce", table=table, messages=messages)(EVENT, context)
    assert answer["repeated"] is reported
    assert len(messages.sent) == (0 if reported else 1)
    assert len(metrics(capsys)) == (0 if reported else 1)
    assert ("events" in table.records[RESTORE_ID]) is not reported


def test_a_restore_without_a_report_is_counted_although_no_channel_took_the_message(
    context: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    table, messages = FakeTable(), FakeMessages()
    table.put_new(RESTORE_ID, {"status": "initializing"})
    messages.channels = []
    answer = runtime.state_function("announce", table=table, messages=messages)(EVENT, context)
    assert answer == {"channels": [], "repeated": False}
    assert [one["RestoresFinished"] for one in metrics(capsys)] == [[1.0]]


def test_the_sweeper_counts_the_figures_of_a_late_report_and_not_the_restore(
    fresh: Callable[[str], ModuleType], context: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    module = fresh("sweep")
    event = ReportEvent(restore_id=RESTORE_ID, now=NOW, started_at=NOW, deadline_at=NOW, results=[])
    result = ReportResult(
        verdict="ready",
        volumes=[],
        started_at=NOW,
        finished_at=NOW,
        deadline_at=NOW,
        deadline_met=False,
        estimated_p90_seconds=1,
        actual_seconds=1,
        slowest_seconds=1,
        planned_cost_usd="0",
        cost_usd="0",
        report_key="restores/r/report.json",
    )
    module._ports(context, module._EXECUTIONS).pages.counted(event, result)
    told = metrics(capsys)
    assert [one["DeadlinesMissed"] for one in told if "DeadlinesMissed" in one] == [[1.0]]
    assert not any("RestoresFinished" in one for one in told)
