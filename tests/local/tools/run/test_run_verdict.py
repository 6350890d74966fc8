"""The verdict comes from what was found on the volume, not from what Rewarm says of itself."""

from dataclasses import replace
from decimal import Decimal

import pytest

from local.tools.run.verdict import problems, summary, total_usd, verdict_text
from tests.support.values.run_recordings import recorded_run, report


@pytest.fixture
def run():
    return recorded_run()


def test_a_proved_run_is_ready(run):
    assert problems(run) == []
    assert verdict_text(run) == "ready"


def test_nothing_restored_is_not_ready(run):
    run.restores.clear()
    assert problems(run) == ["nothing was restored"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"files_identical": 142, "differences": ("a/b.txt: differs",)},
            "1 of 143 files differ from the source (a/b.txt",
        ),
        (
            {"differences": ("new.txt: not in the snapshot",)},
            "0 of 143 files differ from the source (new.txt",
        ),
        ({"files": 0, "files_identical": 0}, "no file was compared"),
        ({"read_blocks": 2047}, "only 2047 of 2048 written blocks were read"),
        ({"fetched_blocks": 2047}, "only 2047 of 2048 written blocks are local"),
    ],
)
def test_what_the_volume_shows_decides(run, change, problem):
    restore = run.restores[0]
    restore.proof = replace(restore.proof, **change)
    assert any(problem in found for found in problems(run))
    assert summary(run, None)["verdict"] == "failed"


def test_a_volume_with_a_provisioned_rate_need_not_be_read_by_the_instance(run):
    assert run.restores[1].proof.read_blocks < run.restores[1].proof.written_blocks
    assert problems(run) == []


def test_a_volume_that_could_not_be_examined_is_not_ready(run):
    run.restores[1].proof = None
    assert problems(run) == ["2. By POST /restores: its volume could not be examined"]


@pytest.mark.parametrize("outcome", ["passed", "late"])
def test_a_drill_is_judged_by_its_outcome_as_its_volume_is_gone(run, outcome):
    restore = run.restores[0]
    restore.proof, restore.expected_outcome = None, "late"
    restore.report["drill"] = {"outcome": outcome}
    wrong = f"{restore.title}: the drill is {outcome}, and should be late"
    assert problems(run) == ([] if outcome == "late" else [wrong])


def test_a_failed_execution_is_told_in_words(run):
    restore = run.restores[0]
    restore.status, restore.error = "FAILED", "AgentFailedError"
    restore.cause = '{"errorType": "AgentFailedError", "errorMessage": "3 blocks unreadable"}'
    assert problems(run) == [
        "1. After an alarm: the execution ended as FAILED: AgentFailedError: 3 blocks unreadable"
    ]


def test_an_execution_that_succeeds_with_another_report_is_not_ready(run):
    visits = run.restores[0].visits
    visits[-1] = replace(visits[-1], payload={**report("warm-up-agent", 1), "verdict": "failed"})
    assert "1. After an alarm: its report says failed" in problems(run)


def test_what_is_left_running_spoils_the_verdict(run):
    run.left_running.append("fastRestores: snap-1:us-east-1a")
    assert problems(run) == ["left running, and costs money: fastRestores: snap-1:us-east-1a"]


def test_plain_files_are_named_in_the_verdict_and_blocks_are_not_counted(run):
    run.machine_note, run.is_plain = "volumes are plain files: reads are never cold", True
    for restore in run.restores:
        restore.proof = replace(restore.proof, read_blocks=None)
    assert verdict_text(run) == "ready, but volumes are plain files: reads are never cold"
    told = summary(run, None)
    assert told["verdict"] == "ready"
    assert told["dataPlane"]["kind"] == "plain-files"
    assert told["restores"][0]["proof"]["readBlocks"] is None


def test_the_summary_has_what_a_program_wants(run, tmp_path):
    told = summary(run, tmp_path / "report.html")
    assert told["report"] == str(tmp_path / "report.html")
    first = told["restores"][0]
    assert first["strategy"] == "warm-up-agent"
    assert first["plannedSeconds"] == {"p50": 40, "p90": 95}
    assert first["readLatencyMs"]["before"]["iops"] == 11.2
    assert first["proof"]["readBlocks"] == first["proof"]["writtenBlocks"] == 2048
    assert total_usd(run.restores[1]) == Decimal("0.0012")


def test_a_rewind_is_judged_by_the_whole_device(run):
    restore = run.restores[0]
    restore.proof, restore.device = None, ("a" * 64, "a" * 64)
    assert problems(run) == []
    restore.device = "b" * 64, "a" * 64
    assert problems(run) == [
        f"{restore.title}: its device has the SHA-256 {'b' * 64}, and should have {'a' * 64}"
    ]
