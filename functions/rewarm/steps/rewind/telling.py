"""What the step says of a rewind, in the message and in the record."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from rewarm.contracts.results import PollInitializationResult
from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.contracts.values import InitializationSignals, Plan
from rewarm.domain.model import BLOCK_BYTES
from rewarm.domain.plan import cost
from rewarm.domain.ready import agent_output
from rewarm.domain.units import count_text, size_text
from rewarm.ports import JsonObject
from rewarm.steps.record.restore import Status
from rewarm.steps.record.volume import Rewinding, VolumeNotes
from rewarm.steps.rewind.gate import PREPARING, READY, RewindPorts, note_way_back, unmark
from rewarm.steps.rewind.undo_logs import complete_log
from rewarm.steps.rewind.ways import compares_device, keeps_log, target_in_words, undone_log
from rewarm.steps.rewind.writer import Writer, in_all, note_rewound, so_far

FIRST_WAIT_SECONDS = 1


def done(event: RewindEvent, pending: RewindResult, writer: Writer, ports: RewindPorts) -> RewindResult:
    """The result once all blocks are written and read back, by all attempts together."""
    reasons = [_written(event, pending, writer)]
    if not event.is_direct:
        note_rewound(event, writer.account or {}, ports.artifacts)
        if keeps_log(event):
            written = in_all(pending, writer)
            is_counted = written.is_exact and not pending.attempt
            complete_log(event, written.blocks if is_counted else None, ports)
        stays = unmark(event.written_id, ports.volumes)
        note_way_back(event, pending, ports)
        if pending.evidence_id is not None:
            # It costs money, so it is named although somebody deletes the record before the message.
            reasons.append(f"before the first write {pending.evidence_id} had what {event.written_id} was")
        if stays is not None:
            reasons.append(f"{event.written_id} equals {target_in_words(event)}, but {stays}")
        known = VolumeNotes(ports.table, event.restore_id, event.volume.index).read().rewind or Rewinding()
        others = ", ".join(known.besides(pending.evidence_id))
        if others:
            reasons.append(f"{others} compared {event.written_id} once more and can be deleted")
    result = progress(event, pending, writer, reasons, ready=True)
    return result.model_copy(update={"phase": "done", "finished": True, "plan": _billed(event, pending)})


def _written(event: RewindEvent, pending: RewindResult, writer: Writer) -> str:
    """What was written, and what proves that the rest of the volume is the same."""
    account = writer.account
    compares = compares_device(event)
    figures = agent_output.figures(account)
    blocks = (figures.blocks_written if compares else figures.blocks_done) or 0
    blocks += pending.written.blocks
    amount = f"{count_text(blocks, 'block')} ({size_text(blocks * BLOCK_BYTES)})"
    written = f"{amount} of {target_in_words(event)} are written and read back"
    return "; ".join([written, *_rest(event, pending, account)])


def _rest(event: RewindEvent, pending: RewindResult, account: JsonObject | None) -> Iterator[str]:
    """What is known of the unwritten blocks; only a comparison of the device has read all of them."""
    log = undone_log(event)
    relogged = pending.counts.relogged
    figures = agent_output.figures(account)
    samples = figures.samples or 0
    if samples:
        yield f"{samples:,} of the others are the same there"
    if pending.equal_id is not None:
        yield "the others were not read, as nobody had written to the volume since its last rewind"
    elif event.volume.undo_alone:
        yield "the others were not read, and stay as they were"
    elif compares_device(event):
        equal = figures.blocks_equal or 0
        yield f"the other {equal:,} were compared, and are the same there"
    if log is not None and relogged:
        yield (
            f"{relogged:,} of its blocks had changed again before the agent of {log.restore_id} took "
            "the volume once more: what they had then is left in its undo log"
        )


def progress(
    event: RewindEvent, pending: RewindResult, writer: Writer, reasons: list[str], *, ready: bool = False
) -> RewindResult:
    """The bytes that are written and read back, in the form of a new volume's initialization."""
    earlier = pending.initialization
    figures = agent_output.figures(writer.account)
    done_bytes = figures.bytes_done or 0
    total = max(done_bytes, pending.counts.blocks * BLOCK_BYTES)
    moved = earlier is None or done_bytes != earlier.bytes_done or ready
    initialization = PollInitializationResult(
        ready=ready,
        wait_seconds=FIRST_WAIT_SECONDS,
        progress_percent=100.0 if ready else round(99.9 * done_bytes / total, 1) if total else 0.0,
        bytes_done=done_bytes,
        bytes_total=total,
        mib_per_second=figures.mib_per_second,
        eta_seconds=figures.eta_seconds,
        reasons=reasons,
        signals=InitializationSignals(agent=writer.account),
        polls=earlier.polls + 1 if earlier else 1,
        first_polled_at=earlier.first_polled_at if earlier else event.now,
        last_progress_at=event.now if moved or earlier is None else earlier.last_progress_at,
        agent_finished_at=event.now if ready else None,
    )
    return pending.model_copy(update={"initialization": initialization, "seen": so_far(pending, writer)})


def note(event: RewindEvent, result: RewindResult, ports: RewindPorts) -> RewindResult:
    """Writes it to the record, for GET and for clean-up."""
    record = VolumeNotes(ports.table, event.restore_id, event.volume.index)
    key = result.dispatch.progress_key if result.dispatch else None
    record.note_initialization(
        result.initialization,
        event.written_id,
        event.plan.strategy,
        key,
        event.now,
        rewind=None if event.is_direct else _standing(event, result, record),
    )
    if result.delta is not None:
        ports.table.advance(event.restore_id, Status.INITIALIZING.value)
    return result


def _standing(event: RewindEvent, result: RewindResult, record: VolumeNotes) -> JsonObject:
    known = record.read().rewind or Rewinding()
    evidence_id = result.evidence_id or known.evidence
    return {
        "volumeId": event.written_id,
        "state": "done" if result.finished else READY if result.writing else PREPARING,
        "evidence": evidence_id,
        "equal": result.equal_id or known.equal,
        "others": known.besides(evidence_id),
        "attempt": result.attempt,
        "written": result.written.plus(result.seen).blocks,
        **result.counts.to_json(),
    }


def _billed(event: RewindEvent, pending: RewindResult) -> Plan:
    """The plan with the price of the blocks that were read, which it could only estimate."""
    plan = event.plan
    each = event.plan.block_usd_per_thousand
    if each is None:
        return plan
    counts = pending.counts
    line = cost.fetched_blocks(counts.blocks - counts.zeros - counts.logged + counts.samples, each)
    parts = [line if part.item == line.item else part for part in plan.cost_parts]
    total = sum((part.usd for part in parts), Decimal(0))
    return plan.model_copy(update={"cost_parts": parts, "cost_usd": total})
