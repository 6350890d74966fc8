"""The order of the runs, and each of them: a cold volume, a tool, a check that all is warm."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from local import Json
from local.tools.bench.cold_volume import ColdVolume, cold_volume
from local.tools.bench.measure import run
from local.tools.bench.record import SCREENED, Run, best_setting, is_touch
from local.tools.bench.session import Session
from local.tools.bench.specs import DD, TOUCH, VolumeSpec, physical_limit
from local.tools.bench.tools import Tool, agent_result, knows_touch, tool_settings

PATIENCE = 60.0
"""A tool may take this many times the physical limit, and a minute, before it is killed."""


def run_rounds(
    session: Session,
    specs: Sequence[VolumeSpec],
    rounds: int,
    wanted: Callable[[str], bool],
    tell: Callable[[Run], None],
) -> list[Run]:
    """Every tool on every volume, once a round, each time in another order."""
    runs: list[Run] = []
    for number in range(1, rounds + 1):
        for spec in specs:
            for tool in tools_of_round(session, spec, number, runs, wanted):
                done = run_once(session, spec, tool, number)
                runs.append(done)
                tell(done)
    return runs


def tools_of_round(
    session: Session, spec: VolumeSpec, number: int, runs: Sequence[Run], wanted: Callable[[str], bool]
) -> list[Tool]:
    """The tools of this round, beginning with another one each time."""
    names = [*spec.tools, *(spec.once if number == 1 else ())]
    found: list[Tool] = []
    for name in names:
        if wanted(name) and (name != TOUCH or knows_touch(session.agent)):
            best = best_setting(runs, spec.name, name) if name in SCREENED else None
            settings = tool_settings(name, session.agent)
            found += [tool for tool in settings if best is None or tool.setting == best]
    first = (number - 1) % len(found) if found else 0
    return found[first:] + found[:first]


def run_once(session: Session, spec: VolumeSpec, tool: Tool, number: int) -> Run:
    """One tool on one fresh volume; within a round all tools meet the same latencies in the same places."""
    timeout_seconds = 60 + PATIENCE * physical_limit(spec).seconds
    # dd reads through the page cache of a block device, which no file of the volume has.
    placed = replace(spec, on_file=spec.on_file and tool.name != DD)
    with cold_volume(session.volumes, placed, f"vol-{number}", session.backing.path) as volume:
        commands = tool.commands(volume, spec)
        cpu_before, began_ns = volume.cpu_seconds(), time.monotonic_ns()
        with volume.changing(spec.changed_limits, spec.change_after_seconds):
            usage = run(commands, volume.folder, timeout_seconds)
        stats, account = volume.stats(), agent_result(volume.folder)
        complaint = str(account.get("error") or _last_line(volume))
        return Run(
            volume=spec.name,
            tool=tool.name,
            setting=tool.setting,
            round=number,
            seconds=reading_seconds(stats, began_ns),
            wall_seconds=usage.seconds,
            cpu_seconds=usage.cpu_seconds,
            peak_mib=usage.peak_mib,
            volume_cpu_seconds=volume.cpu_seconds() - cpu_before,
            void=why_void(usage.status, stats, complaint, touch=is_touch(tool.name)),
            note=note_of(tool, account),
        )


def reading_seconds(stats: Json, began_ns: int) -> float:
    """From the first read to the last answer; what udev read before the tool began does not count."""
    first_ns = max(began_ns, int(stats["first_read_ns"]))
    return max(0, int(stats["last_read_ns"]) - first_ns) / 1e9


def why_void(status: int, stats: Json, complaint: str, *, touch: bool) -> str:
    """Why a run does not count: it failed, or by the volume's own count something is not warm or not read."""
    if status:
        return f"exit status {status}: {complaint}"
    written = stats["written_blocks"]
    if stats["fetched_blocks"] != written:
        return f"only {stats['fetched_blocks']} of {written} written blocks are local"
    if not touch and stats["read_blocks"] != written:
        return f"only {stats['read_blocks']} of {written} written blocks were read to their end"
    return f"{stats['read_errors']} reads failed" if stats["read_errors"] else ""


def _last_line(volume: ColdVolume) -> str:
    lines = (volume.folder / "output-0").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"


def note_of(tool: Tool, account: Json) -> str:
    """What the agent says about how it went: the depth that it found, and how touch was taken."""
    if not tool.name.startswith("agent"):
        return ""
    words = [f"depth {account['depth']}"] if "depth" in account else []
    touch = account.get("touch")
    if tool.name == TOUCH and touch is not None:
        state = touch.get("state", touch.get("verdict", "")) if isinstance(touch, dict) else str(touch)
        words.append(f"touch {state}")
    return ", ".join(words)
