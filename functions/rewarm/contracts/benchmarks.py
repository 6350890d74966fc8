"""Benchmarks: what POST /benchmarks takes, what is kept of it, and what GET answers.

Also a calibration: what `rewarm calibrate` measured, without anything that names an account or its things.
"""

from typing import Annotated, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
    with_config,
)
from pydantic_core import PydanticCustomError

from rewarm.contracts.base import CONTRACT, Contract, Instant, Usd
from rewarm.contracts.request import InstanceId, SnapshotId, VolumeId, given
from rewarm.domain.benchmark.benchmarks import (
    LEAST_RUNTIME_SECONDS,
    MOST_RUNTIME_SECONDS,
    BenchmarkLimit,
    PatternName,
)
from rewarm.domain.benchmark.fio_output import Direction
from rewarm.domain.model import Caller
from rewarm.domain.time.calibration import CalibratedFigure, FigureName

MountPath = Annotated[StrictStr, Field(pattern=r"^/[A-Za-z0-9._/-]*$", max_length=200)]
WindowsPath = Annotated[StrictStr, Field(pattern=r"^[A-Za-z]:\\[A-Za-z0-9 ._\\-]*$", max_length=200)]
MAX_TARGETS = 8


class BenchmarkTarget(Contract):
    """A mounted folder, or an attached volume's device; a volume with its mount lends the limits."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [given("mount"), given("volumeId")]})

    mount: MountPath | None = Field(
        default=None, description="A folder of any file system: EBS, EFS, FSx for OpenZFS, local disk."
    )
    volume_id: VolumeId | None = Field(
        default=None,
        description="Without mount: reads of the device itself. With mount: whose limits hold there.",
    )
    iops: Annotated[StrictInt, Field(ge=1, le=10_000_000)] | None = Field(
        default=None, description="What is provisioned; default that of the EBS volume."
    )
    throughput_mib_s: Annotated[StrictInt, Field(ge=1, le=1_000_000)] | None = None

    @property
    def place(self) -> str:
        """Where fio works, as the SSM document takes it."""
        return self.mount or self.volume_id or ""


class FileCopy(Contract):
    """On Windows: a file is copied twice into a folder, both times under the Stopwatch."""

    file: WindowsPath
    to_folder: WindowsPath


_PATTERNS_ON_TARGETS: JsonValue = {
    "required": ["targets", "patterns"],
    "properties": {"targets": {"minItems": 1}, "patterns": {"minItems": 1}, "copyFile": {"type": "null"}},
}
_COPY: JsonValue = {
    **given("copyFile"),
    "properties": {"copyFile": {"type": "object"}, "targets": {"maxItems": 0}, "patterns": {"maxItems": 0}},
}


class BenchmarkRequest(Contract):
    """The same patterns on several targets of one instance, one after the other; or a copy on Windows."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_PATTERNS_ON_TARGETS, _COPY]})

    instance_id: InstanceId
    targets: Annotated[list[BenchmarkTarget], Field(max_length=MAX_TARGETS)] = Field(default_factory=list)
    patterns: Annotated[list[PatternName], Field(max_length=len(PatternName))] = Field(default_factory=list)
    runtime_seconds: Annotated[StrictInt, Field(ge=LEAST_RUNTIME_SECONDS, le=MOST_RUNTIME_SECONDS)] | None = (
        Field(default=None, description="Of each run; default that of the pattern.")
    )
    install_fio: StrictBool = Field(
        default=False, description="Install fio with the instance's package manager where it is missing."
    )
    copy_file: FileCopy | None = None


class StartedBenchmark(Contract):
    """What is kept of a benchmark that was started."""

    benchmark_id: str
    command_id: str
    platform: str
    instance_type: str
    started_at: Instant
    asked_by: Caller | None = None
    request: BenchmarkRequest


@with_config(CONTRACT)
class BenchmarkSide(Direction):
    """Reads or writes."""


class BenchmarkRun(Contract):
    """One pattern on one target."""

    target: str
    pattern: PatternName
    file_system: str = ""
    source: str = ""
    volume_id: str | None = None
    provisioned_iops: float | None = None
    provisioned_mib_s: float | None = None
    read: BenchmarkSide | None = None
    write: BenchmarkSide | None = None
    total_iops: float | None = None
    total_mib_s: float | None = None
    runtime_seconds: float | None = None
    rank: Annotated[int | None, Field(description="Among the targets of this pattern; 1 is the fastest.")] = (
        None
    )
    limit: BenchmarkLimit | None = None
    problem: Annotated[str | None, Field(description="Why there are no figures.")] = None


class CopyTimes(Contract):
    """The same file copied twice: the first time has the first touches in it."""

    size_bytes: int
    first_seconds: float
    second_seconds: float
    ratio: float
    first_mib_s: float
    second_mib_s: float


class BenchmarkResult(Contract):
    """GET /benchmarks/{benchmarkId}."""

    benchmark_id: str
    status: Literal["running", "completed", "failed"]
    reason: str
    instance_id: str
    started_at: Instant
    asked_by: Caller | None = Field(default=None, description="null where it is part of a restore.")
    runs: list[BenchmarkRun] = Field(default_factory=list)
    copied: CopyTimes | None = None


FORMAT = 1
Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
RegionName = Annotated[StrictStr, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$", max_length=32)]
TypeName = Annotated[StrictStr, Field(pattern=r"^[a-z0-9.-]+$", max_length=32)]
ErrorCode = Annotated[StrictStr, Field(pattern=r"^[A-Za-z]+(\.[A-Za-z]+)*$", max_length=80)]
UsageType = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9:._-]+$", max_length=80)]
Reason = Annotated[StrictStr, Field(pattern=r"^[ -~]*$", min_length=1, max_length=200)]
CallName = Annotated[StrictStr, Field(pattern=r"^[A-Za-z-]+$", max_length=60)]


class MeasuredFigure(Contract):
    """A figure, the interval that is stated for it, and how many observations it comes from."""

    value: Amount
    low: Amount
    high: Amount
    observations: Annotated[StrictInt, Field(ge=1, le=1_000_000)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise PydanticCustomError("out_of_order", "low, value and high are out of order")
        return self


class Calibration(Contract):
    """PUT /calibration, and a file of docs/calibrations/."""

    format: Literal[1] = 1
    measured_on: Annotated[StrictStr, Field(pattern=r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$")]
    region: RegionName
    instance_type: TypeName
    volume_type: TypeName
    size_gib: Annotated[StrictInt, Field(ge=1, le=16_384)]
    figures: dict[FigureName, MeasuredFigure]
    reads_advance_progress: StrictBool | None = Field(
        default=None, description="Whether reading advances the Progress of DescribeVolumeStatus."
    )
    read_warms_block: StrictBool | None = Field(
        default=None, description="Whether 4 KiB that are read warm the rest of their 512 KiB block."
    )
    fsr_credits_begin: Literal["enabling", "enabled"] | None = Field(
        default=None, description="The state from which credits of fast snapshot restore fill."
    )
    initialization_usage_type: UsageType | None = Field(
        default=None, description="Of a provisioned initialization rate in the price list."
    )
    error_codes: Annotated[
        dict[CallName, ErrorCode],
        Field(max_length=20, description="What EC2 answered to a DryRun of a wrong request."),
    ] = Field(default_factory=dict)
    not_measured: dict[FigureName, Reason] = Field(default_factory=dict)

    def of_domain(self) -> dict[FigureName, CalibratedFigure]:
        """The figures as the estimates take them."""
        return {name: CalibratedFigure(own.value, own.low, own.high) for name, own in self.figures.items()}


CalibrationId = Annotated[StrictStr, Field(pattern=r"^calibration-[0-9a-f]{16}$")]


class CalibrationLease(Contract):
    """PUT /calibrations/{calibrationId}: what a calibration that runs has made and not removed yet."""

    volume_ids: Annotated[list[VolumeId], Field(max_length=100)] = Field(default_factory=list)
    snapshot_ids: Annotated[list[SnapshotId], Field(max_length=100)] = Field(default_factory=list)


class KeptLease(CalibrationLease):
    """Until it is over the calibration lives; then the sweeper removes these, if they were made meanwhile."""

    calibration_id: CalibrationId
    started_at: Instant
    expires_at: Instant
    asked_by: Caller | None = Field(default=None, description="Who wrote it last.")


class StoredCalibration(Contract):
    """PUT /calibration: what estimates use; null before anybody has calibrated."""

    calibration: Calibration | None
    stored_at: Instant | None
    stored_by: Caller | None = None


class CalibrationAnswer(StoredCalibration):
    """GET /calibration: also what `rewarm calibrate` needs to know before it begins."""

    stack: str = Field(description="The value of the tag `rewarm:stack`.")
    fsr_usd_per_hour: Usd
    rate_usd_per_gib_mib_s: Usd
    storage_usd_per_gib_month: Usd = Field(description="Of gp3.")
    prices_as_of: Instant
    leases: list[KeptLease] = Field(
        default_factory=list, description="Of calibrations that run, or that have left something."
    )
