"""The benchmarks as users know them, as data: the options of fio, and what they need."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

LEAST_RUNTIME_SECONDS, MOST_RUNTIME_SECONDS = 5, 3_600
LAYOUT_SECONDS = 180
"""fio writes the scratch files before it measures, and a cold volume or a busy share takes its time."""
FREE_SHARE = 1.1
"""A file system needs more than its files' bytes."""


class PatternName(StrEnum):
    """How a benchmark is called, everywhere."""

    RANDOM_READ = "random-read"
    RANDOM_WRITE = "random-write"
    CACHE = "cache"
    UPLOAD = "upload"
    INIT = "init"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One benchmark. `size_mib` is each job's scratch file; on a device fio goes over the whole of it."""

    name: PatternName
    text: str
    rw: str
    block_kib: int
    size_mib: int
    runtime_seconds: int
    jobs: int = 1
    depth: int = 1
    engine: str = "psync"
    is_direct: bool = True
    read_percent: int | None = None

    @property
    def writes(self) -> bool:
        """Runs on a scratch file only, never on a device."""
        return self.rw in {"write", "randwrite", "randrw"}

    @property
    def in_flight(self) -> int:
        """Requests at the same time, of all jobs together."""
        return self.jobs * self.depth

    @property
    def scratch_mib(self) -> int:
        """Free space that the scratch files need."""
        return round(self.jobs * self.size_mib * FREE_SHARE)

    def arguments(self, runtime_seconds: int | None = None) -> list[str]:
        """Fio's flags, without where: that and the size on a device are the document's."""
        flags = [f"--rw={self.rw}", f"--bs={self.block_kib}k", f"--ioengine={self.engine}"]
        flags += [f"--rwmixread={self.read_percent}"] if self.read_percent is not None else []
        flags += [f"--iodepth={self.depth}"] if self.depth > 1 else []
        flags += ["--direct=1"] if self.is_direct else []
        flags += [f"--size={self.size_mib}M", f"--numjobs={self.jobs}", "--group_reporting"]
        return [*flags, "--time_based", f"--runtime={runtime_seconds or self.runtime_seconds}"]

    def limit_seconds(self, runtime_seconds: int | None = None) -> int:
        """After so long one run is ended."""
        return (runtime_seconds or self.runtime_seconds) + LAYOUT_SECONDS


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        Pattern(
            name=PatternName.RANDOM_READ,
            text="random reads of 4 KiB, one at a time",
            rw="randread",
            block_kib=4,
            size_mib=256,
            runtime_seconds=60,
        ),
        Pattern(
            name=PatternName.RANDOM_WRITE,
            text="random writes of 4 KiB, one at a time, to a scratch file",
            rw="randwrite",
            block_kib=4,
            size_mib=256,
            runtime_seconds=60,
        ),
        Pattern(
            name=PatternName.CACHE,
            text="70 % reads and 30 % writes of 4 KiB, 16 jobs with a file of 100 MiB each",
            rw="randrw",
            block_kib=4,
            size_mib=100,
            runtime_seconds=60,
            jobs=16,
            is_direct=False,
            read_percent=70,
        ),
        Pattern(
            name=PatternName.UPLOAD,
            text="sequential writes of 1 MiB, 4 jobs with a file of 50 MiB each",
            rw="write",
            block_kib=1024,
            size_mib=50,
            runtime_seconds=60,
            jobs=4,
            is_direct=False,
        ),
        Pattern(
            name=PatternName.INIT,
            text="sequential reads of 1 MiB, 32 at a time",
            rw="read",
            block_kib=1024,
            size_mib=512,
            runtime_seconds=60,
            depth=32,
            engine="libaio",
        ),
    )
}
"""`cache` and `upload` go through the page cache, as those who published them ran them. `init` reads as the
EBS user guide says (https://docs.aws.amazon.com/ebs/latest/userguide/initalize-volume.html)."""
ON_DEVICE = tuple(name for name, pattern in PATTERNS.items() if not pattern.writes)
"""What may run on a device: nothing that writes."""
