"""The schedule as a picture: bars where their times are, words that stay words, the same bytes each time."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from decimal import Decimal

import pytest

from rewarm.charts import schedule
from rewarm.domain.model import GIB, Strategy
from rewarm.domain.time.measured import Phase
from rewarm.domain.words.schedule import ScheduleLine

SVG = "{http://www.w3.org/2000/svg}"


def line(count=1, *, waits=0, **changes):
    loading = {Phase.LOAD: (1_000.0, 1_500.0), Phase.CREATE: (20.0, 90.0)}  # in the order of a record
    if waits:
        loading[Phase.QUEUE] = (waits, waits)
    values = {
        "volumes": count, "first_index": 0, "snapshot_id": "snap-1", "target": "us-east-1a",
        "data_bytes": 100 * GIB, "strategy": Strategy.PROVISIONED_RATE, "initialization_rate_mib_s": 100,
        "usable_seconds": 20, "ready_p50_seconds": waits + 1_020, "ready_p90_seconds": waits + 1_590,
        "each_cost_usd": Decimal("0.12"), "together_cost_usd": Decimal("0.12") * count, "phases": loading,
    }  # fmt: skip
    return ScheduleLine(**{**values, **changes})


LINES = (line(50), line(5, waits=1_590))


def element(lines=LINES, deadline=3_600, size="wide"):
    return ET.fromstring(schedule.pictures(list(lines), deadline)[size])


def boxes(picture, kind):
    return [
        (float(rect.get("x")), float(rect.get("width"))) for rect in picture.iter(f"{SVG}rect")
        if rect.get("class") == kind
    ]  # fmt: skip


def words(picture):
    return [text.text for text in picture.iter(f"{SVG}text")]


@pytest.mark.parametrize("size", schedule.SIZES)
def test_each_part_of_a_bar_is_as_long_as_it_takes_and_begins_where_the_last_one_ends(size):
    picture = element(size=size)
    pixel = (schedule.SIZES[size].width - 28) / (1.03 * 3_600)
    (waits,) = boxes(picture, "wait")
    assert waits == pytest.approx((14, 1_590 * pixel), abs=0.1)
    first, then = boxes(picture, "load")
    assert first == pytest.approx((14 + 20 * pixel, 1_000 * pixel), abs=0.1)
    assert then == pytest.approx((14 + 1_610 * pixel, 1_000 * pixel), abs=0.1)
    _, p90 = boxes(picture, "p90")
    assert p90 == pytest.approx((14 + 2_610 * pixel, 570 * pixel), abs=0.1)


def test_the_deadline_is_a_line_and_what_is_late_says_so():
    picture = element()
    (deadline,) = [one for one in picture.iter(f"{SVG}line") if one.get("class") == "deadline"]
    assert float(deadline.get("x1")) == pytest.approx(14 + 3_600 * 892 / (1.03 * 3_600), abs=0.1)
    assert "deadline 1 h" in words(picture)
    assert not [one for one in element(deadline=None).iter(f"{SVG}line") if one.get("class") == "deadline"]
    late = words(element([line(3, deadline_missed=True)], 600))
    assert "provisioned-rate (100 MiB/s): 17 min to 27 min, $0.12 each, $0.36 together, late" in late


def test_the_legend_names_just_what_is_there():
    assert "waits for other volumes" in words(element())
    alone = words(element([line()]))
    assert "waits for other volumes" not in alone
    assert "created and attached" in alone
    assert "solid until P50, thin until P90" in alone


def test_each_and_together_are_told_apart_and_one_volume_has_one_price():
    assert "50 volumes of snap-1, 100 GiB each to us-east-1a" in words(element())
    assert "provisioned-rate (100 MiB/s): 17 min to 27 min, $0.12 each, $6.00 together" in words(element())
    assert "provisioned-rate (100 MiB/s): 17 min to 27 min, $0.12" in words(element([line()]))
    unlike = words(element([line(9, alike=False, snapshot_id=None, target=None)]))
    assert "9 volumes, up to 100 GiB each" in unlike


def test_no_words_are_wider_than_the_picture():
    long = line(snapshot_id="snap-" + "0" * 200)
    for size, limit in schedule.SIZES.items():
        assert max(map(len, words(element([long], size=size)))) == limit.characters


def test_words_from_outside_stay_words():
    picture = schedule.pictures([line(target='<b onload="x">&')], None)["wide"]
    assert "<b" not in picture
    assert any('to <b onload="x">&' in text for text in words(ET.fromstring(picture)))


def test_for_screen_readers_it_is_in_words():
    said = element().get("aria-label")
    assert said.startswith("Schedule of the plan. Deadline 1 h after the plan. 50 volumes of snap-1, ")
    assert "5 volumes of snap-1" in said


def test_a_file_of_its_own_needs_no_style_sheet_and_a_page_gives_the_colours():
    text = schedule.document(list(LINES), 3_600)
    assert "var(--" not in text
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<svg ')
    assert ET.fromstring(text[text.index("<svg") :])
    assert not re.search(r"#[0-9a-f]{6}", schedule.pictures(list(LINES), 3_600)["wide"])


def test_without_a_line_there_is_no_picture():
    assert schedule.pictures([], 60) == {}


def test_it_needs_no_matplotlib_and_is_the_same_in_another_process():
    code = (
        "import sys; from tests.unit.charts.test_schedule_picture import LINES, schedule; "
        "sys.stdout.write(schedule.document(list(LINES), 3_600)); assert 'matplotlib' not in sys.modules"
    )
    other = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert other.stdout == schedule.document(list(LINES), 3_600)
