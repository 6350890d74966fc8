"""What the routes take in their addresses and answer, and the one form of their errors.

The request for another performance of a volume is here, too.
"""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, StrictInt
from pydantic_core import PydanticCustomError

from rewarm.contracts.after import Application
from rewarm.contracts.base import (
    CONTRACT,
    Contract,
    Instant,
    JsonObject,
    Limit,
    Links,
    NextToken,
    parsed,
    whole_number,
)
from rewarm.contracts.request import AlarmName, InstanceId, Notify, RestoreRequest, VolumeId, given
from rewarm.contracts.values import Approval, DrillResult, LeftThing, Trigger
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import Caller, LeftOut
from rewarm.domain.volume.performance import PerformanceSettings
from rewarm.domain.volume.volume_types import WantedVolume

MOST_WAIT_SECONDS = 20
"""API Gateway waits 29 seconds for the function, and the function ends after 25."""
SETTINGS = ("volumeType", "iops", "throughputMibS")

StatusName = Literal[
    "accepted", "planning", "planned", "awaiting-approval", "restoring", "initializing", "ready", "failed",
    "cancelled", "refused", "duplicate", "suppressed",
]  # fmt: skip
STATUS_NAMES: tuple[str, ...] = get_args(StatusName)


def _like_a_time(value: Any) -> Any:
    """Pydantic would take a number for a time, too."""
    if isinstance(value, str) and not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T", value):
        raise PydanticCustomError("timezone_aware", "no time")
    return value


QueryTime = Annotated[Instant, BeforeValidator(_like_a_time)]


class RestoresQuery(Contract):
    """GET /restores: which restores, the newest first."""

    status: Annotated[StatusName | None, Field(description="Those that have it now.")] = None
    instance_id: Annotated[InstanceId | None, Field(description="The target's instance.")] = None
    alarm_name: Annotated[AlarmName | None, Field(description="The alarm that started it.")] = None
    drill: Annotated[str | None, Field(description="The runbook whose drill it was.")] = None
    volume_id: Annotated[
        VolumeId | None, Field(description="A volume that it has made, adopted or rewound.")
    ] = None
    since: Annotated[QueryTime | None, Field(description="Started at this time or later.")] = None
    until: Annotated[QueryTime | None, Field(description="Started at this time or before.")] = None
    limit: Limit = 50
    next_token: NextToken = None


class StoredQuery(Contract):
    """GET /runbooks and GET /rules."""

    limit: Limit = 50
    next_token: NextToken = None


class PutQuery(Contract):
    """PUT /runbooks/{alarmName} and PUT /rules/{name}."""

    replaces: Annotated[
        str | None,
        Field(
            max_length=64,
            description="`nothing`, or the `version` of the answer 409: where something else is stored, it "
            "stays, and the answer is 409 with both. Without it, whatever is stored is replaced.",
        ),
    ] = None


class RestoreQuery(Contract):
    """GET /restores/{restoreId}: at once, or when something has changed."""

    wait: Annotated[
        StrictInt,
        Field(
            ge=0,
            le=MOST_WAIT_SECONDS,
            description="With version: wait so many seconds at most until the version is another one.",
        ),
        BeforeValidator(whole_number),
    ] = 0
    version: Annotated[
        str | None, Field(max_length=64, description="The version of the answer that is known already.")
    ] = None


class AcceptedRestore(Contract):
    """POST /restores: it has begun."""

    restore_id: str
    status: Literal["accepted"]
    waits_because: str | None = Field(description="Why an adopted volume cannot be read yet.")
    left_out: list[LeftOut] = Field(description="Volumes that cannot be adopted, so that it does without.")
    links: Links


class RestoreSummary(Contract):
    """A restore in a list."""

    restore_id: str
    status: StatusName
    started_at: Instant
    finished_at: Instant | None
    deadline_at: Instant | None
    trigger: Trigger | None
    instance_id: str | None
    volume_count: int | None = Field(description="null before its snapshots are known.")
    step: str | None = Field(description="The state of the state machine at which it failed.")


class RestoreList(Contract):
    """GET /restores: a page may be short, even empty, and have a next one."""

    restores: list[RestoreSummary]
    next_token: str | None


class RestoreVolume(Contract):
    """What is known of one volume of a restore."""

    model_config = ConfigDict(extra="allow")

    index: int
    proven: bool = Field(
        default=False, description="Whether signals and measurements have proven that it is at full speed."
    )
    way_back: str = Field(
        default="",
        description="What undoes its rewind, or the volume that it replaced, as the look for this answer "
        "found it; empty if it has neither.",
    )


class RestoreRecord(Contract):
    """GET /restores/{restoreId}: what is known of the restore; it grows with it."""

    model_config = ConfigDict(extra="allow")

    restore_id: str
    version: str = Field(description="Another one as soon as anything has changed but the agent's progress.")
    status: StatusName | None = None
    started_at: Instant | None = None
    deadline_at: Instant | None = None
    finished_at: Instant | None = None
    request: JsonObject | None = None
    trigger: Trigger | None = None
    plans: list[JsonObject]
    events: list[JsonObject]
    cancelled_by: Caller | None = None
    approval: JsonObject | None = Field(
        default=None, description="What it waits for somebody to approve, and who approved it."
    )
    instance: JsonObject | None = Field(
        default=None,
        description="With target.start: the instance, its state (started, up or given-up) and its times.",
    )
    application: Application | None = Field(
        default=None, description="With `after`: whether the application is back, part by part."
    )
    left: list[LeftThing] | None = Field(
        default=None, description="What it has left that costs money; null until it has ended."
    )
    report_url: str | None = Field(
        description="Of its page, which refreshes itself while the restore runs; good for an hour at most."
    )
    volumes: list[RestoreVolume]


class CancelledRestore(Contract):
    """DELETE /restores/{restoreId}: it stops soon."""

    restore_id: str
    status: StatusName | None
    cancel_requested: Literal[True]


class ApprovalQuery(Contract):
    """POST /restores/{restoreId}/approve."""

    asked_at: Annotated[
        QueryTime | None,
        Field(description="The approval.askedAt that was looked at: another plan is not approved then."),
    ] = None


class ApprovedRestore(Contract):
    """POST /restores/{restoreId}/approve: the restore continues."""

    restore_id: str
    status: StatusName | None
    approval: Approval


class StoredRunbook(Contract):
    """GET and PUT /runbooks/{alarmName}."""

    alarm_name: str
    request: RestoreRequest
    written_by: Caller | None = Field(description="Who put it last.")
    drills: Annotated[
        list[DrillResult], Field(description="GET only: the latest drills, the oldest first.")
    ] = Field(default_factory=list)


class DeletedRunbook(Contract):
    """DELETE /runbooks/{alarmName}."""

    alarm_name: str
    deleted: Literal[True]


class ListedRunbook(Contract):
    """A runbook in a list."""

    alarm_name: str
    updated_at: Instant
    written_by: Caller | None
    runbook: JsonObject


class RunbookList(Contract):
    """GET /runbooks: the latest written first."""

    runbooks: list[ListedRunbook]
    next_token: str | None


class AcceptedBenchmark(Contract):
    """POST /benchmarks: its command was sent."""

    benchmark_id: str
    command_id: str
    status: Literal["running"]


class PerformanceRequest(Contract):
    """POST /volumes/{volumeId}/performance: at least one of the settings; the others stay."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [given(name) for name in SETTINGS]})

    volume_type: Literal["gp3", "gp2", "io2", "io1", "st1", "sc1"] | None = None
    iops: Annotated[StrictInt, Field(ge=100, le=256_000)] | None = None
    throughput_mib_s: Annotated[StrictInt, Field(ge=125, le=2_000)] | None = None
    notify: Notify = Field(default_factory=Notify)

    def wanted(self) -> WantedVolume:
        """For the rules of the volume types."""
        return WantedVolume(
            volume_type=self.volume_type, iops=self.iops, throughput_mib_s=self.throughput_mib_s
        )


def parse_performance_request(value: object) -> PerformanceRequest:
    """Returns the checked request. Raises InvalidRequestError."""
    request = parsed(PerformanceRequest, value)
    if all(each is None for each in (request.volume_type, request.iops, request.throughput_mib_s)):
        raise InvalidRequestError(
            f"found none; at least one of {', '.join(SETTINGS)} is needed", field="request"
        )
    return request


class PerformanceLinks(Contract):
    """Where to look next."""

    self_: Annotated[str, Field(alias="self")]


class AcceptedChange(Contract):
    """POST /volumes/{volumeId}/performance: the change begins."""

    change_id: str
    status: str
    volume_id: str
    size_gib: int
    original: PerformanceSettings
    target: PerformanceSettings
    accepted_at: Instant
    links: PerformanceLinks


class LatestModification(Contract):
    """What EC2 says of the volume's latest modification."""

    state: str
    target: PerformanceSettings
    original: PerformanceSettings | None
    progress_percent: int | None
    started_at: Instant | None
    ended_at: Instant | None
    message: str | None


class ModificationSlots(Contract):
    """When EC2 takes the next modification."""

    rule: str
    started_within_24_hours: Annotated[list[Instant], Field(alias="startedWithin24Hours")]
    limit: int
    next_free_at: Instant | None
    reason: str


class VolumePerformance(Contract):
    """GET /volumes/{volumeId}/performance."""

    volume_id: str
    performance: PerformanceSettings
    modification: LatestModification | None
    slots: ModificationSlots
    change: JsonObject | None = Field(description="The latest change that was asked for here.")


class HotSetLine(Contract):
    """What is recorded of one volume's snapshots."""

    lineage: Annotated[str, Field(description="The volume or snapshot that the recordings are of.")]
    recordings: int
    newest_at: Instant
    bytes: Annotated[int, Field(description="That S3 stores.")]


class HotSetList(Contract):
    """GET /hot-sets."""

    hot_sets: list[HotSetLine]


class RecordingLine(Contract):
    """One recording of reads; what cannot be read of it is null."""

    restore_id: Annotated[str, Field(description="The restore or adoption that asked for it.")]
    index: Annotated[int, Field(description="Of the volume in that restore.")]
    began_at: Instant
    volume_bytes: int | None
    seconds: Annotated[int | None, Field(description="How long it took.")]
    blocks: Annotated[int | None, Field(description="Of 512 KiB, that were read.")]
    complete: Annotated[bool, Field(description="Whether it was recorded to the end.")]
    left_out_because: str | None


class HotSetAnswer(Contract):
    """GET /hot-sets/{lineage}: the newest recordings, and what is read first by them."""

    lineage: str
    blocks: Annotated[int, Field(description="At most; a tenth of a snapshot's written blocks is read.")]
    bytes: Annotated[int, Field(description="Of these blocks.")]
    recordings: list[RecordingLine]


class DeletedHotSet(Contract):
    """DELETE /hot-sets/{lineage}: the next restore reads in its usual order."""

    lineage: str
    deleted_objects: int


class Fault(Contract):
    """One thing that is wrong with a request."""

    field: str | None
    found: str | None = Field(description="As JSON, cut where it is long.")
    allowed: str | None
    message: str


class Problem(Contract):
    """Every answer of 400 and above: problem details (RFC 9457), and the fields that were there before."""

    model_config = CONTRACT | ConfigDict(title="Problem")

    type: str = Field(description="A name for the kind of the problem; nothing is at that address.")
    title: str
    status: int
    detail: str
    instance: str | None = Field(description="API Gateway's id of the request, as its logs have it.")
    error: str = Field(description="The kind of the problem, for programs.")
    field: str | None
    message: str = Field(description="The same as detail.")
    errors: list[Fault] = Field(description="What is wrong with the request; empty where it is not at fault.")
    held_by: str | None = Field(default=None, description="The restore that has the device.")
    running: list[str] | None = Field(default=None, description="The restores that run.")
    stored: dict[str, Any] | None = Field(default=None, description="The runbook or rule that is stored.")
    wanted: dict[str, Any] | None = Field(default=None, description="The one that was sent, with all fields.")
    version: str | None = Field(default=None, description="Of what is stored, for `replaces`.")
