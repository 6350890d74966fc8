"""Of two senders of one message, one sends it; the other sends it only if the first one died."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from rewarm.domain.errors import AccessDeniedError, RestoreError, ServiceUnavailableError, ThrottledError
from rewarm.steps.announce.claims import CLAIM_SECONDS, OTHER_SENDS, PAUSE_SECONDS, TRIES
from tests.support.builders import RESTORE_ID, World, at
from tests.support.fakes import FakeMessages, FakeTable
from tests.support.worlds.announcing import FAILURE, ready_details, say

FIRST, REDRIVEN, SWEEP = "execution 0", "execution 1", "a run of the sweeper"
FAILED: dict[str, Any] = {"failure": FAILURE, "results": []}
Act = Callable[[], Any]


class Died(BaseException):
    """Lambda has killed the function."""


@dataclass
class InterruptedMessages(FakeMessages):
    """Something happens once while the first message is on its way: it is neither taken nor noted yet."""

    meanwhile: Act | None = None

    def send(self, message: dict[str, Any]) -> list[str]:
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().send(message)


@dataclass
class InterruptedTable(FakeTable):
    """Something happens once when a sender has looked whether the message was sent, and not sent it yet."""

    meanwhile: Act | None = None

    def get_whole(self, restore_id: str) -> tuple[dict[str, Any] | None, dict[int, dict[str, Any]]]:
        """That is how the sender of a failure looks."""
        act, self.meanwhile = self.meanwhile, None
        found = super().get_whole(restore_id)
        if act is not None:
            act()
        return found

    def get_volume(self, restore_id: str, index: int) -> dict[str, Any]:
        """And the sender of a volume at full speed."""
        act, self.meanwhile = self.meanwhile, None
        found = super().get_volume(restore_id, index)
        if act is not None:
            act()
        return found


@dataclass
class Race:
    """One message of a restore, and who sends it."""

    kind: str
    details: dict[str, Any]
    table: InterruptedTable = field(default_factory=InterruptedTable)
    messages: InterruptedMessages = field(default_factory=InterruptedMessages)
    refusals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(table=self.table, messages=self.messages)
        self.table.put_new(RESTORE_ID, {"volumeCount": 1, "settled0": self.kind == "ready"})

    def says(self, sender: str, **details: Any) -> Any:
        """As the sender's function; raises what it raises."""
        return say(self.world, self.kind, {**self.details, "sender": sender, **details})

    def tries(self, sender: str, **details: Any) -> None:
        """As `says`, and notes a refusal."""
        try:
            self.says(sender, **details)
        except ServiceUnavailableError as error:
            self.refusals.append(str(error))

    @property
    def is_noted(self) -> bool:
        """Whether the record says that the message was sent."""
        return bool({"toldAt", "told0"} & self.table.records[RESTORE_ID].keys())


@pytest.fixture(params=["failed", "ready"])
def race(request: pytest.FixtureRequest) -> Race:
    return Race(request.param, FAILED if request.param == "failed" else ready_details())


@pytest.mark.parametrize(("one", "other"), [(SWEEP, REDRIVEN), (REDRIVEN, SWEEP), (FIRST, REDRIVEN)])
class TestTwoAtOnce:
    def test_one_sends_while_the_other_comes_before_the_note(self, race: Race, one: str, other: str) -> None:
        race.messages.meanwhile = lambda: race.tries(other)
        assert race.says(one).channels == ["slack", "email"]
        assert (len(race.messages.sent), race.refusals, race.is_noted) == (1, [OTHER_SENDS], True)
        assert race.says(other).repeated, "its next try"
        assert len(race.messages.sent) == 1

    def test_one_sends_where_both_have_looked(self, race: Race, one: str, other: str) -> None:
        race.table.meanwhile = lambda: race.tries(other)
        race.tries(one)
        assert race.table.meanwhile is None
        race.tries(other)
        assert (len(race.messages.sent), race.is_noted) == (1, True)

    def test_what_one_could_not_send_the_other_sends_at_once(self, race: Race, one: str, other: str) -> None:
        race.messages.channels = []
        with pytest.raises(ServiceUnavailableError, match="no channel took"):
            race.says(one)
        race.messages.channels = ["slack"]
        assert race.says(other).channels == ["slack"]

    def test_one_that_dies_is_followed_by_the_other_when_its_claim_is_over(
        self, race: Race, one: str, other: str
    ) -> None:
        race.messages.meanwhile = died
        with pytest.raises(Died):
            race.says(one)
        race.tries(other)
        assert (race.messages.sent, race.refusals, race.is_noted) == ([], [OTHER_SENDS], False)
        race.table.now = at(CLAIM_SECONDS / 60)
        assert race.says(other).channels
        assert (len(race.messages.sent), race.is_noted) == (1, True)

    def test_one_that_dies_continues_at_once(self, race: Race, one: str, other: str) -> None:
        del other
        race.messages.meanwhile = died
        with pytest.raises(Died):
            race.says(one)
        assert race.says(one).channels
        assert (len(race.messages.sent), race.is_noted) == (1, True)


def died() -> None:
    raise Died


def test_an_execution_that_began_with_an_earlier_version_names_nobody(race: Race) -> None:
    race.messages.meanwhile = lambda: race.tries(SWEEP)
    say(race.world, race.kind, race.details)
    assert (len(race.messages.sent), race.refusals) == (1, [OTHER_SENDS])


@pytest.mark.parametrize("rounds", [1, TRIES - 1])
def test_a_state_waits_for_a_sender_that_is_soon_done(race: Race, rounds: int) -> None:
    waits: list[float] = []
    name = f"{race.kind}#{RESTORE_ID}" + ("#0" if race.kind == "ready" else "")
    race.table.claim_message(name, SWEEP, seconds=CLAIM_SECONDS)

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == rounds:
            race.says(SWEEP)

    race.world.wait = wait
    assert race.says(REDRIVEN).repeated
    assert (len(race.messages.sent), waits) == (1, [PAUSE_SECONDS] * rounds)


def test_a_state_waits_no_longer_than_its_function_may_run(race: Race) -> None:
    waits: list[float] = []
    name = f"{race.kind}#{RESTORE_ID}" + ("#0" if race.kind == "ready" else "")
    race.table.claim_message(name, SWEEP, seconds=CLAIM_SECONDS)
    race.world.wait = waits.append
    race.tries(REDRIVEN, **({"lastTry": True} if race.kind == "ready" else {}))
    assert (race.messages.sent, race.refusals) == ([], [OTHER_SENDS]), "not even at the last try"
    assert sum(waits) <= 20


@pytest.mark.parametrize("error", [ThrottledError("slow down"), AccessDeniedError("denied")])
def test_full_speed_is_announced_even_if_nothing_can_be_claimed(error: RestoreError) -> None:
    race = Race("ready", ready_details())

    def refuse(*_: object, **__: object) -> bool:
        raise error

    race.table.claim_message = refuse  # type: ignore[method-assign]
    if isinstance(error, ThrottledError):
        with pytest.raises(ThrottledError):
            race.says(FIRST)
        assert race.messages.sent == []
    race.says(FIRST, lastTry=True)
    assert len(race.messages.sent) == 1


def test_a_failure_is_not_announced_unless_it_can_be_claimed() -> None:
    """The sweeper sends it later, and knows then whether it was sent."""
    race = Race("failed", FAILED)

    def refuse(*_: object, **__: object) -> bool:
        raise ThrottledError("slow down")

    race.table.claim_message = refuse  # type: ignore[method-assign]
    with pytest.raises(ThrottledError):
        race.says(FIRST)
    assert race.messages.sent == []


def test_a_restore_that_failed_and_is_redriven_can_still_be_ready() -> None:
    race = Race("failed", FAILED)
    race.says(FIRST)
    race.kind, race.details = "ready", ready_details()
    race.says(REDRIVEN)
    assert [message["event"] for message in race.messages.sent] == ["failed", "ready"]


def test_each_volume_has_its_own_claim() -> None:
    race = Race("ready", ready_details())
    volume = race.details["volume"]
    race.messages.meanwhile = lambda: race.says(FIRST, volume={**volume, "index": 1})
    race.says(FIRST)
    assert len(race.messages.sent) == 2


def test_the_claim_is_no_part_of_the_record(race: Race) -> None:
    """So what GET /restores/{id} shows is the same."""
    race.says(FIRST)
    assert "claim" not in str(race.table.records).lower()
