"""State Keep Result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.domain.words.failures import explain
from rewarm.steps.record.payloads import whole_result
from rewarm.steps.report import keep_result as module
from rewarm.steps.report.keep_result import KeepResultEvent, keep_result
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID
from tests.support.fakes import FakeArtifacts, FakeTable, FakeVolumeExecutions

ENDED_BEFORE = {
    "verdict": "failed", "index": 2, "snapshotId": SNAPSHOT_ID, "error": module.ENDED_BEFORE, "cause": "arn",
}  # fmt: skip


def keep(
    result: dict[str, Any],
    artifacts: FakeArtifacts,
    end: ExecutionEnd | None = None,
    table: FakeTable | None = None,
) -> dict[str, Any]:
    """`end` is that of the volume's execution."""
    event = KeepResultEvent(restore_id=RESTORE_ID, now=NOW, result=result)
    ends = FakeVolumeExecutions({} if end is None else {(RESTORE_ID, result["index"]): end})
    told: dict[str, Any] = keep_result(
        event, artifacts=artifacts, volume_executions=ends, table=table or FakeTable()
    ).to_json()
    return told


def test_a_volume_whose_execution_had_ended_ready_is_ready_with_the_whole_result() -> None:
    artifacts = FakeArtifacts()
    output = {
        "verdict": "ready",
        "index": 2,
        "volumeId": VOLUME_ID,
        "strategy": "background",
        "announced": True,
    }
    told = keep(ENDED_BEFORE, artifacts, ExecutionEnd("SUCCEEDED", output=json.dumps(output)))
    assert (told["verdict"], told["volumeId"], told["error"]) == ("ready", VOLUME_ID, None)
    assert whole_result(told, artifacts) == output


def test_a_volume_whose_execution_had_failed_has_its_own_reason() -> None:
    failure = json.dumps({"state": "Create Volume", "error": "AccessDeniedError", "cause": "no permission"})
    told = keep(ENDED_BEFORE, FakeArtifacts(), ExecutionEnd("FAILED", "AccessDeniedError", failure))
    assert (told["verdict"], told["error"]) == ("failed", "AccessDeniedError")
    assert "no permission" in told["cause"]


@pytest.mark.parametrize("end", [None, ExecutionEnd("ABORTED"), ExecutionEnd("RUNNING")])
def test_where_the_execution_says_nothing_the_volume_has_failed(end: ExecutionEnd | None) -> None:
    told = keep(ENDED_BEFORE, FakeArtifacts(), end)
    assert (told["verdict"], told["error"]) == ("failed", module.ENDED_BEFORE)


def test_of_any_other_failure_the_execution_is_not_asked() -> None:
    output = json.dumps({"verdict": "ready", "index": 0})
    result = {"verdict": "failed", "index": 0, "error": "States.TaskFailed", "cause": "{}"}
    assert keep(result, FakeArtifacts(), ExecutionEnd("SUCCEEDED", output=output))["verdict"] == "failed"


def test_the_whole_is_kept_and_little_goes_on() -> None:
    artifacts = FakeArtifacts()
    result = {
        "verdict": "ready", "index": 3, "volumeId": VOLUME_ID, "snapshotId": SNAPSHOT_ID,
        "after": {"histogram": list(range(5_000))},
    }  # fmt: skip
    told = keep(result, artifacts)
    assert told == {
        "index": 3, "verdict": "ready", "volumeId": VOLUME_ID, "snapshotId": SNAPSHOT_ID, "error": None,
        "cause": None, "resultKey": f"restores/{RESTORE_ID}/3/result.json", "announced": True,
    }  # fmt: skip
    assert whole_result(told, artifacts) == result
    assert keep(result, artifacts) == told, "idempotent"


def test_the_restore_knows_that_nobody_was_told() -> None:
    result = {"verdict": "ready", "index": 0, "volumeId": VOLUME_ID, "announced": False}
    assert keep(result, FakeArtifacts())["announced"] is False


def test_a_failure_keeps_its_cause() -> None:
    artifacts = FakeArtifacts()
    result = {"verdict": "failed", "index": 0, "error": "AgentFailedError", "cause": "x" * 30_000}
    told = keep(result, artifacts)
    assert (told["verdict"], told["error"], told["cause"]) == ("failed", "AgentFailedError", "x" * 500)
    assert len(json.dumps(told)) < 800
    assert whole_result(told, artifacts)["cause"] == "x" * 30_000


def test_what_goes_on_is_the_error_of_the_volume_and_not_of_its_execution() -> None:
    """Where the report cannot be written, the message about the end is made of it."""
    lambda_said = json.dumps({"errorMessage": "somebody cancelled it", "errorType": "RestoreCancelledError"})
    cause = json.dumps({"Status": "FAILED", "Error": "RestoreCancelledError", "Cause": lambda_said})
    result = {"verdict": "failed", "index": 0, "error": "States.TaskFailed", "cause": cause}
    told = keep(result, FakeArtifacts())
    assert (told["error"], told["cause"]) == ("RestoreCancelledError", "somebody cancelled it")


def test_what_is_explained_again_says_the_same() -> None:
    told = keep({"verdict": "failed", "index": 0, "error": "States.Timeout", "cause": ""}, FakeArtifacts())
    assert told["cause"] == "A step took longer than it is allowed to."
    assert explain(told["error"], told["cause"]).sentence == told["cause"]


def test_where_nothing_could_be_kept_the_payload_is_what_is_known() -> None:
    bare = {"index": 0, "verdict": "ready", "volumeId": VOLUME_ID}
    assert whole_result(bare, FakeArtifacts()) == bare


def at_full_speed(**parts: Any) -> FakeTable:
    """The record of a volume that was marked as at full speed."""
    table = FakeTable()
    table.put(RESTORE_ID, {"volumeCount": 1, "settled0": True, "volume0": {"volumeId": VOLUME_ID}, **parts})
    return table


def died(status: str, **parts: str) -> dict[str, Any]:
    """The result of a volume whose execution has ended so."""
    cause = json.dumps({"Status": status, **parts})
    return {"verdict": "failed", "index": 0, "error": "States.TaskFailed", "cause": cause}


LATE_DEATHS = [
    died("ABORTED"),
    died("TIMED_OUT", Error="States.Timeout"),
    died("FAILED", Error="States.Runtime", Cause="the history has more than 25000 events"),
    {"verdict": "failed", "index": 0, "error": "States.Timeout", "cause": ""},
]


@pytest.mark.parametrize("result", LATE_DEATHS)
def test_a_volume_at_full_speed_is_ready_though_its_execution_died_later(result: dict[str, Any]) -> None:
    artifacts = FakeArtifacts()
    told = keep(result, artifacts, table=at_full_speed())
    assert (told["verdict"], told["volumeId"], told["error"], told["announced"]) == (
        "ready", VOLUME_ID, None, False,
    )  # fmt: skip
    assert keep(result, artifacts, table=at_full_speed()) == told, "a redrive finds the same"
    assert keep(result, FakeArtifacts(), table=at_full_speed(told0={"at": "…"}))["announced"] is True


@pytest.mark.parametrize("result", LATE_DEATHS)
def test_what_its_own_report_has_is_kept(result: dict[str, Any]) -> None:
    artifacts, key = FakeArtifacts(), f"restores/{RESTORE_ID}/0/report.json"
    measured = {"verdict": "ready", "index": 0, "volumeId": VOLUME_ID, "after": {"verdict": "fast"}}
    artifacts.put_json(key, {"results": [measured]})
    told = keep(result, artifacts, table=at_full_speed(report0={"reportKey": key}))
    assert whole_result(told, artifacts) == {**measured, "announced": False}


OWN_ACCOUNT = died(
    "FAILED",
    Error="VolumeFailedError",
    Cause=json.dumps({"state": "Release", "error": "VolumeFailedError", "cause": "it was deleted"}),
)


@pytest.mark.parametrize(
    ("result", "record"),
    [
        (OWN_ACCOUNT, {}),
        (died("ABORTED"), {"settled0": None}),
        (died("ABORTED"), {"request": {"drill": {"runbook": "orders"}}}),
    ],
    ids=["it says why itself", "not at full speed", "a drill"],
)
def test_the_volume_has_failed_where_that_is_true(result: dict[str, Any], record: dict[str, Any]) -> None:
    assert keep(result, FakeArtifacts(), table=at_full_speed(**record))["verdict"] == "failed"
