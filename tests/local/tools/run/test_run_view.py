"""What stands on the screen."""

import io
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from local.tools.run.live.bar import ProgressBar
from local.tools.run.live.view import View
from local.tools.run.recording import RunRecord, StateVisit
from local.tools.run.watch import sample_of
from local.tools.run.wording import overhead_text
from tests.support.values.run_recordings import START, recorded_run, visit


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def view(stream):
    return View(stream)


def shown(stream):
    return re.sub(r"[ \t]+", " ", stream.getvalue())


def test_without_a_terminal_nothing_but_text_is_written(view, stream):
    run = recorded_run()
    view.title()
    for restore in run.restores:
        view.heading(restore.title)
        for one in restore.visits:
            view.state(one, restore.started_at)
        for sample in restore.samples:
            view.progress(sample)
        view.ended(restore)
    view.finished(run, "report.html")
    assert "\x1b" not in stream.getvalue()
    assert max(map(len, stream.getvalue().splitlines())) <= 120


def test_lab_time_is_explained(view, stream):
    view.title()
    assert "AWS's own waits" in shown(stream)
    assert "the agent's reads are real" in shown(stream).replace("\n", " ")


def test_a_setup_step_is_one_line_with_its_seconds(view, stream):
    run = RunRecord()
    with view.setup_step("Deploy template.yaml", run) as step:
        step.detail = "14 outputs"
    assert re.search(r"✓ 0\.\d s Deploy template\.yaml 14 outputs", shown(stream))
    assert [step.what for step in run.setup] == ["Deploy template.yaml"]


def test_a_setup_step_that_fails_is_not_ticked_off(view, stream):
    run = RunRecord()
    with pytest.raises(OSError, match="no"), view.setup_step("Deploy", run):
        raise OSError("no")
    assert run.setup == []
    assert "✓" not in stream.getvalue()


def test_the_plan_shows_every_strategy_with_time_price_and_reason(view, stream):
    plan = recorded_run().restores[0]
    view.plan(plan.plans, plan.payload("Choose Strategy")["summary"])
    text = shown(stream)
    assert "→ warm-up-agent" in text
    for words in ("background", "provisioned-rate (100 MiB/s)", "fast-snapshot-restore", "$0.75", "24 h"):
        assert words in text
    assert "ready in up to a day" in text
    assert "Price List, as of 2026-11-01" in text


def test_a_boost_leaves_the_reasons_their_room(view, stream):
    plan = recorded_run().restores[0]
    candidates = [
        {
            **one,
            "strategy": "boosted-warm-up",
            "boost": {"volumeType": "gp3", "iops": 16_000, "throughputMibS": 1_000},
            "reason": "the least of it that is ready in time, and the cheapest",
        }
        for one in plan.plans[0]["candidates"][:1]
    ]
    view.plan([{**plan.plans[0], "candidates": candidates}], plan.payload("Choose Strategy")["summary"])
    assert "│ boosted-warm-up │" in shown(stream)
    assert "(gp3 16,000 IOPS, 1,000 MiB/s)" in shown(stream)
    assert "that is ready in time," in shown(stream)
    assert "…" not in stream.getvalue()


def test_states_come_with_time_execution_and_finding(view, stream):
    restore = recorded_run().restores[0]
    for one in restore.visits:
        view.state(one, restore.started_at)
    text = shown(stream)
    assert "+0:02.0 volume 0 Create Volume vol-0123456789abcdef0" in text
    assert "24 reads of 4 KiB: p50 84 ms, p99 205 ms, 11 a second" in text
    assert "56 %, 573.4 MiB of 1 GiB, 118 MiB/s, 4 s to go" in text
    assert "+0:16.6 volume 0 Wait For Initialization 2 min 50 s" in text


def test_a_failure_is_shown_where_it_happened(view, stream):
    one = visit("Create Volume", 1, 2, failures=("ThrottledError: slow down",))
    view.state(one, START)
    assert "Create Volume ThrottledError: slow down" in shown(stream)


def test_an_answer_of_another_shape_does_not_end_the_view(view, stream):
    view.state(visit("Poll Initialization", 1, 1, {"other": 1}), START)
    assert "Poll Initialization" in stream.getvalue()


def test_polls_that_find_the_same_are_counted(view, stream):
    poll = recorded_run().restores[0].payloads("Poll Initialization")[0]
    for number in range(5):
        view.state(visit("Poll Initialization", 10 * number, 1, poll), START)
        view.state(visit("Wait For Initialization", 10 * number + 1, 9, kind="Wait"), START)
    view.state(visit("Poll Initialization", 60, 1, {**poll, "progressPercent": 100.0}), START)
    text = shown(stream)
    assert text.count("Poll Initialization") == 2
    assert text.count("Wait For Initialization") == 1
    assert "… 4 more polls found the same" in text


def test_choices_and_passes_are_left_out(view, stream):
    for kind in ("Choice", "Pass", "Map"):
        view.state(
            StateVisit(execution="restore", state="X", kind=kind, entered_at=START, left_at=START), START
        )
    assert stream.getvalue() == ""


def test_the_progress_has_rate_and_time_to_go(view, stream):
    figures = {"bytesDone": 1 << 29, "bytesTotal": 1 << 30, "mibPerSecond": 123.4, "etaSeconds": 5}
    view.progress(sample_of({"volumes": [{"agent": figures}]}, START))
    assert "████████████░░░░░░░░░░░░ 50 % 512 MiB of 1 GiB 123.4 MiB/s ETA 5 s" in shown(stream)


def late(percent, seconds):
    """What AWS says of a volume that it loads, at so many seconds after the look."""
    polled = {"progressPercent": percent, "etaSeconds": 11, "progressKey": None}
    looked_at = datetime.fromtimestamp(START, UTC).isoformat()
    return sample_of({"volumes": [{"initialization": {**polled, "at": looked_at}}]}, START + seconds)


def test_where_aws_loads_a_line_says_when_and_no_estimate_stands_still(view, stream):
    for seconds in (0, 2, 60):
        view.progress(late(0, seconds))
    view.progress(late(100, 200))
    assert shown(stream).splitlines() == [
        " ░░░░░░░░░░░░░░░░░░░░░░░░ 0 % loaded in about 11 s; AWS reports it up to 5 min later",
        " ████████████████████████ 100 %",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(6, "loaded in about 5 s"), (60, "expected to be loaded by now")]
)
def test_where_aws_loads_the_bar_of_a_terminal_counts_down(stream, seconds, words):
    bar = ProgressBar(Console(file=stream, force_terminal=True, width=120))
    for at in (0, seconds):
        bar.show(late(0, at))
        bar.pause()
    bar.stop()
    assert f"{words}; AWS reports it up to 5 min later" in stream.getvalue()


def test_slack_messages_are_shown_as_a_reader_sees_them(view, stream):
    restore = recorded_run().restores[0]
    for message in restore.messages:
        view.slack(message, restore.started_at)
    text = shown(stream)
    assert "Slack, +3:12.2" in text
    assert "Usable in about 10 s. Report (https://example.com)" in text
    assert "p99 fell from 205 ms to 0.93 ms & stays there." in text
    assert "Extra cost: $0.000001" in text


def test_the_end_of_a_restore_shows_latency_cost_and_proof(view, stream):
    view.ended(recorded_run().restores[0])
    text = shown(stream)
    assert "│ p99 │ 205 ms │ 0.93 ms │" in text
    assert "Cost: planned under $0.0001, metered by the Region under $0.0001" in text
    assert "✓ files identical to the source (sha256): 143 of 143" in text
    assert "✓ written blocks read to their last byte: 2,048 of 2,048" in text
    assert "At full speed 3 min 12 s after the request" in text
    assert "The workflow ended after 3 min 24 s of lab time, 31.2 s in fact" in text


def test_the_time_to_full_speed_is_split_between_aws_and_the_rest():
    phases = [("create", 4.0), ("attach", 5.5), ("deliver", 2.0), ("read", 8.5), ("verify", 3.0)]
    volume = {
        "actualSeconds": 33,
        "phases": [{"phase": name, "actualSeconds": seconds} for name, seconds in phases],
    }
    text = overhead_text({"volumes": [volume]}, 33.0)
    assert text == (
        "  of it AWS and the agent: create 4.0 s, attach 5.5 s, deliver 2.0 s, read 8.5 s; "
        "everything else: 13.0 s"
    )
    assert overhead_text(None, 3.0) == "  of it AWS and the agent: nothing; everything else: 3.0 s"


def test_plain_files_are_said_to_be_uncounted(view, stream):
    restore = recorded_run().restores[0]
    restore.proof = replace(restore.proof, read_blocks=None)
    view.ended(restore)
    assert "blocks read: not counted, the volume is a plain file here" in shown(stream)


def test_the_last_words_name_every_problem(view, stream):
    run = recorded_run()
    run.left_running.append("volumes: vol-1")
    run.kept.append("snap-1, $0.40 a month; to end it: aws ec2 delete-snapshot --snapshot-id snap-1")
    view.finished(run, "report.html")
    text = shown(stream)
    assert "still costing money: volumes: vol-1, what the restores have kept." in text
    assert "snap-1, $0.40 a month; to end it: aws ec2 delete-snapshot" in text
    assert "✗ left running, and costs money: volumes: vol-1" in text
    assert "Verdict: not ready. The run took 61 s." in text
    assert "Report: report.html" in text


def test_brackets_from_outside_are_no_mark_up(view, stream):
    view.say("arn [bold]x[/] [/nonsense]")
    assert "arn [bold]x[/] [/nonsense]" in stream.getvalue()
