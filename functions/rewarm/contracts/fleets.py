"""POST /fleets: many volumes by one request, what they are made of, the routes' answers, and states' events.

A fleet is made of an instance, an image, a recovery point, a tag query or a list.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, with_config

from rewarm.contracts.base import (
    CONTRACT,
    Contract,
    Instant,
    JsonObject,
    Limit,
    Links,
    NextToken,
    StepEvent,
    Usd,
    one_of,
    parsed,
)
from rewarm.contracts.request import (
    NOT_BLANK,
    CostLimit,
    ImageId,
    InstanceId,
    Notify,
    Objective,
    ReadinessRules,
    SnapshotId,
    TagKey,
    Tags,
    Target,
    Verify,
    VolumeId,
    VolumeRequest,
    WarmUp,
    given,
)
from rewarm.contracts.values import ApprovalQuestion, Failure, FleetShare, LeftThing, PlanSummary, Trigger
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.fleets import MOST_VOLUMES, FailedVolumeOfFleet, SlowRestore
from rewarm.domain.model import Caller, OnFailure

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
    """The volumes that tags lead to. A value of just * stands for any value."""

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
        one_of(members.target, ("instanceId", "availabilityZone"), "target")
    elif members.source.items is None:
        raise InvalidRequestError("found none; only items may each name their own", field="target")
    return members


def check_fleet_source(source: FleetSource) -> None:
    """Checks which fields go together. Raises InvalidRequestError."""
    selector = one_of(source, FLEET_SELECTORS, "source")
    if source.at is not None and selector not in WITH_AT:
        raise InvalidRequestError(
            f"only goes with {', '.join(WITH_AT)}, not with {selector}", field="source.at"
        )
    if source.tags is not None:
        query = one_of(source.tags, QUERIES, "source.tags")
        if source.tags.volume_tag is not None and query != "snapshots":
            raise InvalidRequestError("only goes with snapshots", field="source.tags.volumeTag")
    for index, item in enumerate(source.items or ()):
        field = f"source.items.{index}.source"
        given_here = one_of(item.source, SELECTORS_OF_ITEM, field)
        if item.source.at is not None and given_here != "volumeId":
            raise InvalidRequestError(f"only goes with volumeId, not with {given_here}", field=f"{field}.at")


FleetStatusName = Literal[
    "accepted", "awaiting-approval", "restoring", "ready", "incomplete", "failed", "cancelled"
]
FleetVerdict = Literal["ready", "incomplete", "failed", "cancelled"]


class FleetObjective(Objective):
    """What matters for all volumes together."""

    ready_within_minutes: Annotated[StrictInt, Field(ge=1, le=10_080)] | None = Field(
        default=None, description="Counted from the start of the fleet, also for a volume that begins late."
    )
    max_cost_usd: CostLimit | None = Field(
        default=None, description="For all volumes of the fleet together, in each of its runs."
    )
    approve_above_usd: CostLimit | None = Field(
        default=None,
        description="A plan that costs more, all volumes together, waits until somebody approves it. What "
        "was approved is then the most that all restores of the fleet may cost together.",
    )
    approve_replace: StrictBool = Field(
        default=False,
        description="Where a volume is replaced: whatever it costs, the plan waits for an approval.",
    )
    strict: bool = Field(default=False, description="Refuse a restore where nothing meets the deadline.")


class FleetRequest(Contract):
    """One fleet. Volumes to one instance become one restore, so that they are planned together."""

    source: FleetSource
    target: Target | None = Field(default=None, description="Of items that have none of their own.")
    volume: VolumeRequest | None = Field(default=None, description="Of items that have none of their own.")
    objective: FleetObjective = Field(default_factory=FleetObjective)
    warm_up: WarmUp = Field(default_factory=WarmUp)
    verify: Verify = Field(default_factory=Verify)
    readiness: ReadinessRules = Field(default_factory=ReadinessRules)
    on_failure: OnFailure = OnFailure.CLEAN_UP
    notify: Notify = Field(default_factory=Notify)
    max_concurrency: Annotated[StrictInt, Field(ge=1, le=MOST_VOLUMES)] | None = Field(
        default=None,
        description="The most restores of this fleet that run at once; never more than the stack's parameter "
        "MaxRestoresInFlight, which is the default.",
    )
    tolerated_failure_percentage: Annotated[float, Field(ge=0, le=100, strict=True, allow_inf_nan=False)] = (
        Field(
            default=100,
            description="If more of the restores fail, no other begins and those that run are stopped. "
            "Default: every restore gets its chance.",
        )
    )
    tolerated_failure_count: Annotated[StrictInt, Field(ge=0, le=MOST_VOLUMES)] | None = Field(
        default=None, description="The same as a number; the lower of the two counts."
    )


class FleetsQuery(Contract):
    """GET /fleets: the newest first."""

    status: Annotated[FleetStatusName | None, Field(description="Those that have it now.")] = None
    limit: Limit = 50
    next_token: NextToken = None


class AcceptedFleet(Contract):
    """POST /fleets and POST /fleets/{fleetId}/redrive: it has begun."""

    fleet_id: str
    status: Literal["accepted"]
    run: int = Field(description="1, and one more for each redrive.")
    links: Links


class FleetSummary(Contract):
    """A fleet in a list."""

    fleet_id: str
    status: FleetStatusName
    started_at: Instant
    finished_at: Instant | None
    deadline_at: Instant | None
    trigger: Trigger | None
    volume_count: int | None = Field(description="null before its volumes are known.")


class FleetList(Contract):
    """GET /fleets: a page may be short and have a next one."""

    fleets: list[FleetSummary]
    next_token: str | None


@with_config(CONTRACT)
class SlowRestoreOfFleet(SlowRestore):
    """A restore that runs, and since when."""

    started_at: Instant


class PlannedFleetVolume(FleetShare):
    """One volume in the plan of a fleet."""

    snapshot_id: str
    instance_id: str | None = None
    availability_zone: str


class UnplannedVolumes(Contract):
    """Volumes that the plan of a fleet does not have: their restores plan on their own."""

    volume_count: int
    reason: str


class FleetPlanResult(Contract):
    """POST /fleets/plans: the plan of all volumes together; nothing is created, and nothing is written."""

    request: FleetRequest
    restore_count: int
    volume_count: int
    deadline_at: Instant | None = None
    summary: PlanSummary | None = Field(description="null where every restore plans on its own.")
    volumes: list[PlannedFleetVolume]
    unplanned: list[UnplannedVolumes]


class BegunFleetPlan(Contract):
    """POST /fleets/plans and GET /fleets/plans/{planId}: the plan takes longer than an answer may."""

    plan_id: str = Field(description="For GET /fleets/plans/{planId}, which has the plan once it is made.")
    status: Literal["planning"]


class FleetAccount(Contract):
    """How far a fleet is, counted in volumes."""

    volume_count: int
    counts: dict[str, int] = Field(
        description="Volumes by state: waiting before their restore begins, then its status."
    )
    eta: Instant | None = Field(
        description="When all have ended at the pace so far; null before the first has, and after the last."
    )
    slowest: list[SlowRestoreOfFleet] = Field(description="Restores that run, the oldest first.")
    failed: list[FailedVolumeOfFleet] = Field(description="The first 20; the report has all.")


class FleetLeft(Contract):
    """What the restores of a fleet have left that costs money, beside the volumes that were asked for."""

    count: int = Field(default=0, description="How many things.")
    usd_per_month: Usd = Field(default=Decimal(0), description="Of all of it, as far as prices are known.")
    things: list[LeftThing] = Field(default_factory=list, description="The first 20; the report has all.")


class FleetRecord(Contract):
    """GET /fleets/{fleetId}."""

    model_config = ConfigDict(extra="allow")

    fleet_id: str
    status: FleetStatusName
    started_at: Instant
    finished_at: Instant | None
    deadline_at: Instant | None
    run: int
    restore_count: int | None
    progress: FleetAccount | None = Field(description="null before its volumes are known.")
    approval: JsonObject | None = Field(description="What waits for approval, or was approved, and by whom.")
    plan: PlanSummary | None = Field(
        description="Of all volumes of this run; null before it is made, and where each restore plans alone."
    )
    failure: JsonObject | None
    trigger: Trigger | None = Field(description="Who asked for this run.")
    cancel_requested: bool
    cancelled_by: Caller | None
    left: FleetLeft | None = Field(description="null before its end.")
    events: list[JsonObject] = Field(description="The messages about the fleet.")
    report_url: str | None = Field(description="Of its page; good for an hour at most.")


class CancelledFleet(Contract):
    """DELETE /fleets/{fleetId}: it stops soon."""

    fleet_id: str
    status: FleetStatusName
    cancel_requested: Literal[True]


class PrepareFleetResult(Contract):
    """What the Distributed Map reads, and how it runs."""

    bucket: str
    items_key: str
    results_prefix: str
    restore_count: int
    volume_count: int
    max_concurrency: int
    tolerated_failure_percentage: float
    tolerated_failure_count: int
    deadline_at: Instant | None = None
    plan: PlanSummary | None = Field(
        default=None, description="Of all volumes together; null where every restore plans on its own."
    )
    question: ApprovalQuestion | None = Field(
        default=None, description="What somebody must approve first; null where the fleet goes on."
    )
    notify: Notify


class ReportFleetEvent(StepEvent):
    """Asks for the account of a fleet that is over; `failure` says what ended it early."""

    run: int = Field(ge=1)
    started_at: Instant
    failure: Failure | None = None


class ReportFleetResult(Contract):
    """How the fleet ended."""

    verdict: FleetVerdict
    volume_count: int
    ready: int
    failed: list[FailedVolumeOfFleet]
    report_key: str | None = None
    page_key: str | None = None
    cause: str | None = None
    plan: PlanSummary | None = Field(default=None, description="Of this run.")
    billed_usd: Usd | None = Field(
        default=None, description="What its restores have come to; null where that of a restore is not known."
    )
    left: FleetLeft = Field(default_factory=FleetLeft)
    notify: Notify
