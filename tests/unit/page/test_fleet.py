"""The page of a fleet."""

from __future__ import annotations

import pytest

from rewarm.page.fleet import render, verdict
from rewarm.restore_page import drawn


def account(said="incomplete", restores=2, **changes):
    failed = {"restoreId": "r2", "index": 1, "snapshot": {"snapshotId": "snap-1"}, "state": "failed"}
    return {
        "fleetId": "fleet-1",
        "verdict": said,
        "run": 1,
        "startedAt": "2026-11-21T03:00:00Z",
        "finishedAt": "2026-11-21T03:30:00Z",
        "failure": None,
        "progress": {
            "volumeCount": 3,
            "counts": {"failed": 1, "ready": 2},
            "failed": [{**failed, "cause": "<script>alert(1)</script>"}],
        },
        "restores": [{"restoreId": f"r{number}", "volumeCount": 1} for number in range(restores)],
        **changes,
    }


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("ready", "Ready: 3 volumes at full speed"),
        ("incomplete", "Incomplete: 2 of 3 volumes at full speed"),
        ("cancelled", "Cancelled on request: 2 of 3 volumes at full speed"),
    ],
)
def test_says_how_it_ended(said, words):
    assert verdict(account(said)) == words
    assert words in render(account(said))


def test_names_what_is_not_ready_and_escapes_the_reason():
    page = render(account())
    assert "snap-1" in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_says_who_asked_and_who_cancelled():
    by = {"kind": "token", "name": "token of https://id.example: <b>"}
    page = render(account(trigger={"kind": "api", "askedBy": by}, cancelledBy=by))
    assert "Asked for by token of https://id.example: &lt;b&gt;" in page
    assert "Cancelled by token of https://id.example: &lt;b&gt;" in page


def test_a_long_list_of_restores_is_cut():
    page = render(account(restores=1_200))
    assert "r999<" in page
    assert "r1000<" not in page
    assert "And 200 more" in page


def test_the_functions_draw_it():
    page = drawn(account())
    assert page is not None
    assert "fleet fleet-1" in page


def test_what_still_costs_money_has_its_price_and_the_command_that_ends_it():
    thing = {
        "thing": "vol-1, a volume that is not ready",
        "usdPerMonth": "8.00",
        "remove": "aws ec2 delete-volume",
    }
    page = render(account(left=[thing, {**thing, "thing": "an undo log", "usdPerMonth": None}]))
    assert "vol-1, a volume that is not ready: $8.00 a month. To end it: <code>aws ec2 delete-volume" in page
    assert "an undo log. To end it:" in page
    assert "Still costs money" not in render(account())
