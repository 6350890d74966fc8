"""A runbook or a rule is replaced only by who has seen it, also where two write at once."""

from __future__ import annotations

from typing import Any

import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.errors import AlreadyStoredError, ServiceUnavailableError
from rewarm.ports.restores import RUNBOOK
from rewarm.steps.record.replacing import NOTHING, store, version_of
from tests.support.builders import TO_INSTANCE, World

KEY = (RUNBOOK, "rewarm-a")
OURS = parse_restore_request(TO_INSTANCE)
OTHER = parse_restore_request({**TO_INSTANCE, "objective": {"readyWithinMinutes": 30}})
THIRD = parse_restore_request({**TO_INSTANCE, "objective": {"readyWithinMinutes": 31}})


def put(table: Any, content: Any, replaces: str | None) -> None:
    store(table, KEY, content, trigger={}, replaces=replaces, what="another runbook")


def test_nothing_is_asked_where_nothing_or_the_same_is_stored() -> None:
    table = World().table
    put(table, OURS, NOTHING)
    put(table, OURS, NOTHING)
    assert table.runbook("rewarm-a") == OURS.to_json()


def test_a_runbook_that_lacks_a_field_of_today_is_the_same_one() -> None:
    table = World().table
    older = {name: value for name, value in OURS.to_json().items() if name != "alarmCooldownMinutes"}
    assert older != OURS.to_json()
    table.store(*KEY, older)
    put(table, OURS, NOTHING)
    assert table.runbook("rewarm-a") == OURS.to_json()


def test_what_this_version_does_not_take_is_shown_as_it_is() -> None:
    table = World().table
    table.store(*KEY, {"of": "another version"})
    with pytest.raises(AlreadyStoredError, match="another runbook is stored already and differs") as other:
        put(table, OURS, NOTHING)
    assert (other.value.stored, other.value.wanted) == ({"of": "another version"}, OURS.to_json())
    put(table, OURS, other.value.version)
    assert table.runbook("rewarm-a") == OURS.to_json()


def test_what_was_deleted_meanwhile_is_in_nobody_s_way() -> None:
    table = World().table
    put(table, OURS, version_of(OTHER.to_json()))
    assert table.runbook("rewarm-a") == OURS.to_json()


@pytest.mark.parametrize("between", [OTHER, OURS, None])
def test_of_two_writers_at_once_none_replaces_what_it_has_not_seen(
    between: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else writes or deletes between the look and the write."""
    table = World().table
    table.store(*KEY, THIRD.to_json())
    seen, write = version_of(THIRD.to_json()), table.replace

    def late(*key: Any, **more: Any) -> bool:
        monkeypatch.setattr(table, "replace", write)
        if between is None:
            table.discard(*KEY)
        else:
            table.store(*KEY, between.to_json())
        return write(*key, **more)

    monkeypatch.setattr(table, "replace", late)
    if between is OTHER:
        with pytest.raises(AlreadyStoredError):
            put(table, OURS, seen)
        assert table.runbook("rewarm-a") == OTHER.to_json()
    else:
        put(table, OURS, seen)
        assert table.runbook("rewarm-a") == OURS.to_json()


def test_it_does_not_try_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    table = World().table
    monkeypatch.setattr(table, "replace", lambda *_, **__: False)
    with pytest.raises(ServiceUnavailableError, match="try again"):
        put(table, OURS, NOTHING)
