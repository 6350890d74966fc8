"""The report: one file, well formed, with everything in it, and safe with words from outside."""

import re

import pytest

from local.tools.run import wording
from local.tools.run.live.details import detail
from local.tools.run.report import write_report
from local.tools.run.report.figures import (
    bands,
    progress_points,
    readiness_curve,
)
from local.tools.run.report.page import render
from rewarm.charts import restore
from rewarm.charts.restore import tick_seconds
from tests.contract import repository
from tests.support.outline import Outline, read
from tests.support.values.run_recordings import START, recorded_run, visit


@pytest.fixture(scope="module")
def page():
    return render(recorded_run())


@pytest.fixture(scope="module")
def outline(page):
    return read(page, Outline())


def test_the_file_is_named_after_the_first_restore(tmp_path):
    path = write_report(recorded_run(), tmp_path / "reports")
    assert path == tmp_path / "reports" / "5f1c0a7e-0000-4000-8000-000000000001.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_pages_that_rewarm_made_lie_beside_it_and_are_linked(tmp_path):
    run = recorded_run()
    run.restores[0].page = "<!doctype html><title>made by Rewarm</title>"
    path = write_report(run, tmp_path)
    name = "5f1c0a7e-0000-4000-8000-000000000001-restore.html"
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([path.name, name])
    assert (tmp_path / name).read_text(encoding="utf-8") == run.restores[0].page
    text = path.read_text(encoding="utf-8")
    assert f'href="{name}"' in text
    assert text.count("Rewarm made no page of it.") == 1


def test_it_is_well_formed_and_loads_nothing(page, outline):
    assert outline.open == []
    assert outline.loaded == []
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_no_id_stands_twice(outline):
    assert len(outline.ids) == len(set(outline.ids))


def test_every_reference_has_its_target(page, outline):
    wanted = set(re.findall(r'(?:href="|url\()#([^")]+)', page))
    assert wanted
    assert wanted <= set(outline.ids)


def test_pictures_take_their_colours_from_the_page(page):
    # Readiness of both restores, each for wide and for narrow pages.
    assert page.count("<svg") == 4
    assert "var(--accent)" in page
    assert not re.search(r"#0[1-7]0[1-7]0[1-7]\b", page)
    assert "prefers-color-scheme: dark" in page


def test_everything_is_told(page):
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for words in (
        "provisioned-rate (100 MiB/s)", "cheapest that meets the deadline", "2,048 of 2,048", "143 of 143",
        "Restoring: snap-0123456789abcdef0", "Extra cost: $0.000001", "AWS&#39;s own waits",
        "ListSnapshotBlocks", "20 states",
    ):  # fmt: skip
        assert words in text, words


def test_words_from_outside_cannot_become_mark_up():
    run = recorded_run()
    run.restores[0].trigger = "<script>alert(1)</script>"
    run.machine_note = "a <b> & c"
    text = render(run)
    assert "<script" not in text
    assert "a &lt;b&gt; &amp; c" in text


def test_a_restore_that_failed_at_once_still_has_a_report():
    run = recorded_run()
    restore = run.restores[0]
    restore.visits, restore.samples, restore.messages, restore.proof = [], [], [], None
    restore.status, restore.error, restore.ended_at = "FAILED", "RunbookNotFoundError", restore.started_at + 1
    restore.cause = '{"errorType": "RunbookNotFoundError", "errorMessage": "no runbook"}'
    text = render(run)
    assert "no runbook" in text
    assert "No message was sent." in text


def test_without_any_restore_there_is_a_report_too():
    run = recorded_run()
    run.restores.clear()
    assert "nothing was restored" in render(run)


def test_bands_join_states_of_one_phase_and_leave_no_gap():
    visits = [
        visit("Create Volume", 0, 1),
        visit("Wait For Volume", 1, 2, kind="Wait"),
        visit("Is Volume Available?", 3, 0, kind="Choice"),
        visit("Attach Volume", 4, 1),
    ]
    found = bands(visits, START, START + 9)
    assert [(band.name, band.start, band.end) for band in found] == [
        ("Create volume", 0, 4),
        ("Attach", 4, 5),
    ]


def test_a_state_that_never_ended_reaches_to_the_end():
    one = visit("Create Volume", 2, 0)
    (band,) = bands(
        [type(one)(execution="restore", state=one.state, kind="Task", entered_at=START + 2)], START, START + 9
    )
    assert (band.start, band.end) == (2, 9)


def test_progress_is_in_the_order_of_time():
    points = progress_points(recorded_run().restores[0])
    assert points == sorted(points)
    assert points[-1] == pytest.approx((187.3, 100.0))


def test_one_poll_that_finds_all_of_it_done_is_a_curve():
    restore = recorded_run().restores[0]
    restore.samples = []
    (poll, *_) = [one for one in restore.visits if one.state == "Poll Initialization" and one.payload]
    poll.payload["progressPercent"] = 100.0
    restore.visits = [poll]
    at = poll.left_at - restore.started_at
    assert readiness_curve(restore, START + 500) == [
        (0, 0),
        (at, 100),
        (START + 500 - restore.started_at, 100),
    ]
    restore.visits = []
    assert readiness_curve(restore, START + 500) == []


@pytest.mark.parametrize(
    ("span", "most", "step"),
    [(5, 8, 1), (130, 8, 30), (499, 8, 120), (1_256, 8, 300), (8 * 86_400, 4, 86_400)],
)
def test_ticks_are_whole_minutes_and_hours(span, most, step):
    assert tick_seconds(span, most) == step


def test_a_part_of_a_restore_has_one_colour_on_every_page():
    assert len(wording.PHASES) == len(restore.PHASES)
    assert all(
        shown.lower().startswith(part) for shown, part in zip(wording.PHASES, restore.PHASES, strict=True)
    )


def test_each_state_that_does_something_belongs_to_just_one_part():
    """Restore Volume lasts as long as the states of the volume, and Copy Blocks as those of copy-blocks."""
    states = {
        name
        for machine, name, state in repository.all_states()
        if machine in {"RestoreStateMachine", "RestoreVolumeStateMachine"}
        and state["Type"] in ("Pass", "Task", "Wait")
    }
    listed = [state for part in wording.PHASES.values() for state in part]
    assert sorted(listed) == sorted(states - {"Restore Volume"})


def test_the_confirmation_is_part_of_the_verification():
    report = visit("Report Confirmation", 300, 1, {"pageKey": "a.html"})
    assert wording.phase_of(report) == "Verify"
    assert detail(report) == "its page: a.html"
