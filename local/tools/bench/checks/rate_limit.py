"""How closely `--max-mib-s` is kept, by the volume's own count.

The volume counts what it is asked for, which is what the agent can hold even, and what it gives: the first
read of a block takes a tenth of a second more or less, so of a cold volume that comes less evenly. `warmer
apply` writes and reads back; both count.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from local.aws.machines.dataplane import DataPlaneError
from local.tools.bench.checks.applying import AGENT, apply_spec, delta_of
from local.tools.bench.cold_volume import ColdVolume, cold_volume
from local.tools.bench.measure import Running
from local.tools.bench.session import Session
from local.tools.bench.specs import COMMON, MIB, SPECS, VolumeSpec
from local.tools.bench.tools import tool_settings

WINDOW_SECONDS = 5.0
SAMPLE_SECONDS = 0.01
ALLOWED = 0.02
SPARE = 1.5
"""A volume has so many times the bytes that are read meanwhile: its end stays outside."""

Sample = tuple[float, int]
"""When, in seconds, and the bytes by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long is looked."""

    lead_seconds: float = 2.0
    """The beginning is left out: until the first blocks are back nothing is given."""
    measured_seconds: float = 20.0
    window_seconds: float = WINDOW_SECONDS


@dataclass(frozen=True, slots=True)
class Rates:
    """Over all of it, and over the window in which they are the least and the most."""

    mean_mib_s: float
    least_mib_s: float
    most_mib_s: float

    def off(self, limit_mib_s: float) -> float:
        """The larger of both distances, as a share of the limit."""
        return max(limit_mib_s - self.least_mib_s, self.most_mib_s - limit_mib_s) / limit_mib_s


@dataclass(frozen=True, slots=True)
class RateResult:
    """One engine on one volume."""

    tool: str
    volume: str
    limit_mib_s: float
    asked: Rates
    given: Rates

    @property
    def is_kept(self) -> bool:
        """By what the volume is asked for."""
        return self.asked.off(self.limit_mib_s) <= ALLOWED


def check_rate_limit(
    session: Session,
    tools: Sequence[str],
    limit_mib_s: float,
    tell: Callable[[str], None],
    timing: Timing | None = None,
) -> list[RateResult]:
    """Every engine, on a cold volume, on a warm one, and where blocks are written."""
    found = []
    for tool in tools:
        for volume in ("cold", "warm"):
            found.append(_while_read(session, tool, volume, limit_mib_s, timing or Timing()))
            tell(rate_line(found[-1]))
        found.append(_while_written(session, tool, limit_mib_s, timing or Timing()))
        tell(rate_line(found[-1]))
    return found


def rate_line(found: RateResult) -> str:
    """One line."""
    limit = found.limit_mib_s
    parts = [
        f"{name} {rates.mean_mib_s:.2f} ({rates.least_mib_s:.2f}-{rates.most_mib_s:.2f}), "
        f"off by {rates.off(limit):.2%}"
        for name, rates in (("asked for", found.asked), ("given", found.given))
    ]
    verdict = "kept" if found.is_kept else "NOT KEPT"
    return f"{found.tool:<14} {found.volume} volume  limit {limit:g} MiB/s  {'; '.join(parts)}: {verdict}"


def rates_of(samples: Sequence[Sample], window_seconds: float) -> Rates:
    """Over each window that begins at a sample and ends at the first one that is so much later."""
    times = [at for at, _ in samples]
    rates = []
    for began, before in samples:
        end = bisect_left(times, began + window_seconds)
        if end == len(samples):
            break
        rates.append((samples[end][1] - before) / MIB / (times[end] - began))
    if not rates:
        raise DataPlaneError(f"the samples span less than {window_seconds:g} s")
    (began, before), (ended, after) = samples[0], samples[-1]
    return Rates((after - before) / MIB / (ended - began), min(rates), max(rates))


def _while_read(session: Session, tool: str, name: str, limit_mib_s: float, timing: Timing) -> RateResult:
    spec = SPECS[0].sized(max(SPECS[0].size_gib, _needed_mib(limit_mib_s, timing) / 1024))

    def command(volume: ColdVolume) -> list[str]:
        return tool_settings(tool, session.agent)[0].commands(volume, spec)[0]

    return _measure(session, RateRun(tool, name, spec, command, limit_mib_s), timing)


def _while_written(session: Session, tool: str, limit_mib_s: float, timing: Timing) -> RateResult:
    """Each block is written and read back, and a quarter of the volume is written."""
    spec = apply_spec(COMMON, _needed_mib(limit_mib_s, timing) * 4 / 2 / 1024)
    with delta_of(session, spec) as delta:

        def command(volume: ColdVolume) -> list[str]:
            return [*delta.commands(AGENT, session.agent, volume)[0], "--engine", tool.removeprefix("agent-")]

        return _measure(session, RateRun(tool, "written", spec, command, limit_mib_s), timing)


def _needed_mib(limit_mib_s: float, timing: Timing) -> float:
    return limit_mib_s * (timing.lead_seconds + timing.measured_seconds) * SPARE


@dataclass(frozen=True, slots=True)
class RateRun:
    """What is run, and on which volume."""

    tool: str
    name: str
    spec: VolumeSpec
    command: Callable[[ColdVolume], list[str]]
    limit_mib_s: float


def _measure(session: Session, rate: RateRun, timing: Timing) -> RateResult:
    with cold_volume(session.volumes, rate.spec, "vol-rate", session.backing.path) as volume:
        if rate.name != "cold":
            volume.initialize(1.0)
        command = [*rate.command(volume), "--max-mib-s", f"{rate.limit_mib_s:g}"]
        running = Running([command], volume.folder)
        try:
            time.sleep(timing.lead_seconds)
            asked, given = _sample(volume, timing.measured_seconds)
        finally:
            running.kill()
    rates = (rates_of(samples, timing.window_seconds) for samples in (asked, given))
    return RateResult(rate.tool, rate.name, rate.limit_mib_s, *rates)


def _sample(volume: ColdVolume, seconds: float) -> tuple[list[Sample], list[Sample]]:
    asked: list[Sample] = []
    given: list[Sample] = []
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        stats = volume.stats()
        asked.append((now, int(stats["asked_bytes"])))
        given.append((now, int(stats["read_bytes"]) + int(stats["write_bytes"])))
        time.sleep(SAMPLE_SECONDS)
    return asked, given
