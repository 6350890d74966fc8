"""What all contracts have in common: frozen, camelCase in JSON, and no field that nobody reads.

From any JSON to one of them, or to an InvalidRequestError that says what is allowed where.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictInt,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import ErrorDetails, PydanticCustomError

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.ready.waits import LONGEST_STATUS_WAIT_SECONDS
from rewarm.domain.units import cut, iso, printable, shown

JsonObject = dict[str, Any]


def _in_utc(instant: datetime) -> datetime:
    """Refuses a time whose UTC is before the year 1 or after 9999."""
    try:
        instant.astimezone(UTC)
    except OverflowError as error:
        raise PydanticCustomError("timezone_aware", "no time in UTC") from error
    return instant


Instant = Annotated[
    AwareDatetime,
    AfterValidator(_in_utc),
    PlainSerializer(iso, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time with its zone; in JSON always UTC and ending in Z, as the AWS APIs write it."""

Usd = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
"""US dollars; a string in JSON, because a float cannot hold 0.1."""


CONTRACT = ConfigDict(
    frozen=True,
    extra="forbid",
    alias_generator=cache(to_camel),
    populate_by_name=True,
    from_attributes=True,
    str_strip_whitespace=True,
    defer_build=True,
)
"""How JSON is read and written, of a domain's value in a contract too. Its `field(metadata=…)` has what the
schema says of it. A contract that must add something to such a value inherits from it.

A function uses few of the contracts. Each is built at its first use, which makes a cold start shorter. Their
modules lack `from __future__ import annotations`, as pydantic would evaluate every text.
"""


class Contract(BaseModel):
    """Base of every request, event and result."""

    model_config = CONTRACT

    def to_json(self) -> JsonObject:
        """The JSON object that travels through Step Functions."""
        return self.model_dump(by_alias=True, mode="json")


RETRIED_AFTER = timedelta(minutes=1)
"""More than what clocks of services differ by, and less than any patience."""


class StepEvent(Contract):
    """What every step gets: which restore, and what time it is by AWS's own clock.

    `now` is when the state was entered, which its retries do not change. Where that is more than a minute
    ago, `at_present` gives the step the time of the function, so that nothing is counted from before it.
    """

    KEEPS_NOW: ClassVar[bool] = False
    """Whether `now` is a time that the state machine has chosen."""

    restore_id: Annotated[str, Field(min_length=1, max_length=80)]
    now: Instant

    def at_present(self, now: datetime) -> Self:
        """The event with this time, if its own is of an earlier try."""
        is_old = now - self.now > RETRIED_AFTER and not self.KEEPS_NOW
        return self.model_copy(update={"now": now}) if is_old else self


class Links(Contract):
    """Where to look next, and how to stop it."""

    self_: Annotated[str, Field(alias="self")]
    cancel: str


WaitSeconds = Annotated[int, Field(ge=1, le=LONGEST_STATUS_WAIT_SECONDS)]
"""For a Wait state: whole seconds, at least one."""
MOST_ON_A_PAGE = 100


def whole_number(value: Any) -> Any:
    """An address holds text only."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value) else value


Limit = Annotated[
    StrictInt,
    Field(ge=1, le=MOST_ON_A_PAGE, description="The most entries of a page."),
    BeforeValidator(whole_number),
]
NextToken = Annotated[
    str | None,
    Field(max_length=4_000, description="The nextToken of the page before, with the same filters."),
]


Parsed = TypeVar("Parsed", bound=Contract)
MAX_SHOWN_ERRORS = 5
"""In the sentence for people."""
MOST_FAULTS = 100
"""In the list for programs: a request may have any number, and an answer of Lambda has 6 MB at most."""
FORMS = {
    "forceRoot": "an id such as snap-0123456789abcdef0",
    "snapshotId": "an id such as snap-0123456789abcdef0",
    "volumeId": "an id such as vol-0123456789abcdef0",
    "instanceId": "an id such as i-0123456789abcdef0",
    "imageId": "an id such as ami-0123456789abcdef0",
    "undoOf": "an id such as restore-0123456789abcdef",
    "availabilityZone": "an Availability Zone such as ap-northeast-1a",
    "region": "a Region such as eu-central-1",
    "ownerId": "an account's id of 12 digits",
    "mountPath": "a drive letter such as E: or a folder such as E:\\data",
    "mount": "a folder such as /data, of letters, digits and . _ - /",
    "file": "a path such as D:\\data\\file.bak",
    "toFolder": "a path such as E:\\data",
    "parameters": "lists of texts without {{, which Systems Manager would look up",
}
"""Field -> its form in words, where the contract has a regular expression."""
LIMITS = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "control_characters": "text without control characters",
    "mount_option": "{options}; others belong into the instance's fstab",
    "out_of_order": "low, value and high in this order",
    "too_short": "a number of entries from {min_length}",
    "too_long": "a number of entries up to {max_length}",
    "string_too_short": "a number of characters from {min_length}",
    "string_too_long": "a number of characters up to {max_length}",
}
"""Pydantic's type of an error -> what is allowed, filled in from the error's context."""
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


def one_of(value: Contract, names: Sequence[str], field: str) -> str:
    """The one of these fields that is there. Raises InvalidRequestError."""
    found = [name for name in names if getattr(value, to_snake(name)) is not None]
    if len(found) != 1:
        what = f"found {' and '.join(found)}" if found else "found none"
        raise InvalidRequestError(f"{what}; exactly one of {', '.join(names)} is allowed", field=field)
    return found[0]


def parsed(model: type[Parsed], value: object) -> Parsed:
    """The value as this contract. Raises InvalidRequestError."""
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{shown(value)} is not a JSON object", field="request")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _refusal(error, model) from None


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
        parts.append(cut(printable(str(part))))
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
        forms = (FORMS[str(part)] for part in reversed(error["loc"]) if part in FORMS)
        return next(forms, str(context["pattern"]))
    if kind in {"literal_error", "enum"}:
        return str(context["expected"])
    if kind in LIMITS:
        return LIMITS[kind].format(**context)
    return KINDS.get(kind.partition("_")[0], "another value")
