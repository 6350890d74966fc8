"""State Keep Result."""

from __future__ import annotations

import json
from typing import Any

from rewarm.domain.words.failures import explain
from rewarm.steps.record.payloads import whole_result
from rewarm.steps.report.keep_result import KeepResultEvent, keep_result
from tests.support.builders import NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID
from tests.support.fakes import FakeArtifacts


def keep(result: dict[str, Any], artifacts: FakeArtifacts) -> dict[str, Any]:
    event = KeepResultEvent(restore_id=RESTORE_ID, now=NOW, result=result)
    told: dict[str, Any] = keep_result(event, artifacts=artifacts).to_json()
    return told


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
