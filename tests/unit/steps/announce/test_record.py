"""What is told although the record is out of reach: only that a volume is at full speed, and only once."""

from __future__ import annotations

import pytest

from rewarm.contracts import AnnounceEvent
from rewarm.contracts.base import JsonObject
from rewarm.domain.errors import AccessDeniedError, RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.domain.words.message import Message, Severity
from rewarm.steps.announce import record as announce_record
from rewarm.steps.announce.announce import announce
from tests.support.builders import RESTORE_ID, VOLUME_ID, World, at, request
from tests.unit.steps.announce.test_announce import FAILURE, ready_details

PASSING = [ThrottledError("UpdateItem: throttled"), ServiceUnavailableError("UpdateItem: no answer")]
LASTING = AccessDeniedError("UpdateItem: not authorized")

each_part = pytest.mark.parametrize("part", ["the record", "the news", "the changes"])
each_passing = pytest.mark.parametrize("error", PASSING, ids=lambda one: type(one).__name__)


def world_without(part: str, error: RestoreError, monkeypatch: pytest.MonkeyPatch) -> World:
    """In which the table refuses the reading of the record, or one of the writings."""
    made = World()
    places = {
        "the record": (made.table, "get_volume"),
        "the news": (made.table, "append_volume_event"),
        "the changes": (announce_record, "note"),
    }

    def refuse(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(*places[part], refuse)
    return made


def say(world: World, kind: str, *, last_try: bool = False) -> None:
    ready = {**ready_details(), "lastTry": last_try}
    details = ready if kind == "ready" else {"failure": FAILURE, "results": []}
    event = AnnounceEvent(restore_id=RESTORE_ID, now=at(9), event=kind, request=request(), details=details)
    announce(event, table=world.table, messages=world.messages, artifacts=world.artifacts)


def titles(world: World) -> list[str]:
    return [one["title"] for one in world.messages.sent]


@each_part
@each_passing
def test_while_the_state_is_tried_again_nobody_is_told(
    part: str, error: RestoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_without(part, error, monkeypatch)
    with pytest.raises(type(error)):
        say(world, "ready")
    assert titles(world) == []


@each_part
@each_passing
def test_at_the_last_try_a_volume_at_full_speed_is_told(
    part: str, error: RestoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_without(part, error, monkeypatch)
    say(world, "ready", last_try=True)
    assert titles(world) == [f"{VOLUME_ID} is at full speed"]


@each_part
def test_what_is_not_tried_again_is_told_at_once(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_without(part, LASTING, monkeypatch)
    say(world, "ready")
    assert titles(world) == [f"{VOLUME_ID} is at full speed"]


@pytest.mark.parametrize(
    ("part", "known"), [("the record", {}), ("the news", {"a": 1}), ("the changes", {"a": 1})]
)
def test_what_could_be_read_is_told(
    part: str, known: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_record(event: AnnounceEvent, record: JsonObject) -> tuple[Message, JsonObject]:
        return Message("ready", event.restore_id, str(record), "text", Severity.INFO), {"b": 2}

    world = world_without(part, LASTING, monkeypatch)
    if known:
        monkeypatch.setattr(world.table, "get_volume", lambda *_arguments: known)
    event = AnnounceEvent(restore_id=RESTORE_ID, now=at(9), event="ready", details=ready_details())
    assert announce_record.recorded(event, by_record, world.table).title == str(known)


def test_a_failure_waits_for_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweeper tells it otherwise."""
    world = world_without("the changes", LASTING, monkeypatch)
    with pytest.raises(AccessDeniedError):
        say(world, "failed")
    assert titles(world) == []
