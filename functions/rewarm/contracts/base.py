"""What all contracts have in common: frozen, camelCase in JSON, and no field that nobody reads."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from rewarm.domain.units import iso

JsonObject = dict[str, Any]


def _in_utc(instant: datetime) -> datetime:
    """Refuses a time whose UTC is before the year 1 or after 9999."""
    try:
        instant.astimezone(UTC)
    except OverflowError as error:
        raise PydanticCustomError("timezone_aware", "no time in UTC") from error
    return instant


Instant = Annotated[
    AwareDatetime, AfterValidator(_in_utc), PlainSerializer(iso, return_type=str, when_used="json")
]
"""A time with its zone; in JSON always UTC and ending in Z, as the AWS APIs write it."""

Usd = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
"""US dollars; a string in JSON, because a float cannot hold 0.1."""


CONTRACT = ConfigDict(
    frozen=True,
    extra="forbid",
    alias_generator=to_camel,
    populate_by_name=True,
    from_attributes=True,
    str_strip_whitespace=True,
    defer_build=True,
)
"""How JSON is read and written, of a domain's value in a contract too. Its `field(metadata=…)` has what the
schema says of it. A contract that must add something to such a value inherits from it.

A function uses few of the contracts, and each is built at its first use, which makes a cold start shorter.
"""


class Contract(BaseModel):
    """Base of every request, event and result."""

    model_config = CONTRACT

    def to_json(self) -> JsonObject:
        """The JSON object that travels through Step Functions."""
        return self.model_dump(by_alias=True, mode="json")


class StepEvent(Contract):
    """What every step gets: which restore, and what time it is by AWS's own clock."""

    restore_id: Annotated[str, Field(min_length=1, max_length=80)]
    now: Instant
