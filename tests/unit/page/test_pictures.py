"""The plan as a schedule on the page of a restore, while it runs and in its report."""

from __future__ import annotations

import pytest

from rewarm.contracts.values import Schedule
from rewarm.page import live, pictures, render
from tests.support.values import accounts
from tests.unit.charts.test_schedule_picture import LINES

RATE = "provisioned-rate (100 MiB/s)"
SUMMARY = {
    "readyP90At": "2026-11-21T04:00:00Z", "totalCostUsd": "6.60", "deadlineMissed": True,
    "deadlineSeconds": 1_800, "lateSeconds": 1_380, "priceSource": "somewhere", "priceBookAsOf": "2026-11-01",
    "schedule": Schedule(lines=LINES).to_json()["lines"],
    "byHand": [{"program": "dd", "command": "sudo dd <x>", "readySeconds": 3_247, "costUsd": "0",
                "effort": "a person"}],
}  # fmt: skip
RUNNING = {
    "restoreId": "restore-1", "at": "2026-11-21T03:10:00Z", "running": True, "status": "restoring",
    "startedAt": "2026-11-21T03:00:00Z", "plans": [], "volumes": [], "events": [], "summary": SUMMARY,
}  # fmt: skip


def test_a_row_for_each_group_and_one_for_all_together():
    found = pictures.schedule_view(SUMMARY)
    assert found["rows"] == [
        (
            "50 x 100 GiB of snap-1 to us-east-1a",
            RATE,
            "at once",
            "20 s",
            "17 min",
            "27 min",
            "$0.12",
            "$6.00",
        ),
        (
            "5 x 100 GiB of snap-1 to us-east-1a",
            RATE,
            "at once",
            "20 s",
            "44 min",
            "53 min",
            "$0.12",
            "$0.60",
        ),
    ]
    assert found["together"] == (
        "55 together", "23 min after the deadline", "", "20 s", "44 min", "53 min", "", "$6.60",
    )  # fmt: skip
    assert found["byHand"] == [("by hand, dd", "about 55 min", "$0.00", "a person: sudo dd <x>")]


@pytest.mark.parametrize("summary", [None, {}, {"schedule": []}])
def test_before_there_is_a_plan_nothing_is_shown(summary):
    assert pictures.schedule_view(summary) is None


@pytest.mark.parametrize("kind", ["running", "report"])
def test_both_pages_have_picture_table_and_what_a_person_would_do(kind):
    if kind == "running":
        page = live.render(RUNNING)
        assert "23 min after the deadline" in page[: page.index("<svg")]
    else:
        page = render({**accounts.ready_account()[1], "summary": SUMMARY})
    part = page[page.index('<section id="schedule">') :]
    part = part[: part.index("</section>")]
    assert part.count("<svg") == 2
    assert "var(--phase-5)" in part
    assert "55 together" in part
    assert "a person: sudo dd &lt;x&gt;" in part


def test_the_page_of_one_volume_does_not_repeat_the_schedule_of_all():
    page = render({**accounts.ready_account()[1], "summary": SUMMARY, "volumeIndex": 0})
    assert 'id="schedule"' not in page


def test_the_weighed_strategies_say_what_keeping_fast_snapshot_restore_on_would_cost():
    account = accounts.ready_account()[1]
    for candidate in account["plans"][0]["candidates"]:
        if candidate["strategy"] == "fast-snapshot-restore":
            candidate["keptOnUsdAMonth"] = "547.500000"
    assert "To keep it enabled: $547.50 a month for this snapshot in this zone." in render(account)
