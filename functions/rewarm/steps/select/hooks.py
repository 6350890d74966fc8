"""Checks what is to bring the application back: before the answer, and when the restore begins."""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.contracts.after import HookDocument
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import CommandDocument, Instance
from rewarm.ports.instances import CommandDocuments

HOOKS_TAG = "rewarm:hooks"
"""Its value is the stack's name; without it IAM does not let Rewarm send the document (template.yaml)."""
VERSIONS_TAG = "rewarm:hook-versions"
"""Versions that a request may name beside the default one, with blanks between them."""


def check_after(
    request: RestoreRequest, instance: Instance | None, assignments: Sequence[VolumeAssignment]
) -> None:
    """Raises InvalidRequestError."""
    after = request.after
    if after is None or instance is None:
        return
    for name, asked in (("mounts", after.mounts), ("healthCheck", after.health_check)):
        if asked and instance.platform == "windows":
            raise InvalidRequestError(
                f"{instance.instance_id} runs Windows, where a document of yours does this; target.mountPath "
                "gives a volume its place",
                field=f"after.{name}",
            )
    if request.is_drill and len(assignments) > 1:
        # Each volume of a drill is deleted once it was measured, whatever the others do.
        raise InvalidRequestError(
            f"found {len(assignments)} volumes; a drill brings an application back on one only",
            field="drill.after",
        )
    places = [assignment.place for assignment in assignments]
    for index, mount in enumerate(after.mounts):
        if mount.device is None and len(places) == 1:
            continue
        if mount.device not in places:
            found = "found none" if mount.device is None else f"found {mount.device}"
            allowed = ", ".join(sorted(place for place in places if place))
            raise InvalidRequestError(
                f"{found}; allowed are the devices of this restore's volumes: {allowed}",
                field=f"after.mounts.{index}.device",
            )


def problem_of(
    wanted: HookDocument,
    found: CommandDocument | None,
    *,
    platform: str | None,
    stack_name: str,
    is_chosen: bool = False,
) -> str | None:
    """Why the document cannot be sent; None if it can. Without a platform it may be for any.

    Its owner says by the default version and a tag which versions are fit to run. `is_chosen`: this was
    checked earlier.
    """
    if found is None:
        version = "" if wanted.version == "$DEFAULT" else f" with the version {wanted.version}"
        return f"Systems Manager has no document {wanted.name}{version} here"
    if found.kind != "Command":
        return f"the document {wanted.name} is of the kind {found.kind}; only Command is allowed"
    if found.tags.get(HOOKS_TAG) != stack_name:
        return f"the document {wanted.name} lacks the tag {HOOKS_TAG} with the value {stack_name}"
    if not is_chosen and found.version not in {
        found.default_version,
        *found.tags.get(VERSIONS_TAG, "").split(),
    }:
        return (
            f"version {found.version} of the document {wanted.name} is not its default version, which is "
            f"{found.default_version}, and its tag {VERSIONS_TAG} does not name it"
        )
    platforms = {name.lower() for name in found.platforms}
    if platform and platforms and platform not in platforms:
        return f"the document {wanted.name} is for {', '.join(sorted(found.platforms))}, not for {platform}"
    return None


def look(
    wanted: HookDocument,
    *,
    platform: str | None,
    stack_name: str,
    documents: CommandDocuments,
    version: str | None = None,
) -> tuple[CommandDocument | None, str | None]:
    """The document, and why it cannot be sent. `version` is one that was found earlier."""
    found = documents.find(wanted.name, version or wanted.version)
    problem = problem_of(
        wanted, found, platform=platform, stack_name=stack_name, is_chosen=version is not None
    )
    return found, problem


def check_document(
    request: RestoreRequest, platform: str | None, *, stack_name: str, documents: CommandDocuments
) -> None:
    """Raises InvalidRequestError if the document cannot be sent. A runbook knows no platform yet."""
    if request.after is None or request.after.document is None:
        return
    _, problem = look(request.after.document, platform=platform, stack_name=stack_name, documents=documents)
    if problem is not None:
        raise InvalidRequestError(problem, field="after.document.name")
