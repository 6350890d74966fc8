"""Kills the agent again and again, each time at another moment, and resumes; the volume counts what was read.

What is in flight at a kill is read to its end by the kernel, but nobody is left to remember it: those blocks
are read twice, and no others may be.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError, VolumeLimits
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.tools.bench.cold_volume import ColdVolume, cold_volume
from local.tools.bench.session import Session
from local.tools.bench.specs import VolumeSpec
from local.tools.bench.tools import tool_settings

CHECK_SECONDS = 0.002
BEGINNING_SECONDS = 0.02
"""One kill in ten comes this soon after a start: device, state and engine are just being opened then."""
SHARE_AT_BEGINNING = 0.1
JITTER_SECONDS = 0.05
PATIENCE_SECONDS = 600.0
"""No run lasts longer without another kill or its end."""
ALLOWED = 0.01
GIB_PER_KILL = 4.0
TEN_TIMES = FirstTouchSettings(mean_latency_ms=9.1, read_latency_ms=0.1)


def kill_volume(kills: int, size_gib: float | None) -> VolumeSpec:
    """A gp3 of 125 MiB/s in a tenth of the time: as many reads are on their way, and hours are minutes.

    With 23 reads on their way (125 MiB/s, 91 ms), that many blocks at least are lost to each kill; so the
    size goes with the number of kills.
    """
    return VolumeSpec(
        name="kill",
        text="1,250 MiB/s and 9.1 ms a first touch, which is 125 MiB/s in a tenth of the time",
        size_gib=kills * GIB_PER_KILL if size_gib is None else size_gib,
        limits=VolumeLimits(iops=30_000, throughput_mib_s=1_250),
        settings=TEN_TIMES,
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill: so long after the volume has had so many of its blocks read."""

    read_blocks: int
    delay_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KillResult:
    """What the volume says after the last run."""

    tool: str
    kills: int
    """Starts that were killed; one that had ended before is not counted."""
    seconds: float
    written_blocks: int
    unread_blocks: int
    reread_blocks: int
    reread_bytes: int
    most_in_flight: int
    """The most reads that the volume had not answered when a kill came."""
    mean_in_flight: float

    @property
    def reread_share(self) -> float:
        """Bytes read again / bytes to be read."""
        return self.reread_bytes / (self.written_blocks * BLOCK_BYTES)

    @property
    def is_good(self) -> bool:
        return self.unread_blocks == 0 and self.reread_share <= ALLOWED


def kill_line(found: KillResult) -> str:
    """One line."""
    per_kill = found.reread_bytes / BLOCK_BYTES / max(1, found.kills)
    return (
        f"{found.tool:<14} killed {found.kills} times in {found.seconds:.0f} s  "
        f"{found.unread_blocks} of {found.written_blocks:,} blocks not read  "
        f"{found.reread_blocks:,} read more than once, {found.reread_share:.2%} of the bytes, "
        f"{per_kill:.0f} blocks a kill: {'good' if found.is_good else 'NOT GOOD'}"
    )


def moments(kills: int, written_blocks: int, seed: int) -> list[Moment]:
    """Spread over the whole run, in order; some of them right after the start that went before."""
    generator = random.Random(seed)
    found = []
    for read_blocks in sorted(generator.randrange(written_blocks) for _ in range(kills)):
        at_beginning = generator.random() < SHARE_AT_BEGINNING
        delay_seconds = generator.uniform(0, BEGINNING_SECONDS if at_beginning else JITTER_SECONDS)
        found.append(Moment(0 if at_beginning else read_blocks, delay_seconds))
    return found


def check_kills(
    session: Session, spec: VolumeSpec, tool: str, kills: int, seed: int, options: Sequence[str] = ()
) -> KillResult:
    """Kill so often, then let the agent end; raises when that last run does not say that all is read."""
    with cold_volume(session.volumes, spec, f"vol-kill-{seed}", session.backing.path) as volume:
        command = tool_settings(tool, session.agent)[0].commands(volume, spec)[0]
        command += ["--state", str(volume.folder / "state"), *options]
        began = time.monotonic()
        in_flight = []
        for moment in moments(kills, spec.written_blocks, seed):
            found = _kill_at(command, volume, moment)
            in_flight += [] if found is None else [found]
        _finish(command, volume)
        seconds, stats = time.monotonic() - began, volume.stats()
    return KillResult(
        tool=tool,
        kills=len(in_flight),
        seconds=seconds,
        written_blocks=stats["written_blocks"],
        unread_blocks=stats["written_blocks"] - stats["read_blocks"],
        reread_blocks=stats["reread_blocks"],
        reread_bytes=stats["reread_bytes"],
        most_in_flight=max(in_flight, default=0),
        mean_in_flight=sum(in_flight) / max(1, len(in_flight)),
    )


@contextmanager
def _agent(command: list[str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("wb") as stream:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _kill_at(command: list[str], volume: ColdVolume, moment: Moment) -> int | None:
    """The reads in flight at the kill; None when the agent had ended before it."""
    with _agent(command, volume.folder / "output-0") as process:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while volume.stats()["read_blocks"] < moment.read_blocks and process.poll() is None:
            if time.monotonic() > give_up:
                raise DataPlaneError(f"{moment.read_blocks} blocks were not read in {PATIENCE_SECONDS:g} s")
            time.sleep(CHECK_SECONDS)
        time.sleep(moment.delay_seconds)
        in_flight = int(volume.stats()["in_flight"])
        if process.poll() is None:
            return in_flight
    if process.returncode:
        raise DataPlaneError(f"the agent ended with exit status {process.returncode}: {_said(volume)}")
    return None


def _finish(command: list[str], volume: ColdVolume) -> None:
    with _agent(command, volume.folder / "output-0") as process:
        try:
            status = process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise DataPlaneError(f"the last run took more than {PATIENCE_SECONDS:g} s") from error
    if status:
        raise DataPlaneError(f"the last run ended with exit status {status}: {_said(volume)}")


def _said(volume: ColdVolume) -> str:
    return (volume.folder / "output-0").read_text(encoding="utf-8", errors="replace").strip()[-300:]
