"""kill_run.py WARMER DEVICE OLD NEW DELTA KILLS SEED: kill `warmer run --action=apply` on a block device at random.

Each kill is a trial with a device as OLD is. It meets the agent alone, `warmer run` alone, or both, and the
agent writes through io_uring or threads in turn. A run that lives must end the application by itself; another
one goes on as the same command. Each time the device must become NEW. The device is as fast as RATE_MIB_S
through a control group's limit, or where there is none, through the agent's own.
"""

from __future__ import annotations

import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

RATE_MIB_S = 80
MIB = 1_048_576
PATIENCE_SECONDS = 150
BLOCK = 524_288
VOLUME = "vol-0123456789abcdef0"
ENGINES = ("io_uring", "threads")
VICTIMS = ("agent", "run", "both")


@dataclass
class Throttle:
    """A control group in which the device is slow."""

    device: str
    folder: Path | None = None

    def open(self) -> None:
        """Make the group, of whichever version there is."""
        node = os.stat(self.device).st_rdev
        number, rate = f"{os.major(node)}:{os.minor(node)}", RATE_MIB_S * MIB
        name = f"warmer-kills-{os.getpid()}"
        second = {"io.max": f"{number} rbps={rate} wbps={rate}"}
        first = {f"blkio.throttle.{way}_bps_device": f"{number} {rate}" for way in ("read", "write")}
        for root, limits in (("/sys/fs/cgroup", second), ("/sys/fs/cgroup/blkio", first)):
            folder = Path(root, name)
            try:
                folder.mkdir()
                self.folder = folder
                for file, limit in limits.items():
                    (folder / file).write_text(limit)
                return
            except OSError:
                self.close()

    def close(self) -> None:
        """Remove the group; what was in it has ended."""
        for _ in range(100 if self.folder else 0):
            try:
                Path(str(self.folder)).rmdir()
                break
            except OSError:
                time.sleep(0.1)
        self.folder = None

    def command(self, words: list[str]) -> list[str]:
        """The command that starts these words in the group."""
        if self.folder is None:
            return words
        return ["sh", "-c", f'echo $$ >{self.folder}/cgroup.procs; exec "$@"', "sh", *words]


@dataclass
class Trials:
    """What all trials have in common, and what came of them."""

    warmer: str
    old: Path
    new: Path
    delta: Path
    throttle: Throttle
    draw: random.Random
    met: Counter[str] = field(default_factory=Counter)
    worst_twice: int = 0
    longest_seconds: float = 0.0

    def start(self, number: int) -> subprocess.Popen[str]:
        """Start the command of one trial."""
        limit = "" if self.throttle.folder else f" --max-mib-s {RATE_MIB_S}"
        engine = ENGINES[number // len(VICTIMS) % len(ENGINES)]
        words = [self.warmer, "run", self.throttle.device, "--action=apply", f"--volume={VOLUME}"]
        words += [f"--home=home-{number}", f"--attempt={number}"]
        words += [f"--arguments=--manifest {self.delta}/manifest --engine {engine}{limit}"]
        return subprocess.Popen(
            self.throttle.command(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, number: int) -> None:
        """One trial; exit status 1 if the device is not as it must be after it."""
        fill(self.throttle.device, self.old)
        blocks = self.new.stat().st_size // BLOCK
        most_seconds = 0.1 + blocks / 2 / RATE_MIB_S
        victim = VICTIMS[number % len(VICTIMS)]
        running = self.start(number)
        time.sleep(self.draw.uniform(0.005, most_seconds))
        began = time.monotonic()
        self.met[victim] += kill(running.pid, victim)
        if victim != "agent":
            running.communicate()
            running = self.start(number)
        output, errors = running.communicate(timeout=PATIENCE_SECONDS)
        self.longest_seconds = max(self.longest_seconds, time.monotonic() - began)
        said = json.loads(output.splitlines()[-1]) if output else {}
        if running.returncode != 0 or said.get("verdict") != "applied" or not self.is_new():
            print(f"trial {number}, {victim}: status {running.returncode}\n{output}{errors}")
            sys.exit(1)
        self.worst_twice = max(self.worst_twice, said["blocksWrittenAgain"])
        shutil.rmtree(f"home-{number}")

    def is_new(self) -> bool:
        """Whether the device has the bytes of NEW, read past the page cache."""
        direct = ["dd", f"if={self.throttle.device}", "of=found", "bs=4M", "iflag=direct", "status=none"]
        subprocess.run(direct, check=True)
        return filecmp.cmp("found", self.new, shallow=False)


def fill(device: str, image: Path) -> None:
    """Write an image to the device."""
    direct = ["dd", f"if={image}", f"of={device}", "bs=4M", "oflag=direct", "conv=fsync", "status=none"]
    subprocess.run(direct, check=True)


def kill(run: int, victim: str) -> bool:
    """Kill; whether there was an agent."""
    try:
        agents = Path(f"/proc/{run}/task/{run}/children").read_text(encoding="ascii").split()
    except OSError:
        agents = []
    for process in [*(agents if victim != "run" else []), *([run] if victim != "agent" else [])]:
        try:
            os.kill(int(process), signal.SIGKILL)
        except ProcessLookupError:
            agents = []
    return agents != []


def main() -> None:
    """Run the trials, and print one line about them."""
    warmer, device, old, new, delta = sys.argv[1:6]
    kills, draw = int(sys.argv[6]), random.Random(int(sys.argv[7]))
    throttle = Throttle(device)
    throttle.open()
    trials = Trials(warmer, Path(old), Path(new), Path(delta), throttle, draw)
    try:
        for number in range(kills):
            trials.run(number)
    finally:
        throttle.close()
    share = trials.worst_twice / (Path(new).stat().st_size // BLOCK)
    met = ", ".join(f"{count} of {victim}" for victim, count in sorted(trials.met.items()))
    print(f"{kills} trials, kills that met a running agent: {met}")
    print(f"at most {share:.2%} written twice, ready {trials.longest_seconds:.1f} s after the kill at the latest")
    sys.exit(share > 0.02)


main()
