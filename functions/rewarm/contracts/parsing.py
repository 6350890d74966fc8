"""From any JSON to a RestoreRequest; refuses fields that do not go together."""

import re
from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from rewarm.contracts.after import CHECK_ARGUMENT, CHECK_NAME, After
from rewarm.contracts.base import one_of, parsed
from rewarm.contracts.request import (
    EXISTING_SELECTORS,
    SELECTORS,
    ExistingVolumes,
    ListedVolume,
    RestoreRequest,
    Source,
)
from rewarm.domain.blocks.rewind_facts import MOST_REWOUND
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import OnFailure, Strategy
from rewarm.domain.parts import EVERY_PART, Part, Parts
from rewarm.domain.plan.facts import in_place
from rewarm.domain.units import shown
from rewarm.domain.volume.volume_types import RESERVED_TAG_PREFIXES

EXISTING = "source.existing"
NOT_IN_DRILLS = frozenset({Strategy.FAST_SNAPSHOT_RESTORE, Strategy.VOLUME_CLONE, Strategy.DIRECT_WRITE})
"""Strategies that work on the source's own snapshot or volume, or that write to one."""


def parse_restore_request(value: object, parts: Parts = EVERY_PART) -> RestoreRequest:
    """Returns the checked request. Raises InvalidRequestError, PartLeftOutError."""
    request = parsed(RestoreRequest, value)
    _check_parts(request, parts)
    _check_source(request.source)
    if request.source.existing is not None:
        _check_adoption(request, request.source.existing)
        return request
    _check_target(request)
    _check_tags(request.volume.tags)
    _check_multi_attach(request)
    _check_drill(request)
    if request.after is not None:
        _check_after(request.after, request)
    if request.target.mode == "rewind":
        _check_rewind(request)
    else:
        _check_no_rewind(request)
    return _with_defaults(request)


def _with_defaults(request: RestoreRequest) -> RestoreRequest:
    """What a person may leave out is said here once, so that no later step needs to know it."""
    source = request.source
    target = request.target
    if source.volume_id is not None and source.at is None:
        source = source.model_copy(update={"at": "latest"})
    if target.instance_id is not None and target.mode is None:
        target = target.model_copy(update={"mode": "attach"})
    return request.model_copy(update={"source": source, "target": target})


def _check_parts(request: RestoreRequest, parts: Parts) -> None:
    """Refuses first what the stack was deployed without: other faults would not matter then."""
    if request.target.mode == "rewind":
        parts.need(Part.REWINDS, found="rewind", field="target.mode")
    if request.objective.strategy == "direct-write":
        parts.need(Part.REWINDS, found=request.objective.strategy, field="objective.strategy")
    if request.target.start:
        parts.need(Part.INSTANCE_STARTS, found="true", field="target.start")
    if request.after is not None:
        parts.need(Part.APPLICATIONS, found="an object", field="after")
    if request.drill is not None:
        parts.need(Part.DRILLS, found="an object", field="drill")


def _check_source(source: Source) -> None:
    given = one_of(source, SELECTORS, "source")
    if source.at is not None and source.volume_id is None:
        raise InvalidRequestError(
            f"only goes with source.volumeId, not with source.{given}", field="source.at"
        )
    for index, listed in enumerate(source.volumes or []):
        _check_listed(listed, f"source.volumes.{index}")
    if source.owner_id is not None and source.volume_id is None and source.snapshot_id is None:
        raise InvalidRequestError(
            f"only goes with source.volumeId or source.snapshotId, not with source.{given}",
            field="source.ownerId",
        )
    if source.region is not None and (source.snapshot_id or source.volume_id or source.tags) is None:
        raise InvalidRequestError(
            f"only goes with source.snapshotId, source.volumeId or source.tags, not with source.{given}",
            field="source.region",
        )
    if source.keep_copy and source.region is None:
        raise InvalidRequestError("only goes with source.region", field="source.keepCopy")
    if source.devices is not None and source.instance_id is None and source.image_id is None:
        raise InvalidRequestError(
            f"only goes with source.instanceId or source.imageId, not with source.{given}",
            field="source.devices",
        )


def _check_listed(listed: ListedVolume, field: str) -> None:
    if (listed.snapshot_id is None) == (listed.volume_id is None):
        found = "found neither" if listed.snapshot_id is None else "found both"
        raise InvalidRequestError(f"{found}; exactly one of snapshotId, volumeId is allowed", field=field)
    if listed.at is not None and listed.volume_id is None:
        raise InvalidRequestError("only goes with volumeId, not with snapshotId", field=f"{field}.at")


def _check_target(request: RestoreRequest) -> None:
    target = request.target
    for index, listed in enumerate(request.source.volumes or []):
        if target.instance_id is None and listed.device is not None:
            raise InvalidRequestError(
                "only goes with target.instanceId", field=f"source.volumes.{index}.device"
            )
    if "target" not in request.model_fields_set:
        raise InvalidRequestError("is missing", field="target")
    if (target.instance_id is None) == (target.availability_zone is None):
        found = "found neither" if target.instance_id is None else "found both"
        raise InvalidRequestError(
            f"{found}; exactly one of instanceId, availabilityZone is allowed", field="target"
        )
    for name in ("device", "mode", "unmount", "bring_online", "mount_path", "start"):
        if target.instance_id is None and getattr(target, name) is not None:
            raise InvalidRequestError("only goes with target.instanceId", field=f"target.{to_camel(name)}")
    if target.unmount is not None and target.mode not in {"replace", "rewind"}:
        raise InvalidRequestError("only goes with target.mode replace or rewind", field="target.unmount")
    if target.mount_path is not None and not target.bring_online:
        raise InvalidRequestError("only goes with target.bringOnline true", field="target.mountPath")
    _check_boot(request)


def _check_boot(request: RestoreRequest) -> None:
    target = request.target
    if target.force_root is not None and not (target.start or target.reboot):
        raise InvalidRequestError("only goes with target.start or target.reboot", field="target.forceRoot")
    if target.start:
        _check_start(request)
    if target.reboot:
        _check_reboot(request)


def _check_start(request: RestoreRequest) -> None:
    target = request.target
    if target.mode != "replace":
        raise InvalidRequestError("only goes with target.mode replace", field="target.start")
    for name in ("unmount", "bring_online"):
        if getattr(target, name):
            raise InvalidRequestError(
                "does not go with target.start: on a stopped instance nothing is mounted, and its operating "
                "system mounts its disks when it starts",
                field=f"target.{to_camel(name)}",
            )
    if request.on_failure is OnFailure.KEEP:
        raise InvalidRequestError(
            "found keep; with target.start allowed is clean-up: an instance with some volumes from snapshots "
            "and others from before is of no use",
            field="onFailure",
        )


def _check_reboot(request: RestoreRequest) -> None:
    target = request.target
    if target.mode != "replace":
        raise InvalidRequestError("only goes with target.mode replace", field="target.reboot")
    for name in ("start", "unmount", "bring_online"):
        if getattr(target, name):
            raise InvalidRequestError(
                "does not go with target.reboot, which is for the root volume of a running instance",
                field=f"target.{to_camel(name)}",
            )


def _check_tags(tags: dict[str, str]) -> None:
    for key in tags:
        if key.lower().startswith(RESERVED_TAG_PREFIXES):
            raise InvalidRequestError(
                f"{key!r} is reserved; keys must not start with {' or '.join(RESERVED_TAG_PREFIXES)}",
                field="volume.tags",
            )


def _check_multi_attach(request: RestoreRequest) -> None:
    if request.volume.multi_attach and request.volume.volume_type not in {"io1", "io2", None}:
        raise InvalidRequestError(
            f"{request.volume.volume_type} volumes cannot be attached to several instances; io1 and io2 can",
            field="volume.multiAttach",
        )


def _check_after(after: After, request: RestoreRequest) -> None:
    """Raises InvalidRequestError."""
    target = request.target
    check = after.health_check
    if target.instance_id is None:
        raise InvalidRequestError("only goes with target.instanceId", field="after")
    if not after.limits:
        raise InvalidRequestError("has no part; allowed are mounts, document and healthCheck", field="after")
    if after.when == "attached" and (target.reboot or target.mode == "rewind"):
        raise InvalidRequestError(
            "found attached; with target.reboot and target.mode rewind allowed is ready, because the volume "
            "has its place only when it is at full speed",
            field="after.when",
        )
    devices = [mount.device for mount in after.mounts]
    if len(set(devices)) < len(devices):
        raise InvalidRequestError("two have one device; a volume has one folder", field="after.mounts")
    if check is None:
        return
    if (check.url is None) == (check.command is None):
        found = "found neither" if check.url is None else "found both"
        raise InvalidRequestError(
            f"{found}; exactly one of url, command is allowed", field="after.healthCheck"
        )
    for index, word in enumerate(check.command or []):
        if not re.search(CHECK_ARGUMENT if index else CHECK_NAME, word):
            allowed = (
                "up to 100 letters, digits and . _ : / = @ , + -"
                if index
                else "the name of a program in /etc/rewarm/checks"
            )
            raise InvalidRequestError(
                f"found {shown(word)}; allowed is {allowed}", field=f"after.healthCheck.command.{index}"
            )


def _check_drill(request: RestoreRequest) -> None:
    """A drill leaves alone what it is a drill of: the source's snapshot and volume, and any other volume."""
    if not request.is_drill:
        return
    if request.target.mode in {"replace", "rewind"}:
        raise InvalidRequestError(
            f"found {request.target.mode}; a drill replaces and rewinds no volume", field="drill.target.mode"
        )
    if request.source.region is not None:
        raise InvalidRequestError(
            f"found {request.source.region}; a drill copies no snapshot, so it takes one of its own Region",
            field="source.region",
        )
    if request.objective.strategy in NOT_IN_DRILLS:
        raise InvalidRequestError(
            f"found {request.objective.strategy}; a drill may not change the snapshot or copy the source "
            'volume. Send "objective": {"strategy": "auto"} with the drill',
            field="objective.strategy",
        )
    of_application = request.drill is not None and request.drill.after
    if of_application and request.after is None:
        raise InvalidRequestError("found true, and the runbook has no `after`", field="drill.after")
    if request.after is not None and not of_application:
        raise InvalidRequestError(
            "a drill brings the application back only where drill.after is true", field="after"
        )


def _check_rewind(request: RestoreRequest) -> None:
    """The snapshot says which volume goes back, and no volume is made."""
    source = request.source
    refused = "does not go with target.mode rewind"
    if (source.snapshot_id or source.volume_id or source.tags or source.volumes or source.undo_of) is None:
        raise InvalidRequestError(
            f"{refused}; allowed are snapshotId, volumeId, tags, volumes or undoOf: name the volumes that "
            "go back",
            field=f"source.{'instanceId' if source.instance_id else 'imageId'}",
        )
    if source.region is not None:
        raise InvalidRequestError(f"{refused}: blocks are compared within a Region", field="source.region")
    if len(source.volumes or []) > MOST_REWOUND:
        raise InvalidRequestError(
            f"found {len(source.volumes or [])}; at most {MOST_REWOUND} volumes are rewound at once",
            field="source.volumes",
        )
    for field, why in _not_in_a_rewind(request):
        raise InvalidRequestError(f"{refused}: {why}", field=field)
    _check_way(request)


def _check_no_rewind(request: RestoreRequest) -> None:
    """Raises InvalidRequestError for fields that only say how a rewind is done."""
    if request.source.undo_of is not None:
        raise InvalidRequestError("only goes with target.mode rewind", field="source.undoOf")
    for name in ("evidence", "compare", "volume_id"):
        if getattr(request.target, name) is not None:
            raise InvalidRequestError("only goes with target.mode rewind", field=f"target.{to_camel(name)}")


def _check_way(request: RestoreRequest) -> None:
    """An undo log is written by an agent that compares; snapshots are compared with those of their volume."""
    source = request.source
    target = request.target
    if target.compare == "snapshots":
        for given, name in (
            (target.evidence == "undo-log", "target.evidence undo-log"),
            (target.volume_id is not None, "target.volumeId"),
            (source.undo_of is not None, "source.undoOf"),
        ):
            if given:
                raise InvalidRequestError(
                    f"found snapshots; allowed with {name} are device and auto", field="target.compare"
                )
    if target.volume_id is not None and (source.volumes or source.undo_of) is not None:
        name = "volumes" if source.volumes is not None else "undoOf"
        raise InvalidRequestError(
            f"does not go with source.{name}, which names the volumes; it goes with source.snapshotId, "
            "source.volumeId or source.tags",
            field="target.volumeId",
        )


def _not_in_a_rewind(request: RestoreRequest) -> Iterator[tuple[str, str]]:
    """Fields that are about a new volume or about reading it, and why they say nothing here."""
    target = request.target
    warm_up = request.warm_up
    own, no_new = "the snapshot's own volume goes back, where it is", "no volume is made"
    for name in ("device", "bring_online"):
        if getattr(target, name):
            yield f"target.{to_camel(name)}", own
    for index, listed in enumerate(request.source.volumes or []):
        for name in ("device", "volume"):
            if getattr(listed, name) is not None:
                yield f"source.volumes.{index}.{name}", own if name == "device" else no_new
    for name in request.volume.model_dump(exclude_defaults=True):
        yield f"volume.{to_camel(name)}", no_new
    for name in warm_up.model_dump(exclude_defaults=True, include={"scope", "first", "order", "depth"}):
        yield f"warmUp.{to_camel(name)}", "just the blocks that differ are written"
    if request.objective.strategy != "auto":
        yield "objective.strategy", "what is written is at full speed"


def _check_adoption(request: RestoreRequest, existing: ExistingVolumes) -> None:
    """Raises InvalidRequestError with the field."""
    one_of(existing, EXISTING_SELECTORS, EXISTING)
    for field, why in _not_in_an_adoption(request, in_place(boost=existing.boost)):
        raise InvalidRequestError(f"does not go with {EXISTING}: {why}", field=field)


def _not_in_an_adoption(
    request: RestoreRequest, strategies: frozenset[Strategy]
) -> Iterator[tuple[str, str]]:
    """Fields that are about a volume to make or to move, and why they say nothing here."""
    stays, no_new = "the volumes stay where they are", "no volume is made"
    for name in request.target.model_dump(exclude_defaults=True):
        yield f"target.{to_camel(name)}", stays
    for name in request.volume.model_dump(exclude_defaults=True):
        yield f"volume.{to_camel(name)}", no_new
    if request.drill is not None:
        yield "drill", "a drill works on volumes that it makes itself"
    if request.after is not None:
        yield "after", "the application uses the volumes already"
    if request.on_failure is OnFailure.KEEP:
        yield "onFailure", "whatever happens, the volumes stay"
    if request.objective.approve_replace:
        yield "objective.approveReplace", "nothing is replaced; approveAboveUsd 0 asks for approval"
    wanted = request.objective.strategy
    if wanted != "auto" and Strategy(wanted) not in strategies:
        allowed = ", ".join(sorted(strategies))
        boost = "; source.existing.boost allows it" if Strategy(wanted) is Strategy.BOOSTED_WARM_UP else ""
        yield "objective.strategy", f"found {wanted}, and allowed are auto, {allowed}{boost}"
