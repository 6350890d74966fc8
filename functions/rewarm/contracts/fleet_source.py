"""What a fleet is made of: an instance, an image, a recovery point, a tag query or a list."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictInt, StrictStr
from pydantic.alias_generators import to_snake

from rewarm.contracts.base import Contract, Instant, JsonObject, parsed
from rewarm.contracts.request import (
    NOT_BLANK,
    ImageId,
    InstanceId,
    SnapshotId,
    TagKey,
    Tags,
    Target,
    VolumeId,
    VolumeRequest,
    given,
)
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.fleets import MOST_VOLUMES

FLEET_SELECTORS = ("instance", "image", "recoveryPoint", "tags", "items")
QUERIES = ("snapshots", "volumes")
SELECTORS_OF_ITEM = ("snapshotId", "volumeId", "tags")
WITH_AT = ("instance", "tags", "items")
"""An image and a recovery point are of one moment already."""
MOST_TAGS = 40
"""A call takes 50 filters (EC2 API reference, error code FilterLimitExceeded)."""

Devices = Annotated[list[StrictStr], Field(min_length=1, max_length=128)]
QueryTags = Annotated[Tags, Field(min_length=1, max_length=MOST_TAGS)]


def _exactly_one(names: Sequence[str]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"oneOf": [given(name) for name in names]})


class InstanceSource(Contract):
    """The volumes that are attached to an instance."""

    instance_id: InstanceId
    devices: Devices | None = Field(default=None, description="Only these device names.")


class ImageSource(Contract):
    """The snapshots of an AMI's block device mapping."""

    image_id: ImageId
    devices: Devices | None = Field(default=None, description="Only these device names.")


class RecoveryPointSource(Contract):
    """A recovery point of AWS Backup, of an EBS volume or an EC2 instance."""

    arn: Annotated[StrictStr, Field(min_length=1, max_length=2_048, json_schema_extra=NOT_BLANK)]


class TagsSource(Contract):
    """The volumes that tags lead to. EC2's wildcards * and ? work in the values."""

    model_config = _exactly_one(QUERIES)

    snapshots: QueryTags | None = Field(
        default=None,
        description="The newest completed snapshot of each volume, of the snapshots with all these tags.",
    )
    volumes: QueryTags | None = Field(
        default=None, description="The newest completed snapshot of each volume with all these tags."
    )
    volume_tag: TagKey | None = Field(
        json_schema_extra=NOT_BLANK,
        default=None,
        description="With snapshots: the key of the tag whose value says of which volume a snapshot is. "
        "Needed for copies of snapshots, because EC2 does not say it of them.",
    )


class ItemSource(Contract):
    """The snapshot of one volume: exactly one of the selectors."""

    model_config = _exactly_one(SELECTORS_OF_ITEM)

    snapshot_id: SnapshotId | None = None
    volume_id: VolumeId | None = None
    at: Literal["latest"] | Instant | None = Field(
        default=None,
        description="With volumeId: its newest snapshot not later than this time; default: the fleet's.",
    )
    tags: QueryTags | None = Field(
        default=None,
        description="The newest snapshot that carries every one of these tags. EC2 is asked for each such "
        "item alone.",
    )


class ListedItem(Contract):
    """One volume of a fleet, as POST /restores takes it."""

    source: ItemSource
    target: Target | None = Field(default=None, description="Default: the target of the fleet.")
    volume: VolumeRequest | None = Field(default=None, description="Default: the volume of the fleet.")


class FleetSource(Contract):
    """What a fleet is made of: exactly one of the selectors, which gives 1 to 10,000 volumes."""

    model_config = _exactly_one(FLEET_SELECTORS)

    instance: InstanceSource | None = None
    image: ImageSource | None = None
    recovery_point: RecoveryPointSource | None = None
    tags: TagsSource | None = None
    items: Annotated[list[ListedItem], Field(min_length=1, max_length=MOST_VOLUMES)] | None = None
    at: Literal["latest"] | Instant | None = Field(
        default=None,
        description="With instance, tags and items: snapshots not later than this time; default latest.",
    )
    max_spread_seconds: Annotated[StrictInt, Field(ge=0, le=31_536_000)] | None = Field(
        default=None,
        description="The fleet is refused where more seconds lie between its first and last snapshot.",
    )


class FleetMembers(Contract):
    """The part of a fleet's request that says which volumes it makes, and where they go."""

    source: FleetSource
    target: Target | None = None
    volume: VolumeRequest | None = None


def parse_fleet_members(value: JsonObject) -> FleetMembers:
    """Returns the checked part of the request. Raises InvalidRequestError."""
    members = parsed(FleetMembers, value)
    check_fleet_source(members.source)
    for index, item in enumerate(members.source.items or ()):
        if item.target is None and members.target is None:
            raise InvalidRequestError(
                "found none; name one here, or one for the fleet", field=f"source.items.{index}.target"
            )
    if members.target is not None:
        _one_of(members.target, ("instanceId", "availabilityZone"), "target")
    elif members.source.items is None:
        raise InvalidRequestError("found none; only items may each name their own", field="target")
    return members


def check_fleet_source(source: FleetSource) -> None:
    """Checks which fields go together. Raises InvalidRequestError."""
    selector = _one_of(source, FLEET_SELECTORS, "source")
    if source.at is not None and selector not in WITH_AT:
        raise InvalidRequestError(
            f"only goes with {', '.join(WITH_AT)}, not with {selector}", field="source.at"
        )
    if source.tags is not None:
        query = _one_of(source.tags, QUERIES, "source.tags")
        if source.tags.volume_tag is not None and query != "snapshots":
            raise InvalidRequestError("only goes with snapshots", field="source.tags.volumeTag")
    for index, item in enumerate(source.items or ()):
        field = f"source.items.{index}.source"
        given_here = _one_of(item.source, SELECTORS_OF_ITEM, field)
        if item.source.at is not None and given_here != "volumeId":
            raise InvalidRequestError(f"only goes with volumeId, not with {given_here}", field=f"{field}.at")


def _one_of(value: Contract, names: Sequence[str], field: str) -> str:
    """The one of these fields that is there."""
    found = [name for name in names if getattr(value, to_snake(name)) is not None]
    if len(found) != 1:
        what = f"found {' and '.join(found)}" if found else "found none"
        raise InvalidRequestError(f"{what}; exactly one of {', '.join(names)} is allowed", field=field)
    return found[0]
