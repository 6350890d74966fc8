"""The page: everything is told, nothing from outside becomes mark-up, and missing parts are left out."""

from __future__ import annotations

import copy
import json
import re

import pytest

from rewarm.charts.restore import Band
from rewarm.contracts.values import Failure
from rewarm.domain.model import Strategy
from rewarm.domain.time.measured import MOST_SAMPLES
from rewarm.page import pictures, render
from rewarm.page.volumes import MOST_ROWS, view
from tests.support.builders import RESTORE_ID, World
from tests.support.outline import Outline, read
from tests.support.values import accounts

NONSENSE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}${7*7}</style><svg onload=x>"


class PageOutline(Outline):
    """Tags, words and figures, too."""

    def __init__(self):
        super().__init__()
        self.tags, self.values, self.handlers, self.words = [], [], [], []

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    def note(self, tag, attrs):
        super().note(tag, attrs)
        self.tags.append(tag)
        if tag == "a" and not attrs["href"].startswith("#"):
            self.loaded.append(attrs["href"])
        self.handlers += [name for name in attrs if name.startswith("on")]
        if tag == "data":
            self.values.append((attrs["data-of"], attrs["value"]))

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def outline(page):
    """The mark of an id or a date ends no word."""
    marked = re.sub(r'<span class="(?:one|whole)">([^<]*)</span>', r"\1", page.replace("<wbr>", ""))
    return read(marked, PageOutline())


@pytest.fixture(scope="module")
def account():
    return accounts.ready_account()[1]


@pytest.fixture(scope="module")
def page(account):
    return render(account)


def test_it_is_well_formed_and_needs_nothing_else(page):
    found = outline(page)
    assert found.open == []
    assert found.loaded == []
    assert len(found.ids) == len(set(found.ids))
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    assert "script" not in found.tags


def test_the_policy_lets_nothing_be_loaded_and_nothing_run(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].split("; ") == [
        "default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip


def test_it_tells_everything(page):
    text = outline(page).text
    for words in (
        "Ready: the volume at full speed 7 min 30 s after the request", "report written after 7 min 50 s",
        "estimate (P90): ", "met",
        "Progress and rate over time", "118.0 MiB/s", "Read latency before and after", "205 ms", "1.93 ms",
        "latency of gp3", "Plan against actual", "Agent reads", "5 min 30 s", "Timeline",
        "Volume attached: usable", "2026-11-21 03:00:30 UTC", "ListSnapshotBlocks requests",
        "9 requests x $0.0006 / 1,000", "Strategies that were weighed", "volume-clone", "Costs $0.75 more.",
        "gp3, 100 GiB, 3,000 IOPS, 125 MiB/s", "volume vol-00000000000000001 (ready)", "Log of decisions",
        "Usable, still cold.", "the alarm orders database down", "AWS Price List, of 2026-11-01",
        "the agent has read every written block", f"restores/{RESTORE_ID}/report.json",
    ):  # fmt: skip
        assert words in text, words


@pytest.mark.parametrize("card", [0, 1])
def test_it_names_the_ebs_card_where_there_are_several(account, page, card):
    assert "EBS card" not in outline(page).text
    on_card = json.loads(json.dumps(account))
    on_card["plans"][0]["volume"]["card"] = card
    assert f"EBS card {card}" in outline(render(on_card)).text


def test_the_verdict_comes_first(page):
    assert page.index("<h1") < page.index("<svg")
    assert page.index("Ready:", page.index("<body")) < page.index("Progress and rate")


def test_every_figure_is_that_of_the_account(account, page):
    values = outline(page).values
    assert len(values) > 20
    for path, value in values:
        found = account
        for part in path.split("/"):
            found = found[int(part)] if part.isdecimal() else found[part]
        assert str(found) == value, path


def test_pictures_are_for_wide_and_narrow_and_take_the_pages_colours(page):
    assert page.count("<svg") == 6
    assert page.count('role="img"') == 6
    assert "prefers-color-scheme: dark" in page
    assert "var(--accent)" in page
    assert not re.search(r"#0[1-9]0[1-9]0[1-9]\b", page)


def poisoned(value):
    """The account with nonsense in every text from outside."""
    free = {
        "reason", "why", "words", "cause", "title", "text", "tags", "chosenBecause", "reasons", "item",
        "alarmName", "snapshotId", "volumeId", "device", "instanceId", "arithmetic", "error", "state",
        "priceSource", "costArithmetic", "availabilityZone", "limitedBy",
    }  # fmt: skip

    def walk(node, name=""):
        if isinstance(node, dict):
            return {key: walk(one, "tags" if name == "tags" else key) for key, one in node.items()}
        if isinstance(node, list):
            return [walk(one, name) for one in node]
        return NONSENSE if isinstance(node, str) and name in free else node

    found = walk(value)
    for one in found["plans"]:
        one["volume"]["volume"]["tags"] = {NONSENSE: NONSENSE}
        one["volume"]["passedOver"] = [{"snapshotId": NONSENSE, "reason": NONSENSE}]
    found["removed"] = found["kept"] = [NONSENSE]
    found["restoreId"] = NONSENSE
    found["request"] = {"source": {"tags": {NONSENSE: NONSENSE}}}
    found["failure"] = {"state": NONSENSE, "error": NONSENSE, "cause": NONSENSE}
    found["volumes"][0]["failure"] = found["failure"]
    found["volumes"][0]["benchmarkProblem"] = NONSENSE
    found["volumes"][0]["boost"] = {"state": "not-lowered", "boosted": NONSENSE, "target": NONSENSE}
    return found


def test_words_from_outside_cannot_become_mark_up(account, page):
    found = outline(render(poisoned(json.loads(json.dumps(account)))))
    assert set(found.tags) <= set(outline(page).tags) | {"p", "ul", "li"}
    assert "script" not in found.tags
    assert "img" not in found.tags
    assert found.handlers == []
    assert found.loaded == []
    assert found.text.count(re.sub(r"\s+", " ", NONSENSE)) > 25
    assert "49" not in re.sub(r"7\*7", "", NONSENSE)
    assert "{{ 7*7 }}" in found.text


def test_a_restore_that_came_to_no_volumes_has_a_page():
    failure = Failure(
        state="Parse Request",
        error="RunbookNotFoundError",
        cause='{"errorType": "RunbookNotFoundError", "errorMessage": "no runbook for the alarm x"}',
    )
    _, account = accounts.reported(
        World(), [], [], failure=failure, request=None, trigger=None, deadline_at=None
    )
    text = outline(render(account)).text
    assert "Failed" in text
    assert "no runbook for the alarm x" in text
    assert "Nothing was left behind." in text


def test_a_cancelled_one_says_so():
    result = accounts.failed(error="RestoreCancelledError", words="as asked for")
    _, account = accounts.reported(World(), [accounts.planned()], [result])
    text = outline(render(account)).text
    assert "Cancelled on request" in text
    assert "Volume 0: cancelled" in text


@pytest.mark.parametrize(("name", "words"), [("before", "Measured, still cold"), ("after", "Measured again")])
def test_only_what_was_measured_is_said_to_be(page, name, words):
    """The timeline has each look at a measurement, also of one that was never finished."""
    assert words in outline(page).text
    running = {"finished": False, "waitSeconds": 3, "reason": "it runs"}
    _, account = accounts.reported(World(), [accounts.planned()], [accounts.ready(**{name: running})])
    assert words not in outline(render(account)).text


def test_one_of_several_fails_and_both_are_told():
    world = World()
    world.table.update_volume(
        RESTORE_ID, 1, {"cleanUp": {"removed": ["volume vol-2"], "kept": ["a thing (why)"]}}
    )
    plans = [accounts.planned(0), accounts.planned(1)]
    _, account = accounts.reported(world, plans, [accounts.ready(0), accounts.failed(1)])
    text = outline(render(account)).text
    assert "Failed: 1 of 2 volumes" in text
    assert "12 blocks unreadable" in text
    assert "a thing (why)" in text
    assert "Removed: volume vol-2." in text


def test_pictures_are_bounded_however_many_volumes_there_are():
    count = pictures.MOST_DRAWN + 6
    plans = [accounts.planned(index) for index in range(count)]
    _, account = accounts.reported(World(), plans, [accounts.ready(index) for index in range(count)])
    found = outline(render(account))
    # Without samples: plan against actual, and latency; each wide and narrow.
    assert found.tags.count("svg") == 4 * pictures.MOST_DRAWN
    assert len(found.ids) == len(set(found.ids))
    assert found.text.count("Only the first volumes have pictures here") == 6
    assert found.text.count("At full speed, after the plan") == count


def test_two_days_are_a_page_like_any_other():
    world = World()
    accounts.keep_samples(world, 0, accounts.series(48 * 3_600, 20_000))
    _, account = accounts.reported(world, [accounts.planned()], [accounts.ready()])
    assert len(account["samples"][0]["samples"]) <= MOST_SAMPLES
    found = render(account)
    assert len(found) < 400_000
    table = re.search(r'aria-label="Progress over time, volume 0">(.*?)</table>', found, re.DOTALL)
    assert table is not None
    assert table[1].count("<tr>") <= MOST_ROWS + 2
    assert "+48:01:00" in table[1]


@pytest.mark.parametrize("name", ["before", "after", "timeline", "dispatch", "released", "initialization"])
def test_parts_that_are_missing_are_left_out(name):
    world = World()
    _, account = accounts.reported(world, [accounts.planned()], [accounts.ready(**{name: None})])
    assert outline(render(account)).open == []


def test_a_picture_that_cannot_be_drawn_leaves_the_figures(monkeypatch, account):
    def broken(*_args, **_more):
        raise RuntimeError("no font")

    pictures._drawn.cache_clear()
    monkeypatch.setattr("rewarm.charts.restore.to_svg", broken)
    found = outline(render(account))
    assert "svg" not in found.tags
    assert "1.93 ms" in found.text
    monkeypatch.undo()
    assert "<svg" in render(account), "what could not be drawn once is tried again"


def test_what_goes_on_costing_money_is_said_loudly():
    one = accounts.planned(strategy=Strategy.BOOSTED_WARM_UP)
    boost = {
        "state": "not-lowered",
        "boosted": "gp3 16,000 IOPS",
        "target": "gp3 3,000 IOPS",
        "reason": "limit",
    }
    released = {**accounts.ready()["released"], "boost": boost}
    _, account = accounts.reported(World(), [one], [accounts.ready(one=one, released=released, warmUps=1)])
    text = outline(render(account)).text
    costs = text.index("What still costs money")
    assert costs < text.index("What is left"), "it stands at the top"
    said = (
        "vol-00000000000000001 is still gp3 16,000 IOPS, to be gp3 3,000 IOPS. To end it: rewarm volume set"
    )
    assert said in text[costs:]
    assert "was warmed up again" in text
    assert "AWS's bill has it" in text


def test_benchmarks_are_shown():
    run = {
        "target": "vol-1", "pattern": "random-read", "totalIops": 1_600.0, "totalMibS": 6.25,
        "read": {"iops": 1_600.0, "mibS": 6.25, "operations": 9, "meanMs": 0.6, "p50Ms": 0.61, "p99Ms": 1.9,
                 "p999Ms": 3.0},
        "limit": {"name": "depth", "text": "depth: 1 in flight"},
    }  # fmt: skip
    after = {**accounts.ready()["after"], "benchmarks": [run]}
    _, account = accounts.reported(World(), [accounts.planned()], [accounts.ready(after=after)])
    text = outline(render(account)).text
    assert "random-read 1,600 6.2 MiB/s read: p50 0.61 ms, p99 1.90 ms depth: 1 in flight" in text


def test_what_was_read_first_is_said_and_shown_on_the_volume(account):
    told = copy.deepcopy(account)
    told["plans"][0]["hot"] = {"bytes": 3_328_180_224, "recordings": 5, "warmSeconds": 25}
    told["results"][0]["initialization"]["hotSeconds"] = 24.6
    told["samples"][0]["hotMap"] = [[1.0, 0.25], *[[0.5, 0.0]] * 127]
    page = render(told)
    assert page.count("<svg") == 8
    assert "Hot set 3.1 GiB by 5 recordings, warm after 24.6 s" in outline(page).text
    told["plans"][0]["hot"]["recordings"] = 1
    assert "Hot set 3.1 GiB by 1 recording, warm after 24.6 s" in outline(render(told)).text
    assert "which share is written, and which was read first" in outline(page).text


def test_how_many_first_reads_were_cold_is_shown_where_it_is_known(account):
    assert "First reads" not in outline(render(account)).text
    told = copy.deepcopy(account)
    told["volumes"][0]["firstReads"] = {"blocks": 5_120, "coldBlocks": 312}
    assert "First reads 5,120 blocks, at most 312 cold" in outline(render(told)).text


def test_a_recording_that_failed_is_shown(account):
    assert "Recording of reads" not in outline(render(account)).text
    told = copy.deepcopy(account)
    told["volumes"][0]["recording"] = "The recording of its reads failed: no tracefs."
    assert "Recording of reads The recording of its reads failed: no tracefs." in outline(render(told)).text


def test_progress_begins_with_nothing_read():
    parts = [Band("attach", 10.0, 30.0), Band("initialize", 30.0, 90.0)]
    assert pictures._nothing_read([(60.0, 71.0), (90.0, 100.0)], parts) == [(30.0, 0.0)]
    assert pictures._nothing_read([(60.0, 100.0)], parts) == [], "it was at full speed from the beginning"
    assert pictures._nothing_read([(60.0, 71.0)], parts[:1]) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"approvedAt": "2026-11-21T03:05:00Z", "by": "arn:aws:iam::123456789012:user/<b>alice</b>"},
         "$3.20, by arn:aws:iam::123456789012:user/<b>alice</b>, 2026-11-21 03:05"),
        ({"endedAt": "2026-11-21T04:00:00Z"}, "needed for $3.20 until 2026-11-21 04:00"),
    ],
)  # fmt: skip
def test_the_page_says_who_approved_the_plan(account, answer, words):
    question = {"askedAt": "2026-11-21T03:00:00Z", "until": "2026-11-21T04:00:00Z", "usd": "3.2"}
    assert words in outline(render({**account, "approval": {**question, **answer}})).text
    assert "Approval" not in outline(render(account)).text


@pytest.mark.parametrize(
    "name", ["arn:aws:iam::123456789012:user/alice", "token of https://id.example: <b>x"]
)
def test_the_page_says_who_asked_and_who_cancelled(account, name):
    by = {"kind": "iam", "name": name}
    asked = {"trigger": {"kind": "api", "askedBy": by}, "cancelledBy": {"kind": "iam", "name": f"{name}-2"}}
    words = outline(render({**account, **asked})).text
    assert f"Started by {name}" in " ".join(words.split())
    assert f"Cancelled by {name}-2" in " ".join(words.split())


def drill(day, outcome, seconds, objective=600):
    return {
        "restoreId": f"restore-{day}", "runbook": "rewarm-<orders>", "at": f"2026-11-{day}T03:00:00Z",
        "outcome": outcome, "recoverySeconds": seconds, "recoveryObjectiveSeconds": objective,
        "pointSeconds": 86_400, "pointObjectiveSeconds": None,
    }  # fmt: skip


def test_a_drill_is_shown_beside_those_before_it(account):
    past = [drill(19, "passed", 450), drill(20, "failed", None), drill(21, "late", 700)]
    found = outline(render({**account, "drill": past[-1], "drills": past}))
    assert "Drill late: the volume at full speed" in found.text
    assert '<h1 class="bad">' in render({**account, "drill": past[-1], "drills": past})
    assert "Drills of rewarm-<orders>" in found.text
    assert "2026-11-21 03:00:00 UTC late 11 min 40 s, objective 10 min 00 s" in found.text
    picture = pictures.drills_picture(past)
    assert set(picture) == {"wide", "narrow"}
    for outcome in ("passed", "failed", "late"):
        assert f'drills-{outcome}"' in picture["wide"]
    assert "objective" in picture["wide"]
    assert "<orders>" not in picture["wide"]


def test_a_drill_of_an_application_says_whose_time_it_is(account):
    back = {**drill(21, "passed", 450), "recoveryOf": "application"}
    found = outline(render({**account, "drill": back, "drills": [back]}))
    assert "7 min 30 s, objective 10 min 00 s (application)" in found.text


def test_a_first_drill_has_no_trend(account):
    found = render(
        {**account, "drill": drill(21, "passed", 450, None), "drills": [drill(21, "passed", 450, None)]}
    )
    assert "Drills of rewarm-&lt;orders&gt;" in found
    assert "drills-wide" not in found


def test_other_restores_have_no_drills(page):
    assert "Drills of" not in page


APPLICATION = {
    "state": "failed",
    "index": 0,
    "instanceId": "i-0123456789abcdef0",
    "startedAt": "2026-11-21T03:10:00Z",
    "finishedAt": "2026-11-21T03:12:00Z",
    "reason": "it answered 503",
    "parts": [
        {
            "title": "mount /srv/data", "limitSeconds": 120, "state": "done", "since": "2026-11-21T03:10:00Z",
            "endedAt": "2026-11-21T03:10:02Z", "output": "<b>mounted</b>",
        },
        {"title": "health check", "limitSeconds": 60, "state": "failed", "reason": "it answered 503"},
    ],
}  # fmt: skip


def test_an_application_that_is_not_back_is_said_first_and_part_by_part(account):
    shown = outline(render({**account, "application": APPLICATION}))
    assert "but the application is not back: it answered 503" in shown.text
    for words in (
        "mount /srv/data done 10 min 00 s 2.0 s 2 min",
        "health check failed",
        "60 s it answered 503",
        "What the mount /srv/data printed <b>mounted</b>",
    ):
        assert words in shown.text
    assert "b" not in shown.tags


def test_the_timeline_has_each_part_of_the_application(account):
    rows = view({**account, "application": APPLICATION}, 0, is_drawn=False)["timeline"]
    assert ("Mount /srv/data: done", "+10:02") in [(what, after) for what, _at, after, _took in rows]
    offsets = [after for _what, _at, after, _took in rows]
    assert offsets == sorted(offsets, key=lambda after: [int(part) for part in after[1:].split(":")])
    another = view({**account, "application": {**APPLICATION, "index": 7}}, 0, is_drawn=False)["timeline"]
    assert not [what for what, *_ in another if "srv" in what]


@pytest.mark.parametrize(
    ("undo_of", "words"), [(None, "back at the snapshot"), ("restore-1", "back as before the rewind")]
)
def test_a_rewind_says_first_what_the_volume_has(account, undo_of, words):
    request = account["request"]
    target, source = {**request["target"], "mode": "rewind"}, {**request["source"], "undoOf": undo_of}
    page = render({**account, "request": {**request, "target": target, "source": source}})
    assert f"Ready: the volume {words} 7 min 30 s after the request" in outline(page).text


def test_an_application_that_is_back_counts_until_then(account):
    back = {**APPLICATION, "state": "back", "reason": ""}
    page = render({**account, "application": back, "applicationSeconds": 720})
    assert "the application is back after 12 min 00 s" in outline(page).text
    assert 'class="good"' in page


def test_an_application_whose_record_was_changed_is_left_out(account):
    page = render({**account, "application": {**APPLICATION, "parts": 7}})
    assert 'id="application"' not in page


def test_of_a_volume_that_was_warm_already_nothing_was_read(account):
    changed = json.loads(json.dumps(account, default=str))
    changed["plans"][0]["volume"]["adopts"] = "vol-0123456789abcdef0"
    changed["volumes"][0]["bytesRead"] = 0
    assert "Bytes read or loaded nothing was read" in outline(render(changed)).text
