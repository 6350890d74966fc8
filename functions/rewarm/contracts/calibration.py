"""A calibration: what `rewarm calibrate` measured, without anything that names an account or its things."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from rewarm.contracts.base import Contract, Instant, Usd
from rewarm.domain.time.calibration import CalibratedFigure, FigureName

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
    def _in_order(self) -> MeasuredFigure:
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
        return {name: CalibratedFigure(one.value, one.low, one.high) for name, one in self.figures.items()}


class StoredCalibration(Contract):
    """PUT /calibration: what estimates use; null before anybody has calibrated."""

    calibration: Calibration | None
    stored_at: Instant | None


class CalibrationAnswer(StoredCalibration):
    """GET /calibration: also what `rewarm calibrate` needs to know before it begins."""

    stack: str = Field(description="The value of the tag `rewarm:stack`.")
    fsr_usd_per_hour: Usd
    rate_usd_per_gib_mib_s: Usd
    storage_usd_per_gib_month: Usd = Field(description="Of gp3.")
    prices_as_of: Instant
