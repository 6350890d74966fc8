"""States `Start Instance` and `Start Instance Check`: starts a stopped instance with its new volumes.

Each volume's execution asks for it. The instance is started once all volumes of the restore are attached. It
is up when Systems Manager hears from it or EC2's status checks have passed. Then the warm-up begins; the
status checks are waited for after the measurement.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, StepEvent, WaitSeconds
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import InstanceNotUpError, TargetNotUsableError
from rewarm.domain.model import Instance
from rewarm.domain.units import clock_text, duration_text, iso
from rewarm.domain.volume.replacing import STARTED_TAG
from rewarm.domain.volume.targets import check_stopped
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.restore import KnownInstance, KnownRestore, RestoreNotes
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.registration import state
from rewarm.steps.replace.started import StartedPorts, untag

WAIT_SECONDS = (3, 30)
LONGEST_WAIT_FOR_OTHERS_SECONDS = 300
"""Other volumes may take two days, and 25,000 events of an execution allow no check twice a minute."""
UP_PATIENCE = timedelta(minutes=20)
"""An instance that has not answered by then is stopped again. AWS gives no time for a boot."""
CHECK_PATIENCE = timedelta(minutes=15)
"""EC2 makes status checks every minute (EC2 user guide, "Status checks"), but gives no time for the first."""
OTHERS_PATIENCE = timedelta(days=2)
"""Longer than fast snapshot restore of the largest snapshot takes; failures of volumes are seen at once."""


class StartInstanceResult(Contract):
    """The state of the instance that is started with its new volumes."""

    finished: bool
    wait_seconds: WaitSeconds
    state: Annotated[
        Literal["waiting", "starting", "up", "checked"],
        Field(description="waiting: for other volumes; checked: it has passed its status checks."),
    ]
    since: Annotated[Instant, Field(description="When this was asked for the first time.")]
    started_at: Instant | None = None
    up_at: Instant | None = None
    checked_at: Instant | None = None


class StartInstanceEvent(StepEvent):
    """Asks for the instance with all its volumes (`start`), or whether it passes its status checks (`check`).

    `pending` is the result of the call before, if there was one.
    """

    volume: VolumeAssignment
    phase: Literal["start", "check"]
    pending: StartInstanceResult | None = None


class StartInstancePorts(StartedPorts, kw_only=True):
    """The ports that start_instance needs."""

    volumes: VolumeStore
    stack_name: str


@state("Start Instance", "Start Instance Check")
def start_instance(event: StartInstanceEvent, ports: StartInstancePorts) -> StartInstanceResult:
    """Starts the instance once, and returns its state; later calls only check.

    Raises InstanceNotUpError, TargetNotUsableError, TargetNotFoundError, RestoreCancelledError.
    """
    record = RestoreNotes(ports.table, event.restore_id)
    known = _known(event, record)
    known.stop_if_cancelled()
    if event.volume.instance_id is None:
        raise TargetNotUsableError("the volume has no target instance", field="target.instanceId")
    noted = known.instance
    if noted.state == "given-up":
        raise InstanceNotUpError(str(noted.reason))
    instance = ports.instances.get(event.volume.instance_id)
    if event.phase == "check":
        return _checked(event, instance, noted, ports)
    if noted.state == "up":
        untag(instance, ports.states)
        return _result(event, "up", noted)
    if noted.state is None:
        if not known.is_known:
            raise InstanceNotUpError(f"{instance.instance_id} was not started: the restore's record is gone")
        missing = _missing(known, event, ports)
        if missing:
            return _waiting(event, missing)
        if instance.state != "stopped" and record.read().instance.state:
            return _result(event, "waiting")  # another volume's execution has started it meanwhile
        check_stopped(instance)
        begun = {"instanceId": instance.instance_id, "state": "started", "startedAt": iso(event.now)}
        if not record.replace_instance(begun, noted):
            return _result(event, "waiting")  # another volume's execution was faster, or it is cancelled
        noted = KnownInstance.model_validate(begun)
    return _until_up(event, instance, noted, ports)


def _known(event: StartInstanceEvent, record: RestoreNotes) -> KnownRestore:
    """The record. Where it is lost, this execution writes again that it has seen the start."""
    known = record.read()
    seen = event.pending
    if known.instance.state is None and seen is not None and seen.started_at is not None:
        up = {"state": "up", "upAt": iso(seen.up_at)} if seen.up_at else {"state": "started"}
        again = {"instanceId": event.volume.instance_id, "startedAt": iso(seen.started_at), **up}
        record.replace_instance(again, known.instance)
        known = record.read()
    return known


def _missing(record: KnownRestore, event: StartInstanceEvent, ports: StartInstancePorts) -> list[int]:
    """The volumes of the restore that EC2 does not show as attached; with a lost record, only this volume."""
    attached = {
        volume.volume_id
        for volume in ports.volumes.created_by(event.restore_id)
        for attachment in volume.attachments
        if attachment.instance_id == event.volume.instance_id and attachment.state == "attached"
    }
    indexes = record.indexes or [event.volume.index]
    volumes = {index: VolumeNotes(ports.table, event.restore_id, index).read() for index in indexes}
    return [index for index in indexes if attached.isdisjoint(volumes[index].made_volumes.values())]


def _waiting(event: StartInstanceEvent, missing: list[int]) -> StartInstanceResult:
    since = event.pending.since if event.pending else event.now
    if event.now - since > OTHERS_PATIENCE:
        names = ", ".join(map(str, missing))
        raise InstanceNotUpError(
            f"{event.volume.instance_id} was not started: volume {names} of this restore was not attached "
            f"within {duration_text(OTHERS_PATIENCE.total_seconds())}"
        )
    return _result(event, "waiting")


def _until_up(
    event: StartInstanceEvent, instance: Instance, noted: KnownInstance, ports: StartInstancePorts
) -> StartInstanceResult:
    started_at = noted.started_at or event.now
    if instance.is_gone:
        raise TargetNotUsableError(f"{instance.instance_id} is {instance.state}", field="target.instanceId")
    if instance.state == "stopped":
        ports.states.start(instance.instance_id, {STARTED_TAG: ports.stack_name})
        noted = _accepted(event, noted, ports)
    if instance.state == "running" and _is_up(instance, started_at, ports):
        up = {"state": "up", "upAt": iso(event.now)}
        if not RestoreNotes(ports.table, event.restore_id).replace_instance(up, noted):
            return _result(event, "starting", noted)  # another execution has written the state
        untag(instance, ports.states)
        return _result(event, "up", noted.model_copy(update={"up_at": event.now}))
    if event.now - (noted.asked_at or started_at) > UP_PATIENCE:
        _give_up(event, instance, noted, ports)
    return _result(event, "starting", noted)


def _accepted(event: StartInstanceEvent, noted: KnownInstance, ports: StartInstancePorts) -> KnownInstance:
    """Notes once when EC2 has accepted the start: it may have been throttled for long before."""
    if noted.asked_at is not None:
        return noted
    record = RestoreNotes(ports.table, event.restore_id)
    is_noted = record.replace_instance({"askedAt": iso(event.now)}, noted)
    # Else another execution has written the state.
    return record.read().instance if is_noted else noted


def _is_up(instance: Instance, started_at: datetime, ports: StartInstancePorts) -> bool:
    heard = instance.ssm_online and instance.heard_at is not None and instance.heard_at >= started_at
    if heard:
        return True
    checks = ports.states.status_checks(instance.instance_id)
    return checks is not None and checks.passed


def _give_up(
    event: StartInstanceEvent, instance: Instance, noted: KnownInstance, ports: StartInstancePorts
) -> None:
    checks = ports.states.status_checks(instance.instance_id)
    signs = [f"status checks: {checks.in_words}"] if checks else []
    signs += [instance.state_reason] if instance.state_reason else []
    shown = f" ({'; '.join(signs)})" if signs else ""
    reason = (
        f"{instance.instance_id} is {instance.state}{shown}, and Systems Manager has not heard from it "
        f"{duration_text(UP_PATIENCE.total_seconds())} after its start at "
        f"{clock_text(noted.asked_at or noted.started_at or event.now)}"
    )
    given_up = {"state": "given-up", "reason": reason}
    if RestoreNotes(ports.table, event.restore_id).replace_instance(given_up, noted):
        raise InstanceNotUpError(reason)


def _checked(
    event: StartInstanceEvent, instance: Instance, noted: KnownInstance, ports: StartInstancePorts
) -> StartInstanceResult:
    if noted.checked_at is not None:
        return _result(event, "checked", noted)
    checks = ports.states.status_checks(instance.instance_id)
    if checks is not None and checks.passed:
        RestoreNotes(ports.table, event.restore_id).replace_instance({"checkedAt": iso(event.now)}, noted)
        return _result(event, "checked", noted.model_copy(update={"checked_at": event.now}))
    result = _result(event, "up", noted, finished=False)
    if event.now - result.since > CHECK_PATIENCE:
        shown = f"its status checks are: {checks.in_words}" if checks else f"it is {instance.state}"
        raise InstanceNotUpError(
            f"{instance.instance_id} has not passed EC2's status checks within "
            f"{duration_text(CHECK_PATIENCE.total_seconds())}; {shown}. Its new volumes stay where they are"
        )
    return result


def _result(
    event: StartInstanceEvent, state: Any, noted: KnownInstance | None = None, *, finished: bool | None = None
) -> StartInstanceResult:
    pending = event.pending if event.pending and _is_of(event.pending, event.phase) else None
    since = pending.since if pending else event.now
    low, high = WAIT_SECONDS
    if state == "waiting":
        high = LONGEST_WAIT_FOR_OTHERS_SECONDS
    return StartInstanceResult(
        finished=state in {"up", "checked"} if finished is None else finished,
        wait_seconds=max(low, min(high, round((event.now - since).total_seconds() / 10))),
        state=state,
        since=since,
        started_at=noted.started_at if noted else None,
        up_at=noted.up_at if noted else None,
        checked_at=noted.checked_at if noted else None,
    )


def _is_of(pending: StartInstanceResult, phase: str) -> bool:
    """Whether the result belongs to this phase: a finished result of `start` does not begin `check`."""
    return phase == "start" or not pending.finished
