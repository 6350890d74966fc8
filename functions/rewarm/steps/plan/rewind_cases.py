"""What AWS says of a volume that may go back to a snapshot, and what a plan says of the rewind.

A plan says how to undo the rewind, why it is done in this way, and what is uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from rewarm.contracts.plans import RewindWay
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.blocks.rewind import RewindEstimate, pages, with_evidence
from rewarm.domain.blocks.rewind_facts import (
    WAYS,
    RewindFacts,
    WrittenSince,
    attached_to,
    lineage_refusal,
    newest_of_lineage,
    pending_seconds,
    volume_refusal,
)
from rewarm.domain.blocks.shards import ChangedCount, count_changed
from rewarm.domain.errors import TEMPORARY, RestoreError
from rewarm.domain.model import BLOCK_BYTES, GIB, Snapshot, Volume
from rewarm.domain.parts import EVERY_PART, Parts
from rewarm.domain.time.timings import PRIORS
from rewarm.domain.units import clock_text, count_text, duration_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import EVIDENCE_TAG
from rewarm.domain.volume.volume_types import speed
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Instances
from rewarm.ports.snapshots import SnapshotBlocks, SnapshotCatalog
from rewarm.ports.volumes import Metrics, VolumeStore
from rewarm.steps.record.bucket import rewound_key
from rewarm.steps.select.rewind_targets import refusal_on

MOST_BLOCKS_OF_A_PACK = 512
"""The most blocks of a pack of an undo log, because a line of the manifest has no more."""


class RewindFactsPorts(Value, kw_only=True):
    """The ports that rewinds_of needs."""

    snapshots: SnapshotCatalog
    instances: Instances
    volumes: VolumeStore
    artifacts: Artifacts
    blocks: SnapshotBlocks
    metrics: Metrics
    parts: Parts = EVERY_PART


class Patience(Value):
    """How long the caller waits for what is looked up."""

    requests: int
    now: datetime
    has_time: Callable[[], bool]
    asked: bool
    """Whether the caller asked for a rewind."""


class RewindCase(Value):
    """A volume that can be rewound, and between which snapshots its blocks are compared."""

    volume: Volume
    good: Snapshot
    newest: Snapshot | None
    """None if EBS cannot list what differs."""
    pending: list[float]
    """How long earlier snapshots were pending, in seconds."""
    facts: RewindFacts
    unlisted: str | None
    """Why EBS cannot list what differs."""
    rewound: JsonObject | None = None
    """What the volume's last rewind has left, if that makes this one faster."""
    sooner: RewindFacts | None = None
    """The facts if nothing was written since then; None if the number of differing blocks is not known."""


def is_named(request: RestoreRequest) -> bool:
    """Whether the request, and not the snapshot, says which volume goes back."""
    return (request.target.volume_id or request.source.undo_of) is not None


def rewind_case(
    request: RestoreRequest,
    assigned: VolumeAssignment,
    volume: Volume,
    ports: RewindFactsPorts,
    patience: Patience,
) -> RewindCase | str:
    """The case, or why there is none. Raises the errors of AWS."""
    good = ports.snapshots.get(assigned.snapshot_id)
    instance_id = attached_to(volume)
    refusal = volume_refusal(volume, good, is_named=is_named(request))
    if refusal is not None or instance_id is None:
        return refusal or ""
    instance = ports.instances.get(instance_id)
    limits = ports.instances.ebs_limits(instance.instance_type)
    refusal = refusal_on(volume, instance, limits, ports.artifacts)
    if refusal is not None:
        return refusal
    card = next(found.card for found in volume.attachments if found.instance_id == instance_id)
    others = ports.snapshots.of_volume(volume.volume_id)
    pending = pending_seconds(others, volume.volume_id)
    facts = RewindFacts(
        volume_bytes=volume.settings.size_gib * GIB,
        speed=speed(volume.settings),
        instance_limits=limits.of_card(card),
        changed=ChangedCount(0),
        since=None,
        written_blocks=assigned.written_blocks,
        max_mib_s=float(request.warm_up.max_mib_per_second or math.inf),
        timings=with_evidence(PRIORS, pending),
    )
    case = RewindCase(volume, good, None, pending, facts, lineage_refusal(volume, good))
    rewound = _rewound(volume, ports.artifacts)
    if assigned.undo_index is not None:
        return _undoing(case, request.source.undo_of, assigned, rewound)
    if rewound.get("snapshotId") not in {None, good.snapshot_id}:
        case = replace(case, rewound=rewound)
    newest = newest_of_lineage([*others, good], volume.volume_id) or good
    return case if case.unlisted else _listed(case, newest, ports, patience)


def _listed(case: RewindCase, newest: Snapshot, ports: RewindFactsPorts, patience: Patience) -> RewindCase:
    """Adds what EBS lists, and what CloudWatch says of the time since."""
    good = case.good
    try:
        changed = _changed(good, newest, ports.blocks, patience)
    except RestoreError as error:
        if patience.asked and isinstance(error, TEMPORARY):
            raise
        return replace(case, unlisted=str(error))
    facts = replace(
        case.facts,
        changed=changed,
        since=_written(case.volume, newest, ports.metrics, patience.now),
        least=_undone(good, newest, ports, patience),
    )
    sooner = None
    least = facts.least
    if least and case.rewound is not None and case.rewound["snapshotId"] == good.tags.get(EVIDENCE_TAG):
        sooner = _listed_alone(facts, least)
    return replace(case, newest=newest, facts=facts, sooner=sooner)


def _undoing(
    case: RewindCase, undone_id: str | None, assigned: VolumeAssignment, rewound: JsonObject
) -> RewindCase:
    """The case of undoing by a log: its blocks differ. A pack that nobody counted has at least one block."""
    packs = assigned.undo_packs or 0
    blocks = assigned.undo_blocks
    ops = packs * (MOST_BLOCKS_OF_A_PACK - 1) if blocks is None else 0
    known = packs if blocks is None else blocks
    since = WrittenSince(ops, known * BLOCK_BYTES)
    facts = replace(case.facts, since=since, least=known, logged=known)
    alone = replace(facts, alone=True, written_blocks=0)
    why = "an undo log is laid over the snapshot, and EBS has no list for that"
    if assigned.undo_alone:
        return replace(case, facts=alone, unlisted=why)
    case = replace(case, facts=facts, unlisted=why)
    if (rewound.get("restoreId"), rewound.get("index")) != (undone_id, assigned.undo_index):
        return case
    return replace(case, rewound=rewound, sooner=replace(alone, is_equal=True))


def _listed_alone(facts: RewindFacts, blocks: int) -> RewindFacts:
    """The facts if the volume equals a snapshot and only so many blocks have to be written."""
    listed = ChangedCount(0, requests=pages(blocks))
    since = WrittenSince(0, blocks * BLOCK_BYTES)
    return replace(facts, changed=listed, since=since, written_blocks=blocks, alone=True, is_equal=True)


def _rewound(volume: Volume, artifacts: Artifacts) -> JsonObject:
    """How the last rewind of the volume ended; empty if that cannot be read."""
    try:
        return artifacts.get_json(rewound_key(volume.volume_id)) or {}
    except RestoreError:
        return {}


def _changed(good: Snapshot, newest: Snapshot, blocks: SnapshotBlocks, patience: Patience) -> ChangedCount:
    if good.snapshot_id == newest.snapshot_id:
        return ChangedCount(0)
    return count_changed(
        lambda start: blocks.changed(good.snapshot_id, newest.snapshot_id, start_block=start),
        good.size_gib * GIB // BLOCK_BYTES,
        patience.requests,
        patience.has_time,
    )


def _undone(good: Snapshot, newest: Snapshot | None, ports: RewindFactsPorts, patience: Patience) -> int:
    """How many blocks an earlier rewind wrote after the good snapshot, if that is the rewind's evidence.

    The evidence differs in these blocks from the snapshot that the volume was put back to. As in every list,
    the older snapshot comes first.
    """
    before_id = good.tags.get(EVIDENCE_TAG)
    if before_id is None or newest is None or newest.snapshot_id != good.snapshot_id:
        return 0
    try:
        return _changed(ports.snapshots.get(before_id), good, ports.blocks, patience).blocks
    except RestoreError:
        return 0


def _written(volume: Volume, newest: Snapshot, metrics: Metrics, now: datetime) -> WrittenSince | None:
    try:
        return metrics.written(volume.volume_id, since=newest.started_at, until=now)
    except RestoreError:
        return None


def way_back(volume_id: str, chosen: RewindEstimate) -> str:
    """What is kept of the volume."""
    usd = chosen.kept_usd_a_month
    price = f", about {usd_text(usd)} a month" if usd else ""
    if chosen.way.waits:
        return (
            f"A snapshot of {volume_id} as it is then is made first and kept{price}. A rewind to it undoes "
            "the rewind."
        )
    return (
        f"An undo log in the stack's bucket keeps what {volume_id} has in each block before that is "
        f"written{price}. A rewind with source.undoOf undoes the rewind."
    )


def why_this_way(ways: Sequence[RewindWay]) -> str:
    """The chosen way and the others, the chosen one first."""
    return " ".join(_sentence(way) for way in ways)


def _sentence(way: RewindWay) -> str:
    words = next(each.words for each in WAYS if (each.evidence, each.compare) == (way.evidence, way.compare))
    if way.seconds_p50 is None or way.cost_usd is None:
        return f"Not possible is {words}: {(way.reason or '').rstrip('.')}."
    times = f"{duration_text(way.seconds_p50)} (P90 {duration_text(way.seconds_p90 or 0)})"
    if way.chosen:
        return f"The way is {words}: {times}, {usd_text(way.cost_usd)}."
    return f"Another one is {words}: {times}, {usd_text(way.cost_usd)}."


def uncertain(case: RewindCase, chosen: RewindEstimate, sooner: RewindEstimate | None) -> list[str]:
    """What is uncertain in the figures, and how much faster it is if nothing was written since."""
    found = []
    facts = case.facts
    if case.newest is not None and facts.changed.listed_share < 1:
        found.append(
            f"The list of changed blocks was read for {facts.changed.listed_share:.0%} of the volume; the "
            "rest is drawn out from that."
        )
    if case.newest is not None and facts.since is None:
        found.append(
            f"CloudWatch does not say what was written since {case.newest.snapshot_id} of "
            f"{clock_text(case.newest.started_at)}, so at most the whole volume has changed."
        )
    if case.newest is None and not facts.logged:
        found.append("Nobody knows before how many blocks differ, so at most the whole volume does.")
    if chosen.way.waits and not case.pending:
        found.append("How long the snapshot that is made first is pending is a guess: no earlier one says.")
    if facts.logged and chosen.expected != chosen.most:
        found.append("Nobody has counted the blocks of the undo log: a pack has between 1 and 512.")
    if case.rewound is not None:
        found.append(_if_unwritten(case.volume.volume_id, case.rewound, sooner))
    return found


def _if_unwritten(volume_id: str, rewound: JsonObject, sooner: RewindEstimate | None) -> str:
    """What happens if nothing was written since, which only the agent can find out."""
    takes = "it is sooner"
    if sooner is not None:
        times = sooner.seconds
        usd = usd_text(sooner.usd)
        blocks = count_text(sooner.expected.blocks, "block")
        takes = (
            f"just {blocks} are read and written: {duration_text(times.p50)} (P90 "
            f"{duration_text(times.p90)}), {usd}"
        )
    return (
        f"If nothing was written to {volume_id} since its last rewind ended, at {rewound.get('at')}, "
        f"{takes}. Then {rewound.get('snapshotId')} has what is on it. Only the agent can say so, and the "
        "times are those of the safe way."
    )
