"""The page of a restore that runs: bar, rate and time that is left of each volume."""

from __future__ import annotations

import pytest

from rewarm.page import live
from tests.support.values import accounts
from tests.unit.page.test_page import outline
from tests.unit.page.test_pictures import RUNNING

READ = {"bytesDone": 3 << 28, "bytesTotal": 1 << 30, "mibPerSecond": 118.25, "etaSeconds": 3}
POLLED = {
    "bytesDone": 0,
    "bytesTotal": 1 << 30,
    "etaSeconds": 11,
    "progressKey": None,
    "at": "2026-11-21T03:09:55Z",
}
LATE = {**POLLED, "at": "2026-11-21T03:09:00Z"}
PLANS = [
    {
        "index": index,
        "snapshotId": "snap-0123456789abcdef0",
        "plan": accounts.planned(index).to_json()["plan"],
    }
    for index in (0, 1)
]
RUNNING_VOLUMES = {
    **RUNNING,
    "restoreId": "restore-0123456789abcdef",
    "plans": PLANS,
    "volumes": [
        {"index": 0, "volume": {"volumeId": "vol-0123456789abcdef0"}, "agent": READ},
        {"index": 1, "volume": {"volumeId": "vol-0123456789abcdef1"}, "initialization": POLLED},
    ],
    "application": None,
}


def shown(**volume):
    return live.render({**RUNNING_VOLUMES, "plans": PLANS[:1], "volumes": [{"index": 0, **volume}]})


def test_an_id_is_marked_and_can_be_copied_as_it_is():
    page = shown(volume={"volumeId": "vol-0123456789abcdef0"})
    assert '0: <span class="one">vol-0123456789abcdef0</span>' in page
    assert "<title>Rewarm: restoring (restore-0123456789abcdef)</title>" in page
    assert "vol-0123456789abcdef0" in outline(page).text


def test_an_id_keeps_the_sign_after_it_and_an_address_is_broken_at_one():
    part = {
        "title": "health check",
        "limitSeconds": 60,
        "state": "failed",
        "reason": "http://127.0.0.1:8080/health of i-0123456789abcdef0) said 503 at 03:10",
    }
    failed = {"state": "failed", "index": 0, "instanceId": "i-0123456789abcdef0", "parts": [part]}
    page = live.render({**RUNNING_VOLUMES, "application": {**failed, "startedAt": "2026-11-21T03:00:00Z"}})
    assert "http://<wbr>127.0.0.1:<wbr>8080/<wbr>health of" in page
    assert '<span class="one">i-0123456789abcdef0)</span> said 503 at 03:10' in page


@pytest.mark.parametrize(
    ("volume", "words", "percent"),
    [
        ({"agent": READ}, "75 %, 768 MiB of 1 GiB, 118.2 MiB/s, 3 s to go", "75.0"),
        (
            {"agent": {**READ, "firstBlocksTotal": 8, "firstBlocksDone": 2}},
            "118.2 MiB/s, hot set 25 %, 3 s to go",
            "75.0",
        ),
        ({"initialization": {**READ, "progressKey": "key"}}, "118.2 MiB/s, 3 s to go", "75.0"),
        ({"initialization": POLLED}, "loaded in about 6 s; AWS reports it up to 5 minutes later", "0.0"),
        ({"initialization": LATE}, "loaded by now, as planned; AWS reports it up to 5 minutes later", "0.0"),
    ],
)
def test_how_far_a_volume_is_has_a_bar_and_words(volume, words, percent):
    page = shown(**volume)
    assert words in outline(page).text
    assert f'<progress max="100" value="{percent}"' in page


@pytest.mark.parametrize(
    "forged",
    [{**READ, "bytesTotal": 0}, {**READ, "bytesDone": "<b>"}, {**READ, "bytesTotal": None}, {}],
)
def test_figures_that_are_none_have_no_bar(forged):
    assert "<progress" not in shown(agent=forged)


def test_what_it_waits_for_is_said():
    page = live.render({**RUNNING_VOLUMES, "waiting": "vol-0123456789abcdef0 is attached to no instance"})
    assert "vol-0123456789abcdef0 is attached to no instance." in outline(page).text


def test_a_volume_at_full_speed_says_so():
    page = live.render({**RUNNING_VOLUMES, "settled": [1]})
    assert "at full speed" in outline(page).text
    assert 'value="100.0"' in page


def test_where_prices_are_from_does_not_stand_beside_the_cost():
    card, _, facts = shown().partition("Plan and progress")
    assert 'by prices of <span class="one">2026-11-01</span>' in card
    assert "somewhere" not in card
    assert "somewhere" in facts
