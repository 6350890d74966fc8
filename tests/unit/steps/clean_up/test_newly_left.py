"""What is left raises the sweeper's alarm once a day."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from rewarm.domain.errors import ThrottledError
from rewarm.domain.volume.leftovers import SweptResource
from rewarm.steps.clean_up.sweep import newly_left
from tests.support.builders import NOW
from tests.support.fakes import FakeTable

FAILED = SweptResource("boosts", "vol-1", "left", "IncorrectState: the volume is in the state error")


@dataclass(frozen=True)
class Ports:
    """Those of the sweeper that count here; each sweep has another owner."""

    owner: str
    now: datetime = NOW
    table: FakeTable = field(default_factory=FakeTable)


def test_what_nobody_can_mend_hides_no_other_leak() -> None:
    first = Ports("sweep 1")
    assert newly_left([FAILED], first) == [f"vol-1 (boosts): {FAILED.reason}"]
    assert (
        newly_left([replace(FAILED, reason="the same in other words")], replace(first, owner="sweep 2")) == []
    )
    leak = replace(FAILED, resource="vol-2")
    found = newly_left([FAILED, leak], replace(first, owner="sweep 3"))
    assert found == [f"vol-2 (boosts): {FAILED.reason}"]


def test_it_is_said_again_on_the_next_day() -> None:
    first = Ports("sweep 1")
    newly_left([FAILED], first)
    assert newly_left([FAILED], replace(first, owner="sweep 99", now=NOW + timedelta(days=1)))


def test_what_has_ended_or_ends_raises_nothing() -> None:
    assert (
        newly_left([replace(FAILED, state="ended"), replace(FAILED, state="ending")], Ports("sweep 1")) == []
    )


class _Throttled(FakeTable):
    def claim_event(self, event_id: str, restore_id: str) -> str:
        raise ThrottledError(event_id + restore_id)


def test_where_the_table_does_not_answer_it_is_rather_said_twice() -> None:
    assert newly_left([FAILED], Ports("sweep 1", table=_Throttled()))
