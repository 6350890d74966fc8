"""What a plan's reader should know in addition to its numbers, if it makes a difference.

What is true of every plan is in docs/strategies.md instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import Candidate, Plan, VolumePlan
from rewarm.domain.model import MIB, PriceBook, Strategy
from rewarm.domain.plan.cost import more_by_steps
from rewarm.domain.plan.estimators import fast_restore_limit
from rewarm.domain.time.history import ApplicationTimes
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import clock_text, count_text, duration_text, usd_text
from rewarm.domain.volume.extents import Scope
from rewarm.domain.volume.volume_types import VOLUME_TYPES, speed

CENT, MUCH_DEARER = Decimal("0.01"), Decimal("0.25")
"""A smaller difference needs no note."""
MOST_PASSED_OVER = 5
MOST_NAMED = 40
"""Snapshots in one sentence; a restore with a list has no more."""
MOST_NOTES = 20
"""How many notes a message has room for."""
_OLDER = "older than "
BLOCK_FIGURES = {
    "getBlocksUsdPerThousand": "GetSnapshotBlock",
    "packsUsdPerGibMonth": "S3",
    "functionsUsdPerGbSecond": "Lambda",
    "functionsUsdPerMillion": "Lambda",
    "transitionsUsdPerThousand": "Step Functions",
}
"""Behind the price of blocks that are copied into the bucket."""


def stale_prices(plans: Sequence[VolumePlan], book: PriceBook, now: datetime) -> list[str]:
    """In words, each figure in a strategy's cost that is more than 90 days old."""
    found = []
    for name, label in _figures(plans).items():
        figure = book.figures.get(name)
        if figure is not None and figure.is_stale(now):
            found.append(f"{label} of {clock_text(figure.as_of)[:10]}")
    return found


def plan_notes(plans: Sequence[VolumePlan], book: PriceBook) -> list[str]:
    """Sentences about what is unusual; empty if nothing is."""
    return [
        *_replaced(plans),
        *_started(plans),
        *_cards(plans),
        *_unproven(plans),
        *_enlarged(plans),
        *_of_unknown_size(plans),
        *_by_price_steps(plans, book),
        *_borrowed_prices(plans, book),
        *_beyond_fast_restore(plans),
        *_unmeasured(plans),
        *_sets(plans),
        *_passed_over(plans),
    ]


def warm_up_notes(plans: Sequence[VolumePlan], scope: Scope, polite_latency_ms: float | None) -> list[str]:
    """What the agent's times do not include, for plans in which the agent warms up."""
    notes: list[str] = []
    if not any(plan.plan.strategy.reads_with_agent for plan in plans):
        return notes
    if scope is Scope.USED:
        notes.append(
            "The agent's times are for all written blocks; with warmUp.scope used it reads fewer where the "
            "file systems use fewer, and the others stay cold."
        )
    if polite_latency_ms is not None:
        notes.append(
            f"The agent's times are for a volume that nobody else reads; with warmUp.politeLatencyMs "
            f"{polite_latency_ms:g} it takes longer where the application reads much."
        )
    return notes


def adoption_notes(plans: Sequence[VolumePlan], *, measured: bool) -> Iterator[str]:
    """What the agent reads of adopted volumes, and why."""
    adopted = [plan.volume for plan in plans if plan.volume.adopts is not None]
    if not adopted:
        return
    yield "Nothing is made, attached, detached or deleted, whatever happens."
    if any(plan.volume.adopts and plan.plan.boost for plan in plans):
        yield (
            "A boost is taken back once EC2 has finished the raise, which AWS says takes about 6 h for a "
            "full TiB; the price counts that. Until then AWS promises no more than the old speed."
        )
    for volume in adopted:
        if volume.waits_because is not None:
            yield (
                f"{volume.waits_because}. Nothing is read before. Then the plan is made again: its times "
                "count from that moment, and are longer if the instance is slower than the volume."
            )
        if volume.warm_because is not None:
            checked = "; random reads check that" if measured else ", and nothing is measured"
            said = volume.warm_because if volume.was_made_empty else f"{volume.warm_because}{checked}"
            yield f"{volume.adopts} is at full speed already: {said}."
        elif volume.unlisted_because is not None:
            yield (
                f"Every block of {volume.adopts} is read, because {volume.unlisted_because}. With "
                "warmUp.scope used just those that its file systems use are."
            )


def after_notes(request: RestoreRequest, times: ApplicationTimes | None) -> list[str]:
    """What comes on top of the plan's times until the application is back, or what the stack cannot do.

    `times` are those of earlier restores; without them nothing but the limits is known.
    """
    after = request.after
    left_out = [left.sentence for left in request.left_out]
    if after is None:
        return left_out
    usual = [f"{duration_text(part.p50)}, " for part in times.parts] if times else [""] * len(after.limits)
    parts = ", ".join(
        f"{title} ({seen}up to {duration_text(seconds)})"
        for (title, seconds), seen in zip(after.limits, usual, strict=True)
    )
    about = ""
    if times is not None:
        whole = duration_text(times.whole.p50)
        p90 = duration_text(times.whole.p90)
        about = f" in about {whole} (P90 {p90}, as {times.restores} restores showed)"
    back = f"{request.target.instance_id} gets its application back{about}: {parts}."
    if after.when == "ready":
        return [*left_out, f"Then {back} It comes on top."]
    most = duration_text(sum(seconds for _, seconds in after.limits))
    last = f"The last volume is warmed up only afterwards, so full speed may come up to {most} later."
    return [*left_out, f"Once all volumes are attached, {back} {last}"]


def _figures(plans: Sequence[VolumePlan]) -> dict[str, str]:
    """The figures behind every possible strategy, by their names in prices.json."""
    had = [candidate for plan in plans for candidate in plan.candidates if candidate.feasible]
    return {"listBlocksUsdPerThousand": "ListSnapshotBlocks", **_figures_of(had)}


def _figures_of(used: Iterable[Plan | Candidate]) -> dict[str, str]:
    figures = {}
    for plan in used:
        if plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE:
            figures["fsrUsdPerHour"] = "fast snapshot restore"
        elif plan.strategy is Strategy.PROVISIONED_RATE:
            figures["rateUsdPerGibMibS"] = "initialization rate"
        elif plan.strategy is Strategy.DIRECT_WRITE:
            figures |= BLOCK_FIGURES
        elif plan.boost is not None:
            kind = plan.boost.volume_type
            figures[f"iopsUsdPerMonth.{kind}"] = f"IOPS of {kind}"
            if plan.boost.throughput_mib_s is not None:
                figures[f"throughputUsdPerMibSMonth.{kind}"] = f"throughput of {kind}"
    return figures


def _sets(plans: Sequence[VolumePlan]) -> Iterator[str]:
    if any(plan.volume.consistent_set is False for plan in plans):
        times = sorted(plan.volume.snapshot_started_at for plan in plans)
        yield (
            "The snapshots are not a consistent set: no CreateSnapshots call left a usable snapshot of every "
            f"volume, so the data is of {clock_text(times[0])} to {clock_text(times[-1])}."
        )


def _replaced(plans: Sequence[VolumePlan]) -> Iterator[str]:
    for volume in (plan.volume for plan in plans):
        if volume.replaces is not None:
            old = volume.replaces
            if old.root_device is not None:
                yield (
                    f"{volume.instance_id} will reboot: {old.volume_id} ({old.size_gib:,} GiB) is its root "
                    f"volume. The new one is {volume.device} until it is at full speed, and then EC2 swaps "
                    f"it in. What {old.volume_id} got since the snapshot stays there."
                )
                continue
            yield (
                f"{old.volume_id} ({old.size_gib:,} GiB), now {volume.device} on {volume.instance_id}, is "
                "replaced: detached once the new volume is there, and kept."
            )


def _cards(plans: Sequence[VolumePlan]) -> Iterator[str]:
    """Which volumes read through which EBS card, of instances with more than one."""
    users: dict[str, list[int]] = {}
    for plan in plans:
        if plan.volume.instance_id is not None and plan.volume.card is not None:
            users.setdefault(plan.volume.instance_id, []).append(plan.volume.card)
    for instance_id, cards in users.items():
        counts = [
            f"{count_text(count, 'volume')} on card {card}" for card, count in sorted(Counter(cards).items())
        ]
        yield (
            f"{instance_id} has more than one EBS card, and no volume is faster than its card. The times "
            f"count {' and '.join(counts)}."
        )


def _unproven(plans: Sequence[VolumePlan]) -> Iterator[str]:
    for volume in (plan.volume for plan in plans if plan.volume.root_unproven):
        yield (
            f"Nothing shows whether {volume.instance_id} boots from {volume.snapshot_id}: its source volume "
            "is gone or attached nowhere. With target.reboot the agent looks for a boot loader. If it does "
            "not boot, the old root volume is still there."
        )


def _started(plans: Sequence[VolumePlan]) -> Iterator[str]:
    started = sorted({plan.volume.instance_id or "" for plan in plans if plan.volume.starts_instance})
    for instance_id in started:
        yield (
            f"{instance_id} is stopped. It is started once its volumes are attached; if it does not come up, "
            "it is stopped again and its old volumes go back. Its boot is part of the times."
        )


def _enlarged(plans: Sequence[VolumePlan]) -> Iterator[str]:
    """For a type whose smallest volume is larger than the snapshot; each size once."""
    sizes = {
        (volume_type, plan.volume.snapshot_size_gib)
        for plan in plans
        if plan.volume.adopts is None
        and (volume_type := VOLUME_TYPES.get(plan.volume.volume.volume_type)) is not None
        and plan.volume.snapshot_size_gib < volume_type.min_size_gib == plan.volume.volume.size_gib
    }
    for volume_type, snapshot_gib in sorted(sizes, key=lambda size: (size[0].name, size[1])):
        yield (
            f"{volume_type.noun.capitalize()} has at least {volume_type.min_size_gib} GiB, so the "
            f"{snapshot_gib} GiB snapshot gets one of {volume_type.min_size_gib} GiB."
        )


def _of_unknown_size(plans: Sequence[VolumePlan]) -> Iterator[str]:
    """For `POST /plans`, which answers at once and lists no blocks; a restore lists them before it plans."""
    unknown = [
        plan
        for plan in plans
        if plan.volume.data_bytes_from == "volumeSize"
        and plan.volume.unlisted_because is None
        and not plan.volume.was_made_empty
    ]
    if not unknown:
        return
    names = _few_names(sorted({plan.volume.snapshot_id for plan in unknown}))
    yield (
        f"EC2 does not say how much data {names} holds, so this plan counts the whole volume, the most that "
        "it can be. A restore lists the blocks first: its plan costs no more, and is in time wherever this "
        "one is."
    )
    longest = max(unknown, key=_halved_seconds)
    if _halved_seconds(longest):
        counted = longest.plan.ready_p90_seconds
        half = duration_text(counted - _halved_seconds(longest))
        price = ", and the rate costs half" if longest.plan.initialization_rate_mib_s is not None else ""
        yield (
            f"With half the data, full speed comes within {half} instead of {duration_text(counted)} (P90)"
            f"{price}."
        )


def _few_names(names: Sequence[str]) -> str:
    """The first ones: a fleet has up to ten thousand."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} others" if more > 0 else "")


def few_notes(notes: Sequence[str]) -> list[str]:
    """The first notes; the others are in the plans, with their volumes."""
    more = len(notes) - MOST_NOTES
    return list(notes) if more <= 0 else [*notes[:MOST_NOTES], f"And {more} notes more, in the plans."]


def _halved_seconds(plan: VolumePlan) -> float:
    """What half the data would save of P90; 0 if the time does not depend on the data."""
    rate = plan.plan.initialization_rate_mib_s
    if rate is not None:
        return plan.volume.data_bytes / MIB / rate / 2
    return plan.plan.phases[Phase.READ][1] / 2 if Phase.READ in plan.plan.phases else 0.0


def _by_price_steps(plans: Sequence[VolumePlan], book: PriceBook) -> Iterator[str]:
    """If AWS prices a rate in steps, and the chosen rate would be much dearer or over the budget."""
    rates = [(plan.volume.data_bytes, plan.plan.initialization_rate_mib_s) for plan in plans]
    more = sum((more_by_steps(book, data, rate) for data, rate in rates if rate is not None), Decimal(0))
    planned = sum((plan.plan.cost_usd for plan in plans), Decimal(0))
    spare = [plan.budget_usd - plan.plan.decidable_usd for plan in plans if plan.budget_usd is not None]
    is_over = bool(spare) and more > sum(spare)
    if more < CENT or not (is_over or more >= planned * MUCH_DEARER):
        return
    over = ", over the budget" if is_over else ""
    yield (
        "AWS's guide prices a rate by the MiB/s, published articles in two steps (to 200 and to 300 MiB/s). "
        f"Should AWS bill the steps, this plan costs {usd_text(more)} more: {usd_text(planned + more)}{over}."
    )


def _borrowed_prices(plans: Sequence[VolumePlan], book: PriceBook) -> Iterator[str]:
    """If the plan's cost has prices of another Region."""
    if sum((plan.plan.decidable_usd for plan in plans), Decimal(0)) < CENT:
        return
    used = _figures_of(plan.plan for plan in plans)
    borrowed = {
        label: figure.borrowed_from
        for name, label in used.items()
        if (figure := book.figures.get(name)) is not None and figure.borrowed_from is not None
    }
    if borrowed:
        yield (
            f"No price of {book.region} is known here for {', '.join(borrowed)}, so "
            f"{min(borrowed.values())}'s counts (PriceOverrides takes your own)."
        )


def _beyond_fast_restore(plans: Sequence[VolumePlan]) -> Iterator[str]:
    """Once for all alike volumes that are faster than fast snapshot restore supports."""
    limits = {
        fast_restore_limit(speed(plan.volume.volume.settings()))
        for plan in plans
        if plan.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE
    }
    for limit in sorted(limit for limit in limits if limit is not None):
        yield (
            f"Fast snapshot restore initializes the volume, but {limit}. AWS recommends to initialize faster "
            "volumes by reading them, which the strategy warm-up-agent does."
        )


def _unmeasured(plans: Sequence[VolumePlan]) -> Iterator[str]:
    """One sentence for all volumes, because they go to one instance."""
    volume = plans[0].volume
    if volume.instance_type is not None and not volume.agent_available:
        yield (
            f"The warm-up agent does not work on this instance ({volume.instance_type}), and it is what "
            "measures: nothing is measured, and the verdict is unmeasured."
        )


def _passed_over(plans: Sequence[VolumePlan]) -> Iterator[str]:
    """Snapshots that somebody may have expected to be restored, so not those that are only older."""
    for plan in plans:
        newer = [passed for passed in plan.volume.passed_over if not passed.reason.startswith(_OLDER)]
        for snapshot in newer[:MOST_PASSED_OVER]:
            yield f"{snapshot.snapshot_id} was passed over: {snapshot.reason}."
        if len(newer) > MOST_PASSED_OVER:
            yield f"And {len(newer) - MOST_PASSED_OVER} more of {plan.volume.source_volume_id}."
