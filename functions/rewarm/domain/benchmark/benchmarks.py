"""The benchmarks as users know them, as data: which options fio gets, and what it then needs.

Their results side by side: the rank of each, and which limit it met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum

from rewarm.domain.benchmark.fio_output import FioResult
from rewarm.domain.model import InstanceEbsLimits
from rewarm.domain.value import Value

LEAST_RUNTIME_SECONDS, MOST_RUNTIME_SECONDS = 5, 3_600
LAYOUT_SECONDS = 180
"""fio writes the scratch files before it measures, and a cold volume or a busy share takes its time."""
FREE_SHARE = 1.1
"""A file system needs more than its files' bytes."""

EBS_IO_KIB = 256
"""Larger requests count several times (EBS user guide, "I/O characteristics and monitoring")."""
MET_FROM, MET_TO = 0.9, 1.15
"""A run between these shares of a limit has met it; the page cache and bursts of a second let it be above."""


class PatternName(StrEnum):
    """How a benchmark is called, everywhere."""

    RANDOM_READ = "random-read"
    RANDOM_WRITE = "random-write"
    CACHE = "cache"
    UPLOAD = "upload"
    INIT = "init"


class Pattern(Value, kw_only=True):
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
        """Seconds after which one run is ended."""
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


class Provisioned(Value):
    """What a volume or file system is said to give; None where nobody says."""

    iops: float | None = None
    throughput_mib_s: float | None = None


class BenchmarkLimit(Value):
    """Which limit the run met."""

    name: str
    """volume-iops, volume-throughput, instance-iops, instance-throughput, cache, depth or unknown."""
    share: float | None = None
    text: str = field(kw_only=True)


class _Candidate(Value):
    name: str
    reached: float
    limit: float
    unit: str

    @property
    def share(self) -> float:
        return self.reached / self.limit


def ranks(results: Sequence[FioResult]) -> list[int]:
    """1 is the most I/O a second; equals share a rank. All are of one pattern, so of one block size."""
    totals = [result.total_iops for result in results]
    return [1 + sum(other > own for other in totals) for own in totals]


def met_limit(
    pattern: Pattern, result: FioResult, own: Provisioned, instance: InstanceEbsLimits | None
) -> BenchmarkLimit:
    """Which limit kept the run from being faster. `instance` is None for what is no EBS volume."""
    requests = result.total_iops * max(1.0, pattern.block_kib / EBS_IO_KIB)
    volume = _candidates("volume", requests, result.total_mib_s, own)
    candidates = volume + _of_instance(requests, result.total_mib_s, instance)
    met = [candidate for candidate in candidates if MET_FROM <= candidate.share <= MET_TO]
    if met:
        return _at_limit(met[0])
    beyond = [candidate for candidate in volume if candidate.share > MET_TO]
    if beyond:
        return _cached(max(beyond, key=lambda candidate: candidate.share))
    return _waited(pattern, result, is_limit_known=bool(candidates))


def _of_instance(requests: float, mib_s: float, limits: InstanceEbsLimits | None) -> list[_Candidate]:
    if limits is None:
        return []
    most = Provisioned(limits.maximum_iops, limits.maximum_throughput_mib_s)
    base = Provisioned(limits.baseline_iops, limits.baseline_throughput_mib_s)
    found = _candidates("instance", requests, mib_s, most)
    return found + (_candidates("instance", requests, mib_s, base) if base != most else [])


def _candidates(whose: str, requests: float, mib_s: float, limits: Provisioned) -> list[_Candidate]:
    found = []
    if limits.iops:
        found.append(_Candidate(f"{whose}-iops", requests, limits.iops, "IOPS"))
    if limits.throughput_mib_s:
        found.append(_Candidate(f"{whose}-throughput", mib_s, limits.throughput_mib_s, "MiB/s"))
    return found


def _at_limit(candidate: _Candidate) -> BenchmarkLimit:
    whose = candidate.name.partition("-")[0]
    return BenchmarkLimit(
        candidate.name,
        round(candidate.share, 3),
        text=f"the {whose}'s {candidate.limit:,.0f} {candidate.unit}: {candidate.reached:,.0f} were reached",
    )


def _cached(met: _Candidate) -> BenchmarkLimit:
    return BenchmarkLimit(
        "cache",
        round(met.share, 3),
        text=f"none: {met.reached:,.0f} {met.unit} are more than {met.limit:,.0f}, so a cache answered",
    )


def _waited(pattern: Pattern, result: FioResult, *, is_limit_known: bool) -> BenchmarkLimit:
    """In a closed loop, requests in flight divided by the time of one bound the requests a second."""
    depth = f"{pattern.in_flight} in flight, {result.mean_ms:.2f} ms each"
    if not is_limit_known:
        return BenchmarkLimit("unknown", text=f"no limit is known ({depth})")
    return BenchmarkLimit("depth", text=f"depth: {depth}; more in flight would give more")
