"""Which plan takes over when one cannot be carried out, and whether on the same volume or a new one.

The choice goes by what is left: of the deadline, of the budget, and of the volume. Rewarm never gives up a
volume that was announced as usable, so only a strategy that works in place may follow.

If EC2 refuses a rate, other volumes hold it until they are loaded. A volume that waits for its turn asks
again until the latest time at which the plan has the rate free. After that it asks only while that can be in
time, all other strategies in time cost more, and waiting does not lose them. Many volumes may wait, and EC2
accepts few CreateVolume requests a second, so each asks at its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum

from rewarm.domain.errors import (
    AgentFailedError,
    AgentUnreachableError,
    BlocksUnavailableError,
    BoostUnavailableError,
    CapacityUnavailableError,
    FastSnapshotRestoreUnavailableError,
    InitializationRateUnavailableError,
    InitializationStalledError,
    InstanceAwayError,
    VolumeCopyUnavailableError,
    VolumeNotFastError,
)
from rewarm.domain.model import Strategy
from rewarm.domain.plan.facts import IN_PLACE
from rewarm.domain.units import duration_text, usd_text
from rewarm.domain.value import Value


class How(StrEnum):
    """What is done now."""

    NEW_VOLUME = "new-volume"
    SAME_VOLUME = "same-volume"
    WARM_UP_AGAIN = "warm-up-again"
    SAME_PLAN_LATER = "same-plan-later"
    NONE = "none"


NOT_TO_BE_HAD = frozenset(
    error.__name__
    for error in (
        CapacityUnavailableError,
        InitializationRateUnavailableError,
        FastSnapshotRestoreUnavailableError,
        BoostUnavailableError,
        VolumeCopyUnavailableError,
        BlocksUnavailableError,
    )
)
AGENT_LOST = frozenset(
    error.__name__ for error in (AgentUnreachableError, InstanceAwayError, AgentFailedError)
)
STALLED, NOT_FAST = InitializationStalledError.__name__, VolumeNotFastError.__name__
MENDED_BY_ANOTHER_PLAN = NOT_TO_BE_HAD | AGENT_LOST | {STALLED}
RATE_REFUSED = InitializationRateUnavailableError.__name__
LEAST_WAIT_SECONDS, SHARE_OF_OVERDUE = 15, 0.2
"""A volume that waits for its turn asks again after this share of the time since its turn was expected."""
LEAST_PAUSE_SECONDS, SHARE_OF_TIME = 30, 0.01
"""The same after the plan's latest time for its turn; a share of the time until the deadline."""


class Option(Value):
    """A plan that was made beside the one that failed."""

    strategy: Strategy
    usable_seconds: float
    ready_p90_seconds: float
    cost_usd: Decimal
    """The price that a budget is compared with."""

    def seconds_from_now(self, *, in_place: bool) -> float:
        """P90; the volume of a plan in place can be used already."""
        return max(0.0, self.ready_p90_seconds - (self.usable_seconds if in_place else 0.0))


class Situation(Value):
    """What failed, what is done, and what is left; None where the request says nothing of it."""

    error: str
    failed: Strategy
    tried: frozenset[Strategy] = frozenset()
    demanded: Strategy | None = None
    strict: bool = False
    announced: bool = False
    agent_available: bool = False
    agent_lost: bool = False
    warm_ups: int = 0
    seconds_left: float | None = None
    budget_left_usd: Decimal | None = None
    ready_p90_seconds: float = 0.0
    """P90 of the failed plan, from the creation of its volume."""
    failed_usd: Decimal = Decimal(0)
    """Its price."""
    queue_seconds_left: float = 0.0
    """Seconds until the latest time at which the plan has the rate free for the volume."""
    overdue_seconds: float = 0.0
    """Since the plan expected it to be free."""
    turn_seconds: float = 0.0
    """Seconds until it is the volume's turn to ask for the rate again, among all that wait for it."""

    @property
    def waits_for_rate(self) -> bool:
        """The Region's rate is held by other volumes."""
        return self.error == RATE_REFUSED and self.failed is Strategy.PROVISIONED_RATE

    @property
    def without_agent(self) -> bool:
        """The agent is not there, did not do it, or cannot be reached."""
        return not self.agent_available or self.agent_lost or self.error in AGENT_LOST or self.warm_ups > 0

    def is_late(self, option: Option) -> bool:
        """Nine of ten are not ready in time."""
        left = self.seconds_left
        return left is not None and option.seconds_from_now(in_place=self.announced) > left


class Takeover(Value):
    """What is done now and why; `option` is the place of the plan among those given."""

    how: How
    why: str
    option: int | None = None
    late: bool = False
    rejected: tuple[str, ...] = ()
    wait_seconds: float = 0.0
    """Before the same plan is tried again."""


def take_over(situation: Situation, options: Sequence[Option]) -> Takeover:
    """Takes the cheapest option that is in time; if all are late, the earliest.

    If loading stalled or the volume is slow, the agent warms it first, if there is one. That is the same plan
    on the same volume, so it is allowed even if the request demands a strategy.
    """
    if situation.error == NOT_FAST and situation.failed is Strategy.REWIND:
        return Takeover(
            How.NONE, "A rewound volume has all of its blocks: reading them would change nothing."
        )
    if situation.error in {STALLED, NOT_FAST} and not situation.without_agent:
        return Takeover(How.WARM_UP_AGAIN, "The agent reads the volume, which is in place already.")
    if situation.error not in MENDED_BY_ANOTHER_PLAN:
        return Takeover(How.NONE, "Another plan would not mend that.")
    refusals = [_refusal(situation, option) for option in options]
    rejected = tuple(
        f"{option.strategy}: {refusal}"
        for option, refusal in zip(options, refusals, strict=True)
        if refusal is not None
    )
    possible = [place for place, refusal in enumerate(refusals) if refusal is None]
    wait = _wait_seconds(situation, [options[place] for place in possible])
    if wait is not None:
        why = f"Other volumes hold the Region's rate: it is asked for again in {duration_text(wait)}."
        return Takeover(How.SAME_PLAN_LATER, why, rejected=rejected, wait_seconds=wait)
    if not possible:
        return Takeover(How.NONE, _why_none(situation, rejected), rejected=rejected)
    best = min(possible, key=lambda place: _rank(situation, options[place], place))
    how = How.SAME_VOLUME if situation.announced else How.NEW_VOLUME
    late = situation.is_late(options[best])
    return Takeover(how, _why(situation, options[best], late=late), best, late, rejected)


def _wait_seconds(situation: Situation, possible: Sequence[Option]) -> float | None:
    """When the restore asks for the same rate again; None if it does not."""
    if not situation.waits_for_rate:
        return None
    if situation.queue_seconds_left > 0:
        return max(LEAST_WAIT_SECONDS, SHARE_OF_OVERDUE * situation.overdue_seconds, situation.turn_seconds)
    left = situation.seconds_left
    if left is None:
        return None
    pause = max(LEAST_PAUSE_SECONDS, SHARE_OF_TIME * left, situation.turn_seconds)
    later = replace(situation, seconds_left=left - pause)
    in_time = [option for option in possible if not situation.is_late(option)]
    is_better = any(option.cost_usd <= situation.failed_usd for option in in_time)
    is_lost = bool(in_time) and all(map(later.is_late, in_time))
    if is_better or is_lost or pause + situation.ready_p90_seconds > left:
        return None
    return pause


def _refusal(situation: Situation, option: Option) -> str | None:
    """Why it may not take over; None where it may."""
    if option.strategy is situation.failed or option.strategy in situation.tried:
        return "it was tried already"
    if situation.announced and option.strategy not in IN_PLACE:
        return "it needs a new volume, and the one that is there can be used already, so it stays"
    if (option.strategy.reads_with_agent or option.strategy.writes_with_agent) and situation.without_agent:
        return "it needs the agent on the instance"
    budget = situation.budget_left_usd
    if budget is not None and 0 < option.cost_usd > budget:
        return (
            f"it costs {usd_text(option.cost_usd)}, and the budget leaves {usd_text(max(budget, Decimal(0)))}"
        )
    if situation.strict and situation.is_late(option):
        ready = duration_text(option.seconds_from_now(in_place=situation.announced))
        left = duration_text(max(0.0, situation.seconds_left or 0.0))
        return f"full speed only within {ready}, and the deadline is in {left}"
    return None


def _rank(situation: Situation, option: Option, place: int) -> tuple[bool, float, Decimal, float, int]:
    seconds = option.seconds_from_now(in_place=situation.announced)
    late = situation.is_late(option)
    return late, seconds if late else 0.0, option.cost_usd, seconds, place


def _why(situation: Situation, option: Option, *, late: bool) -> str:
    seconds = option.seconds_from_now(in_place=situation.announced)
    where = "on the same volume" if situation.announced else "with a new volume"
    price = f"costs {usd_text(option.cost_usd)}" if option.cost_usd else "no extra cost"
    ready = f"full speed within {duration_text(seconds)} (P90)"
    said = f"Takes over from {situation.failed}, {where}: {ready}"
    left = situation.seconds_left
    if left is None:
        return f"{said}; {price}."
    if late:
        return f"{said}; {duration_text(seconds - max(0.0, left))} too late; {price}; none is earlier."
    return f"{said}; deadline in {duration_text(left)}; {price}."


def _why_none(situation: Situation, rejected: Sequence[str]) -> str:
    if situation.demanded is not None:
        return f"The request demands {situation.demanded}, so no other plan may take over."
    if not rejected:
        return "No other plan was left."
    return f"No other plan can take over: {'; '.join(rejected)}."


def spent_usd(
    strategy: Strategy, cost_usd: Decimal, *, made: bool, enabled_by_us: bool, share_of_time: float = 0.0
) -> Decimal:
    """Returns what a failed plan has cost in USD, rounded up where it is uncertain.

    A rate and a copy are billed in full once the volume exists. Fast snapshot restore is billed for at least
    an hour and as long as it is enabled. A boost is billed by the second; here it counts as planned.
    """
    if strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        return cost_usd * Decimal(str(max(1.0, share_of_time))) if enabled_by_us else Decimal(0)
    if strategy is Strategy.BOOSTED_WARM_UP:
        return cost_usd * Decimal(str(max(1.0, share_of_time))) if made else Decimal(0)
    return cost_usd if made else Decimal(0)
