"""State `Run Hook`: brings the application back on the instance, one part after the other.

The execution of each volume asks for it. Nothing runs before all volumes of the restore are there, so the
last one runs the parts; a conditional write lets only one of them begin.

SendCommand has no client token. So a part is noted before it is sent, and looked for by its comment if the
answer was lost. If Run Command does not show it, nobody can know whether it was sent. Mounts and health
checks are then sent again, a user's document only if its owner says that it may run twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import Field

from rewarm.contracts.after import Application, ApplicationState, HookPart
from rewarm.contracts.base import Contract, StepEvent, WaitSeconds
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import (
    TEMPORARY,
    AccessDeniedError,
    AgentUnreachableError,
    RestoreError,
    ThrottledError,
)
from rewarm.domain.model import CommandStatus
from rewarm.domain.time.patience import LEAST
from rewarm.domain.units import duration_text
from rewarm.ports.instances import Hooks
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.application import document_of, end, keep
from rewarm.steps.record.restore import KnownRestore, RestoreNotes
from rewarm.steps.registration import Metric, state
from rewarm.steps.volume.hook_calls import (
    DELIVERY_SECONDS,
    CallPorts,
    HookPlace,
    call_of,
    document_name,
    may_repeat,
    parts_of,
)
from rewarm.steps.warm.agent_command import ANSWER_AFTER, SHOWN_AFTER, check_not_terminated

WAIT_SECONDS = (2, 30)
MOST_OUTPUT = 4_096
"""How many of the last characters of a part's output are kept."""
OUTPUT_OF_MOUNT = 1_024
AGENTS_OWN = "failed to run commands: "
"""How the SSM agent begins the line that it adds to the errors of a script (amazon-ssm-agent, runScript)."""
SPEAKER = re.compile(r"^(rewarm|warmer): ")
"""Who says a line: the document's script, or the agent."""
MOST_REASON = 300
GRACE = timedelta(hours=1)
"""Margin beyond all time limits and waits for the instance; then it is given up: the record was changed."""


class RunHookEvent(StepEvent):
    """Asks to bring the application back."""

    request: RestoreRequest
    volume: VolumeAssignment
    volume_id: str


class RunHookResult(Contract):
    """How far it is."""

    finished: bool
    wait_seconds: WaitSeconds
    state: ApplicationState | None = Field(
        default=None, description="null: not all volumes are there yet, or another one's execution does it."
    )


@dataclass(frozen=True, kw_only=True)
class RunHookPorts(CallPorts):
    """The ports that run_hook needs."""

    table: RestoreTable
    hooks: Hooks


@dataclass(frozen=True, slots=True)
class _Run:
    event: RunHookEvent
    ports: RunHookPorts
    restore: RestoreNotes
    known: KnownRestore

    @property
    def instance_id(self) -> str:
        return self.event.volume.instance_id or ""

    def comment(self, position: int) -> str:
        return f"rewarm hook {position} for {self.event.restore_id}"[:100]


def _metrics(_event: RunHookEvent, result: RunHookResult) -> Iterator[Metric]:
    if result.finished and result.state is not None:
        yield Metric("ApplicationsEnded", dimensions={"state": result.state})


@state("Run Hook", metrics=_metrics)
def run_hook(event: RunHookEvent, ports: RunHookPorts) -> RunHookResult:
    """Sends the next part or looks at the one that runs. Raises ThrottledError, ServiceUnavailableError."""
    restore = RestoreNotes(ports.table, event.restore_id)
    run = _Run(event, ports, restore, restore.read())
    application = run.known.application or _begun(run)
    if application is None or application.index != event.volume.index:
        return RunHookResult(finished=True, wait_seconds=1)
    if not application.is_over:
        application = _stopped(run, application) or _continued(run, application)
    low, high = WAIT_SECONDS
    since = max([part.since for part in application.parts if part.since], default=application.started_at)
    return RunHookResult(
        finished=application.is_over,
        wait_seconds=max(low, min(high, round((event.now - since).total_seconds() / 10))),
        state=application.state,
    )


def _begun(run: _Run) -> Application | None:
    """The application as noted now, perhaps by a faster call; None if not all volumes are there."""
    event = run.event
    known = run.known
    after = run.event.request.after
    if after is None or not known.indexes or known.cancel_requested:
        return None
    for index in known.indexes:
        is_there = known.attached(index).volume_id if after.when == "attached" else known.settled(index)
        if not is_there:
            return None
    application = Application(
        state="running",
        index=event.volume.index,
        instance_id=run.instance_id,
        started_at=event.now,
        parts=parts_of(event.request),
    )
    return application if keep(application, run.restore, None) else run.restore.read().application


def _stopped(run: _Run, application: Application) -> Application | None:
    """Ends it after a cancellation, or if it was not over when all its time had passed.

    Waits as long as Run Command may not show yet what was sent.
    """
    position = application.next_part
    is_undoing = position is not None and application.parts[position].at_end
    is_cancelled = run.known.cancel_requested and not is_undoing
    limits = [timedelta(seconds=part.limit_seconds) + _patience(part) for part in application.parts]
    whole = sum(limits, GRACE)
    if is_cancelled:
        state: ApplicationState = "failed"
        reason = "the restore was cancelled"
    elif run.event.now - application.started_at > whole:
        state = "unknown"
        reason = f"it was not over after {duration_text(whole.total_seconds())}"
    else:
        return None
    parts = [
        _found(run, part, position, is_end=True) if part.state == "sending" else part
        for position, part in enumerate(application.parts)
    ]
    if any(part.state == "sending" for part in parts):
        return application
    for part in parts:
        if part.state == "unknown":
            state = "unknown"
            reason = f"{reason}, and {part.reason}"
        elif part.state == "running" and part.command_id is not None:
            _cancelled(run, part.command_id)
    over = {"state": state, "reason": reason, "finished_at": run.event.now}
    if is_cancelled and any(part.at_end for part in parts):
        over = {}
        parts = [
            _failed(part, reason, run.event.now) if part.is_open and not part.at_end else part
            for part in parts
        ]
    ended = application.model_copy(update={**over, "parts": parts})
    end(ended, run.restore)
    return ended


def _continued(run: _Run, application: Application) -> Application:
    """Does the next thing for the first part that is not done."""
    position = application.next_part
    assert position is not None, "it would be over"
    part = application.parts[position]
    if part.state == "waiting":
        return _send(run, application, position)
    changed = _found(run, part, position, is_end=False) if part.state == "sending" else _followed(run, part)
    return _kept(run, application, position, changed)


def _send(run: _Run, application: Application, position: int) -> Application:
    event = run.event
    ports = run.ports
    part = application.parts[position]
    try:
        if not ports.instances.is_online(run.instance_id):
            return _kept(run, application, position, _unreached(event.now, run.instance_id, part))
        place = HookPlace(event.volume, event.volume_id, len(run.known.indexes), document_of(run.known))
        call = call_of(event.request, position, place, ports)
    except TEMPORARY:
        raise
    except RestoreError as error:
        return _kept(run, application, position, _failed(part, str(error), event.now))
    clock = ports.hooks.time()
    times = {"since": clock, "until": clock + ANSWER_AFTER}
    sending = part.model_copy(update={"state": "sending", **times})
    noted = _kept(run, application, position, sending)
    if noted is application:
        return noted
    try:
        command_id = ports.hooks.send(
            run.instance_id, call, comment=run.comment(position), timeout_seconds=DELIVERY_SECONDS
        )
    except ThrottledError:
        _kept(run, noted, position, part)
        raise
    except AgentUnreachableError:
        return _kept(run, noted, position, _unreached(event.now, run.instance_id, part))
    except RestoreError as error:
        if isinstance(error, TEMPORARY):
            raise
        is_denied = isinstance(error, AccessDeniedError)
        reason = f"Rewarm may not send the document {call.document}: {error}" if is_denied else str(error)
        return _kept(run, noted, position, _failed(part, reason, event.now))
    running = {"state": "running", "command_id": command_id, "away_since": None}
    followed = _kept(run, noted, position, sending.model_copy(update=running))
    if followed is noted:  # nobody would look after it
        _cancelled(run, command_id)
    return followed


def _unreached(now: datetime, instance_id: str, part: HookPart) -> HookPart:
    """The part, which waits until its instance has been out of reach for too long.

    Time in which nobody could look, because AWS throttled the calls, counts for nothing.
    """
    since = part.away_since or now
    away = now - since
    if away <= _patience(part):
        return part.model_copy(update={"away_since": since})
    waited = duration_text(away.total_seconds())
    return _failed(part, f"{instance_id} was not online in Systems Manager for {waited}", now)


def _patience(part: HookPart) -> timedelta:
    """How long a part waits for its instance."""
    return max(LEAST, timedelta(seconds=part.limit_seconds))


def _found(run: _Run, part: HookPart, position: int, *, is_end: bool) -> HookPart:
    """The part whose answer was lost; at the end also one that was cancelled, and none is sent again."""
    request = run.event.request
    hooks = run.ports.hooks
    since = part.since or run.event.now
    document = document_name(request, position, run.ports.hook_document)
    sent = [
        command
        for command in hooks.find(document, run.comment(position), since=since)
        if is_end or not command.is_cancelled
    ]
    if sent:
        return part.model_copy(update={"state": "running", "command_id": sent[0].command_id})
    if hooks.time() - (part.until or since) < SHOWN_AFTER:
        return part
    if not is_end and may_repeat(request, position):
        return part.model_copy(update={"state": "waiting", "until": None})
    reason = "nobody can know whether it was sent"
    if not is_end:
        reason += ", and without mayRunTwice it is not sent again"
    return part.model_copy(update={"state": "unknown", "reason": reason})


def _followed(run: _Run, part: HookPart) -> HookPart:
    now = run.event.now
    command_id = part.command_id or ""
    since = part.since or run.event.now
    outcome = run.ports.hooks.outcome(command_id, run.instance_id)
    if outcome is not None and outcome.finished:
        return _judged(part, outcome, now)
    if now - since > timedelta(seconds=part.limit_seconds + 2 * DELIVERY_SECONDS):
        is_asked = _cancelled(run, command_id)
        how = "and its cancellation was asked for" if is_asked else "and could not be cancelled"
        return _failed(part, f"it did not end within {duration_text(part.limit_seconds)}, {how}", now)
    try:
        check_not_terminated(run.instance_id, run.ports.instances, silence=now - since)
    except AgentUnreachableError as error:
        return _failed(part, str(error).removeprefix("the agent was interrupted: "), now)
    return part


def _cancelled(run: _Run, command_id: str) -> bool:
    """Whether Run Command has taken the cancellation, or no longer knows the command."""
    try:
        run.ports.hooks.cancel(command_id, run.instance_id)
    except TEMPORARY:
        raise
    except RestoreError:
        return False
    return True


def _judged(part: HookPart, outcome: CommandStatus, now: datetime) -> HookPart:
    most = OUTPUT_OF_MOUNT if part.title.startswith("mount ") else MOST_OUTPUT
    texts = [text.strip() for text in (outcome.stdout, outcome.stderr)]
    printed = part.model_copy(update={"output": "\n".join(filter(None, texts))[-most:]})
    if outcome.status == "Success":
        return printed.model_copy(update={"state": "done", "ended_at": now})
    complaints = [line for line in texts[1].splitlines() if not line.startswith(AGENTS_OWN)]
    last = SPEAKER.sub("", complaints[-1])[:MOST_REASON] if complaints else ""
    status = f"exit status {outcome.exit_code}" if outcome.exit_code else ""
    return _failed(printed, last or status or outcome.status_details or outcome.status, now)


def _failed(part: HookPart, reason: str, now: datetime) -> HookPart:
    return part.model_copy(update={"state": "failed", "reason": reason, "ended_at": now})


def _kept(run: _Run, application: Application, position: int, part: HookPart) -> Application:
    """Writes the part and the state of the whole; returns what was there if somebody else wrote meanwhile."""
    if part == application.parts[position]:
        return application
    parts = [*application.parts[:position], part, *application.parts[position + 1 :]]
    changed = application.model_copy(update={"parts": parts})
    if changed.next_part is None:
        bad = next((failing for failing in parts if failing.state in {"failed", "unknown"}), None)
        ended = {"state": bad.state if bad else "back", "reason": bad.reason if bad else ""}
        changed = changed.model_copy(update={**ended, "finished_at": run.event.now})
    # As it will be read: the next write names what it replaces.
    changed = Application.model_validate(changed.to_json())
    if part.at_end:  # also if the restore is cancelled
        end(changed, run.restore)
        return changed
    return changed if keep(changed, run.restore, application) else application
