"""POST /fleets: many volumes by one request, what its routes answer, and the events of its states."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, with_config

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
)
from rewarm.contracts.fleet_source import FleetSource
from rewarm.contracts.request import (
    CostLimit,
    Notify,
    Objective,
    ReadinessRules,
    Target,
    Verify,
    VolumeRequest,
    WarmUp,
)
from rewarm.contracts.values import ApprovalQuestion, Failure, FleetShare, PlanSummary, Trigger
from rewarm.domain.fleets import MOST_VOLUMES, FailedVolumeOfFleet, SlowRestore
from rewarm.domain.model import Caller, OnFailure

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

    status: FleetStatusName | None = None
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
        default=None,
        description="What its restores have come to; null where that of a restore is not known.",
    )
    notify: Notify
