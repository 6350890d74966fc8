"""kill_run.py WARMER DEVICE NEW DELTA RATE KILLS SEED: kill `warmer run` of an application at random moments.

Each kill is a trial with a device of zeros. It meets the agent alone, `warmer run` alone, or both, and the
agent writes through io_uring or threads in turn. A run that lives must end the application by itself; another
one is started again as the same command. Each time the device must become NEW. RATE, in MiB a second, is a
limit of a control group, or where there is none, of the agent's own. What an agent had in flight when it was
killed may not have reached the device; so much is written once more.
"""

from __future__ import annotations

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

IN_FLIGHT = 28
"""Blocks that the agent writes at a time."""
MIB = 1_048_576
BLOCK = 524_288
PATIENCE_SECONDS = 150
VOLUME = "vol-0123456789abcdef0"
ENGINES = ("io_uring", "threads")
VICTIMS = ("agent", "run", "both")


@dataclass
class Throttle:
    """A control group in which the device is slow."""

    device: str
    mib_s: int
    folder: Path | None = None

    def open(self) -> None:
        """Make the group, of whichever version there is."""
        node = Path(self.device).stat().st_rdev
        number, rate = f"{os.major(node)}:{os.minor(node)}", self.mib_s * MIB
        second = {"io.max": f"{number} rbps={rate} wbps={rate}"}
        first = {f"blkio.throttle.{way}_bps_device": f"{number} {rate}" for way in ("read", "write")}
        for root, limits in (("/sys/fs/cgroup", second), ("/sys/fs/cgroup/blkio", first)):
            if self.folder is None:
                self.make(Path(root, f"warmer-kills-{os.getpid()}"), limits)

    def make(self, folder: Path, limits: dict[str, str]) -> None:
        """Make the group in a folder, if the kernel takes it there."""
        try:
            folder.mkdir()
            self.folder = folder
            for file, limit in limits.items():
                with (folder / file).open("r+", encoding="ascii") as stream:
                    stream.write(limit)
        except OSError:
            self.close()

    def close(self) -> None:
        """Remove the group; what was in it has ended."""
        for _ in range(50 if self.folder else 0):
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
    new: Path
    delta: Path
    throttle: Throttle
    draw: random.Random
    met: Counter[str] = field(default_factory=Counter)
    worst_twice: int = 0
    longest_seconds: float = 0.0

    @property
    def blocks(self) -> int:
        """How many blocks each trial writes."""
        return self.new.stat().st_size // BLOCK

    def start(self, number: int) -> subprocess.Popen[str]:
        """Start the command of one trial."""
        limit = "" if self.throttle.folder else f" --max-mib-s {self.throttle.mib_s}"
        engine = ENGINES[number // len(VICTIMS) % len(ENGINES)]
        words = [self.warmer, "run", self.throttle.device, "--action=apply", f"--volume={VOLUME}"]
        words += [f"--home=home-{number}", f"--attempt={number}"]
        words += [f"--arguments=--manifest {self.delta}/manifest --engine {engine}{limit}"]
        return subprocess.Popen(
            self.throttle.command(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, number: int) -> None:
        """One trial; exit status 1 if the device is not as it must be after it."""
        subprocess.run(["blkdiscard", "--zeroout", self.throttle.device], check=True)
        victim = VICTIMS[number % len(VICTIMS)]
        running = self.start(number)
        time.sleep(self.draw.uniform(0.005, 0.1 + self.blocks / 2 / self.throttle.mib_s))
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
        """Whether the device has the bytes of NEW, and not of a cache."""
        subprocess.run(["blockdev", "--flushbufs", self.throttle.device], check=True)
        return subprocess.run(["cmp", self.throttle.device, self.new], check=False).returncode == 0


def kill(run: int, victim: str) -> bool:
    """Kill; whether there was an agent."""
    try:
        children = Path(f"/proc/{run}/task/{run}/children").read_text(encoding="ascii")
        agents = [int(child) for child in children.split()]
    except OSError:
        agents = []
    for process in [*(agents if victim != "run" else []), *([run] if victim != "agent" else [])]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            agents = []
    return agents != []


def main() -> None:
    """Run the trials, and say what came of them."""
    warmer, device, new, delta = sys.argv[1:5]
    rate, kills, seed = (int(word) for word in sys.argv[5:8])
    throttle = Throttle(device, rate)
    throttle.open()
    trials = Trials(warmer, Path(new), Path(delta), throttle, random.Random(seed))
    try:
        for number in range(kills):
            trials.run(number)
    finally:
        throttle.close()
    met = ", ".join(f"{count} of {victim}" for victim, count in sorted(trials.met.items()))
    print(f"{kills} trials, kills that met a running agent: {met}")
    twice, seconds = trials.worst_twice, trials.longest_seconds
    print(f"at most {twice} blocks ({twice / trials.blocks:.2%}) written twice, ready within {seconds:.1f} s")
    sys.exit(twice > IN_FLIGHT)


main()
