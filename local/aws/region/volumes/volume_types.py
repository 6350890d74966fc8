"""What each EBS volume type allows (botocore CreateVolume; EBS user guide, "EBS volume types")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from local.aws.machines.dataplane import VolumeLimits
from local.aws.region.errors import ApiError, invalid, missing, not_together
from local.aws.region.resources import Volume, VolumePerformance

GIB_PER_TIB = 1_024


@dataclass(frozen=True, slots=True)
class VolumeType:
    """Sizes, IOPS and throughput of one type. `chosen_iops` is None where the owner has no say."""

    name: str
    sizes_gib: tuple[int, int]
    chosen_iops: tuple[int, int] | None
    iops_per_gib: int
    iops_required: bool
    default_iops: Callable[[int], int | None]
    limits: Callable[[VolumePerformance], VolumeLimits]
    chosen_throughput: tuple[int, int] | None = None
    multi_attach: bool = False


def _gp3_limits(chosen: VolumePerformance) -> VolumeLimits:
    return VolumeLimits(chosen.iops or 3_000, chosen.throughput_mib_s or 125)


def _gp2_limits(chosen: VolumePerformance) -> VolumeLimits:
    """gp2 bursts to 3,000 IOPS; its credits are not modelled, so a small volume keeps bursting."""
    return VolumeLimits(max(3_000, chosen.iops or 0), 128 if chosen.size_gib <= 170 else 250)


def _io_limits(most_mib_s: float) -> Callable[[VolumePerformance], VolumeLimits]:
    """Provisioned IOPS move at most 256 KiB each."""
    return lambda chosen: VolumeLimits(chosen.iops or 100, min(most_mib_s, (chosen.iops or 100) * 0.25))


def _hdd_limits(
    iops: int, burst_mib_s_per_tib: float, most_mib_s: float
) -> Callable[[VolumePerformance], VolumeLimits]:
    """Throughput types at their burst rate; their credits are not modelled."""
    return lambda chosen: VolumeLimits(
        iops, min(most_mib_s, burst_mib_s_per_tib * chosen.size_gib / GIB_PER_TIB)
    )


VOLUME_TYPES = {
    one.name: one
    for one in (
        VolumeType(
            "gp3", (1, 65_536), (3_000, 80_000), 500, False, lambda _: 3_000, _gp3_limits, (125, 2_000)
        ),
        VolumeType(
            "gp2", (1, 16_384), None, 3, False, lambda size: min(16_000, max(100, 3 * size)), _gp2_limits
        ),
        VolumeType(
            "io1", (4, 16_384), (100, 64_000), 50, True, lambda _: None, _io_limits(1_000), None, True
        ),
        VolumeType(
            "io2", (4, 65_536), (100, 256_000), 1_000, True, lambda _: None, _io_limits(4_000), None, True
        ),
        VolumeType("st1", (125, 16_384), None, 0, False, lambda _: None, _hdd_limits(500, 250, 500)),
        VolumeType("sc1", (125, 16_384), None, 0, False, lambda _: None, _hdd_limits(250, 80, 250)),
        VolumeType("standard", (1, 1_024), None, 0, False, lambda _: None, lambda _: VolumeLimits(100, 90)),
    )
}


def limits_of(chosen: VolumePerformance) -> VolumeLimits:
    """What the volume may do on the data plane."""
    return VOLUME_TYPES[chosen.volume_type].limits(chosen)


def limits_now(volume: Volume) -> VolumeLimits:
    """What this volume may do at present: a copy that is being initialised and an EBS card are ceilings."""
    ceilings = [one for one in (volume.copy_ceiling, volume.card_ceiling) if one is not None]
    return lowest(limits_of(volume.performance), *ceilings)


def lowest(*limits: VolumeLimits) -> VolumeLimits:
    """The lowest of each."""
    return VolumeLimits(min(limit.iops for limit in limits), min(limit.throughput_mib_s for limit in limits))


def choose(
    name: str, size_gib: int, iops: int | None, throughput_mib_s: int | None, *, multi_attach: bool = False
) -> VolumePerformance:
    """What the volume gets, with the type's defaults; refuses what EC2 refuses."""
    kind = VOLUME_TYPES.get(name)
    if kind is None:
        raise ApiError("UnknownVolumeType", f"Unknown volume type: {name}")
    _check_size(kind, size_gib)
    chosen_iops = _choose_iops(kind, size_gib, iops)
    chosen_throughput = _choose_throughput(kind, chosen_iops, throughput_mib_s)
    if multi_attach and not kind.multi_attach:
        raise not_together(f"The parameter MultiAttachEnabled is not supported for {name} volumes.")
    return VolumePerformance(size_gib, name, chosen_iops, chosen_throughput, multi_attach)


def _check_size(kind: VolumeType, size_gib: int) -> None:
    low, high = kind.sizes_gib
    if not low <= size_gib <= high:
        raise invalid(
            f"Volume size of {size_gib} GiB is invalid for {kind.name}: it must be {low} to {high} GiB."
        )


def _choose_iops(kind: VolumeType, size_gib: int, iops: int | None) -> int | None:
    if iops is None:
        if kind.iops_required:
            raise missing(f"iops for {kind.name} volumes")
        return kind.default_iops(size_gib)
    if kind.chosen_iops is None:
        raise not_together(f"The parameter iops is not supported for {kind.name} volumes.")
    low, high = kind.chosen_iops
    if not low <= iops <= high:
        raise invalid(f"Volume iops of {iops} is invalid for {kind.name}: it must be {low} to {high}.")
    if iops > max(low, kind.iops_per_gib * size_gib):
        raise invalid(
            f"Iops to volume size ratio of {iops / size_gib:.1f} is too high; max is {kind.iops_per_gib}"
        )
    return iops


def _choose_throughput(kind: VolumeType, iops: int | None, throughput_mib_s: int | None) -> int | None:
    if kind.chosen_throughput is None:
        if throughput_mib_s is not None:
            raise not_together(f"The parameter throughput is not supported for {kind.name} volumes.")
        return None
    low, high = kind.chosen_throughput
    chosen = low if throughput_mib_s is None else throughput_mib_s
    if not low <= chosen <= high:
        raise invalid(f"Volume throughput of {chosen} MiB/s is invalid: it must be {low} to {high} MiB/s.")
    if chosen > 0.25 * (iops or 0):
        raise invalid(
            f"Throughput to iops ratio of {chosen / (iops or 1):.3f} is too high; max is 0.25 MiB/s per iops"
        )
    return chosen
