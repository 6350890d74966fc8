"""Which volumes a rule adopts, and how many now: limits are shared with restores, which come first.

A rule looks at volumes that were made after it was written, and for a day. One that cannot be read yet waits
for its attachment; one that can never be read is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Protocol

from rewarm.domain.model import HEX, Instance, Volume
from rewarm.domain.tags import any_value, has_tags
from rewarm.domain.value import Value
from rewarm.domain.volume.adopting import WARM_SINCE_TAG
from rewarm.domain.volume.holds import ConcurrencyLimits
from rewarm.domain.volume.leftovers import STACK_TAG

NEW_FOR = timedelta(days=1)
"""How long a rule looks at a volume; what its limits keep out for longer is left to people."""
CLOCKS_AGREE = timedelta(minutes=1)
"""How far EC2's clock and that of the table may be apart."""
SWEEPS_SECONDS = 900
"""How often rules look in any case (template.yaml, event `Sweep`)."""
_IDS = re.compile(rf"\b(vol|snap|i)-{HEX}\b")


class Match(Protocol):
    """Which volumes a rule is about, as the contract RuleMatch has it."""

    volume_tags: dict[str, str]
    instance_tags: dict[str, str]
    snapshot_tags: dict[str, str]
    size_gib_from: int | None
    size_gib_to: int | None

    @property
    def volume_types(self) -> Sequence[str]:
        """Empty for all."""


class Limits(Protocol):
    """What keeps a rule from running away, as the contract RuleLimits has it."""

    max_usd_per_day: Decimal
    max_volumes_per_day: int
    max_at_once: int
    max_at_once_per_instance: int


def is_for_rules(volume: Volume) -> bool:
    """Whether any rule may look at the volume: others made it of a snapshot, and it is not proven warm."""
    tags = volume.settings.tags
    return volume.snapshot_id is not None and tags.keys().isdisjoint({STACK_TAG, WARM_SINCE_TAG})


def fits(
    match: Match, volume: Volume, instance: Instance | None, snapshot_tags: Mapping[str, str]
) -> bool | None:
    """Whether the rule is about the volume; None while that depends on the instance that will have it."""
    settings = volume.settings
    alone = (
        has_tags(any_value(match.volume_tags), settings.tags)
        and has_tags(any_value(match.snapshot_tags), snapshot_tags)
        and (match.size_gib_from or 0) <= settings.size_gib <= (match.size_gib_to or settings.size_gib)
        and (not match.volume_types or settings.volume_type in match.volume_types)
    )
    if not alone or not match.instance_tags:
        return alone
    return None if instance is None else has_tags(any_value(match.instance_tags), instance.tags)


def next_look(newest: datetime, now: datetime) -> datetime | None:
    """When to look again for volumes that are not attached yet; the newest of them was made at `newest`.

    Waits are a quarter of its age at most: 1, 2, 4 and 8 minutes. Looks are at multiples of these, so one
    look serves all volumes. None where the schedule looks soon enough.
    """
    apart = 60
    while 8 * apart <= (now - newest).total_seconds():
        apart *= 2
    if apart >= SWEEPS_SECONDS:
        return None
    return datetime.fromtimestamp((int(now.timestamp()) // apart + 1) * apart, UTC)


def grouped_reason(reason: str) -> str:
    """The reason without the ids in it, so that many volumes are counted together."""
    return _IDS.sub(r"\1-…", reason)


class Adoptable(Value):
    """A volume that a rule adopts as soon as its limits allow; `usd` is the most that this may cost."""

    volume_id: str
    instance_id: str
    usd: Decimal


class Batch(Value):
    """Volumes of one instance that are adopted by one request."""

    instance_id: str
    volume_ids: tuple[str, ...]
    usd: Decimal


class Use(Value):
    """What is used of the limits already."""

    usd_today: Decimal
    volumes_today: int
    at_once: int
    """Volumes of all rules, and restores."""
    on_instance: Mapping[str, int]
    """Volumes that rules or restores work on."""
    requests: int
    """Restores and adoptions that run in the stack."""
    requests_on: Mapping[str, int]
    """Those that run on each instance."""


USD, DAY, REGION, INSTANCE, STACK = (
    "limits.maxUsdPerDay is used up",
    "limits.maxVolumesPerDay is used up",
    "limits.maxAtOnce volumes are being adopted or restored in the Region",
    "limits.maxAtOncePerInstance volumes are being adopted or restored on their instance",
    "so much runs in the stack that the rest of its room is kept for restores",
)
"""Why a volume waits, for people."""


def choose(
    candidates: Iterable[Adoptable],
    limits: Limits,
    used: Use,
    stack: ConcurrencyLimits,
    *,
    most_of_request: int,
) -> tuple[list[Batch], dict[str, str]]:
    """What begins now, and why each other volume waits, by its id. The first candidates are served first.

    Rules leave restores at least half of the stack's room, in all and on each instance.
    """
    taken: dict[str, list[Adoptable]] = {}
    later: dict[str, str] = {}
    usd = used.usd_today
    count = 0
    for volume in candidates:
        own = taken.get(volume.instance_id, [])
        beside = used.requests_on.get(volume.instance_id, 0)
        on_instance = used.on_instance.get(volume.instance_id, 0) + len(own)
        full = {
            USD: usd + volume.usd > limits.max_usd_per_day,
            DAY: used.volumes_today + count >= limits.max_volumes_per_day,
            REGION: used.at_once + count >= limits.max_at_once,
            INSTANCE: on_instance >= limits.max_at_once_per_instance or len(own) >= most_of_request,
            STACK: not own
            and (
                used.requests + len(taken) >= max(1, stack.in_stack // 2)
                or beside >= max(1, stack.per_instance // 2)
            ),
        }
        why = next((reason for reason, is_full in full.items() if is_full), None)
        if why is not None:
            later[volume.volume_id] = why
            continue
        taken.setdefault(volume.instance_id, []).append(volume)
        usd = usd + volume.usd
        count = count + 1
    return [_batch(instance_id, own) for instance_id, own in taken.items()], later


def _batch(instance_id: str, own: list[Adoptable]) -> Batch:
    usd = sum((volume.usd for volume in own), Decimal(0))
    return Batch(instance_id, tuple(volume.volume_id for volume in own), usd)


def is_new(volume: Volume, written_at: datetime, now: datetime) -> bool:
    """Whether it was made after the rule was written, and within the last day."""
    return volume.created_at >= written_at - CLOCKS_AGREE and now - volume.created_at < NEW_FOR
