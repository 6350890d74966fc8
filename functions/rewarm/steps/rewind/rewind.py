"""State `Rewind`: makes a volume equal to a snapshot, a look at a time; `Copy Blocks` runs between two looks.

The agent takes the volume, so that nobody can mount it. Then a snapshot keeps the volume as it is: the
evidence, to which another rewind undoes this one. While it is pending, what differs in the newest snapshot
before it is copied and written; once it is completed, what else differs. Whatever is written is the good
snapshot's content.

Until the first write everything can be cancelled. Where the agent is interrupted later, somebody may have
written to the volume: so the agent takes it again, and another snapshot says what still differs.

The empty volume of direct-write has nothing to keep: the agent takes it, and all blocks of the snapshot are
copied and written. Where the agent is interrupted, it writes all of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType

from rewarm.contracts import CostPart, Plan, PollInitializationResult
from rewarm.contracts.copying import Delta
from rewarm.contracts.rewinding import BlockCounts, RewindEvent, RewindResult
from rewarm.contracts.values import InitializationSignals
from rewarm.domain.blocks.rewindable import attached_to, newest_of_lineage
from rewarm.domain.errors import (
    TEMPORARY,
    AccessDeniedError,
    AgentFailedError,
    AgentInterruptedError,
    AgentUnreachableError,
    BlocksUnavailableError,
    RestoreCancelledError,
    RestoreError,
    RewindIncompleteError,
    SnapshotNotUsableError,
    TargetNotUsableError,
)
from rewarm.domain.model import BLOCK_BYTES, GIB, Snapshot
from rewarm.domain.plan import cost
from rewarm.domain.ready import agent_output
from rewarm.domain.units import clock_text, count_text, size_text
from rewarm.domain.volume.leftovers import REWINDING_STACK_TAG, REWINDING_TAG
from rewarm.domain.words.failures import explain
from rewarm.ports.snapshots import EvidenceSnapshots, SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.records import (
    ENDED,
    WRITING,
    Status,
    attribute,
    initialization_attribute,
    initialization_record,
    rewind_attribute,
    stop_if_cancelled,
)
from rewarm.steps.replace.device_look import Look, LookPorts, ask, reply
from rewarm.steps.rewind.evidence import Wanted, evidence
from rewarm.steps.rewind.writer import Writer, failure, in_use, send, was_refused, watch
from rewarm.steps.warm.agent_command import AgentPorts
from rewarm.steps.warm.lost_instance import (
    check_not_terminated,
    check_silent_agent,
    is_reachable,
    stall_patience,
)

MOST_ATTEMPTS = 5
"""What interrupts the agent this often will do it again."""
ARM_PATIENCE = timedelta(minutes=10)
"""SSM delivers within five minutes, and the agent waits a minute for the device."""
EVIDENCE_PATIENCE = timedelta(minutes=30)
"""From the agent's command on. EC2 shows a snapshot within seconds."""
LONGEST_ARMED = timedelta(hours=5)
"""The manifest's address ends with the credentials of the function that signed it (S3 user guide, "Sharing
objects with presigned URLs"), and those of a role last 12 hours at most (IAM user guide). Before the last
blocks are copied, an older agent takes the volume again, with a new address."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS, LONGEST_WRITE_SECONDS = 1, 60, 30
WAIT_FRACTION = 1 / 20
"""Waits grow with the time spent: a snapshot is pending for seconds or hours, and each look writes nine of
the 25,000 events of an execution's history."""
SAMPLES = 256
"""Blocks that are not written, and are compared with the snapshot: 128 MiB to read."""


@dataclass(frozen=True, kw_only=True)
class RewindPorts(AgentPorts):
    """The ports that rewind needs."""

    volumes: VolumeStore
    snapshots: SnapshotCatalog
    evidence: EvidenceSnapshots
    look: LookPorts
    stack_name: str


def rewind(event: RewindEvent, ports: RewindPorts) -> RewindResult:
    """Returns how far the rewind is, and what has to be copied next. It may be called again.

    Raises RestoreCancelledError, VolumeInUseError, TargetNotUsableError, AgentUnreachableError,
    AgentFailedError, SnapshotNotUsableError and, after the first write, RewindIncompleteError.
    """
    pending = event.pending or RewindResult(wait_seconds=FIRST_WAIT_SECONDS, phase="look")
    try:
        if event.failure is not None:
            why = explain(event.failure.error, event.failure.cause).sentence
            raise BlocksUnavailableError(f"blocks of {event.volume.snapshot_id} could not be copied: {why}")
        if event.copied is not None and pending.delta is not None:
            counts = pending.counts.plus(event.copied)
            begun = pending.initialization
            if begun is not None:
                begun = begun.model_copy(update={"last_progress_at": event.now})
            pending = pending.model_copy(
                update={
                    "next_part": event.copied.next_part,
                    "counts": counts,
                    "delta": None,
                    "initialization": begun,
                }
            )
        result = _PHASES[pending.phase](event, pending, ports)
    except (*TEMPORARY, RestoreCancelledError):
        raise
    except RestoreError as error:
        if not pending.writing:
            raise
        raise _incomplete(event, pending, error) from error
    return _noted(event, result, ports)


def _look(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Sends the agent, which refuses a volume in use; the instance unmounts it before where that is asked.

    An instance that is away, as while it restarts, is waited for.
    """
    stop_if_cancelled(ports.table, event.restore_id)
    volume_id, instance_id = event.written_id, event.volume.instance_id or ""
    if pending.look_id is None:
        since = pending.asked_at or event.now
        if not is_reachable(ports.instances.get(instance_id), away=event.now - since):
            wait = _until_next_look(since, event.now)
            return pending.model_copy(update={"asked_at": since, "wait_seconds": wait})
        pending = pending.model_copy(update={"asked_at": None})
    if event.is_direct:
        return _sent(event, pending, ports)
    if attached_to(ports.volumes.get(volume_id)) != instance_id:
        raise TargetNotUsableError(f"{volume_id} is not attached to {instance_id} alone any more")
    if not event.request.target.unmount:
        return _sent(event, pending, ports)
    if pending.look_id is None:
        asked = ask(volume_id, instance_id, "unmount", now=event.now, ports=ports.look)
        return pending.model_copy(update={"look_id": asked.command_id})
    # The step may have been throttled for minutes before it asked.
    asked_at = pending.asked_at or event.now
    use = reply(
        Look(pending.look_id, instance_id, volume_id, asked_at), now=event.now, commands=ports.look.commands
    )
    if use is None:
        wait = _until_next_look(asked_at, event.now)
        return pending.model_copy(update={"asked_at": asked_at, "wait_seconds": wait})
    if not use.is_free:
        raise in_use(event, f"is {use.in_words}")
    return _sent(event, pending, ports)


def _sent(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    sent = send(event, pending.attempt, pending.next_part, ports)
    return pending.model_copy(update={"phase": "arm", "dispatch": sent, "look_id": None, "asked_at": None})


def _arm(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Once the agent has the volume, its snapshot is made; what differs in the newest before it is copied."""
    stop_if_cancelled(ports.table, event.restore_id)
    writer = _writer(pending, ports)
    if writer.ended is not None:
        return _again(event, pending, writer)
    since = _sent_at(event, pending)
    waits = pending.model_copy(update={"wait_seconds": _until_next_look(since, event.now)})
    if not writer.has_taken:
        if event.now - since > ARM_PATIENCE:
            raise AgentUnreachableError(f"the agent on {event.volume.instance_id} has not begun")
        return waits
    if event.is_direct:
        return _copying(event, pending.model_copy(update={"phase": "write"}), ports, against=None)
    made = _snapshot(event, pending, ports)
    if made is None:
        if event.now - since > EVIDENCE_PATIENCE:
            raise SnapshotNotUsableError(
                f"EC2 shows no snapshot of {event.volume.rewinds}, though it was asked to make one"
            )
        return waits
    newest = _newest_before(event, made, ports) if pending.attempt == 0 else None
    taken = pending.model_copy(
        update={
            "phase": "wait",
            "evidence_id": pending.evidence_id or made.snapshot_id,
            "compared_id": made.snapshot_id,
            "newest_id": newest,
            "armed_at": pending.armed_at or event.now,
            "wait_seconds": FIRST_WAIT_SECONDS,
        }
    )
    return taken if newest is None else _copying(event, taken, ports, against=newest)


def _wait(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Until the snapshot is completed; then what differs in it is copied."""
    if not pending.writing:
        stop_if_cancelled(ports.table, event.restore_id)
    writer = _writer(pending, ports)
    if writer.ended is not None:
        return _again(event, pending, writer)
    since = _sent_at(event, pending)
    check_not_terminated(event.volume.instance_id or "", ports.instances, silence=event.now - since)
    made = _snapshot(event, pending, ports)
    if made is None or made.state != "completed":
        percent = made.progress_percent if made is not None else 0
        reason = f"{pending.compared_id}, the volume as it was, is {percent} % done"
        told = _progress(event, pending, writer, [reason])
        return told.model_copy(update={"wait_seconds": _until_next_look(since, event.now)})
    if pending.dispatch is not None and event.now - since > LONGEST_ARMED:
        ports.commands.cancel(pending.dispatch.command_id, pending.dispatch.instance_id)
        told = _progress(event, pending, writer, ["the agent takes the volume again, with a new address"])
        return told.model_copy(update={"wait_seconds": FIRST_WAIT_SECONDS})
    evident = pending.model_copy(update={"phase": "write", "evident_at": event.now})
    return _copying(event, evident, ports, against=made.snapshot_id)


def _write(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Until the agent has read everything back."""
    if event.is_direct:
        stop_if_cancelled(ports.table, event.restore_id)
    writer = _writer(pending, ports)
    if writer.is_done and not writer.was_interrupted(matters_before_writing=not event.is_direct):
        return _done(event, pending, writer, ports)
    if writer.ended is not None:
        return _again(event, pending, writer)
    last = pending.initialization.last_progress_at if pending.initialization else event.now
    check_silent_agent(event.volume.instance_id or "", ports.instances, silence=event.now - last)
    if event.now - last > stall_patience(event.request):
        raise AgentFailedError(
            f"the agent on {event.volume.instance_id} has written nothing since {clock_text(last)}"
        )
    total = pending.counts.blocks
    reason = f"{count_text(total, 'block')} of {event.volume.snapshot_id} are being written and read back"
    left = agent_output.whole_number(writer.account, "etaSeconds") or 0
    wait = min(LONGEST_WRITE_SECONDS, max(left // 2, _until_next_look(last, event.now)))
    return _progress(event, pending, writer, [reason]).model_copy(update={"wait_seconds": wait})


def _sent_at(event: RewindEvent, pending: RewindResult) -> datetime:
    """When the agent of this attempt was sent; now where none was."""
    return pending.dispatch.started_at if pending.dispatch else event.now


def _until_next_look(since: datetime, now: datetime) -> int:
    """Seconds until the next look, by how long it has taken so far."""
    spent = (now - since).total_seconds() * WAIT_FRACTION
    return max(FIRST_WAIT_SECONDS, min(LONGEST_WAIT_SECONDS, int(spent)))


def _done(event: RewindEvent, pending: RewindResult, writer: Writer, ports: RewindPorts) -> RewindResult:
    volume_id, index = event.written_id, event.volume.index
    blocks = agent_output.whole_number(writer.account, "blocksDone") or 0
    written = (
        f"{count_text(blocks, 'block')} ({size_text(blocks * BLOCK_BYTES)}) of {event.volume.snapshot_id}"
    )
    samples = agent_output.whole_number(writer.account, "samples") or 0
    others = f"; {samples:,} of the others are the same there" if samples else ""
    reasons = [f"{written} are written and read back{others}"]
    if not event.is_direct:
        _unmark(volume_id, ports.volumes)
        reasons.append(f"{pending.evidence_id} has {volume_id} as it was: a rewind to it undoes this one")
        record = attribute(ports.table, event.restore_id, index, rewind_attribute(index))
        others = ", ".join(record.get("others") or [])
        if others:
            reasons.append(f"{others} compared {volume_id} once more and can be deleted")
    told = _progress(event, pending, writer, reasons, ready=True)
    return told.model_copy(update={"phase": "done", "finished": True, "plan": _billed(event, pending)})


def _billed(event: RewindEvent, pending: RewindResult) -> Plan:
    """The plan with what was read; the plan could but estimate it."""
    plan, each = event.plan, event.plan.block_usd_per_thousand
    if each is None:
        return plan
    line = cost.fetched_blocks(pending.counts.blocks - pending.counts.zeros + pending.counts.samples, each)
    parts = [CostPart.model_validate(line) if part.item == line.item else part for part in plan.cost_parts]
    total = sum((part.usd for part in parts), Decimal(0))
    return plan.model_copy(update={"cost_parts": parts, "cost_usd": total})


def _unmark(volume_id: str, volumes: VolumeStore) -> None:
    """IAM allows it by one of the tags: a second try is denied where only the first answer was lost."""
    try:
        volumes.untag(volume_id, REWINDING_TAG, REWINDING_STACK_TAG)
    except AccessDeniedError:
        if REWINDING_TAG in volumes.get(volume_id).settings.tags:
            raise


def _again(event: RewindEvent, pending: RewindResult, writer: Writer) -> RewindResult:
    """The agent takes the volume once more, and compares it anew. Raises what has ended it for good."""
    error = failure(writer, event)
    is_too_old = pending.phase == "wait" and event.now - _sent_at(event, pending) > LONGEST_ARMED
    was_cut_off = writer.is_done or is_too_old or isinstance(error, AgentInterruptedError)
    if was_refused(writer) or not was_cut_off:
        raise error
    if pending.attempt + 1 >= MOST_ATTEMPTS:
        raise AgentFailedError(f"{MOST_ATTEMPTS} times: {error}") from error
    return RewindResult(
        wait_seconds=FIRST_WAIT_SECONDS,
        phase="look",
        attempt=pending.attempt + 1,
        writing=pending.writing,
        evidence_id=pending.evidence_id,
        armed_at=pending.armed_at,
        next_part=pending.next_part,
        counts=BlockCounts() if event.is_direct else pending.counts,
        initialization=pending.initialization,
    )


def _copying(
    event: RewindEvent, pending: RewindResult, ports: RewindPorts, *, against: str | None
) -> RewindResult:
    """From here on blocks are written. Raises RestoreCancelledError: somebody was sooner."""
    if not event.is_direct:
        _mark(event, pending, ports)
    is_last = pending.phase == "write"
    delta = Delta(
        snapshot_id=event.volume.snapshot_id,
        volume_id=event.written_id,
        volume_bytes=event.volume.snapshot_size_gib * GIB,
        index=event.volume.index,
        region=event.volume.copy_of.region if event.volume.copy_of else None,
        against=against,
        without=[pending.newest_id] if is_last and pending.newest_id else [],
        first_part=pending.next_part,
        goes_on=not is_last,
        samples=SAMPLES if is_last and not event.is_direct else 0,
    )
    writing = not event.is_direct
    return pending.model_copy(update={"delta": delta, "writing": writing, "wait_seconds": FIRST_WAIT_SECONDS})


def _mark(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> None:
    """Nobody cancels a rewind from now on, and whoever looks at the volume sees that it is being written."""
    if not pending.writing and not ports.table.set_unless_cancelled(event.restore_id, WRITING, True):
        raise RestoreCancelledError(ENDED)
    tags = {REWINDING_TAG: event.restore_id, REWINDING_STACK_TAG: ports.stack_name}
    ports.volumes.tag(event.written_id, tags)


def _snapshot(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> Snapshot | None:
    """Of this attempt."""
    volume, volume_id = event.volume, event.written_id
    known_id = pending.compared_id
    wanted = Wanted(event.restore_id, volume.index, pending.attempt, volume_id, volume.snapshot_id, known_id)
    table, name = ports.table, ports.stack_name
    return evidence(wanted, snapshots=ports.evidence, table=table, stack_name=name, now=event.now)


def _newest_before(event: RewindEvent, made: Snapshot, ports: RewindPorts) -> str | None:
    """The newest completed snapshot of the volume; None where it is the good one, or there is none."""
    volume_id = event.written_id
    others = [one for one in ports.snapshots.of_volume(volume_id) if one.snapshot_id != made.snapshot_id]
    found = newest_of_lineage(others, volume_id)
    return None if found is None or found.snapshot_id == event.volume.snapshot_id else found.snapshot_id


def _writer(pending: RewindResult, ports: RewindPorts) -> Writer:
    if pending.dispatch is None:
        return Writer(None, None)
    return watch(pending.dispatch, ports)


def _incomplete(event: RewindEvent, pending: RewindResult, error: RestoreError) -> RewindIncompleteError:
    volume_id, good_id = event.volume.rewinds, event.volume.snapshot_id
    return RewindIncompleteError(
        f"{volume_id} is mixed: some of its blocks are those of {good_id}, and some are as they were: "
        f"{error}. {pending.evidence_id} has all of it as it was. Send the request again, which writes what "
        "is missing; or put a new volume in its place, with target.mode replace"
    )


def _progress(
    event: RewindEvent, pending: RewindResult, writer: Writer, reasons: list[str], *, ready: bool = False
) -> RewindResult:
    """As the initialization of a new volume: bytes that are written and read back."""
    earlier, account = pending.initialization, writer.account or {}
    done = agent_output.whole_number(account, "bytesDone") or 0
    total = max(done, pending.counts.blocks * BLOCK_BYTES)
    moved = earlier is None or done != earlier.bytes_done or ready
    told = PollInitializationResult(
        ready=ready,
        wait_seconds=FIRST_WAIT_SECONDS,
        progress_percent=100.0 if ready else round(99.9 * done / total, 1) if total else 0.0,
        bytes_done=done,
        bytes_total=total,
        mib_per_second=agent_output.number(account, "mibPerSecond"),
        eta_seconds=agent_output.whole_number(account, "etaSeconds"),
        reasons=reasons,
        signals=InitializationSignals(agent=writer.account),
        polls=earlier.polls + 1 if earlier else 1,
        first_polled_at=earlier.first_polled_at if earlier else event.now,
        last_progress_at=event.now if moved or earlier is None else earlier.last_progress_at,
        agent_finished_at=event.now if ready else None,
    )
    return pending.model_copy(update={"initialization": told})


def _noted(event: RewindEvent, result: RewindResult, ports: RewindPorts) -> RewindResult:
    """In the record, for whoever asks, and for clean-up."""
    table, index = ports.table, event.volume.index
    told, changes = result.initialization, dict[str, object]()
    if not event.is_direct:
        name = rewind_attribute(index)
        record = attribute(table, event.restore_id, index, name)
        changes[name] = {
            **record,
            "volumeId": event.written_id,
            "state": "done" if result.finished else "writing" if result.writing else "preparing",
            "evidence": result.evidence_id or record.get("evidence"),
            "attempt": result.attempt,
            **result.counts.to_json(),
        }
    if told is not None:
        key = result.dispatch.progress_key if result.dispatch else None
        record = initialization_record(told, event.written_id, event.plan.strategy, key, event.now)
        changes[initialization_attribute(index)] = record
    if changes:
        table.update_volume(event.restore_id, index, changes)
    if result.delta is not None:
        table.advance(event.restore_id, Status.INITIALIZING.value)
    return result


_PHASES: Mapping[str, Callable[[RewindEvent, RewindResult, RewindPorts], RewindResult]] = MappingProxyType(
    {"look": _look, "arm": _arm, "wait": _wait, "write": _write}
)
