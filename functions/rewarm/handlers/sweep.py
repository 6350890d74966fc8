"""Serves the schedule, the events of stopped executions, and the stack's deletion: ends what costs money."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm import wiring
from rewarm.custom_resource import answer, is_custom_resource
from rewarm.domain.errors import IncompleteCleanUpError, RestoreError
from rewarm.observability import count, logger, tracer, write
from rewarm.ports import JsonObject
from rewarm.ports.executions import RestoreExecutions
from rewarm.restore_page import drawn
from rewarm.runtime import filled
from rewarm.steps.clean_up.clean_up import CleanUpPorts
from rewarm.steps.clean_up.gauges import GaugePorts, KnownExecutions, read_gauges
from rewarm.steps.clean_up.missing_reports import PagePorts
from rewarm.steps.clean_up.sweep import newly_left, restore_of_event, sweep, sweep_one
from rewarm.steps.clean_up.sweep_restores import SweepPorts
from rewarm.steps.report.report import figures
from rewarm.wiring import now

PAUSE_SECONDS = 5
"""EC2 detaches a volume within seconds."""
ENOUGH_MILLIS = 60_000
"""With less time left nothing new is begun, because the work for one restore may be retried."""
PAGES_NEED_MILLIS = 100_000
"""Time that is kept for the other sweeps; of hundreds of stopped restores the last get no page."""

_REMOVAL = filled(CleanUpPorts)
_EXECUTIONS = wiring.witness()
_INVENTORY = wiring.inventory()
_PRICES = wiring.prices()
_HOLDS = wiring.holds()
_TAGGED_SNAPSHOTS = wiring.tagged_snapshots()
_MESSAGES = wiring.messages(wiring.later_client)
_FLEETS = wiring.fleets()
_WAITERS = wiring.waiters()
_TASKS = wiring.tasks()
_ARTIFACTS = wiring.late_artifacts()
_HISTORY = wiring.history()
_LINKS = wiring.links()
_WAY_BACK = wiring.way_back()
ANSWER_SECONDS = 20
"""Time that is kept to answer CloudFormation."""


@tracer.capture_lambda_handler(capture_response=False)
@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: JsonObject, context: LambdaContext) -> JsonObject:
    """Sweeps, and returns what was found. Raises IncompleteCleanUpError for an alarm."""
    if is_custom_resource(event):
        answer(event, context, physical_id=_physical_id(event), apply=partial(_end_stack, event, context))
        return {"swept": []}
    restore_id = restore_of_event(event, wiring.settings.restore_volume_state_machine_arn)
    # Lists lag behind events, so ask for this execution.
    executions = KnownExecutions(_EXECUTIONS) if restore_id is None else _EXECUTIONS
    ports = _ports(context, executions)
    found = sweep(ports) if restore_id is None else sweep_one(restore_id, ports)
    for swept in found:
        logger.info("swept", **swept.to_json())
        count("Swept", sweep=swept.sweep, state=swept.state)
    left = newly_left(found, ports)
    if restore_id is None:
        left += _silence()
        # Not for each event: if a thousand restores fail together, each would ask EC2 for everything.
        left += _publish_gauges(executions)
    if left:
        raise IncompleteCleanUpError("; ".join(left))
    return {"swept": [swept.to_json() for swept in found]}


def _silence() -> list[str]:
    """Why people should look at the function of rules, which nobody else watches."""
    from rewarm.steps.adopt.hear import silence  # noqa: PLC0415 - no event asks

    try:
        said = silence(_REMOVAL.table, wiring.adoptions(), now())
    except RestoreError as error:
        said = f"whether rules look at new volumes is not known: {error}"
    return [said] if said else []


def _physical_id(event: JsonObject) -> str:
    """Always the same id: after a new one CloudFormation would delete the first, which ends all restores."""
    return str(event.get("PhysicalResourceId") or f"restores-of-{wiring.settings.stack_name}")


def _end_stack(event: JsonObject, context: LambdaContext) -> JsonObject:
    """Ends the restores only if the stack is deleted: a rolled-back update deletes what it had added, too."""
    from rewarm.steps.clean_up.end_stack import EndOfStack, end_stack  # noqa: PLC0415 - a stack ends once

    if event["RequestType"] != "Delete" or not _INVENTORY.goes_away(event["StackId"]):
        return {"Stopped": 0}
    end = EndOfStack(_EXECUTIONS, seconds_left=lambda: context.get_remaining_time_in_millis() / 1000)
    try:
        with _time_limit(end.seconds_left() - ANSWER_SECONDS):
            return {"Stopped": end_stack(_ports(context, _EXECUTIONS), end)}
    except (_TimeIsUp, IncompleteCleanUpError) as error:
        reason = str(error) or "The time was not enough for all restores."
        raise IncompleteCleanUpError(
            f"Delete the stack again; the deletion then continues. {reason}"
        ) from error


class _TimeIsUp(BaseException):
    """The time limit; no BaseException is caught as an error of a service."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raises _TimeIsUp after this time, so that the answer is sent whatever hangs."""

    def stop(*_: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _publish_gauges(executions: RestoreExecutions) -> tuple[str, ...]:
    """Publishes the gauges after the sweep, of what it could not end; returns why some could not be read."""
    reading = read_gauges(
        GaugePorts(
            stack_name=wiring.settings.stack_name,
            now=now(),
            inventory=_INVENTORY,
            volumes=_REMOVAL.volumes,
            executions=executions,
            prices=_PRICES,
            table=_REMOVAL.table,
        )
    )
    for gauge in reading.gauges:
        count(gauge.name, value=gauge.value, unit=gauge.unit)
    for reason in reading.later:
        logger.warning("gauge not read", reason=reason)
    return reading.problems


def _page(account: JsonObject, context: LambdaContext) -> str | None:
    """Draws the page only while there is time, because what costs money is ended first."""
    return drawn(account) if context.get_remaining_time_in_millis() > PAGES_NEED_MILLIS else None


def _ports(context: LambdaContext, executions: RestoreExecutions) -> SweepPorts:
    pages = PagePorts(
        artifacts=_ARTIFACTS,
        table=_REMOVAL.table,
        history=_HISTORY,
        draw=partial(_page, context=context),
        executions=_EXECUTIONS,
        links=_LINKS,
        way_back=_WAY_BACK,
        counted=lambda event, result: write(figures(event, result)),
    )
    return SweepPorts(
        **vars(_REMOVAL),
        now=now(),
        owner=context.aws_request_id,
        executions=executions,
        fleets=_FLEETS,
        tagged_snapshots=_TAGGED_SNAPSHOTS,
        holds=_HOLDS,
        messages=_MESSAGES,
        waiters=_WAITERS,
        tasks=_TASKS,
        pages=pages,
        pause=lambda: time.sleep(PAUSE_SECONDS),
        has_time=lambda: context.get_remaining_time_in_millis() > ENOUGH_MILLIS,
        parts=wiring.settings.parts,
    )
