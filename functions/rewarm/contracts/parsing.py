"""From any JSON to a RestoreRequest, or to an InvalidRequestError that says what is allowed where."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.request import SELECTORS, ListedVolume, RestoreRequest, Source
from rewarm.contracts.rewinding import check_no_rewind, check_rewind
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import OnFailure, Strategy
from rewarm.domain.units import cut, shown
from rewarm.domain.volume.volume_types import RESERVED_TAG_PREFIXES

Parsed = TypeVar("Parsed", bound=Contract)
MAX_SHOWN_ERRORS = 5
"""In the sentence for people."""
MOST_FAULTS = 100
"""In the list for programs: a request may have any number, and an answer of Lambda has 6 MB at most."""
EXAMPLES = {
    "snapshotId": "snap-0123456789abcdef0",
    "volumeId": "vol-0123456789abcdef0",
    "instanceId": "i-0123456789abcdef0",
    "imageId": "ami-0123456789abcdef0",
    "availabilityZone": "ap-northeast-1a",
    "undoOf": "restore-0123456789abcdef",
}
LIMITS = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "out_of_order": "low, value and high in this order",
    "too_short": "a number of entries from {min_length}",
    "too_long": "a number of entries up to {max_length}",
    "string_too_short": "a number of characters from {min_length}",
    "string_too_long": "a number of characters up to {max_length}",
}
"""Pydantic's type of an error -> what is allowed, filled in from the error's context."""
NOT_IN_DRILLS = frozenset({Strategy.FAST_SNAPSHOT_RESTORE, Strategy.VOLUME_CLONE, Strategy.DIRECT_WRITE})
"""Strategies that work on the source's own snapshot or volume, or that write to one."""
_TIME = "a time with its zone, such as 2026-11-20T03:00:00Z"
KINDS = {
    "bool": "true or false",
    "datetime": _TIME,
    "decimal": "a number",
    "dict": "a JSON object",
    "finite": "a number",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "model": "a JSON object",
    "string": "text",
    "timezone": _TIME,
}
"""The first word of pydantic's type of an error -> what is allowed."""


def parse_restore_request(value: object) -> RestoreRequest:
    """Returns the checked request. Raises InvalidRequestError."""
    request = parsed(RestoreRequest, value)
    _check_source(request.source)
    _check_target(request)
    _check_tags(request.volume.tags)
    _check_multi_attach(request)
    _check_drill(request)
    if request.target.mode == "rewind":
        check_rewind(request)
    else:
        check_no_rewind(request)
    return _with_defaults(request)


def parsed(model: type[Parsed], value: object) -> Parsed:
    """The value as this contract. Raises InvalidRequestError."""
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{shown(value)} is not a JSON object", field="request")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _refusal(error, model) from None


def _with_defaults(request: RestoreRequest) -> RestoreRequest:
    """What a person may leave out is said here once, so that no later step needs to know it."""
    source, target = request.source, request.target
    if source.volume_id is not None and source.at is None:
        source = source.model_copy(update={"at": "latest"})
    if target.instance_id is not None and target.mode is None:
        target = target.model_copy(update={"mode": "attach"})
    return request.model_copy(update={"source": source, "target": target})


def _check_source(source: Source) -> None:
    given = [name for name in SELECTORS if source.model_dump(by_alias=True)[name] is not None]
    if len(given) != 1:
        found = f"found {' and '.join(given)}" if given else "found none"
        raise InvalidRequestError(
            f"{found}; exactly one of {', '.join(SELECTORS)} is allowed", field="source"
        )
    if source.at is not None and source.volume_id is None:
        raise InvalidRequestError(
            f"only goes with source.volumeId, not with source.{given[0]}", field="source.at"
        )
    for index, listed in enumerate(source.volumes or []):
        _check_listed(listed, f"source.volumes.{index}")
    if source.owner_id is not None and source.volume_id is None and source.snapshot_id is None:
        raise InvalidRequestError(
            f"only goes with source.volumeId or source.snapshotId, not with source.{given[0]}",
            field="source.ownerId",
        )
    if source.region is not None and (source.snapshot_id or source.volume_id or source.tags) is None:
        raise InvalidRequestError(
            f"only goes with source.snapshotId, source.volumeId or source.tags, not with source.{given[0]}",
            field="source.region",
        )
    if source.keep_copy and source.region is None:
        raise InvalidRequestError("only goes with source.region", field="source.keepCopy")
    if source.devices is not None and source.instance_id is None and source.image_id is None:
        raise InvalidRequestError(
            f"only goes with source.instanceId or source.imageId, not with source.{given[0]}",
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


def _refusal(error: ValidationError, root: type[BaseModel]) -> InvalidRequestError:
    """The first fault names the field; the others follow, so that one answer is enough to mend them all."""
    faults = _one_per_field(error.errors(include_url=False), root)
    first_field, first_message = faults[0]
    more = "".join(f"; {name}: {message}" for name, message in faults[1:MAX_SHOWN_ERRORS])
    return InvalidRequestError(first_message + more, field=first_field, faults=faults[:MOST_FAULTS])


def _one_per_field(errors: Sequence[ErrorDetails], root: type[BaseModel]) -> list[tuple[str, str]]:
    """A union reports each of its branches; people want one sentence per field."""
    by_field: dict[str, list[ErrorDetails]] = {}
    for error in errors:
        by_field.setdefault(_path(error["loc"], root), []).append(error)
    return [(name, _sentence(found, root)) for name, found in by_field.items()]


def _path(location: tuple[int | str, ...], root: type[BaseModel]) -> str:
    """`objective.readyWithinMinutes`, without the names that pydantic gives to the branches of a union."""
    model: type[BaseModel] | None = root
    parts: list[str] = []
    for part in location:
        if model is None and parts and not isinstance(part, int) and parts[-1] != "tags":
            break
        parts.append(cut(str(part)))
        model = _field_model(model, part)
    return ".".join(parts)


def _field_model(model: type[BaseModel] | None, part: int | str) -> type[BaseModel] | None:
    """The model of this field, or of the items of its list; an item's number changes nothing."""
    if isinstance(part, int):
        return model
    for field in (model.model_fields if model else {}).values():
        if field.alias == part:
            return _model_in(field.annotation)
    return None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation names: itself, in a list, or beside None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = get_args(annotation) if get_origin(annotation) in {list, Union, UnionType, Annotated} else ()
    return next((found for kind in inner if (found := _model_in(kind)) is not None), None)


def _sentence(errors: list[ErrorDetails], root: type[BaseModel]) -> str:
    first = errors[0]
    if first["type"] == "extra_forbidden":
        return f"unknown field; allowed are {', '.join(_allowed_fields(first['loc'], root))}"
    if first["type"] == "missing":
        return "is missing"
    allowed = " or ".join(dict.fromkeys(_allowed(error) for error in errors))
    return f"found {shown(first['input'])}; allowed is {allowed}"


def _allowed_fields(location: tuple[int | str, ...], root: type[BaseModel]) -> list[str]:
    model: type[BaseModel] | None = root
    for part in location[:-1]:
        model = _field_model(model, part)
    return [str(field.alias) for field in (model.model_fields if model else {}).values()]


def _allowed(error: ErrorDetails) -> str:
    """Returns what the field may hold, in words of our own: pydantic's are for programmers."""
    context: dict[str, Any] = error.get("ctx") or {}
    kind = error["type"]
    if kind == "string_pattern_mismatch":
        name = str(next((part for part in reversed(error["loc"]) if part in EXAMPLES), ""))
        return f"an id such as {EXAMPLES[name]}" if name else str(context["pattern"])
    if kind in {"literal_error", "enum"}:
        return str(context["expected"])
    if kind in LIMITS:
        return LIMITS[kind].format(**context)
    return KINDS.get(kind.partition("_")[0], "another value")


def with_runbook(request: JsonObject, runbook: JsonObject) -> JsonObject:
    """The runbook, with what the caller asked for differently.

    `source` is always the runbook's; another target replaces the runbook's as a whole.
    """
    merged = dict(runbook)
    for name, value in request.items():
        if name == "source" or value is None:
            continue
        both_objects = name != "target" and isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = {**merged[name], **value} if both_objects else value
    return merged


def as_drill(runbook: JsonObject, request: JsonObject, name: str) -> JsonObject:
    """The runbook as its drill, to the target of the request or of the runbook's `drill`.

    Raises InvalidRequestError where neither names one: a drill never goes to the runbook's own target.
    """
    drill = runbook["drill"]
    if not isinstance(drill, dict):
        return runbook
    target = request.get("target") or drill.get("target")
    if target is None:
        raise InvalidRequestError(
            "is missing; a drill goes to an instance with the tag rewarm:drills, or to a zone, and "
            "not to the runbook's own target",
            field="drill.target",
        )
    own = {"onFailure": "clean-up", "target": target, "drill": {**drill, "target": None, "runbook": name}}
    return {**runbook, **own}
