"""News reach the record before people; a volume at full speed is announced even without its record."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from rewarm.contracts.events import AnnounceEvent
from rewarm.domain.errors import (
    AccessDeniedError,
    RestoreError,
    ServiceUnavailableError,
    ThrottledError,
)
from rewarm.domain.units import iso
from rewarm.domain.words.message import Message, Severity
from rewarm.steps.announce import announce as announcing
from rewarm.steps.record.restore import Change, KnownRestore, asked_through_api
from tests.support.builders import (
    ALICE,
    RESTORE_ID,
    VOLUME_ID,
    World,
    at,
)
from tests.support.fakes import FakePageLinks
from tests.support.worlds.announcing import FAILURE, plan_details, ready_details, say


@pytest.mark.parametrize("kind", ["ready", "failed"])
def test_it_says_who_asked_where_that_is_known(kind: str) -> None:
    world = World()
    details = ready_details() if kind == "ready" else {"failure": FAILURE, "results": []}
    say(world, kind, details)
    assert "Asked for by" not in [field["name"] for field in world.messages.sent[-1]["fields"]]
    assert world.messages.sent[-1]["askedBy"] is None
    world = World()
    world.table.put_new(RESTORE_ID, {"trigger": asked_through_api(ALICE)})
    say(world, kind, details)
    message = world.messages.sent[-1]
    assert {"name": "Asked for by", "value": ALICE.name} in message["fields"]
    assert message["askedBy"] == {"kind": "iam", "name": ALICE.name}


def test_it_says_who_asked_although_the_name_is_a_part_of_another_one_in_its_text() -> None:
    text = f"The restore was cancelled by {ALICE.name}-2."
    shown = Message("failed", RESTORE_ID, "Restore cancelled", text, Severity.WARNING).of(ALICE)
    assert shown.fields == (("Asked for by", ALICE.name),)


class TestReportLink:
    def test_every_message_links_the_page_from_the_plan_on_for_seven_days(self):
        world = World()
        say(world, "plan", plan_details())
        say(world, "ready", ready_details(pageKey=f"restores/{RESTORE_ID}/report.html"))
        say(world, "failed", {"failure": FAILURE, "results": [], "pageKey": None})
        sent = world.messages.sent
        pages = [world.links.behind(message["reportUrl"]) for message in sent]
        assert pages == [(RESTORE_ID, None)] * 3
        assert {message["reportUntil"] for message in sent} == {iso(at(9) + timedelta(days=7))}
        links = [message["reportUrl"] for message in sent]
        assert not any(url in json.dumps(world.table.records) for url in links), "the record has no links"

    def test_a_volume_that_has_its_own_page_is_linked_to_it(self):
        world = World()
        say(world, "ready", ready_details(pageKey=f"restores/{RESTORE_ID}/0/report.html"))
        assert world.links.behind(world.messages.sent[0]["reportUrl"]) == (RESTORE_ID, 0)

    def test_without_a_link_the_news_are_told_all_the_same(self):
        world = World(links=FakePageLinks(failure=ServiceUnavailableError("no table")))
        say(world, "ready", ready_details())
        assert (world.messages.sent[0]["reportUrl"], world.messages.sent[0]["reportUntil"]) == (None, None)


TRANSIENT = [ThrottledError("UpdateItem: throttled"), ServiceUnavailableError("UpdateItem: no answer")]
LASTING = AccessDeniedError("UpdateItem: not authorized")

each_part = pytest.mark.parametrize("part", ["the record", "the news", "the changes"])
each_transient = pytest.mark.parametrize("error", TRANSIENT, ids=lambda one: type(one).__name__)


def world_without(part: str, error: RestoreError, monkeypatch: pytest.MonkeyPatch) -> World:
    """In which the table refuses the reading of the record, or one of the writings."""
    made = World()

    def refuse(*_arguments: object) -> None:
        raise error

    def composer(kind: str) -> announcing.Composer:
        return lambda event, record: (compose(kind)(event, record)[0], refuse)

    compose = announcing.composer
    places = {
        "the record": (made.table, "get_volume", refuse),
        "the news": (made.table, "append_volume_event", refuse),
        "the changes": (announcing, "composer", composer),
    }
    monkeypatch.setattr(*places[part])
    return made


def say_kind(world: World, kind: str, *, last_try: bool = False) -> None:
    ready = {**ready_details(), "lastTry": last_try}
    details = ready if kind == "ready" else {"failure": FAILURE, "results": []}
    say(world, kind, details)


def titles(world: World) -> list[str]:
    return [one["title"] for one in world.messages.sent]


@each_part
@each_transient
def test_while_the_state_is_tried_again_nobody_is_told(
    part: str, error: RestoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_without(part, error, monkeypatch)
    with pytest.raises(type(error)):
        say_kind(world, "ready")
    assert titles(world) == []


@each_part
@each_transient
def test_at_the_last_try_a_volume_at_full_speed_is_told(
    part: str, error: RestoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_without(part, error, monkeypatch)
    say_kind(world, "ready", last_try=True)
    assert titles(world) == [f"{VOLUME_ID} is at full speed"]


@each_part
def test_what_is_not_tried_again_is_told_at_once(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_without(part, LASTING, monkeypatch)
    say_kind(world, "ready")
    assert titles(world) == [f"{VOLUME_ID} is at full speed"]


@pytest.mark.parametrize(
    ("part", "known"), [("the record", {}), ("the news", {"a": 1}), ("the changes", {"a": 1})]
)
def test_what_could_be_read_is_told(
    part: str, known: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = announcing.composer("ready")

    def by_record(event: AnnounceEvent, record: KnownRestore) -> tuple[Message, Change]:
        message = Message("ready", event.restore_id, str(record.volume(0).raw), "text", Severity.INFO)
        return message, compose(event, record)[1]

    world = world_without(part, LASTING, monkeypatch)
    if known:
        monkeypatch.setattr(world.table, "get_volume", lambda *_arguments: known)
    event = AnnounceEvent(restore_id=RESTORE_ID, now=at(9), event="ready", details=ready_details())
    message = announcing.record_news(event, by_record, world.table)
    assert message is not None
    assert message.title == str(known)


def test_a_volume_at_full_speed_is_told_once_however_often_the_state_is_tried() -> None:
    """Lambda may lose the answer of a function that has sent it."""
    world = World()
    for _ in range(2):
        say_kind(world, "ready")
    assert titles(world) == [f"{VOLUME_ID} is at full speed"]
    assert world.table.records[RESTORE_ID]["told0"]


def test_a_volume_at_full_speed_that_no_channel_took_is_told_again() -> None:
    world = World()
    world.messages.channels = []
    with pytest.raises(ServiceUnavailableError, match="no channel took the message ready"):
        say_kind(world, "ready")
    world.messages.channels = ["email"]
    say_kind(world, "ready")
    assert len(titles(world)) == 2


def test_a_message_that_cannot_be_noted_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def refuse(*_arguments: object) -> None:
        raise ThrottledError("UpdateItem: slow down")

    monkeypatch.setattr(world.table, "update_volume", refuse)
    say_kind(world, "ready")
    assert titles(world) == [f"{VOLUME_ID} is at full speed"]


def test_a_failure_waits_for_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweeper tells it otherwise."""
    world = world_without("the changes", LASTING, monkeypatch)
    with pytest.raises(AccessDeniedError):
        say_kind(world, "failed")
    assert titles(world) == []


def ids(*kinds_and_details: tuple[str, dict[str, object]]) -> list[str]:
    """The ids of these messages, each sent alone, as by another function after the first one died."""
    found = []
    for kind, details in kinds_and_details:
        world = World()
        say(world, kind, details)
        found.append(world.messages.sent[-1]["eventId"])
    return found


def test_a_message_that_is_sent_again_has_the_same_id_though_figures_are_lost() -> None:
    whole, bare = ready_details(), {**ready_details(), "initialization": None, "after": None}
    first, again = ids(("ready", whole), ("ready", bare))
    assert first == again
    assert ids(("failed", {"failure": FAILURE, "results": []}))[0] != first


def test_other_news_have_other_ids() -> None:
    other = ready_details()
    other["volume"] = {**other["volume"], "index": 1}
    assert len({*ids(("ready", ready_details()), ("ready", other), ("plan", plan_details()))}) == 3
