"""The words of `ready`: the volume is at full speed, how that is known, and what is left to do.

Those of `confirmed` say whether VolumeReadOps confirms it some minutes later.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.domain.model import LeftOut
from rewarm.domain.units import clock_text, duration_text, elapsed_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import BoostOutcome
from rewarm.domain.words.message import TRIES_AGAIN, AnnouncedVolume, DetachedVolume, Message, Severity
from rewarm.domain.words.way_back import by_volume

AGAIN = "The warm-up agent read it once more, as it had come to a standstill or was still slow."
MOST_SHOWN = 10
"""Volumes in one message; the report has all of them."""
MEASURE_AGAIN = (
    "If nothing of yours reads the volume, measure it again with `POST /benchmarks` before you rely on it."
)
MOUNT = "Mount it, unless `after` does."
FORGET = "Delete what undoes the rewind once you no longer need it."
RELEASED = "Fast snapshot restore is disabled again, if it was enabled for this volume alone."


class Latency(Value):
    """4 KiB random reads, one at a time: milliseconds and reads a second."""

    p50_ms: float
    p99_ms: float
    iops: float


class Proof(Value):
    """What was measured. `unmeasured_because` says why `after` is missing."""

    before: Latency | None
    after: Latency | None
    unmeasured_because: str
    limit_p99_ms: float
    limit_is_requested: bool
    """By the request; else by the volume's type and IOPS."""
    before_when: str = "right after the restore"
    """When `before` was measured."""
    expected: Latency | None = None
    """What the volume's type and the instance promise."""


class FastRestore(Value):
    """The snapshot and zone whose fast snapshot restore may still be on."""

    snapshot_id: str
    availability_zone: str


class Unreleased(Value):
    """What `Release` could not give back, and so may still cost money."""

    reason: str
    fast_restore: FastRestore | None = None
    boost: BoostOutcome | None = None


class ReadyFacts(Value):
    """A volume that has come to full speed. The time runs from `started_at`, when the request arrived."""

    volume_id: str
    volume: AnnouncedVolume
    started_at: datetime
    full_speed_at: datetime
    deadline_at: datetime | None
    proof: Proof
    reasons: Sequence[str]
    boost: BoostOutcome | None = None
    was_warm: bool = False
    """It was there, and nothing had to be loaded."""
    used_only: bool = False
    """Only the blocks that its file systems use were read."""
    meanwhile: tuple[float, float] | None = None
    """p50 and p99 in milliseconds of small reads while the agent read a volume in use."""
    first_reads: tuple[int, int] | None = None
    """Blocks that an application read until it was warm, and how many of them were cold at most."""
    recording: str = ""
    """What became of the recording of its reads, as a sentence."""
    phases: Sequence[tuple[str, float | None, float | None]] = ()
    """Name, estimated and measured seconds of each phase."""
    warm_ups: int = 0
    """How often it was warmed up again."""
    unreleased: Unreleased | None = None
    left_out: Sequence[LeftOut] = ()
    """What the runbook names and the stack lacks."""
    left: Sequence[str] = ()
    """What stays of earlier plans, or of what this one has used."""
    way_back: str = ""
    """What undoes a rewind, as sentences."""
    has_way_back: bool = True
    """False if it is gone; then nothing is left to delete."""

    @property
    def seconds(self) -> float:
        """From the request to full speed."""
        return (self.full_speed_at - self.started_at).total_seconds()

    @property
    def is_late(self) -> bool:
        """Whether the deadline was missed."""
        return self.deadline_at is not None and self.full_speed_at > self.deadline_at


def ready(restore_id: str, facts: ReadyFacts) -> Message:
    """The message of a volume at full speed; a warning where it is late or something may still cost money."""
    speed = "at full speed" + (" where its file systems have data" if facts.used_only else "")
    warnings, commands = _unreleased(facts)
    missing = next((left.missing for left in facts.left_out if left.missing), "")
    costs_on = bool(facts.left) or (facts.boost is not None and facts.boost.costs)
    where = facts.volume.where
    took = elapsed_text(facts.seconds)
    lines = [
        f"{facts.volume_id} ({where}) was {speed} already; that was known {took} after the request arrived."
        if facts.was_warm
        else f"{facts.volume_id} ({where}) is {speed}, {took} after the request arrived.",
        *(left.sentence for left in facts.left_out),
        *([facts.volume.started.sentence] if facts.volume.started is not None else []),
        _proof(facts.proof),
        f"Known because: {'; '.join(facts.reasons)}.",
        *_meanwhile(facts.meanwhile),
        *([facts.recording] if facts.recording else []),
        *_first_reads(facts.first_reads),
        *([AGAIN] if facts.warm_ups else []),
        *([facts.boost.sentence] if facts.boost is not None else []),
        *warnings,
        *([f"Left behind: {'; '.join(facts.left)}."] if facts.left else []),
        *([facts.way_back] if facts.way_back else []),
        *_replaced(facts),
    ]
    return Message(
        event="ready",
        restore_id=restore_id,
        title=_title(facts, speed) + (f", but {missing}" if missing else ""),
        text="\n".join(lines),
        severity=Severity.WARNING if facts.is_late or costs_on or warnings or missing else Severity.GOOD,
        fields=_fields(facts),
        next_steps=(
            *(commands or _release_steps(facts)),
            *_way_back(facts.volume),
            *_deletion(facts.volume.replaced),
        ),
    )


def _title(facts: ReadyFacts, speed: str) -> str:
    volume = facts.volume
    if volume.undoes:
        return f"{facts.volume_id} is back to what it had before its rewind"
    if volume.goes_back:
        return (
            f"{facts.volume_id} is back at {volume.snapshot_id} of {clock_text(volume.snapshot_started_at)}"
        )
    return f"{facts.volume_id} is {speed}{' already' if facts.was_warm else ''}"


class VolumeOpinion(Value):
    """What VolumeReadOps said of one volume: `confirms`, `contradicts` or `silent`, and why."""

    volume_id: str
    opinion: str
    reason: str


def confirmed(restore_id: str, opinions: Sequence[VolumeOpinion]) -> Message:
    """It is a warning if VolumeReadOps contradicts for any volume."""
    against = [volume.volume_id for volume in opinions if volume.opinion == "contradicts"]
    silent = [volume.volume_id for volume in opinions if volume.opinion == "silent"]
    if against:
        title = f"VolumeReadOps contradicts: there are still slow reads of {_shown(against)}"
    elif silent:
        title = f"VolumeReadOps is silent: CloudWatch has too few whole minutes of {_shown(silent)}"
    else:
        volumes = _shown([volume.volume_id for volume in opinions])
        title = f"VolumeReadOps confirms: there are no slow reads of {volumes}"
    lines = [f"{volume.volume_id}: {volume.reason}." for volume in opinions[:MOST_SHOWN]]
    if len(opinions) > MOST_SHOWN:
        lines.append(f"The report has the other {len(opinions) - MOST_SHOWN} volumes.")
    return Message(
        event="confirmed",
        restore_id=restore_id,
        title=title,
        text="\n".join(lines),
        severity=Severity.WARNING if against else Severity.INFO,
        next_steps=(MEASURE_AGAIN,) if against else (),
    )


def _shown(volume_ids: Sequence[str]) -> str:
    """One volume by its id, several by their number."""
    return volume_ids[0] if len(volume_ids) == 1 else f"{len(volume_ids)} volumes"


def _fields(facts: ReadyFacts) -> tuple[tuple[str, str], ...]:
    estimated = duration_text(facts.volume.ready_p50_seconds)
    fields = [
        ("Time", f"{elapsed_text(facts.seconds)} from the request; estimated {estimated}"),
        ("How", facts.volume.how),
        ("Extra cost", usd_text(facts.volume.cost_usd)),
    ]
    if facts.deadline_at is not None:
        verdict = "missed" if facts.is_late else "met"
        fields.insert(1, ("Deadline", f"{clock_text(facts.deadline_at)} ({verdict})"))
    if facts.phases:
        fields.append(("Phases", "; ".join(_phase(*phase) for phase in facts.phases)))
    if facts.volume.replaced is not None:
        fields.append(
            ("Replaced", f"{facts.volume.replaced.volume_id}, {facts.volume.replaced.size_gib:,} GiB")
        )
    return tuple(fields)


def _phase(name: str, estimated: float | None, actual: float | None) -> str:
    took = "not measured" if actual is None else elapsed_text(actual)
    return f"{name} {took}" if estimated is None else f"{name} {took} (estimated {elapsed_text(estimated)})"


def _proof(proof: Proof) -> str:
    if proof.after is None:
        return f"Read latency was not measured: {proof.unmeasured_because}."
    earlier = f"; {proof.before_when} they took {_latency(proof.before)}" if proof.before else ""
    origin = "the request" if proof.limit_is_requested else "the volume's type and IOPS"
    promised = f"; the volume promises at most {_latency(proof.expected)}" if proof.expected else ""
    return (
        f"4 KiB random reads take {_latency(proof.after)}{earlier}. "
        f"The limit of p99 is {proof.limit_p99_ms:g} ms, set by {origin}{promised}."
    )


def _meanwhile(took: tuple[float, float] | None) -> list[str]:
    if took is None:
        return []
    p50, p99 = took
    return [
        f"During the warm-up a small read, such as an application's, took {p50:.1f} ms (p99 {p99:.1f} ms)."
    ]


def _first_reads(found: tuple[int, int] | None) -> list[str]:
    if found is None:
        return []
    blocks, cold = found
    were = "none was cold" if cold == 0 else f"at most {cold:,} {'was' if cold == 1 else 'were'} cold"
    return [f"Of the first {blocks:,} blocks that the application read, {were}."]


def _latency(latency: Latency) -> str:
    return f"{latency.p50_ms:.1f} ms (p99 {latency.p99_ms:.1f} ms)"


def _unreleased(facts: ReadyFacts) -> tuple[list[str], list[str]]:
    """Warnings about what may still cost money, and the commands that end it."""
    unreleased = facts.unreleased
    if unreleased is None:
        return [], []
    if unreleased.fast_restore is not None:
        snapshot_id = unreleased.fast_restore.snapshot_id
        zone = unreleased.fast_restore.availability_zone
        warning = (
            f"Fast snapshot restore of {snapshot_id} in {zone} may still be on and cost money by the hour, "
            f"as it could not be disabled: {unreleased.reason} {TRIES_AGAIN}."
        )
        command = (
            "If it stays on and nothing else needs it, disable it: "
            f"aws ec2 disable-fast-snapshot-restores --availability-zones {zone} "
            f"--source-snapshot-ids {snapshot_id}"
        )
        return [warning], [command]
    if unreleased.boost is not None:
        warning = f"{unreleased.boost.sentence} {TRIES_AGAIN}."
        target = unreleased.boost.target
        by_hand = unreleased.boost.command
        return [warning], [f"If it stays boosted, lower {facts.volume_id} to {target}: {by_hand}"]
    return [], []


def _release_steps(facts: ReadyFacts) -> tuple[str, ...]:
    if facts.boost is not None and facts.boost.costs:
        lower = f"lower {facts.volume_id} to {facts.boost.target}: {facts.boost.command}"
        return (f"If it stays boosted, {lower}",)
    if facts.volume.goes_back:
        return (f"{MOUNT} {FORGET}" if facts.has_way_back else MOUNT,)
    return (RELEASED,) if facts.volume.is_fast_at_once else ()


def _replaced(facts: ReadyFacts) -> list[str]:
    if facts.volume.replaced is None:
        return []
    return [by_volume(facts.volume.replaced.volume_id, facts.volume_id, facts.volume.replaced.presence)]


def _way_back(volume: AnnouncedVolume) -> tuple[str, ...]:
    if volume.root_of is None or volume.replaced is None or volume.replaced.presence.is_gone:
        return ()
    swap = f"aws ec2 create-replace-root-volume-task --instance-id {volume.root_of} --volume-id"
    return (f"To go back, let EC2 swap the old one in, with a reboot: {swap} {volume.replaced.volume_id}",)


def _deletion(replaced: DetachedVolume | None) -> tuple[str, ...]:
    if replaced is None or replaced.presence.is_gone:
        return ()
    delete = f"aws ec2 delete-volume --volume-id {replaced.volume_id}"
    usd = replaced.usd_per_month
    price = "storage" if usd is None else f"{usd_text(usd)} a month"
    return (f"Delete {replaced.volume_id} when you no longer need it, as it costs {price}: {delete}",)
