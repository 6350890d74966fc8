"""Benchmarks side by side: the rank of each, and which limit it met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewarm.domain.benchmark.benchmarks import Pattern
from rewarm.domain.benchmark.fio_output import FioResult
from rewarm.domain.model import InstanceEbsLimits

EBS_IO_KIB = 256
"""Larger requests count several times (EBS user guide, "I/O characteristics and monitoring")."""
MET_FROM, MET_TO = 0.9, 1.15
"""A run between these shares of a limit has met it; the page cache and bursts of a second let it be above."""


@dataclass(frozen=True, slots=True)
class Provisioned:
    """What a volume or file system is said to give; None where nobody says."""

    iops: float | None = None
    throughput_mib_s: float | None = None


@dataclass(frozen=True, slots=True)
class MetLimit:
    """`name`: volume-iops, volume-throughput, instance-iops, instance-throughput, cache, depth or unknown."""

    name: str
    share: float | None
    text: str


@dataclass(frozen=True, slots=True)
class _Candidate:
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
) -> MetLimit:
    """Which limit kept the run from being faster. `instance` is None for what is no EBS volume."""
    requests = result.total_iops * max(1.0, pattern.block_kib / EBS_IO_KIB)
    volume = _candidates("volume", requests, result.total_mib_s, own)
    candidates = volume + _of_instance(requests, result.total_mib_s, instance)
    met = [candidate for candidate in candidates if MET_FROM <= candidate.share <= MET_TO]
    if met:
        return _told(met[0])
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


def _told(one: _Candidate) -> MetLimit:
    whose = one.name.partition("-")[0]
    return MetLimit(
        one.name,
        round(one.share, 3),
        f"the {whose}'s {one.limit:,.0f} {one.unit}: {one.reached:,.0f} were reached",
    )


def _cached(one: _Candidate) -> MetLimit:
    return MetLimit(
        "cache",
        round(one.share, 3),
        f"none: {one.reached:,.0f} {one.unit} are more than {one.limit:,.0f}, so a cache answered",
    )


def _waited(pattern: Pattern, result: FioResult, *, is_limit_known: bool) -> MetLimit:
    """A closed loop: so many requests in flight, each taking so long, give so many a second and no more."""
    depth = f"{pattern.in_flight} in flight, {result.mean_ms:.2f} ms each"
    if not is_limit_known:
        return MetLimit("unknown", None, f"no limit is known ({depth})")
    return MetLimit("depth", None, f"depth: {depth}; more in flight would give more")
