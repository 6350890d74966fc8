"""What a look changes in the ledger of rules: adoptions that have ended, those that begin, and the news."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from rewarm.contracts.request import MOST_LISTED
from rewarm.contracts.rules import AdoptionLedger, BegunAdoption, RuleDay, RuleNews
from rewarm.domain.model import Volume
from rewarm.domain.value import Value
from rewarm.domain.volume.holds import ConcurrencyLimits, Running, TargetHolds
from rewarm.domain.volume.rules import Adoptable, Batch, Use, choose, grouped_reason
from rewarm.domain.words.failures import explain
from rewarm.ports.executions import RestoreExecutions
from rewarm.ports.restores import RestoreTable
from rewarm.steps.adopt.candidates import Found, NamedRule
from rewarm.steps.record.lost_records import is_lost, volumes_begun
from rewarm.steps.record.restore import RULE_PREFIX, KnownRestore, RestoreNotes, Status

NEVER_BEGAN = timedelta(days=1)
"""An adoption without an execution is started by each look; after this time it counts as failed."""


class Around(Value):
    """What else runs in the stack, and what reading a volume costs."""

    running: Sequence[Running]
    held: Mapping[str, TargetHolds]
    """By instance."""
    limits: ConcurrencyLimits
    price: Callable[[Volume], Decimal]


def with_ended(
    ledger: AdoptionLedger, table: RestoreTable, executions: RestoreExecutions, now: datetime
) -> AdoptionLedger:
    """Drops the adoptions that have ended. Their outcome becomes news, and the day counts their real cost."""
    begun = dict(ledger.begun)
    news = dict(ledger.news)
    days = {name: day for name, day in ledger.days.items() if day.day == _day(now)}
    for restore_id, adoption in ledger.begun.items():
        record = RestoreNotes(table, restore_id).read()
        if is_lost(record):
            end = _end_without_record(restore_id, adoption, executions, now)
        else:
            end = _recorded_end(record, adoption)
        if end is None:
            continue
        del begun[restore_id]
        rule = adoption.rule
        day = days.get(adoption.rule)
        news[rule] = _with_end(_news(news, rule, now, observes=adoption.observes), adoption, end)
        if day is not None and day.day == _day(adoption.at):
            days[rule] = day.model_copy(update={"usd": max(Decimal(0), day.usd - adoption.usd + end.usd)})
    return AdoptionLedger(begun=begun, days=days, news=news)


class _End(Value):
    """How an adoption ended: how many volumes reached full speed, what it cost, and why others failed."""

    ready: int
    usd: Decimal
    why: str


def _recorded_end(record: KnownRestore, adoption: BegunAdoption) -> _End | None:
    """By its record; None if it has not ended."""
    if record.goes_on:
        return None
    indexes = range(len(adoption.volume_ids))
    named = record.failure.named
    is_good = record.status in {Status.READY, Status.PLANNED}
    ready = len(indexes) if is_good else sum(record.settled(index) for index in indexes)
    why = "its record does not say why" if named is None else explain(named.error, named.cause).sentence
    return _End(ready, record.price_usd, why)


def _end_without_record(
    restore_id: str, adoption: BegunAdoption, executions: RestoreExecutions, now: datetime
) -> _End | None:
    """By its executions, for one that never began or whose record is lost; None if it has not ended.

    Costs that no execution knows count as the most that the adoption may cost.
    """
    end = executions.ending(restore_id)
    if end.runs:
        return None
    if end.status == "GONE":
        is_given_up = now - adoption.at >= NEVER_BEGAN
        return _End(0, Decimal(0), "its execution could not be started") if is_given_up else None
    if end.status == "SUCCEEDED":
        report = json.loads(end.output or "{}")
        usd = Decimal(str(report.get("costUsd", adoption.usd)))
        return _End(len(adoption.volume_ids), usd, "")
    ready = sum(volume.status == "SUCCEEDED" for volume in volumes_begun(restore_id, executions))
    why = explain(end.error, end.cause).sentence if end.error else end.in_words
    return _End(ready, adoption.usd, why)


def _with_end(news: RuleNews, adoption: BegunAdoption, end: _End) -> RuleNews:
    failed = Counter(news.failed)
    count = len(adoption.volume_ids) - end.ready
    if count > 0:
        failed[grouped_reason(end.why)] += count
    return news.model_copy(
        update={"ready": news.ready + end.ready, "failed": dict(failed), "usd": news.usd + end.usd}
    )


def is_refused(found: Found, price: Callable[[Volume], Decimal], now: datetime) -> str | None:
    """Why the volume is never adopted by its rule; None if it is, or may be."""
    limits = found.by.rule.limits
    if found.state == "refuse":
        return grouped_reason(found.reason)
    if found.state == "wait":
        minutes = limits.wait_for_attachment_minutes
        if now - found.volume.created_at < timedelta(minutes=minutes):
            return None
        return f"{grouped_reason(found.reason)}; limits.waitForAttachmentMinutes ({minutes}) are over"
    if price(found.volume) > limits.max_usd_per_volume:
        return "it may cost more than limits.maxUsdPerVolume"
    return None


def decided(
    ledger: AdoptionLedger, found: Iterable[Found], rules: Sequence[NamedRule], around: Around, now: datetime
) -> AdoptionLedger:
    """Adds the adoptions that begin now, within the limits. Refused and waiting volumes become news."""
    own: dict[str, list[Found]] = defaultdict(list)
    for candidate in found:
        own[candidate.by.name].append(candidate)
    for rule in rules:
        if own[rule.name]:
            ledger = _of_rule(ledger, rule, own[rule.name], around, now)
    return ledger


def _of_rule(
    ledger: AdoptionLedger, rule: NamedRule, found: Sequence[Found], around: Around, now: datetime
) -> AdoptionLedger:
    reasons = {candidate.volume.volume_id: is_refused(candidate, around.price, now) for candidate in found}
    begun = {name for adoption in ledger.begun.values() for name in adoption.volume_ids}
    ordered = sorted(found, key=lambda candidate: (candidate.volume.created_at, candidate.volume.volume_id))
    able = [
        Adoptable(candidate.volume.volume_id, candidate.instance_id, around.price(candidate.volume))
        for candidate in ordered
        if candidate.state == "adopt"
        and reasons[candidate.volume.volume_id] is None
        and candidate.volume.volume_id not in begun
    ]
    day = _today(ledger, rule.name, now)
    used = _use(ledger, day, around)
    batches, later = choose(able, rule.rule.limits, used, around.limits, most_of_request=MOST_LISTED)
    refused = Counter(reason for reason in reasons.values() if reason is not None)
    if not (batches or later or refused):
        return ledger
    news = _news(ledger.news, rule.name, now, observes=rule.rule.mode == "observe")
    count = sum(len(batch.volume_ids) for batch in batches)
    usd = sum((batch.usd for batch in batches), Decimal(0))
    news = news.model_copy(
        update={
            "begun": news.begun + count,
            "refused": dict(Counter(news.refused) + refused),
            "put_off": dict(Counter(later.values())),
        }
    )
    spent = day.model_copy(update={"usd": day.usd + usd, "volumes": day.volumes + count})
    new = {_restore_id(batch): _begun(rule, batch, now) for batch in batches}
    return AdoptionLedger(
        begun={**ledger.begun, **new},
        days={**ledger.days, rule.name: spent},
        news={**ledger.news, rule.name: news},
    )


def _use(ledger: AdoptionLedger, day: RuleDay, around: Around) -> Use:
    """What is in use, by rules and by others. Restores of others count whatever has started them."""
    others = [restore for restore in around.running if restore.restore_id not in ledger.begun]
    volumes = Counter[str]()
    requests = Counter[str]()
    for adoption in ledger.begun.values():
        volumes[adoption.instance_id] += len(adoption.volume_ids)
        requests[adoption.instance_id] += 1
    for name, held in around.held.items():
        foreign = held.without(ledger.begun.keys())
        volumes[name] += len(foreign.holds)
        requests[name] += len(foreign.restore_ids)
    at_once = sum(len(adoption.volume_ids) for adoption in ledger.begun.values()) + len(others)
    return Use(day.usd, day.volumes, at_once, volumes, len(others) + len(ledger.begun), requests)


def _begun(rule: NamedRule, batch: Batch, now: datetime) -> BegunAdoption:
    return BegunAdoption(
        rule=rule.name,
        observes=rule.rule.mode == "observe",
        instance_id=batch.instance_id,
        volume_ids=list(batch.volume_ids),
        usd=batch.usd,
        at=now,
    )


def _restore_id(batch: Batch) -> str:
    """The restore's id follows from the volumes, because rules adopt each volume only once."""
    text = " ".join(sorted(batch.volume_ids))
    return f"{RULE_PREFIX}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _today(ledger: AdoptionLedger, rule: str, now: datetime) -> RuleDay:
    day = ledger.days.get(rule)
    return day if day is not None and day.day == _day(now) else RuleDay(day=_day(now))


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"


def _news(known: Mapping[str, RuleNews], rule: str, now: datetime, *, observes: bool) -> RuleNews:
    return known.get(rule) or RuleNews(since=now, observes=observes)
