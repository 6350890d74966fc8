"""What a restore removed and what it leaves, in words; with price and command where it costs money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from rewarm.contracts.base import JsonObject
from rewarm.contracts.results import VolumeReport
from rewarm.contracts.values import Keeping, LeftThing, VolumePlan
from rewarm.domain.model import Strategy
from rewarm.domain.plan.cost import HOURS_A_MONTH
from rewarm.domain.units import round_usd
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.domain.words.ended import Ending, LeftVolume, Start
from rewarm.steps.record.restore import KnownRestore
from rewarm.steps.record.volume import CleanedUp, KnownReplaced, Rewinding
from rewarm.steps.record.way_back import in_words

MOST_THINGS = 50
BOOST_OF = "boost of "
"""How a line about a boost begins in the account of a clean-up."""


def removed_and_kept(
    restore_id: str, results: Sequence[JsonObject], record: KnownRestore
) -> tuple[list[str], list[str]]:
    """What clean-up removed and what it left behind, by its account of each volume."""
    removed = list[str]()
    kept = list[str]()
    for result in results:
        index = result.get("index", 0)
        if record.request.is_adoption:
            of_boost = record.volume(index).clean_up or CleanedUp()
            removed += [line for line in of_boost.removed if line.startswith(BOOST_OF)]
            kept += [line for line in of_boost.kept if line.startswith(BOOST_OF)]
            continue
        if result.get("verdict") == "ready":
            kept.append(f"volume {result.get('volumeId')} (ready)")
            continue
        # The execution was stopped after it had found the volume ready: nothing removes the volume.
        is_settled = record.settled(index)
        known = record.last_volume(index)
        volume = record.volume(index)
        account = volume.clean_up
        if is_settled and not any(f"volume {known}" in line for line in (account.kept if account else ())):
            kept.append(f"volume {known} (ready)")
        if account is not None:
            removed += account.removed
            kept += _still_kept(account.kept, volume.replaced)
        kept += left_by_rewind(volume.rewind)
        if (account is None or account.goes_on) and not is_settled:
            tagged = f"carries the tag rewarm:restore-id={restore_id} (clean-up gave no account)"
            kept.append(f"volume {known} and whatever else {tagged}" if known else f"whatever {tagged}")
    return removed, kept


def _still_kept(kept: Sequence[str], replaced: KnownReplaced) -> list[str]:
    """The lines of a clean-up, with what a look has found of the replaced volume since."""
    name = f"volume {replaced.volume_id}: "
    if replaced.volume_id is None or not replaced.presence.is_gone:
        return list(kept)
    gone = f"{name}there is no way back to it: it {replaced.presence.reason}"
    return [gone if line.startswith(name) else line for line in kept]


def left_by_rewind(rewind: Rewinding | None) -> list[str]:
    """What a rewind leaves, which is never removed."""
    if rewind is None:
        return []
    evidence = rewind.evidence
    volume_id = rewind.volume_id
    state = rewind.evidence_state
    became = _became(rewind)
    is_open = rewind.state == "writing"
    if rewind.undo_log is not None:
        return _log_left(f"undo log of {rewind.undo_log.restore_id}", rewind, became)
    if not evidence:
        named = [f"snapshot {made} (its rewind made it of {volume_id}; {became})" for made in rewind.others]
        unknown = [f"volume {volume_id} ({became}; there is no way back that is known)"]
        return named or (unknown if is_open else [])
    others = [f"snapshot {made} (it compared {volume_id} once more)" for made in rewind.others]
    if state in ("completed", "unknown"):
        return [f"snapshot {evidence} (it has {volume_id} as it was before the rewind; {became})", *others]
    if state == "gone":
        lost = f"volume {volume_id} ({became}; there is no way back: {evidence} is gone)"
        return [lost, *others] if is_open else others
    return [f"snapshot {evidence} ({volume_id} as it was, in the state {state}; {became})", *others]


def _log_left(name: str, rewind: Rewinding, became: str) -> list[str]:
    """The undo log; or if it is gone, the volume that is then mixed for good."""
    volume_id = rewind.volume_id
    presence = rewind.presence
    if presence.is_nowhere:
        lost = f"volume {volume_id} ({became}; there is no way back: the {name} {presence.reason})"
        return [lost] if rewind.state == "writing" else []
    kept = f"it has what {volume_id} had before the rewind, where that has overwritten it"
    return [f"{name} ({f'it {presence.reason}' if presence.is_gone else kept}; {became})"]


def _became(rewind: Rewinding) -> str:
    """What became of the volume; an execution that was stopped may not have recorded it."""
    volume_id = rewind.volume_id
    if rewind.state == "done":
        return "it is whole"
    if rewind.state is None and rewind.found is None and rewind.evidence is None and rewind.others:
        return f"no record says any more whether {volume_id} was written to"
    if rewind.state != "writing" and rewind.found is None:
        return f"{volume_id} is unchanged"
    found = rewind.found or f"{volume_id} may be mixed: its rewind ended while blocks were being written"
    return f"{found}; it is tagged {REWINDING_TAG}"


def ending_of(
    restore_id: str, results: Sequence[JsonObject], record: KnownRestore, *, at: datetime
) -> Ending:
    """What the message about the end says of the restore."""
    removed, kept = removed_and_kept(restore_id, results, record)
    accounts = [
        record.volume(result.get("index", 0)).clean_up
        for result in results
        if result.get("verdict") != "ready"
    ]
    stays = [left for account in accounts if account is not None for left in account.stays]
    volumes = [LeftVolume(left.volume_id, left.device, left.instance_id) for left in stays]
    by = record.trigger
    start = Start(by.kind, by.alarm_name, record.alarm_held_until) if by else Start()
    return Ending(
        at,
        removed,
        kept,
        volumes,
        start,
        ways_back=_ways_back(results, record),
        is_adoption=record.request.is_adoption,
    )


def _ways_back(results: Sequence[JsonObject], record: KnownRestore) -> list[str]:
    """What undoes what was written to volumes that are not ready, a sentence or several for each."""
    failed = [result.get("index", 0) for result in results if result.get("verdict") != "ready"]
    known = [record.volume(index) for index in failed]
    return [
        in_words(volume, is_ready=False)
        for volume in known
        if volume.rewind is not None and volume.rewind.has_written
    ]


def things_left(
    restore_id: str,
    plans: Sequence[VolumePlan],
    results: Sequence[JsonObject],
    volumes: Sequence[VolumeReport],
    record: KnownRestore,
) -> list[LeftThing]:
    """What still costs money though the restore is over, without the volumes that were asked for."""
    found: list[LeftThing] = []
    for plan, result, report in zip(plans, results, volumes, strict=True):
        index = plan.volume.index
        known = record.volume(index)
        costs = plan.keeping or Keeping()
        if result.get("verdict") != "ready" and plan.volume.adopts is None:
            found += _volumes_left(record, index, costs)
        if known.replaced.state == "replaced" and plan.volume.replaces is not None:
            old = plan.volume.replaces
            place = f"{old.volume_id} ({old.size_gib:,} GiB), the volume that was replaced"
            if not known.replaced.presence.is_gone:
                found.append(_thing(place, old.usd_per_month, LeftVolume(old.volume_id).deletion))
        found += _evidence_left(restore_id, known.rewind, costs)
        found += _boost_left(plan, report, known.clean_up)
        found += _fast_restore_left(plan, report, costs)
    return found[:MOST_THINGS]


def _volumes_left(record: KnownRestore, index: int, costs: Keeping) -> Iterator[LeftThing]:
    account = record.volume(index).clean_up
    settled = record.last_volume(index)
    stays = account.stays if account else ()
    kind = "the volume of a drill" if record.is_drill else "a volume that is not ready"
    if record.settled(index) and settled is not None and settled not in {left.volume_id for left in stays}:
        yield _thing(f"{settled}, which is ready", costs.volume_usd, LeftVolume(settled).deletion)
    for left in stays:
        removal = LeftVolume(left.volume_id, left.device, left.instance_id).deletion
        yield _thing(f"{left.volume_id}, {kind}", costs.volume_usd, removal)


def _evidence_left(restore_id: str, rewind: Rewinding | None, costs: Keeping) -> Iterator[LeftThing]:
    if rewind is None:
        return
    log = rewind.undo_log
    if log is not None and not rewind.presence.is_nowhere:
        removal = f"rewarm undo-log delete {log.restore_id}"
        yield _thing(f"the undo log of {log.restore_id}", log.usd_per_month, removal)
    for snapshot_id in rewind.snapshots if rewind.evidence_state != "gone" else rewind.others:
        thing = f"{snapshot_id}, a snapshot of {rewind.volume_id} before the rewind (at most)"
        yield _thing(thing, costs.snapshot_usd, f"aws ec2 delete-snapshot --snapshot-id {snapshot_id}")


def _boost_left(plan: VolumePlan, report: VolumeReport, account: CleanedUp | None) -> Iterator[LeftThing]:
    """A boost that was not lowered; of a volume that is not ready, as its clean-up says."""
    boost = report.boost or (account.boost if account is not None else None)
    if boost is None or not boost.costs:
        return
    volume_id = plan.volume.adopts or report.volume_id
    month = None if boost.usd_per_hour is None else round_usd(boost.usd_per_hour * HOURS_A_MONTH)
    by_hand = f"rewarm volume set {volume_id} with --iops and --throughput"
    thing = f"{volume_id} is still {boost.boosted}, to be {boost.target}"
    yield _thing(thing, month, boost.command or by_hand)


def _fast_restore_left(plan: VolumePlan, report: VolumeReport, costs: Keeping) -> Iterator[LeftThing]:
    """The fast snapshot restore that the strategy needed, if it may still be on."""
    if report.release_failure is None:
        return
    why = report.release_failure.cause.rstrip(".")
    if report.strategy != Strategy.FAST_SNAPSHOT_RESTORE:
        thing = f"what {report.strategy} needed for {report.volume_id}, which may still be on ({why})"
        yield _thing(thing, None, f"rewarm volume get {report.volume_id} shows it")
        return
    snapshot_id = plan.volume.snapshot_id
    zone = plan.volume.availability_zone
    disable = "aws ec2 disable-fast-snapshot-restores"
    disable += f" --availability-zones {zone} --source-snapshot-ids {snapshot_id}"
    thing = f"fast snapshot restore of {snapshot_id} in {zone}, which may still be on ({why})"
    yield _thing(thing, costs.fast_restore_usd, disable)


def _thing(thing: str, usd: Decimal | None, remove: str) -> LeftThing:
    return LeftThing(thing=thing, usd_per_month=usd, remove=remove)
