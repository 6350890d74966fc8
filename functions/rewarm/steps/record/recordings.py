"""The hot set of a volume, from the recordings of its lineage in the bucket, and what a plan says of it.

And what became of the recording of a restore, and how many first reads it found cold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING

from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import HotPlan, VolumeAssignment, VolumePlan
from rewarm.domain.errors import NoStrategyFitsError, RestoreError
from rewarm.domain.model import BLOCK_BYTES, GIB
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import ceil_seconds, count_text, duration_text, size_text
from rewarm.domain.volume.hot import (
    COPIES_OF,
    KEPT,
    MOST_BYTES,
    HotSet,
    OtherVolumeError,
    hot_set,
    read_recording,
)
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Commands
from rewarm.steps.record.bucket import recordings_prefix

if TYPE_CHECKING:
    from rewarm.steps.record.volume import KnownRecording, VolumeNotes

MOST_LOOKED_AT = 8
"""Volumes of a plan whose recordings are read for it; those of the others are read when it is their turn.
With objective.hotWithinMinutes the plan has to know them all."""
MOST_SHOWN = 300
"""Characters of what the instance says of a recording that failed."""


def read_hot_set(request: RestoreRequest, volume: VolumeAssignment, artifacts: Artifacts) -> HotSet:
    """Returns what the agent reads first, empty where nothing is known or it is switched off.

    It raises nothing: without an order the volume is warmed up all the same.
    """
    if request.warm_up.hot == "off" or volume.lineage is None:
        return HotSet()
    try:
        kept = newest_recordings(volume.lineage, artifacts)
        texts = ((key.rpartition("/")[2], text) for key, text in kept)
        sizes = [volume.snapshot_size_gib * GIB, volume.volume.size_gib * GIB]
        return hot_set(texts, sizes, volume.written_blocks)
    except RestoreError as error:
        return HotSet(left_out=(f"recordings of {volume.lineage} cannot be read: {error}",))


def newest_recordings(lineage: str, artifacts: Artifacts) -> Iterator[tuple[str, str | None]]:
    """Yields keys and texts of those that make the hot set, the newest first; None if a text is gone.

    After those of copies come those of the volume that their tags name.
    """
    names = dict.fromkeys((lineage, lineage.removeprefix(COPIES_OF)))
    written = (sorted(artifacts.written(recordings_prefix(name), most=KEPT)) for name in names)
    for key in islice(chain.from_iterable(written), KEPT):
        yield key, artifacts.get_text(key, most_bytes=MOST_BYTES)


def note_first_reads(notes: VolumeNotes, artifacts: Artifacts, commands: Commands) -> None:
    """Notes what became of the recording, and of a warm volume how many first reads were cold.

    Notes no reads if no agent warmed it, or if no recording says so yet. It raises nothing: the volume is
    warm all the same.
    """
    with suppress(RestoreError):
        volume = notes.read()
        noted = JsonObject()
        known = volume.recording
        with suppress(RestoreError):
            noted |= _outcome(known, commands)
        with suppress(RestoreError):
            if known.key and known.volume_id == volume.command.volume_id == volume.volume_id:
                noted |= _reads(artifacts.get_text(known.key, most_bytes=MOST_BYTES), known.volume_id)
        if noted:
            notes.note_recorded(known, noted)


def _reads(text: str | None, volume_id: str | None) -> JsonObject:
    """What was read, and how much of it cold; nothing if no recording says so yet."""
    try:
        found = read_recording(text, volume_id)
    except OtherVolumeError as error:
        return {"state": "failed", "problem": f"the recording counts for nothing: {error}"}
    except ValueError:
        return {}
    if not found.blocks or found.cold_blocks is None:
        return {}
    return {"blocks": len(found.blocks), "coldBlocks": found.cold_blocks}


def _outcome(known: KnownRecording, commands: Commands) -> JsonObject:
    """Whether the command still runs, and how it failed; nothing where none was sent."""
    if not known.command_id:
        return {}
    status = commands.status(known.command_id, known.instance_id or "")
    if status is None or not status.finished:
        return {"state": "running"}
    if status.status == "Success":
        return {"state": "recorded"}
    why = status.stderr.strip().splitlines() or [f"Systems Manager says {status.status_details}"]
    return {
        "state": "failed",
        "problem": why[-1].removeprefix("warmer: ").removeprefix("rewarm: ")[:MOST_SHOWN],
    }


def with_hot_sets(
    request: RestoreRequest, plans: Sequence[VolumePlan], artifacts: Artifacts
) -> tuple[list[VolumePlan], list[str]]:
    """Returns the plans, each with what is read first of its volume, and what their reader should know.

    Raises NoStrategyFitsError where a strict request wants that to be warm sooner than it is.
    """
    found = list(plans)
    notes = list(_learning(request, plans))
    looked_at = MOST_LOOKED_AT if request.objective.hot_within_minutes is None else len(plans)
    for at, plan in enumerate(plans[:looked_at]):
        if plan.plan.strategy.reads_with_agent and plan.volume.warm_because is None:
            hot = read_hot_set(request, plan.volume, artifacts)
            whose = plan.volume.lineage
            notes += [f"A recording of {whose} was left out: {reason}." for reason in hot.left_out]
            if hot.blocks:
                p50, p90 = (_warm_seconds(plan, hot, quantile) for quantile in (0, 1))
                seen = {"bytes": hot.bytes, "recordings": hot.recordings}
                hot_plan = HotPlan(**seen, warm_seconds=p50, warm_p90_seconds=p90)
                found[at] = plan.model_copy(update={"hot": hot_plan})
                notes.append(_sentence(plan, hot_plan, several=len(plans) > 1))
            elif (changed := plan.volume.changed) is not None:
                size = size_text(changed.blocks * BLOCK_BYTES)
                since = changed.since_snapshot_id
                notes.append(f"{size} of {whose} changed since {since}, and are read first.")
        notes += _lateness(request, found[at])
    return found, notes


def _warm_seconds(plan: VolumePlan, hot: HotSet, quantile: int) -> int:
    """Seconds until the agent has read the hot set, at its planned rate; at most until full speed."""
    chosen = plan.plan
    data_bytes = max(1, plan.volume.data_bytes)
    ready = (chosen.ready_p50_seconds, chosen.ready_p90_seconds)[quantile]
    whole = chosen.phases.get(Phase.READ, (ready - chosen.usable_seconds,) * 2)
    earlier = takewhile(lambda part: part[0] is not Phase.READ, chosen.phases.items())
    before = max(chosen.usable_seconds, sum(seconds[quantile] for _, seconds in earlier))
    return min(ceil_seconds(before + whole[quantile] * min(1.0, hot.bytes / data_bytes)), ready)


def _lateness(request: RestoreRequest, plan: VolumePlan) -> list[str]:
    """What misses objective.hotWithinMinutes. Raises NoStrategyFitsError where the request is strict."""
    wanted = request.objective.hot_within_minutes
    seconds = plan.hot.warm_p90_seconds if plan.hot is not None else plan.plan.ready_p90_seconds
    if wanted is None or seconds <= wanted * 60:
        return []
    what = "the hot set" if plan.hot is not None else "no recording says what to read first, so all"
    whose = plan.volume.adopts or plan.volume.snapshot_id
    late = f"{what} of {whose} is warm in {duration_text(seconds)} (P90)"
    if request.objective.strict:
        raise NoStrategyFitsError(f"found {wanted} minutes; {late}", field="objective.hotWithinMinutes")
    return [f"objective.hotWithinMinutes {wanted} is missed: {late}."]


def _sentence(plan: VolumePlan, hot: HotPlan, *, several: bool) -> str:
    whose = f" of {plan.volume.lineage}" if several else ""
    of = f"{size_text(hot.bytes)} of {size_text(plan.volume.data_bytes)}"
    when = duration_text(hot.warm_seconds)
    seen = count_text(hot.recordings, "recording")
    return f"Hot set{whose}: {of}, warm after about {when} (by {seen})."


def _learning(request: RestoreRequest, plans: Sequence[VolumePlan]) -> Iterator[str]:
    learn = request.warm_up.learn
    if learn is None:
        return
    for plan in plans:
        volume = plan.volume
        why = plan.volume.unlearned_because
        name = volume.adopts or volume.snapshot_id
        if volume.platform != "linux":
            why = "the agent records on Linux instances only"
        elif plan.plan.strategy.writes_with_agent:
            why = "the agent writes its blocks, and loads none"
        elif request.is_drill and request.after is None:
            why = "without drill.after a drill starts no application"
        if why is not None:
            yield f"What is read of {name} is not recorded: {why}."
        else:
            minutes = count_text(learn.minutes, "minute")
            yield f"Which blocks of {name} are read is recorded for {minutes}."
