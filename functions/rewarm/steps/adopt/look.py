"""One look of all rules at all new volumes: what begins, what waits, what has ended, and what people hear.

An event of AWS only names a volume or an instance and makes rules look soon. A schedule makes them look every
quarter of an hour, also for what no event named. So events that are lost, late or repeated change only when a
look happens. A look writes all its decisions to the ledger at once. Then it claims each volume, once in its
life, and starts the executions. If it is interrupted, the next look starts those that have neither a record
nor an execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial

from rewarm.contracts.request import Notify
from rewarm.contracts.rules import AdoptionLedger
from rewarm.domain.errors import RestoreError, ServiceUnavailableError
from rewarm.domain.model import BLOCK_BYTES, GIB, Caller, PriceBook, Volume
from rewarm.domain.plan.cost import list_blocks
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.volume.holds import START_GRACE, ConcurrencyLimits
from rewarm.domain.volume.rules import next_look
from rewarm.domain.words.rule import report
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.executions import LOOK_PREFIX, Executions, RestoreExecutions
from rewarm.ports.instances import Instances
from rewarm.ports.messages import Messages
from rewarm.ports.prices import Prices
from rewarm.ports.restores import FIRST, LAST, MOST_ROUNDS, NOTED, Adoptions, Holds, RestoreTable
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.adopt.candidates import Found, NamedRule, judged, named_rules, of_match, on_instances
from rewarm.steps.adopt.ledger import Around, decided, is_refused, with_ended
from rewarm.steps.record.restore import statuses

MOST_NOTED = 5_000
"""Volumes and instances that a look considers, the latest first."""
_PAGE = 1_000
INSTANCE_SHOWN = timedelta(minutes=10)
"""How long EC2 may take to show the volumes of a running instance."""
MESSAGE_EVERY = timedelta(hours=1)


class RuleLookPorts(Value, kw_only=True):
    """The ports that look needs."""

    table: RestoreTable
    adoptions: Adoptions
    volumes: VolumeStore
    instances: Instances
    snapshots: SnapshotCatalog
    artifacts: Artifacts
    holds: Holds
    limits: ConcurrencyLimits
    executions: Executions
    witness: RestoreExecutions
    """Step Functions, which knows what became of an adoption whose record is lost."""
    prices: Prices
    messages: Messages


def look(ports: RuleLookPorts, *, now: datetime, scans: bool) -> list[str]:
    """Returns the adoptions that were started. With `scans` it also looks for what no event has named.

    Raises ServiceUnavailableError, and every error of the ports.
    """
    rules = named_rules(ports.table)
    seen = _seen(rules, ports, now, scans=scans)
    for _ in range(MOST_ROUNDS):
        kept, version = ports.adoptions.ledger()
        before = AdoptionLedger.model_validate(kept)
        # Read after the ledger: what another look has begun meanwhile is claimed, or in the ledger.
        found = _unclaimed(seen.found, ports.adoptions)
        around = _around(found, ports, now)
        after = decided(with_ended(before, ports.table, ports.witness, now), found, rules, around, now)
        quiet = after.model_copy(
            update={
                "news": {name: news for name, news in after.news.items() if now - news.since < MESSAGE_EVERY}
            }
        )
        if quiet == before or ports.adoptions.keep(quiet.to_json(), version):
            break
    else:
        raise ServiceUnavailableError("other looks of rules change the ledger all the time")
    _note_seen(seen, ports.adoptions, now)
    for candidate in found:
        if is_refused(candidate, around.price, now) is not None:
            ports.adoptions.claim(candidate.volume.volume_id, f"refused by {candidate.by.name}")
    _send(after, quiet, rules, ports.messages, now)
    waiting = [candidate for candidate in found if candidate.state == "wait"]
    away = [candidate.volume for candidate in waiting if is_refused(candidate, around.price, now) is None]
    with suppress(RestoreError):  # the schedule has them look in any case
        _look_again([*away, *seen.unknown], ports.executions, now)
    begun = list(_started(before, quiet, rules, ports, now))
    if scans:
        ports.adoptions.looked(now)
    return begun


class _Seen(Value):
    """What rules see at one moment."""

    found: Sequence[Found]
    unknown: Sequence[Volume]
    """Volumes whose instance a rule must see before it can decide."""
    waiting: frozenset[str]
    """Volumes to look at again."""
    noted: Mapping[str, datetime]
    shown: frozenset[str]
    """Noted instances whose volumes EC2 shows."""


def _seen(rules: Sequence[NamedRule], ports: RuleLookPorts, now: datetime, *, scans: bool) -> _Seen:
    noted = _noted(ports.table)
    if not rules:
        return _Seen((), (), frozenset(), noted, frozenset())
    volumes = list(ports.volumes.existing([name for name in noted if name.startswith("vol-")]))
    begun = list(ports.instances.existing([name for name in noted if name.startswith("i-")]))
    shown = [instance for instance in begun if instance.devices or instance.is_gone]
    volumes += on_instances(shown, ports.volumes) if shown else ()
    for rule in rules if scans else ():
        volumes += of_match(rule.rule.match, ports)
    by_id = {volume.volume_id: volume for volume in volumes}
    judgements = list(judged(by_id.values(), rules, ports, new_at=now))
    found = [candidate for candidate in judgements if isinstance(candidate, Found)]
    longest = timedelta(minutes=max(rule.rule.limits.wait_for_attachment_minutes for rule in rules))
    undecided = [volume for volume in judgements if isinstance(volume, Volume)]
    unknown = [volume for volume in undecided if now - volume.created_at < longest]
    waiting = {volume.volume_id for volume in unknown}
    waiting |= {candidate.volume.volume_id for candidate in found if candidate.state != "refuse"}
    names = frozenset(instance.instance_id for instance in shown)
    return _Seen(found, unknown, frozenset(waiting), noted, names)


def _look_again(away: Sequence[Volume], executions: Executions, now: datetime) -> None:
    """Makes rules look again at volumes that are not attached yet: EBS sends no event for that.

    An execution waits until then, which costs nothing, and its end makes rules look (hear.py). Its name has
    the time, so Step Functions starts it only once.
    """
    due = next_look(max(volume.created_at for volume in away), now) if away else None
    if due is not None:
        executions.start(f"{LOOK_PREFIX}{int(due.timestamp())}", {"lookAt": iso(due)})


def _noted(table: RestoreTable) -> dict[str, datetime]:
    found: dict[str, datetime] = {}
    after, more = None, True
    while more and len(found) < MOST_NOTED:
        entries, more = table.listed(NOTED, since=FIRST, until=LAST, after=after, limit=_PAGE)
        found |= {entry.name: datetime.fromisoformat(entry.at) for entry in entries}
        after = entries[-1].place if entries else after
        more = more and bool(entries)
    return found


def _note_seen(seen: _Seen, adoptions: Adoptions, now: datetime) -> None:
    """Notes what waits, and drops the notes of what rules need not look at again."""
    for name, at in seen.noted.items():
        is_instance = name.startswith("i-")
        is_late = is_instance and name not in seen.shown and now - at < INSTANCE_SHOWN
        if not is_late and name not in seen.waiting:
            adoptions.forget(name)
    for name in sorted(seen.waiting - seen.noted.keys()):
        adoptions.note(name)


def _unclaimed(found: Sequence[Found], adoptions: Adoptions) -> list[Found]:
    done = adoptions.claimed([candidate.volume.volume_id for candidate in found]) if found else set()
    return [candidate for candidate in found if candidate.volume.volume_id not in done]


def _around(found: Sequence[Found], ports: RuleLookPorts, now: datetime) -> Around:
    """What limits depend on; asks AWS for nothing if no volume can be adopted."""
    instances = sorted({candidate.instance_id for candidate in found if candidate.state == "adopt"})
    return Around(
        running=ports.holds.running() if instances else [],
        held={name: ports.holds.on_target(name) for name in instances},
        limits=ports.limits,
        price=partial(_price, ports.prices.book(now=now)) if instances else lambda _volume: Decimal(0),
    )


def _price(book: PriceBook, volume: Volume) -> Decimal:
    """The most that its adoption costs: as if every block of the volume were listed."""
    return list_blocks(book, volume.settings.size_gib * GIB // BLOCK_BYTES).usd


def _send(
    all_news: AdoptionLedger,
    kept: AdoptionLedger,
    rules: Sequence[NamedRule],
    messages: Messages,
    now: datetime,
) -> None:
    """One message for each rule whose hour is over. It was taken out of the ledger, so it is sent once."""
    notify = {rule.name: rule.rule.notify for rule in rules}
    for name, news in sorted(all_news.news.items()):
        if name not in kept.news:
            message = report(name, news)
            messages.send(message.to_json(at=now, notify=notify.get(name, Notify()).to_json()))


def _started(
    before: AdoptionLedger,
    after: AdoptionLedger,
    rules: Sequence[NamedRule],
    ports: RuleLookPorts,
    now: datetime,
) -> Iterator[str]:
    """Starts the adoptions of this look, and those that an earlier look decided but did not start.

    Raises the first error of those that could not be started; the next look starts them.
    """
    problems = []
    begun = [name for name in after.begun if name in before.begun]
    late = [name for name in begun if now - after.begun[name].at > START_GRACE]
    known = statuses(late, ports.table)
    lost = [name for name in late if name not in known and ports.witness.begun(name) is None]
    by_name = {rule.name: rule for rule in rules}
    for restore_id in [*lost, *(name for name in after.begun if name not in before.begun)]:
        adoption = after.begun[restore_id]
        names = [name for name in adoption.volume_ids if ports.adoptions.claim(name, restore_id)]
        if not names or adoption.rule not in by_name:
            continue
        by = Caller("rule", f"rule {adoption.rule}")
        trigger = {"kind": "rule", "ruleName": adoption.rule, "askedBy": asdict(by)}
        request = by_name[adoption.rule].rule.request(names).model_copy(update={"dry_run": adoption.observes})
        try:
            ports.executions.start(restore_id, {"request": request.to_json(), "trigger": trigger})
            yield restore_id
        except RestoreError as error:
            problems.append(error)
    if problems:
        raise problems[0]
