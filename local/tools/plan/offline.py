"""What AWS would know, from the options and from published tables; `sources` stands in for the adapters."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from local.tools.instance_types import instance_types
from local.tools.plan.options import Options
from local.tools.plan.request import DEFAULT_REGION, NO_INSTANCE, SNAPSHOT_ID, build
from rewarm.adapters import prices
from rewarm.adapters.instances import Ec2Instances
from rewarm.contracts.base import parsed
from rewarm.contracts.benchmarks import Calibration
from rewarm.contracts.plans import PlanResult
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import NewVolume, VolumeAssignment
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import (
    BLOCK_BYTES,
    GIB,
    FastSnapshotRestore,
    InstanceEbsLimits,
    PriceBook,
    Volume,
)
from rewarm.domain.plan.facts import UnusedQuotas, VolumeFacts
from rewarm.domain.time.measured import Measured
from rewarm.domain.volume.volume_types import WantedVolume, settle
from rewarm.ports import JsonObject
from rewarm.steps.plan.plan_restore import plan_answer
from rewarm.steps.plan.planning import PlanningPorts, gather

DEFAULT_INSTANCE_TYPE = "m7g.large"
FSR_QUOTA, RATE_QUOTA_MIB_S, COPY_QUOTA = 5, 5_000, 5
"""AWS's defaults (EBS user guide, "Quotas for Amazon EBS")."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the volumes go; no instance type where the target is a zone alone."""

    region: str
    zone: str
    instance_type: str | None


class Prices:
    """The port Prices, by the shipped book."""

    def __init__(self, region: str) -> None:
        self._region = region

    def book(self, *, now: datetime) -> PriceBook:
        """The shipped figures, each with its own date."""
        del now
        return prices.book(self._region, prices.shipped(self._region))

    def transfer_usd_per_gib(self, from_region: str, *, now: datetime) -> Decimal | None:
        """No shipped book has the price of a transfer."""
        del from_region, now
        return None


class Quotas:
    """The port Quotas: AWS's defaults, with nothing in use."""

    def left(self, *, now: datetime) -> UnusedQuotas:
        """All of them."""
        del now
        return UnusedQuotas(FSR_QUOTA, RATE_QUOTA_MIB_S, COPY_QUOTA)


class FastRestores:
    """The port FastSnapshotRestores, as far as it only looks."""

    def __init__(self, state: str, credit_count: float | None) -> None:
        self._state = state
        self._credits = credit_count

    def of_places(
        self, places: Collection[tuple[str, str]], *, now: datetime
    ) -> dict[tuple[str, str], FastSnapshotRestore | None]:
        """As the options say."""
        enabled_at = now - timedelta(days=1) if self._state == "enabled" else None
        found = FastSnapshotRestore(self._state, enabled_at, self._credits)
        return dict.fromkeys(places, None if self._state == "disabled" else found)


class _Ec2:
    """DescribeInstanceTypes from a table of AWS's answer."""

    def describe_instance_types(self, InstanceTypes: list[str]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        return {"InstanceTypes": [{"EbsInfo": instance_types()[name]} for name in InstanceTypes]}


class NoVolumes:
    """The port VolumeStore, as far as it shows what an instance has attached: nothing."""

    def on_instances(self, instance_ids: Sequence[str]) -> Iterator[Volume]:
        """None."""
        del instance_ids
        return iter(())


class InstanceTypes:
    """The port Instances, as far as it knows instance types."""

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """Of a type by its name. Raises InvalidRequestError."""
        if instance_type not in instance_types():
            near = ", ".join(get_close_matches(instance_type, instance_types(), 3)) or DEFAULT_INSTANCE_TYPE
            raise InvalidRequestError(
                f'found "{instance_type}"; a type such as {near}, or {NO_INSTANCE}, is allowed',
                field="target.instanceType",
            )
        return Ec2Instances(cast("Any", _Ec2()), cast("Any", None)).ebs_limits(instance_type)


class NoHistory:
    """The port History of an account that has restored nothing yet."""

    def __init__(self, calibration: JsonObject | None = None) -> None:
        self._calibration = calibration

    def records(self) -> list[Measured]:
        """None."""
        return []

    def calibration(self) -> JsonObject | None:
        """That of the option."""
        return self._calibration


def place(options: Options, request: RestoreRequest) -> Place:
    """From the request where it says so, else from the options."""
    zone = request.target.availability_zone or options.zone or f"{options.region or DEFAULT_REGION}a"
    region = options.region or zone[:-1]
    if not zone.startswith(region):
        raise InvalidRequestError(
            f"found {zone}; a zone of {region} is allowed", field="target.availabilityZone"
        )
    instance_type = options.instance_type or DEFAULT_INSTANCE_TYPE
    to_zone = request.target.instance_id is None or instance_type == NO_INSTANCE
    return Place(region, zone, None if to_zone else instance_type)


def assignments(
    options: Options, request: RestoreRequest, where: Place, now: datetime
) -> list[VolumeAssignment]:
    """Volumes that are alike, from one snapshot. Raises InvalidRequestError where EC2 would refuse them."""
    size_gib = options.size_gib or 100
    data_bytes = size_gib * GIB * (options.written_percent or 100) // 100
    asked = request.volume
    settings = settle(
        WantedVolume(asked.volume_type, asked.size_gib, asked.iops, asked.throughput_mib_s), None, size_gib
    )
    snapshot_id = request.source.snapshot_id or SNAPSHOT_ID
    return [
        VolumeAssignment(
            index=index,
            snapshot_id=snapshot_id,
            snapshot_started_at=now - timedelta(days=1),
            snapshot_size_gib=size_gib,
            data_bytes=data_bytes,
            data_bytes_from="fullSnapshotSize",
            written_blocks=data_bytes // BLOCK_BYTES,
            map_key="",
            availability_zone=where.zone,
            instance_id=request.target.instance_id if where.instance_type else None,
            instance_type=where.instance_type,
            agent_available=where.instance_type is not None,
            platform="linux" if where.instance_type is not None else None,
            volume=NewVolume(**asdict(settings)),
        )
        for index in range(options.volumes or 1)
    ]


def plan(options: Options, now: datetime) -> PlanResult:
    """Returns the plan without AWS. Raises InvalidRequestError, NoStrategyFitsError."""
    request, where = _wanted(options)
    return plan_answer(request, assignments(options, request, where, now), _sources(options, where), now=now)


def facts(options: Options, now: datetime) -> tuple[list[VolumeFacts], PriceBook]:
    """Returns the facts of each volume and the prices for the rules. Raises InvalidRequestError."""
    request, where = _wanted(options)
    sources, volumes = _sources(options, where), assignments(options, request, where, now)
    cases = gather(request, volumes, sources, deadline_at=None, now=now)
    return [case.facts for case in cases], sources.prices.book(now=now)


def _calibration(path: Path | None) -> JsonObject | None:
    """As an account keeps it. Raises InvalidRequestError."""
    if path is None:
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidRequestError(f"{path} is not JSON: {error}", field="calibration") from error
    parsed(Calibration, content)
    return {"calibration": content, "storedAt": None}


def _wanted(options: Options) -> tuple[RestoreRequest, Place]:
    request = build(options)
    return request, place(options, request)


def _sources(options: Options, where: Place) -> PlanningPorts:
    """Ports that only look; a plan asks for nothing else."""
    return PlanningPorts(
        fast_restores=cast("Any", FastRestores(options.fsr_state or "disabled", options.credits)),
        instances=cast("Any", InstanceTypes()),
        volumes=cast("Any", NoVolumes()),
        prices=Prices(where.region),
        quotas=Quotas(),
        history=cast("Any", NoHistory(_calibration(options.calibration))),
    )
