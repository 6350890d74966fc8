"""Volumes that hold bytes: cold ones over the first-touch file system, plain files where FUSE is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

from local.aws.machines.dataplane import DataPlaneError, SnapshotImage, VolumeCounters, VolumeLimits
from local.aws.machines.first_touch_process import (
    FirstTouch,
    FirstTouchSettings,
    FuseUnavailableError,
    limit_arguments,
)
from local.aws.machines.linux import run_tool

GIB = 1 << 30
MAX_FILE_BYTES = 8 << 40
"""ext4 holds at most 16 TiB in one file; first-touch splits its backing at half of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeRequest:
    """What CreateVolume says of a volume."""

    volume_id: str
    size_gib: int
    image: SnapshotImage | None
    limits: VolumeLimits
    warm: bool

    @property
    def written_blocks(self) -> int:
        """Blocks that the snapshot holds."""
        return sum(count for _, count in self.image.extents) if self.image else 0


class Volume(Protocol):
    """A volume that exists on this machine."""

    path: Path
    """The file that an instance's device is made of."""
    image: SnapshotImage
    """Its bytes as they are now, and the blocks that its snapshot holds: what a copy is made from."""

    def counters(self) -> VolumeCounters:
        """What was really done to it."""

    def set_limits(self, limits: VolumeLimits) -> None:
        """Change its limits from now on."""

    def set_initialized_fraction(self, fraction: float) -> None:
        """Make this share of its written blocks local, in block order."""

    def inject(self, fault: str) -> None:
        """Inject a fault, in the words of first-touch's control protocol."""

    def note_traffic(self, traffic: VolumeCounters) -> None:
        """Take note of what went through a block device that is released now."""

    def at_rest(self) -> AbstractContextManager[None]:
        """Nothing is written while its bytes are copied. Raises DataPlaneError where that failed."""

    def stop(self) -> None:
        """End it; requests that are under way fail."""


class FirstTouchVolume:
    """A volume whose snapshot blocks are slow at their first read."""

    def __init__(
        self, folder: Path, request: VolumeRequest, settings: FirstTouchSettings, program: Path | None = None
    ) -> None:
        extents = folder / "extents"
        runs = request.image.extents if request.image else ()
        extents.write_text("".join(f"{first} {count}\n" for first, count in runs))
        arguments = ["--backing", os.fspath(folder / "backing"), "--extents", os.fspath(extents)]
        arguments += ["--size-bytes", str(request.size_gib * GIB), *limit_arguments(request.limits)]
        arguments += settings.arguments(request.volume_id) + (["--warm"] if request.warm else [])
        self.first_touch = FirstTouch(folder, request.volume_id, arguments, program)
        self.path = self.first_touch.path
        self.image = SnapshotImage(request.volume_id, request.size_gib, runs, folder / "backing")

    def counters(self) -> VolumeCounters:
        stats = self.first_touch.ask("stats")
        return VolumeCounters(**{field.name: stats[field.name] for field in fields(VolumeCounters)})

    def set_limits(self, limits: VolumeLimits) -> None:
        self.first_touch.ask(f"limits {limits.iops} {limits.throughput_mib_s}")

    def set_initialized_fraction(self, fraction: float) -> None:
        self.first_touch.ask(f"initialize {fraction:.9f}")

    def inject(self, fault: str) -> None:
        self.first_touch.ask(f"fault {fault}")

    def note_traffic(self, traffic: VolumeCounters) -> None:
        """Nothing to do: the file system counts for itself."""

    def at_rest(self) -> AbstractContextManager[None]:
        return self.first_touch.held()

    def stop(self) -> None:
        self.first_touch.stop()


class PlainVolume:
    """A volume without a first-touch penalty: its blocks are all local, and which were read is not known."""

    def __init__(self, folder: Path, request: VolumeRequest) -> None:
        self.path = folder / request.volume_id
        (folder / "backing").rename(self.path)
        os.truncate(self.path, request.size_gib * GIB)
        runs = request.image.extents if request.image else ()
        self.image = SnapshotImage(request.volume_id, request.size_gib, runs, self.path)
        self._counters = VolumeCounters(
            written_blocks=request.written_blocks, fetched_blocks=request.written_blocks
        )

    def counters(self) -> VolumeCounters:
        return self._counters

    def set_limits(self, limits: VolumeLimits) -> None:
        """A plain file has no limits."""

    def set_initialized_fraction(self, fraction: float) -> None:
        """Everything is local already."""

    def inject(self, fault: str) -> None:
        raise DataPlaneError(f"fault '{fault}' needs first-touch; {self.path.name} is a plain file")

    def note_traffic(self, traffic: VolumeCounters) -> None:
        self._counters = add_counters(self._counters, traffic)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Nobody can hold the writers of a plain file: a copy of one that was written to is refused."""
        before = self.path.stat().st_mtime_ns
        yield
        if self.path.stat().st_mtime_ns != before:
            raise DataPlaneError(f"{self.path.name} was written to while it was copied; that needs FUSE")

    def stop(self) -> None:
        """Nothing runs."""


def add_counters(left: VolumeCounters, right: VolumeCounters) -> VolumeCounters:
    """The sum, field by field."""
    names = [field.name for field in fields(VolumeCounters)]
    return VolumeCounters(**{name: getattr(left, name) + getattr(right, name) for name in names})


def make_backing(path: Path, image: SnapshotImage | None, size_gib: int) -> None:
    """The volume's bytes: a sparse copy of the snapshot, or zeros where it has no data here."""
    if image is not None and image.path is not None:
        for segment in _segments(image.path):
            target = path.with_name(path.name + segment.name.removeprefix(image.path.name))
            run_tool("cp", "--reflink=auto", "--sparse=always", segment, target, timeout_seconds=3600)
    else:
        path.touch(mode=0o600)
    os.truncate(path, min(size_gib * GIB, MAX_FILE_BYTES))


def _segments(path: Path) -> list[Path]:
    """The file, and those in which first-touch keeps what lies beyond 8 TiB: path.1, path.2, …"""
    beyond = [other for other in path.parent.glob(f"{path.name}.*") if other.suffix[1:].isdigit()]
    return [path, *sorted(beyond)]


def delete_folder(folder: Path) -> None:
    """Remove a volume's files."""
    shutil.rmtree(folder, ignore_errors=True)


def make_volume(
    folder: Path, request: VolumeRequest, settings: FirstTouchSettings
) -> tuple[Volume, str | None]:
    """Make the volume in a new folder; with it a note when it had to become a plain file."""
    if request.image is not None and request.image.size_gib > request.size_gib:
        raise DataPlaneError(
            f"volume {request.volume_id} of {request.size_gib} GiB cannot hold a snapshot of "
            f"{request.image.size_gib} GiB"
        )
    try:
        folder.mkdir()
    except FileExistsError as error:
        raise DataPlaneError(f"volume {request.volume_id} exists") from error
    try:
        make_backing(folder / "backing", request.image, request.size_gib)
        try:
            return FirstTouchVolume(folder, request, settings), None
        except FuseUnavailableError as error:
            note = f"volumes are plain files: reads are never cold, blocks read are not counted ({error})"
            return PlainVolume(folder, request), note
    except OSError as error:
        delete_folder(folder)
        raise DataPlaneError(f"volume {request.volume_id} cannot be made: {error}") from error
    except DataPlaneError:
        delete_folder(folder)
        raise
