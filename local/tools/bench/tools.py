"""The command with which each tool reads a volume, and how its output is parsed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from local import ROOT, Json
from local.aws.machines.dataplane import BLOCK_BYTES, DataPlaneError
from local.tools.bench.cold_volume import ColdVolume
from local.tools.bench.measure import GNU_TIME
from local.tools.bench.specs import (
    DD,
    FIO_AWS,
    FIO_BEST,
    FIO_BEST_MAP,
    IO_URING,
    MIB,
    PARALLEL_DD,
    THREADS,
    TOUCH,
    VolumeSpec,
)

AGENT = ROOT / "warmer" / "build" / "warmer"
DD_PROCESSES = 16


@dataclass(frozen=True, slots=True)
class FioSetting:
    """One way to let fio read."""

    engine: str
    block_kib: int
    depth: int

    @property
    def text(self) -> str:
        return f"{self.engine} {self.block_kib}k x{self.depth}"


AWS_SETTING = FioSetting("libaio", 1024, 32)
"""https://docs.aws.amazon.com/ebs/latest/userguide/initalize-volume.html"""
FIO_SETTINGS = (
    FioSetting("io_uring", 512, 128),
    FioSetting("io_uring", 512, 256),
    FioSetting("io_uring", 512, 512),
    FioSetting("libaio", 512, 256),
    AWS_SETTING,
)
"""The first round runs them all; the later rounds run only the fastest, which is fio's best."""
FIO_MAP_SETTINGS = tuple(FioSetting("libaio", 512, depth) for depth in (64, 128, 256, 512))
"""As FIO_SETTINGS. With io_uring fio 3.33 ends at the end of a log without waiting for the last reads."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool with one setting."""

    name: str
    setting: str
    commands: Callable[[ColdVolume, VolumeSpec], list[list[str]]]


def tool_settings(name: str, agent: Path = AGENT) -> list[Tool]:
    """The tool with each of its settings; most have one."""
    if name == DD:
        return [Tool(name, "bs=1M", lambda volume, _: [_dd(volume)])]
    if name == PARALLEL_DD:
        return [Tool(name, f"bs=1M direct x{DD_PROCESSES}", _parallel_dd)]
    if name == FIO_AWS:
        return [_fio(name, AWS_SETTING)]
    if name in {FIO_BEST, FIO_BEST_MAP}:
        settings = FIO_MAP_SETTINGS if name == FIO_BEST_MAP else FIO_SETTINGS
        return [_fio(name, setting) for setting in settings]
    options = {IO_URING: ["--engine", "io_uring"], THREADS: ["--engine", "threads"], TOUCH: ["--touch"]}
    return [Tool(name, "auto", lambda volume, _: [_agent(agent, volume, options[name])])]


def _dd(volume: ColdVolume) -> list[str]:
    return ["dd", f"if={volume.target}", "of=/dev/null", "bs=1M"]


def _parallel_dd(volume: ColdVolume, spec: VolumeSpec) -> list[list[str]]:
    share = spec.size_bytes // MIB // DD_PROCESSES
    part = [*_dd(volume), "iflag=direct", f"count={share}"]
    return [[*part, f"skip={number * share}"] for number in range(DD_PROCESSES)]


def _agent(agent: Path, volume: ColdVolume, options: list[str]) -> list[str]:
    return [str(agent), "warm", volume.target, "--map", str(volume.map_path), "--progress", "none", *options]


def _fio(name: str, setting: FioSetting) -> Tool:
    def commands(volume: ColdVolume, spec: VolumeSpec) -> list[list[str]]:
        command = [
            "fio",
            "--rw=read",
            f"--bs={setting.block_kib}k",
            f"--iodepth={setting.depth}",
            f"--ioengine={setting.engine}",
            "--direct=1",
            "--name=volume-initialize",
        ]
        if name == FIO_BEST_MAP:
            return [[*command, f"--read_iolog={_reading_log(volume, spec)}", "--replay_no_stall=1"]]
        return [[*command, f"--filename={volume.target}"]]

    return Tool(name, setting.text, commands)


def _reading_log(volume: ColdVolume, spec: VolumeSpec) -> Path:
    """The written blocks as a log that fio replays: the same bytes as the agent reads."""
    path = volume.folder / "reads.log"
    lines = ["fio version 2 iolog", f"{volume.target} add", f"{volume.target} open"]
    for first, count in spec.extents:
        lines += [
            f"{volume.target} read {block * BLOCK_BYTES} {BLOCK_BYTES}"
            for block in range(first, first + count)
        ]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def agent_result(folder: Path) -> Json:
    """The agent's last line; empty where it is none."""
    lines = (folder / "output-0").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@cache
def knows_touch(agent: Path) -> bool:
    """Whether this agent has --touch."""
    help_text = subprocess.run([agent, "--help"], capture_output=True, text=True, check=False).stdout
    return "--touch" in help_text


def require_tools(agent: Path, tools: Iterable[str]) -> None:
    """Say what is missing before anything is measured."""
    programs = {"fio" if tool.startswith("fio") else "dd" for tool in tools} | {"losetup", GNU_TIME}
    missing = sorted(name for name in programs if shutil.which(name) is None)
    if missing:
        raise DataPlaneError(f"not installed: {', '.join(missing)}; `make bench` installs them when root")
    if not agent.exists():
        raise DataPlaneError(f"{agent} is missing: build it with `make -C warmer`")
