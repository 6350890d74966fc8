"""What Run Command is asked to do for each part of bringing the application back."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.contracts.after import After, HealthCheck, HookDocument, HookPart, Mount
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import RequestRefusedError
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import CommandDocuments, HookCall, Instances
from rewarm.steps.record.application import KnownDocument
from rewarm.steps.record.bucket import agent_parameters
from rewarm.steps.select.hooks import look

DELIVERY_SECONDS = 120
"""The time in which a command must reach the instance."""
UNMOUNT_SECONDS = 180
CHECK_MARGIN_SECONDS = 60
"""The last try of a health check may begin just before its time is over."""


@dataclass(frozen=True, kw_only=True)
class CallPorts:
    """The ports that a call is made with."""

    instances: Instances
    artifacts: Artifacts
    documents: CommandDocuments
    hook_document: str
    stack_name: str


@dataclass(frozen=True, slots=True)
class HookPlace:
    """The volume whose execution asks, how many the restore has, and the user's document as it was noted."""

    volume: VolumeAssignment
    volume_id: str
    volume_count: int
    document: KnownDocument


def parts_of(request: RestoreRequest) -> list[HookPart]:
    """Every part, in order. A drill unmounts at its end what it has mounted, so that it can be deleted."""
    after = request.after or After()
    parts = [HookPart(title=title, limit_seconds=seconds) for title, seconds in after.limits]
    if request.is_drill and after.mounts:
        parts.append(HookPart(title="unmount", limit_seconds=UNMOUNT_SECONDS, at_end=True))
    return parts


def document_name(request: RestoreRequest, position: int, hook_document: str) -> str:
    """The document that carries the part out."""
    asked = _asked(request, position)
    return asked.name if isinstance(asked, HookDocument) else hook_document


def may_repeat(request: RestoreRequest, position: int) -> bool:
    """Whether the part may be sent twice: mounting and checking may, a user's document only if it says so."""
    asked = _asked(request, position)
    return asked.may_run_twice if isinstance(asked, HookDocument) else True


def call_of(request: RestoreRequest, position: int, place: HookPlace, ports: CallPorts) -> HookCall:
    """The part as a command. Raises RequestRefusedError if it cannot be sent, and errors of AWS."""
    asked = _asked(request, position)
    if isinstance(asked, HookDocument):
        return _of_document(asked, place, ports)
    if asked is None:
        values = {"action": "unmount", "volumeId": place.volume_id, "executionTimeout": str(UNMOUNT_SECONDS)}
    else:
        values = _of_mount(asked, place, ports) if isinstance(asked, Mount) else _of_check(asked)
    expires = DELIVERY_SECONDS + int(values["executionTimeout"])
    instance = ports.instances.get(place.volume.instance_id or "")
    values |= agent_parameters(instance, ports.artifacts, expires_seconds=expires)
    return HookCall(ports.hook_document, {name: [value] for name, value in values.items() if value})


def _asked(request: RestoreRequest, position: int) -> Mount | HookDocument | HealthCheck | None:
    """What the request says of the part; None for what a drill does at its end."""
    after = request.after or After()
    parts = [part for part in (*after.mounts, after.document, after.health_check) if part is not None]
    return parts[position] if position < len(parts) else None


def _of_mount(mount: Mount, place: HookPlace, ports: CallPorts) -> dict[str, str]:
    volume_id: str | None = place.volume_id
    if mount.device is not None and place.volume_count > 1:
        instance_id = place.volume.instance_id or ""
        volume_id = ports.instances.get(instance_id).devices.get(mount.device)
        if volume_id is None:
            raise RequestRefusedError(f"{instance_id} has no volume at {mount.device}")
    return {
        "action": "mount",
        "volumeId": volume_id or "",
        "path": mount.path or "",
        "options": mount.options or "",
        "executionTimeout": str(mount.time_limit_seconds),
    }


def _of_check(check: HealthCheck) -> dict[str, str]:
    return {
        "action": "check",
        "url": check.url or "",
        "check": " ".join(check.command or ()),
        "limitSeconds": str(check.within_seconds),
        "executionTimeout": str(check.within_seconds + CHECK_MARGIN_SECONDS),
    }


def _of_document(wanted: HookDocument, place: HookPlace, ports: CallPorts) -> HookCall:
    """The version that was there when the restore began, unless somebody has changed it since."""
    noted = place.document
    if noted.version is None or noted.problem is not None:
        raise RequestRefusedError(noted.problem or "nobody looked at the document when the restore began")
    found, problem = look(
        wanted,
        platform=place.volume.platform,
        stack_name=ports.stack_name,
        documents=ports.documents,
        version=noted.version,
    )
    if found is None:
        raise RequestRefusedError(
            f"version {noted.version} of the document {wanted.name} was deleted after the restore began"
        )
    if problem is not None:
        raise RequestRefusedError(problem)
    if found.sha256 != noted.sha256:
        raise RequestRefusedError(
            f"version {noted.version} of the document {wanted.name} was replaced after the restore began"
        )
    return HookCall(wanted.name, wanted.parameters, noted.version, noted.sha256)
