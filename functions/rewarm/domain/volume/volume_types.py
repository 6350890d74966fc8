"""What the EBS volume types allow (EBS user guide, "Amazon EBS volume types"; limits since late 2025)."""

from __future__ import annotations

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import VolumeSettings
from rewarm.domain.value import Value

RESERVED_TAG_PREFIXES = ("aws:", "rewarm:")
"""EC2 user guide, "Tag restrictions": `aws:` is AWS's own; `rewarm:` is ours."""
DEFAULT_TYPE = "gp3"
"""CreateVolume's own default is gp2; gp3 is cheaper and faster at every size."""
HDD_TYPES = frozenset({"st1", "sc1"})
SSD_IO_KIB = 256
"""Largest single I/O of the SSD types (EBS user guide, "I/O characteristics": 256 KiB, HDD 1,024 KiB)."""


GP2_SLOW_TO_GIB = 170
"""EBS user guide, "General Purpose SSD volumes": gp2 bursts to 3,000 IOPS, up to this size with 128 MiB/s,
above with 250. A new volume's 5.4 million I/O credits last for one reading of all that can burst."""


class VolumeType(Value):
    """Limits of one type; None where the type has no such setting."""

    name: str
    min_size_gib: int
    max_size_gib: int
    min_iops: int | None = None
    max_iops: int | None = None
    iops_per_gib: int | None = None
    iops_needed: bool = False
    min_throughput_mib_s: int | None = None
    max_throughput_mib_s: int | None = None
    multi_attach: bool = False

    @property
    def noun(self) -> str:
        """`a gp3 volume`, `an io2 volume`, `an sc1 volume`."""
        return f"{'an' if self.name[0] in 'is' else 'a'} {self.name} volume"


class VolumeLimits(Value):
    """What the new volume can read once it is warm."""

    iops: int
    sustained_mib_s: float
    burst_mib_s: float


VOLUME_TYPES = {
    volume_type.name: volume_type
    for volume_type in (
        VolumeType("gp3", 1, 65_536, 3_000, 80_000, 500, False, 125, 2_000),
        VolumeType("gp2", 1, 16_384),
        VolumeType("io2", 4, 65_536, 100, 256_000, 1_000, True, multi_attach=True),
        VolumeType("io1", 4, 16_384, 100, 64_000, 50, True, multi_attach=True),
        VolumeType("st1", 125, 16_384),
        VolumeType("sc1", 125, 16_384),
    )
}


class WantedVolume(Value):
    """What the request says of the volume; None where it leaves the choice to us."""

    volume_type: str | None = None
    size_gib: int | None = None
    iops: int | None = None
    throughput_mib_s: int | None = None
    kms_key_id: str | None = None
    multi_attach: bool = False
    tags: dict[str, str] | None = None


def settle(wanted: WantedVolume, source: VolumeSettings | None, snapshot_size_gib: int) -> VolumeSettings:
    """The volume to create. Raises InvalidRequestError where EC2 would refuse it.

    The source volume lends its type, and its performance where the type stays the same. The size is the
    snapshot's: the source may have grown since.
    """
    name = wanted.volume_type or (source.volume_type if source else DEFAULT_TYPE)
    volume_type = VOLUME_TYPES.get(name, VOLUME_TYPES[DEFAULT_TYPE])
    lender = source if source and source.volume_type == volume_type.name else None
    size_gib = _size(wanted, volume_type, snapshot_size_gib)
    iops = _iops(wanted, lender, volume_type, size_gib)
    throughput = _throughput(wanted, lender, volume_type, iops)
    if wanted.multi_attach and not volume_type.multi_attach:
        able = " and ".join(name for name, other in VOLUME_TYPES.items() if other.multi_attach)
        raise InvalidRequestError(
            f"{volume_type.name} cannot be attached to several instances; {able} can",
            field="volume.multiAttach",
        )
    return VolumeSettings(
        volume_type=volume_type.name,
        size_gib=size_gib,
        iops=iops,
        throughput_mib_s=throughput,
        kms_key_id=wanted.kms_key_id,
        multi_attach=wanted.multi_attach,
        tags=dict(wanted.tags or {}),
    )


def _range(least: int, most: int) -> str:
    return f"{least} to {most}" if least < most else f"only {least}"


def _size(wanted: WantedVolume, volume_type: VolumeType, snapshot_size_gib: int) -> int:
    smallest = max(snapshot_size_gib, volume_type.min_size_gib)
    size_gib = wanted.size_gib if wanted.size_gib is not None else smallest
    if snapshot_size_gib > volume_type.max_size_gib:
        raise InvalidRequestError(
            f"found {size_gib}; {volume_type.noun} has at most {volume_type.max_size_gib} GiB, "
            f"and the snapshot has {snapshot_size_gib}",
            field="volume.sizeGib",
        )
    if not smallest <= size_gib <= volume_type.max_size_gib:
        raise InvalidRequestError(
            f"found {size_gib}; {volume_type.noun} of this {snapshot_size_gib} GiB snapshot "
            f"may have {_range(smallest, volume_type.max_size_gib)} GiB",
            field="volume.sizeGib",
        )
    return size_gib


def _iops(
    wanted: WantedVolume, lender: VolumeSettings | None, volume_type: VolumeType, size_gib: int
) -> int | None:
    if volume_type.min_iops is None or volume_type.max_iops is None or volume_type.iops_per_gib is None:
        if wanted.iops is not None:
            raise InvalidRequestError(
                f"found {wanted.iops}; {volume_type.name} volumes have no IOPS setting", field="volume.iops"
            )
        return None
    most = min(volume_type.max_iops, max(volume_type.min_iops, volume_type.iops_per_gib * size_gib))
    allowed = f"{volume_type.noun} of {size_gib} GiB may have {_range(volume_type.min_iops, most)}"
    if wanted.iops is not None and not volume_type.min_iops <= wanted.iops <= most:
        raise InvalidRequestError(f"found {wanted.iops}; {allowed}", field="volume.iops")
    iops = wanted.iops if wanted.iops is not None else (lender.iops if lender else None)
    if iops is None and volume_type.iops_needed:
        raise InvalidRequestError(f"is missing; {allowed}", field="volume.iops")
    return min(most, iops if iops is not None else volume_type.min_iops)


def _throughput(
    wanted: WantedVolume, lender: VolumeSettings | None, volume_type: VolumeType, iops: int | None
) -> int | None:
    if volume_type.min_throughput_mib_s is None or volume_type.max_throughput_mib_s is None or iops is None:
        if wanted.throughput_mib_s is not None:
            raise InvalidRequestError(
                f"found {wanted.throughput_mib_s}; {volume_type.name} volumes have no throughput setting",
                field="volume.throughputMibS",
            )
        return None
    most = min(volume_type.max_throughput_mib_s, iops // 4)  # 0.25 MiB/s for each provisioned IOPS
    asked = wanted.throughput_mib_s
    if asked is not None and not volume_type.min_throughput_mib_s <= asked <= most:
        raise InvalidRequestError(
            f"found {asked}; a {volume_type.name} volume with {iops} IOPS may have "
            f"{_range(volume_type.min_throughput_mib_s, most)} MiB/s",
            field="volume.throughputMibS",
        )
    lent = lender.throughput_mib_s if lender else None
    return min(most, asked or lent or volume_type.min_throughput_mib_s)


def speed(settings: VolumeSettings) -> VolumeLimits:
    """What the volume can read once it is warm."""
    if settings.volume_type in HDD_TYPES:
        return _hdd_speed(settings)
    iops = settings.iops or _default_iops(settings)
    ceiling = {"gp2": 250, "io1": 1_000, "io2": 4_000}.get(
        settings.volume_type, settings.throughput_mib_s or 125
    )
    throughput = min(float(ceiling), iops * SSD_IO_KIB / 1024)
    burst = throughput
    if settings.volume_type == "gp2":
        burst = max(throughput, 128.0 if settings.size_gib <= GP2_SLOW_TO_GIB else 250.0)
    return VolumeLimits(iops=iops, sustained_mib_s=throughput, burst_mib_s=burst)


def _default_iops(settings: VolumeSettings) -> int:
    if settings.volume_type == "gp2":
        return max(100, min(16_000, 3 * settings.size_gib))
    return 3_000


def _hdd_speed(settings: VolumeSettings) -> VolumeLimits:
    """MiB/s a TiB: st1 40, bursting to 250; sc1 12, bursting to 80; at most 500 and 250."""
    base, burst, ceiling, iops = (
        (40, 250, 500.0, 500) if settings.volume_type == "st1" else (12, 80, 250.0, 250)
    )
    tib = settings.size_gib / 1024
    return VolumeLimits(
        iops=iops, sustained_mib_s=min(base * tib, ceiling), burst_mib_s=min(burst * tib, ceiling)
    )
