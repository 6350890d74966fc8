"""Cost against time: each mark where its numbers are, nothing on top of another, the same bytes each time."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from rewarm.charts import marks, plan
from rewarm.charts.marks import MARKS, seconds_ticks
from rewarm.charts.plan import Panel, Point
from rewarm.domain.model import Strategy

SVG = "{http://www.w3.org/2000/svg}"
POINTS = (
    Point("warm-up-agent", "warm-up-agent", 180, 540, 0.00013, "$0.00013", chosen=False),
    Point("background", "background", 28_800, 86_580, 0.00013, "$0.00013", chosen=False),
    Point("provisioned-rate", "provisioned-rate (100 MiB/s)", 185, 480, 0.12, "$0.12", chosen=True),
    Point("boosted-warm-up", "boosted-warm-up (gp3 9,000 IOPS)", 170, 400, 0.03, "$0.03", chosen=False),
    Point("fast-snapshot-restore", "fast-snapshot-restore", 420, 660, 0.75, "$0.75", chosen=False),
    Point("volume-clone", "volume-clone", 10_800, 21_600, 0.5, "$0.50", chosen=False),
)
PANEL = Panel("100 GiB of data", POINTS, ["nothing"], deadline_seconds=600, budget_usd=5.0)


def drawn(panel=PANEL):
    figure = plan.draw([panel])
    (axes,) = figure.axes
    return figure, axes


def lines(axes, gid):
    return [line for line in axes.lines if line.get_gid() == gid]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.strategy)
def test_each_mark_is_where_its_numbers_are(point):
    _, axes = drawn()
    (mark,) = lines(axes, f"point-{point.strategy}")
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([point.ready_p50_seconds], [point.usd])
    bars = [
        list(line.get_xdata())
        for line in axes.lines
        if line.get_color() == mark.get_color() and len(line.get_xdata()) == 2
    ]
    assert bars == [[point.ready_p50_seconds, point.ready_p90_seconds]]


def test_the_choice_the_deadline_and_the_budget_are_marked():
    _, axes = drawn()
    (choice,) = lines(axes, "choice")
    assert (choice.get_xdata()[0], choice.get_ydata()[0]) == (185, 0.12)
    assert set(lines(axes, "deadline")[0].get_xdata()) == {600}
    assert set(lines(axes, "budget")[0].get_ydata()) == {5.0}
    words = [text.get_text() for text in axes.texts]
    assert "deadline 10 min" in words
    assert "budget\n$5.00" in words
    assert any(text.startswith("chosen: provisioned-rate (100 MiB/s)\n$0.12, ") for text in words)
    assert "not possible here: nothing" in words


def test_without_deadline_and_budget_there_are_no_lines():
    _, axes = drawn(Panel("x", POINTS[:2], []))
    assert lines(axes, "deadline") + lines(axes, "budget") == []


@pytest.mark.parametrize("points", [POINTS, POINTS[:1], POINTS[::-1], [POINTS[0]] * 6])
@pytest.mark.parametrize("deadline", [None, 60, 600, 600_000])
def test_no_label_covers_another_or_leaves_the_picture(points, deadline):
    figure, axes = drawn(Panel("x", points, [], deadline, 2.0))
    figure.draw_without_rendering()
    labels = [text for text in axes.texts if "\n" in text.get_text() and "budget" not in text.get_text()]
    assert len(labels) == len(points)
    boxes = [super(type(text), text).get_window_extent() for text in labels]
    whole = figure.bbox
    for number, box in enumerate(boxes):
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


@pytest.mark.parametrize("price", [0.12, 0.6])
def test_no_leader_line_goes_through_words(price):
    """Four marks so close that some words are written far from theirs."""
    near = [replace(point, ready_p50_seconds=200, ready_p90_seconds=260, usd=price) for point in POINTS[:4]]
    near = [replace(point, usd=point.usd * (1 + 0.3 * number)) for number, point in enumerate(near)]
    figure, axes = drawn(Panel("x", [*near, POINTS[1]], [], 600, 5.0))
    figure.draw_without_rendering()
    labels = [text for text in axes.texts if "\n" in text.get_text() and "budget" not in text.get_text()]
    led = [text for text in labels if text.arrow_patch.get_visible()]
    assert led
    for text in led:
        line = text.arrow_patch.get_path()
        others = [super(type(other), other).get_window_extent() for other in labels if other is not text]
        assert not any(line.intersects_bbox(box, filled=False) for box in others)


def test_an_axis_with_few_ticks_has_closer_ones():
    assert seconds_ticks(4_000, 30_000) == [7_200, 10_800, 18_000, 28_800]
    assert seconds_ticks(10, 3_600) == [10, 30, 60, 180, 600, 1_800, 3_600]


def test_strategies_differ_by_mark_by_dash_and_by_colour():
    assert set(MARKS) == {strategy.value for strategy in Strategy}
    for name in ("marker", "dash", "colour"):
        assert len({str(getattr(look, name)) for look in MARKS.values()}) == len(MARKS)


def test_text_is_text_and_what_comes_from_outside_stays_it():
    panel = Panel('a <b> & "$x_1$" of $y$', POINTS, [])
    picture = ET.fromstring(plan.document([panel]))
    words = {text.text for text in picture.iter(f"{SVG}text")}
    assert panel.title in words
    assert "$0.75, 7 min to 11 min" in words
    assert panel.title in picture.find(f"{SVG}desc").text
    assert "provisioned-rate (100 MiB/s) (chosen): $0.12" in picture.find(f"{SVG}desc").text


def test_the_file_needs_nothing_else_and_has_no_date():
    text = plan.document([PANEL])
    assert not re.search(r"var\(--|@import|href=\"(?!#)|<dc:date|matplotlib v", text)
    # Colours that stand for names are gone.
    assert not re.search(r"#(0\d)\1\1|#(2[0-5])\2\2", text)
    assert text.endswith("</svg>\n")
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


def test_equal_plans_are_equal_bytes_in_another_process_too():
    code = (
        "import sys; from tests.unit.charts.test_plan_picture import PANEL, plan; "
        "sys.stdout.write(plan.document([PANEL]))"
    )
    other = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert other.stdout == plan.document([PANEL])


def test_several_kinds_of_volumes_have_a_panel_each():
    figure = plan.draw([PANEL, Panel("other", POINTS[:2], [])])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["100 GiB of data", "other"]


def test_a_label_is_measured_for_its_alignments_and_where_it_goes(monkeypatch):
    """Measuring took most of a picture's time; the 300 other places follow from these."""
    measured = []
    measure = marks._box_at
    monkeypatch.setattr(marks, "_box_at", lambda *asked: (measured.append(asked), measure(*asked))[1])
    drawn()
    assert len(measured) == 5 * len(POINTS)


@pytest.mark.parametrize("number", range(len(POINTS)))
def test_a_place_that_follows_is_where_it_would_be_measured(number, monkeypatch):
    found = []
    boxes_of = marks._boxes

    def checked(written, renderer, pixels_per_point):
        boxes = boxes_of(written, renderer, pixels_per_point)
        found.extend((box, marks._box_at(written, at, renderer)) for at, box in boxes.items())
        return boxes

    monkeypatch.setattr(marks, "_boxes", checked)
    drawn(Panel("x", POINTS[number : number + 1], []))
    assert len(found) == 320
    assert all(box == pytest.approx(measured, abs=1e-6) for box, measured in found)
