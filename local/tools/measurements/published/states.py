"""Brings volumes into each published state, and measures them there."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.snapshot_image import FileTree, make_ext4_image
from local.tools.measurements.published.bench import Bench, device_of
from local.tools.measurements.published.figures import FIGURES, NORMAL, WRITE_NORMAL

BLOCKS_PER_GIB = 2_048
DAY_SECONDS = 86_400.0
LATER_SECONDS = 1_200.0
READ, WRITE = "random-read", "random-write"
FILE_SYSTEM_GIB = 2
PUBLISHED = {figure.name: figure.iops for figure in FIGURES}
WAY_MS = 0.08
"""What the way through FUSE and the loop device adds to a request."""
ENABLING_STEP_SECONDS = 300.0
MOST_ENABLING_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large and how long; the published run had 100 GB, and says of the rate neither it nor the data."""

    size_gib: int = 100
    dd_gib: int = 1
    """dd of 100 GiB takes hours."""
    seconds: int = 30
    slow_down: int = 5
    """Every latency of the volumes is so many times the usual, so that this machine's own weigh little beside
    them; what is counted is multiplied by it."""
    rate_mib_s: int = 300
    rate_seconds: int = 60
    rate_share: float = 0.42
    """Of the run at the provisioned rate, until all is loaded: 945 of 1,611 IOPS on the average need 0.59 of
    it at full speed, since a volume that is cold here and there is hardly faster than a cold one."""
    rate_lead_seconds: float = 3.0
    """What passes between the volume's creation and fio's first read here."""

    @property
    def rate_gib(self) -> float:
        """Data that the rate loads by then."""
        return self.rate_mib_s * (self.rate_lead_seconds + self.rate_share * self.rate_seconds) / 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """One state; `note` is what else was seen."""

    name: str
    iops: float
    note: str = ""


def slowed(usual: FirstTouchSettings, factor: int) -> FirstTouchSettings:
    """Fetches and warm requests that take `factor` times the published latency; at 1 those of `usual`."""
    if factor == 1:
        return usual
    return replace(
        usual,
        mean_latency_ms=usual.mean_latency_ms * factor,
        read_latency_ms=factor * 1e3 / PUBLISHED[NORMAL] - WAY_MS,
        write_latency_ms=factor * 1e3 / PUBLISHED[WRITE_NORMAL] - WAY_MS,
    )


class States:
    """Each state with its own volume."""

    def __init__(self, bench: Bench, scale: Scale, images: Path) -> None:
        self._bench, self._scale, self._images = bench, scale, images

    def measure(self, only: Collection[str] = ()) -> Iterator[Measured]:
        """Each as soon as it is there, in IOPS at the usual speed; `only` names steps."""
        machine, usual = self._bench.host.machine, self._bench.host.machine.settings
        machine.settings = slowed(usual, self._scale.slow_down)
        try:
            for one in self._measure(only):
                yield replace(one, iops=one.iops * self._scale.slow_down)
        finally:
            machine.settings = usual

    def _measure(self, only: Collection[str] = ()) -> Iterator[Measured]:
        steps: dict[str, Callable[[], Iterator[Measured]]] = {
            "normal": self._normal,
            "restored": self._restored,
            "dd": self._after_dd,
            "fsr": self._fast_restored,
            "rate": self._with_rate,
            "writes": self._writes,
        }
        for name, step in steps.items():
            if not only or name in only:
                yield from step()

    def _snapshot(self, gib: float, size_gib: int | None = None) -> str:
        blocks = round(gib * BLOCKS_PER_GIB)
        return self._bench.host.region.add_snapshot(
            size_gib=size_gib or -(-blocks // BLOCKS_PER_GIB), extents=((0, blocks),)
        )

    def _reads(self, volume_id: str, seconds: int | None = None) -> float:
        return self._bench.iops({"volumeId": volume_id}, READ, seconds or self._scale.seconds)

    def _normal(self) -> Iterator[Measured]:
        volume_id = self._bench.attached(None, Size=self._scale.size_gib)
        yield Measured("normal", self._reads(volume_id))
        self._bench.remove(volume_id)

    def _restored(self) -> Iterator[Measured]:
        """A volume that nobody reads loads by itself: the one of 24 hours is made first, and left alone."""
        volume_id = self._bench.attached(self._snapshot(self._scale.size_gib))
        yield Measured("restored", self._reads(volume_id))
        self._bench.wait(DAY_SECONDS)
        yield Measured("day", self._reads(volume_id))
        self._bench.remove(volume_id)

    def _after_dd(self) -> Iterator[Measured]:
        volume_id = self._bench.attached(self._snapshot(self._scale.dd_gib))
        began = time.monotonic()
        self._bench.command(f"dd if={device_of(volume_id)} of=/dev/null bs=1M")
        mib_s = self._scale.slow_down * self._scale.dd_gib * 1024 / (time.monotonic() - began)
        yield Measured("dd", self._reads(volume_id), f"{mib_s:.1f}")
        self._bench.remove(volume_id)

    def _fast_restored(self) -> Iterator[Measured]:
        snapshot_id = self._snapshot(self._scale.size_gib)
        places = {"AvailabilityZones": [self._bench.zone], "SourceSnapshotIds": [snapshot_id]}
        self._bench.ec2.enable_fast_snapshot_restores(**places)
        try:
            volume_id = self._from_fast_restore(snapshot_id)
            yield Measured("fsr", self._reads(volume_id))
            self._bench.remove(volume_id)
        finally:
            self._bench.ec2.disable_fast_snapshot_restores(**places)

    def _from_fast_restore(self, snapshot_id: str) -> str:
        """`enabled` alone is not enough: without a credit the volume is cold."""
        for _ in range(MOST_ENABLING_STEPS):
            self._bench.wait(ENABLING_STEP_SECONDS)
            volume_id = self._bench.attached(snapshot_id)
            shown = self._bench.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
            if shown.get("FastRestored"):
                return volume_id
            self._bench.remove(volume_id)
        raise DataPlaneError("fast snapshot restore gives no credit")

    def _with_rate(self) -> Iterator[Measured]:
        volume_id = self._bench.attached(
            self._snapshot(self._scale.rate_gib), VolumeInitializationRate=self._scale.rate_mib_s
        )
        yield Measured("rate-first", self._reads(volume_id, self._scale.rate_seconds))
        self._bench.wait(LATER_SECONDS)
        yield Measured("rate-later", self._reads(volume_id))
        self._bench.remove(volume_id)

    def _writes(self) -> Iterator[Measured]:
        """To a scratch file of a file system, never to a device."""
        image = make_ext4_image(self._images / "published.img", FILE_SYSTEM_GIB, FileTree(share=0.1))
        region = self._bench.host.region
        snapshot_id = region.add_snapshot(size_gib=image.size_gib, extents=image.extents, path=image.path)
        for name, volume_id, make in (
            ("write-normal", self._bench.attached(None, Size=FILE_SYSTEM_GIB), True),
            ("write-restored", self._bench.attached(snapshot_id), False),
        ):
            folder = self._bench.mounted(volume_id, make=make)
            yield Measured(name, self._bench.iops({"mount": folder}, WRITE, self._scale.seconds))
            self._bench.unmount(folder)
            self._bench.remove(volume_id)
