"""A change of a volume's performance on its own: the request, and the steps of `change-performance`."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictInt

from rewarm.contracts.base import Contract, Instant, WaitSeconds, parsed
from rewarm.contracts.request import Notify, given
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.volume.volume_types import WantedVolume

SETTINGS = ("volumeType", "iops", "throughputMibS")


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


class CheckPerformanceResult(Contract):
    """Whether the change has taken effect, and how that is known."""

    finished: bool
    wait_seconds: WaitSeconds
    state: str = Field(description="As EC2 says it: modifying, optimizing or completed.")
    requested_at: Instant
    requested_from: Annotated[
        Literal["cloudtrail", "ec2"],
        Field(description="CloudTrail's time of the call, or EC2's start of the modification."),
    ]
    in_force_since: Annotated[
        Instant | None,
        Field(description="When EC2 was first seen to say so; as exact as the looks are dense."),
    ] = None
    took_effect_at: Instant | None = None
    known_by: Literal["cloudwatch", "modification"] | None = None
    rate: Annotated[float | None, Field(description="A second, in that minute of CloudWatch.")] = None
    rate_before: float | None = None
    unit: Literal["IOPS", "MiB/s"] | None = None
    reason: str = ""


def parse_performance_request(value: object) -> PerformanceRequest:
    """Returns the checked request. Raises InvalidRequestError."""
    request = parsed(PerformanceRequest, value)
    if all(each is None for each in (request.volume_type, request.iops, request.throughput_mib_s)):
        raise InvalidRequestError(
            f"found none; at least one of {', '.join(SETTINGS)} is needed", field="request"
        )
    return request
