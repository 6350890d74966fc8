"""State `Rewind`: makes a volume equal to a snapshot, one step per call; `Copy Blocks` runs between calls.

The agent takes the volume, so that nobody can mount it. Then a snapshot keeps the volume as it is. It is the
evidence: a rewind to it undoes this one. While it is pending, the blocks that differ in the newest earlier
snapshot are copied. Only once it is completed, the gate is opened (gate.py), and the other differing blocks
are copied. Every block that is written has the good snapshot's content.

Some plans compare the whole device instead, and some keep what the agent overwrites in an undo log (ways.py).
With a log no snapshot is made, and the gate is opened once the agent has the volume. If nobody has written to
the volume since it was put back to a snapshot, that snapshot is the evidence.

Until the gate is opened, everything can be cancelled. After an interruption of the agent somebody may have
written to the volume. So another agent takes it, and another snapshot shows what still differs.

The empty volume of direct-write has nothing to keep: the agent takes it, and all blocks of the snapshot are
copied and written. After an interruption, all of them are written again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.domain.blocks.rewind_facts import newest_of_lineage
from rewarm.domain.errors import (
    TEMPORARY,
    AgentFailedError,
    AgentUnreachableError,
    BlocksUnavailableError,
    RestoreCancelledError,
    RestoreError,
    RewindIncompleteError,
    SnapshotNotUsableError,
)
from rewarm.domain.model import Snapshot
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.waits import agent_wait_seconds
from rewarm.domain.time.patience import LEAST, patience
from rewarm.domain.units import clock_text, count_text, duration_text
from rewarm.domain.words.failures import explain
from rewarm.steps.record.restore import stop_if_cancelled
from rewarm.steps.registration import state
from rewarm.steps.replace.device_look import Look, ask, reply
from rewarm.steps.rewind.ending import (
    LONGEST_ARMED,
    again,
    check_alone_at_end,
    next_attempt,
    sent_at,
    stop,
    stopped,
    unwritten,
)
from rewarm.steps.rewind.evidence import Wanted, evidence
from rewarm.steps.rewind.gate import RewindPorts, check_alone, open_gate
from rewarm.steps.rewind.telling import FIRST_WAIT_SECONDS, done, note, progress
from rewarm.steps.rewind.undo_logs import begin_log
from rewarm.steps.rewind.ways import compares_device, delta, keeps_log, target_in_words
from rewarm.steps.rewind.writer import Writer, in_use, send, snapshot_on_it, watch
from rewarm.steps.warm.agent_command import (
    SHORTEST_STALL,
    check_not_terminated,
    check_silent_agent,
    is_reachable,
    stall_patience,
)

EVIDENCE_PATIENCE = timedelta(minutes=30)
"""Counted from the agent's command. EC2 shows a snapshot within seconds."""
EVIDENCE_STALL = timedelta(hours=2)
"""Nobody can use the volume while its snapshot is pending. People report 2 hours for a full snapshot."""
LONGEST_WAIT_SECONDS = 60
WAIT_FRACTION = 1 / 20
"""Waits grow with the time spent, as a snapshot is pending for seconds or hours. Each look writes nine of the
25,000 events of an execution's history."""


@state("Rewind")
def rewind(event: RewindEvent, ports: RewindPorts) -> RewindResult:
    """Returns the rewind's progress, and what has to be copied next. It may be called again.

    Raises RestoreCancelledError, VolumeInUseError, TargetNotUsableError, AgentUnreachableError,
    AgentFailedError, SnapshotNotUsableError and, if a block was or may be written, RewindIncompleteError.
    """
    pending = event.pending or RewindResult(wait_seconds=FIRST_WAIT_SECONDS, phase="look")
    try:
        if pending.stopped_by is None:
            pending = _with_copied(event, pending)
        result = _PHASES[pending.phase](event, pending.model_copy(update={"unseen_since": None}), ports)
    except TEMPORARY as error:
        return _unseen(event, error)
    except (RestoreCancelledError, RewindIncompleteError):
        raise
    except RestoreError as error:
        if event.is_direct or pending.stopped_by is not None:
            raise
        if not pending.writing:
            raise unwritten(event, error) from error
        result = stop(event, pending, _writer(event, pending, ports), error, ports)
    return note(event, result, ports)


def _unseen(event: RewindEvent, error: RestoreError) -> RewindResult:
    """What was known before: the agent works meanwhile, and a rewind that ends here leaves a mixed volume.

    Raises the error in a call that nothing may be forgotten of, and after `patience`.
    """
    pending = event.pending
    if pending is None or pending.dispatch is None or event.copied is not None or event.failure is not None:
        raise error
    since = pending.unseen_since or event.now
    if event.now - since > patience(since - sent_at(pending, since)):
        raise error
    wait = max(FIRST_WAIT_SECONDS, _until_next_look(since, event.now))
    return pending.model_copy(update={"unseen_since": since, "wait_seconds": wait, "delta": None})


def _with_copied(event: RewindEvent, pending: RewindResult) -> RewindResult:
    """Adds the result of the copying that the last call asked for. Raises BlocksUnavailableError."""
    if event.failure is not None:
        why = explain(event.failure.error, event.failure.cause).sentence
        raise BlocksUnavailableError(f"blocks of {event.volume.snapshot_id} could not be copied: {why}")
    if event.copied is None or pending.delta is None:
        return pending
    counts = pending.counts.plus(event.copied)
    next_part = event.copied.next_part
    changes = {"next_part": next_part, "counts": counts, "delta": None}
    return _with_progress_now(event, pending.model_copy(update=changes))


def _look(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Sends the agent, which refuses a volume in use; the instance unmounts it first if the request says so.

    Waits for an instance that is away, for example because it restarts.
    """
    stop_if_cancelled(ports.table, event.restore_id)
    volume_id = event.written_id
    instance_id = event.volume.instance_id or ""
    if pending.look_id is None:
        since = pending.asked_at or event.now
        if not is_reachable(ports.instances.get(instance_id), away=event.now - since):
            wait = _until_next_look(since, event.now)
            return pending.model_copy(update={"asked_at": since, "wait_seconds": wait})
        pending = pending.model_copy(update={"asked_at": None})
    if event.is_direct:
        return _sent(event, pending, ports)
    check_alone(event, ports)
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
        error = in_use(event, f"is {use.in_words}", writing=pending.writing)
        if not pending.writing:
            raise error
        return next_attempt(event, pending, Writer(None, None), error)
    return _sent(event, pending, ports)


def _sent(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    first = pending.next_part
    sent = send(event, pending.attempt, first, ports)
    changes = {"phase": "arm", "dispatch": sent, "look_id": None, "asked_at": None}
    if not event.is_direct:
        changes |= {"gate_part": first, "next_part": first + 1}
    return pending.model_copy(update=changes)


def _arm(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Waits until the agent has the volume, makes its snapshot, and asks for the first blocks."""
    stop_if_cancelled(ports.table, event.restore_id)
    writer = _writer(event, pending, ports)
    if writer.ended is not None or writer.wrong is not None:
        return again(event, pending, writer)
    since = sent_at(pending, event.now)
    waits = pending.model_copy(update={"wait_seconds": _until_next_look(since, event.now)})
    if not writer.has_taken:
        if event.now - since > LEAST:
            raise AgentUnreachableError(f"the agent on {event.volume.instance_id} has not begun")
        return waits
    if event.is_direct:
        return _copying(event, pending.model_copy(update={"phase": "write"}), against=None, is_last=True)
    if (writer.account or {}).get("unwrittenSince") is True:
        equal_id = snapshot_on_it(event, ports.artifacts, ports.snapshots)
        pending = pending.model_copy(update={"equal_id": equal_id})
    if keeps_log(event):
        return _logging(event, pending, ports)
    made = _snapshot(event, pending, ports)
    if made is None:
        if event.now - since > EVIDENCE_PATIENCE:
            raise SnapshotNotUsableError(
                f"EC2 shows no snapshot of {event.volume.rewinds}, though it was asked to make one"
            )
        return waits
    compares = compares_device(event) and pending.equal_id is None
    newest = None if pending.equal_id or compares or pending.attempt else _newest_before(event, made, ports)
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
    if newest is None and not compares:
        return taken
    return _copying(event, taken, against=newest, is_last=compares)


def _logging(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Opens the gate at once, because the agent keeps what it overwrites; copying and writing overlap."""
    begin_log(event, stack_name=ports.stack_name, artifacts=ports.artifacts, table=ports.table)
    armed = {"phase": "write", "armed_at": pending.armed_at or event.now}
    begun = open_gate(event, pending, ports).model_copy(update=armed)
    return _copying(event, begun, against=pending.equal_id, is_last=True)


def _wait(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Waits for the snapshot; then opens the gate, and has the blocks copied that differ in it."""
    if not pending.writing:
        stop_if_cancelled(ports.table, event.restore_id)
    writer = _writer(event, pending, ports)
    if writer.ended is not None:
        return again(event, pending, writer)
    since = sent_at(pending, event.now)
    check_not_terminated(event.volume.instance_id or "", ports.instances, silence=event.now - since)
    made = _snapshot(event, pending, ports)
    if made is None or made.state != "completed":
        return _pending(event, pending, writer, made)
    if pending.dispatch is not None and event.now - since > LONGEST_ARMED:
        ports.commands.cancel(pending.dispatch.command_id, pending.dispatch.instance_id)
        waiting = progress(event, pending, writer, ["the agent takes the volume again, with a new address"])
        return waiting.model_copy(update={"wait_seconds": FIRST_WAIT_SECONDS})
    opened = open_gate(event, pending, ports)
    evident = opened.model_copy(update={"phase": "write", "evident_at": event.now})
    if compares_device(event) and pending.equal_id is None:
        return _with_progress_now(event, evident)
    return _copying(event, evident, against=made.snapshot_id, is_last=True)


def _with_progress_now(event: RewindEvent, pending: RewindResult) -> RewindResult:
    """Restarts the clock for stalls, because the agent had nothing to do until now."""
    begun = pending.initialization
    if begun is not None:
        begun = begun.model_copy(update={"last_progress_at": event.now})
    return pending.model_copy(update={"initialization": begun, "wait_seconds": FIRST_WAIT_SECONDS})


def _pending(
    event: RewindEvent, pending: RewindResult, writer: Writer, made: Snapshot | None
) -> RewindResult:
    """Waits on. Raises SnapshotNotUsableError if the snapshot has made no progress for too long."""
    percent = made.progress_percent if made is not None else 0
    has_moved = pending.evidence_moved_at is None or percent != pending.evidence_percent
    moved_at = event.now if has_moved else pending.evidence_moved_at or event.now
    if event.now - moved_at > EVIDENCE_STALL:
        stalled = duration_text((event.now - moved_at).total_seconds())
        raise SnapshotNotUsableError(
            f"{pending.compared_id} of {event.written_id} as it was has been {percent} % done for {stalled}"
        )
    reason = f"{pending.compared_id}, the volume as it was, is {percent} % done"
    wait = _until_next_look(sent_at(pending, event.now), event.now)
    changes = {"wait_seconds": wait, "evidence_percent": percent, "evidence_moved_at": moved_at}
    return progress(event, pending, writer, [reason]).model_copy(update=changes)


def _write(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Waits until the agent has written everything and read it back."""
    if event.is_direct:
        stop_if_cancelled(ports.table, event.restore_id)
    writer = _writer(event, pending, ports)
    if writer.is_done and not writer.was_interrupted(matters_before_writing=not event.is_direct):
        check_alone_at_end(event, pending, writer, ports)
        return done(event, pending, writer, ports)
    if writer.ended is not None:
        return again(event, pending, writer)
    last = pending.initialization.last_progress_at if pending.initialization else event.now
    longest = patience(last - sent_at(pending, last))
    check_silent_agent(
        event.volume.instance_id or "", ports.instances, silence=event.now - last, longest=longest
    )
    if event.now - last > stall_patience(event.request, max(SHORTEST_STALL, longest)):
        raise AgentFailedError(
            f"the agent on {event.volume.instance_id} has written nothing since {clock_text(last)}"
        )
    total = count_text(pending.counts.blocks, "block")
    doing = "compared, and written where they differ" if compares_device(event) else "written and read back"
    reason = f"{total} of {target_in_words(event)} are being {doing}"
    left = agent_output.figures(writer.account).eta_seconds
    spent = event.now - sent_at(pending, event.now)
    # The agent's estimate is too long at first, because it counts the time without blocks to write.
    wait = min(2 * pending.wait_seconds, agent_wait_seconds(left, spent.total_seconds()))
    return progress(event, pending, writer, [reason]).model_copy(update={"wait_seconds": wait})


def _stop(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> RewindResult:
    """Waits until the agent has ended; then the rewind fails."""
    return stopped(event, pending, _writer(event, pending, ports), ports)


def _until_next_look(since: datetime, now: datetime) -> int:
    """Seconds until the next look, which grow with the time so far."""
    spent = (now - since).total_seconds() * WAIT_FRACTION
    return max(FIRST_WAIT_SECONDS, min(LONGEST_WAIT_SECONDS, int(spent)))


def _copying(
    event: RewindEvent, pending: RewindResult, *, against: str | None, is_last: bool
) -> RewindResult:
    """Asks for the copying of the blocks that are needed now."""
    wanted = delta(event, pending, against=against, is_last=is_last)
    return pending.model_copy(update={"delta": wanted, "wait_seconds": FIRST_WAIT_SECONDS})


def _snapshot(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> Snapshot | None:
    """The attempt's snapshot; none is made if an earlier snapshot equals the volume."""
    if pending.equal_id is not None:
        return ports.snapshots.get(pending.equal_id)
    volume = event.volume
    volume_id = event.written_id
    wanted = Wanted(
        event.restore_id,
        volume.index,
        pending.attempt,
        volume_id,
        volume.snapshot_id,
        known_id=pending.compared_id,
        is_way_back=pending.written.is_none,
    )
    table = ports.table
    name = ports.stack_name
    return evidence(wanted, snapshots=ports.evidence, table=table, stack_name=name, now=event.now)


def _newest_before(event: RewindEvent, made: Snapshot, ports: RewindPorts) -> str | None:
    """The newest completed snapshot of the volume; None if it is the good one, or there is none."""
    volume_id = event.written_id
    others = [old for old in ports.snapshots.of_volume(volume_id) if old.snapshot_id != made.snapshot_id]
    found = newest_of_lineage(others, volume_id)
    return None if found is None or found.snapshot_id == event.volume.snapshot_id else found.snapshot_id


def _writer(event: RewindEvent, pending: RewindResult, ports: RewindPorts) -> Writer:
    if pending.dispatch is None:
        return Writer(None, None)
    return watch(pending.dispatch, event.written_id, ports)


_PHASES: Mapping[str, Callable[[RewindEvent, RewindResult, RewindPorts], RewindResult]] = MappingProxyType(
    {"look": _look, "arm": _arm, "wait": _wait, "write": _write, "stop": _stop}
)
