"""`make bench ARGS=--hot`: how soon an application is fast on a cold volume, by what is read first.

The applications are PostgreSQL with pgbench (hot_postgresql.sh), MariaDB with sysbench (hot_mariadb.sh), and
the replay of a machine's start (hot_boot.py). Each has a first-touch volume with the bytes of an image, which
is made once. `warmer observe` records one run, and the functions' own code makes its hot set. Every other run
draws its own random numbers.

An application is warm from the first of three seconds in which 95 % of its reads took at most 20 ms.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from local import ROOT, Json
from local.aws.machines.dataplane import DataPlaneError, Extent
from local.aws.machines.loop_devices import attach_loop, detach_loop
from local.aws.machines.snapshot_image import written_extents
from local.tools.bench.cold_volume import ColdVolume, cold_volume
from local.tools.bench.measure import Running, Usage
from local.tools.bench.record import Spread
from local.tools.bench.session import Session
from local.tools.bench.specs import GIB, VolumeSpec
from rewarm.domain.volume.hot import hot_set

HERE = Path(__file__).parent
POSTGRESQL = ROOT / ".local" / "postgresql"
SIZE_GIB = 8
BUILD_SECONDS = 1_800.0
WARM_MS, WARM_SHARE, WARM_SECONDS = 20.0, 0.95, 3
RUN_SECONDS, SHORT_RUN_SECONDS, PATIENCE_SECONDS = 75, 35, 300.0
POLITE = ("--polite-latency-ms", "10")
LEARNING_SEED, FIRST_SEED = 2, 11
ASCENDING, POLITELY = "in ascending order", "in ascending order, politely"
LEARNED, LISTS, RULES = "learned", "database's list", "rules alone"
GOALS = {LEARNED: 5.0, LISTS: 3.0, RULES: 1.5}
"""How many times as soon as in ascending order at full speed, which is how a restore reads unless asked."""
MOST_LATER = 1.02
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Application:
    """Something that uses a volume: the script that makes and runs it, and the orders to try."""

    name: str
    script: Path
    settings: dict[str, str]
    orders: tuple[str, ...]

    def command(self, *words: str) -> list[str]:
        """The script's, in its own namespaces, so that its mounts and processes end with it."""
        environment = [f"{name}={value}" for name, value in self.settings.items()]
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        interpreter = "bash" if self.script.suffix == ".sh" else sys.executable
        return ["env", *environment, *spaces, interpreter, os.fspath(self.script), *words]

    @property
    def version(self) -> str:
        """Another one where the image would be another one."""
        text = f"{SIZE_GIB} {self.settings}".encode()
        return hashlib.sha256(self.script.read_bytes() + text).hexdigest()[:16]


APPLICATIONS = (
    Application(
        "PostgreSQL",
        HERE / "hot_postgresql.sh",
        {"HOT_SCALE": "300", "HOT_ARCHIVE_MIB": "1500", "HOT_POSTGRESQL": os.fspath(POSTGRESQL)},
        (LEARNED, LISTS, RULES),
    ),
    Application(
        "MariaDB",
        HERE / "hot_mariadb.sh",
        {"HOT_ROWS": "2000000", "HOT_ARCHIVE_MIB": "1500"},
        (LEARNED, LISTS),
    ),
    Application("start of a machine", HERE / "hot_boot.py", {"HOT_FILES_MIB": "6500"}, (LEARNED,)),
)


@dataclass(frozen=True, slots=True)
class Order:
    """What the agent reads first, as options of `warmer warm`."""

    name: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSpec(VolumeSpec):
    """A volume with the bytes of an image."""

    runs: tuple[Extent, ...]

    @property
    def extents(self) -> tuple[Extent, ...]:
        """What is written of the image."""
        return self.runs


class HotBench:
    """The image of one application, and its runs on cold copies."""

    def __init__(self, session: Session, application: Application, tell: Tell) -> None:
        self._session, self._application, self._tell, self._runs = session, application, tell, 0
        self.name = application.name
        self.image = self._made_image(session.state_dir.parent)
        self._spec = ImageSpec(name="hot", text="", size_gib=SIZE_GIB, runs=written_extents(self.image))

    def _made_image(self, folder: Path) -> Path:
        """The image, which a later benchmark finds again while nothing changes that makes it."""
        application = self._application
        image = folder / f"{application.script.stem}-{application.version}.img"
        if image.exists():
            return image
        self._tell(f"Making a volume of {SIZE_GIB} GiB for {application.name}; it is kept for the next time.")
        for earlier in folder.glob(f"{application.script.stem}-*.img*"):
            earlier.unlink()
        unfinished = image.with_suffix(".img.part")
        with unfinished.open("wb") as file:
            file.truncate(SIZE_GIB * GIB)
        with TemporaryDirectory(dir=self._session.volumes) as output:
            device = attach_loop(unfinished)
            try:
                usage = Running([application.command("build", device)], Path(output)).wait(BUILD_SECONDS)
            finally:
                detach_loop(device)
            _require(usage, f"no volume could be made for {application.name}", Path(output))
        return unfinished.rename(image)

    @contextmanager
    def _volume(self, *, written: bool) -> Iterator[ColdVolume]:
        """A cold volume with the bytes of the image. Only what is written to needs a copy of them."""
        self._runs += 1
        backing, copy = self.image, self._session.volumes / "copy"
        if written:
            backing = copy
            subprocess.run(["cp", "--sparse=always", "--reflink=auto", self.image, backing], check=True)
        try:
            with cold_volume(self._session.volumes, self._spec, f"vol-hot-{self._runs}", backing) as volume:
                yield volume
        finally:
            copy.unlink(missing_ok=True)

    def _agent(self, volume: ColdVolume, options: Iterable[str]) -> list[str]:
        agent = [str(self._session.agent), "warm", volume.target, "--map", str(volume.map_path)]
        return [*agent, "--progress", "none", *options]

    def _learn(self, written_blocks: int) -> tuple[int, ...]:
        """Records a run of the application; the blocks of its hot set, in order."""
        with self._volume(written=True) as volume:
            recording = volume.folder / "recording"
            observe = [str(self._session.agent), "observe", volume.target]
            observe += ["--seconds", str(RUN_SECONDS), "--output", str(recording)]
            running = Running([observe, self._agent(volume, POLITE)], _made(volume.folder / "beside"))
            try:
                self._play(volume, LEARNING_SEED, RUN_SECONDS)
                running.wait(PATIENCE_SECONDS)
            finally:
                running.kill()
            texts = [(recording.name, recording.read_text(encoding="utf-8"))]
            hot = hot_set(texts, [SIZE_GIB * GIB], written_blocks)
            return hot.blocks[: hot.most_blocks]

    def _play(self, volume: ColdVolume, seed: int, seconds: int) -> list[tuple[float, float]]:
        """Runs the application; when each read ended (seconds since 1970), and how long it took in ms."""
        logs = _made(volume.folder / "logs")
        script = self._application.command("run", volume.target, str(seed), str(seconds), str(logs))
        output = _made(volume.folder / "application")
        usage = Running([script], output).wait(PATIENCE_SECONDS)
        _require(usage, "the application ended early", output)
        # pgbench's manual, "Per-Transaction Logging".
        lines = (line.split() for log in logs.iterdir() for line in log.read_text().splitlines())
        return [(int(line[4]) + int(line[5]) / 1e6, int(line[2]) / 1e3) for line in lines]

    def warm_seconds(self, order: Order, seed: int) -> float:
        """How long after its start the application is warm, beside a warm-up in this order.

        RUN_SECONDS where it is not warm by the end of its run, which is short in all orders but ascending.
        """
        seconds = RUN_SECONDS if order.name == ASCENDING else SHORT_RUN_SECONDS
        with self._volume(written=True) as volume:
            began = time.time()
            warming = Running([self._agent(volume, order.options)], _made(volume.folder / "beside"))
            try:
                reads = self._play(volume, seed, seconds)
            finally:
                warming.kill()
        return min(RUN_SECONDS, warm_after([(ended - began, took_ms) for ended, took_ms in reads]))

    def all_seconds(self, order: Order) -> float:
        """How long a warm-up alone takes for the whole volume."""
        with self._volume(written=False) as volume:
            beside = _made(volume.folder / "beside")
            usage = Running([self._agent(volume, order.options)], beside).wait(PATIENCE_SECONDS)
            _require(usage, "the warm-up failed", beside)
            return usage.seconds

    def _write_first(self, name: str, blocks: Iterable[int]) -> str:
        path = self._session.state_dir / f"first-{name}"
        path.write_text("".join(f"{block} 1\n" for block in blocks), encoding="utf-8")
        return str(path)

    def orders(self) -> tuple[list[Order], list[Order]]:
        """What is measured beside the application, and what alone: sets that are useless there, too."""
        blocks = [block for first, count in self._spec.extents for block in range(first, first + count)]
        draw = random.Random(LEARNING_SEED)
        learned = self._write_first("learned", self._learn(len(blocks)))
        useless = self._write_first("useless", draw.sample(blocks, len(blocks) // 10))
        oversized = self._write_first("oversized", draw.sample(blocks, len(blocks)))
        first = ("--first-unlimited", "--first")
        ascending = Order(ASCENDING, ("--order", "none"))
        polite = Order(POLITELY, (*ascending.options, *POLITE))
        named = {
            LEARNED: (*first, learned),
            LISTS: ("--order", "structures,lists"),
            RULES: ("--order", "structures,logs,recent"),
        }
        tried = [Order(name, (*named[name], *POLITE)) for name in self._application.orders]
        beside = [ascending, polite, *tried]
        alone = [
            ascending,
            Order(LEARNED, (*first, learned)),
            Order("another volume's set", (*first, useless)),
            Order("all blocks, shuffled", (*first, oversized)),
        ]
        return beside, alone


def warm_after(reads: Iterable[tuple[float, float]]) -> float:
    """When the application was warm, in seconds; infinite if it never was.

    `reads` are when each one ended, in seconds, and how long it took, in ms.
    """
    all_reads, warm_reads = Counter[int](), Counter[int]()
    for ended, took_ms in reads:
        all_reads[int(ended)] += 1
        warm_reads[int(ended)] += took_ms <= WARM_MS
    in_a_row = 0
    for second in range(max(all_reads, default=-1) + 1):
        is_warm = all_reads[second] > 0 and warm_reads[second] >= WARM_SHARE * all_reads[second]
        in_a_row = in_a_row + 1 if is_warm else 0
        if in_a_row == WARM_SECONDS:
            return second + 1 - WARM_SECONDS
    return float("inf")


def check_hot(session: Session, rounds: int, tell: Tell) -> dict[str, list[Json]]:
    """Measures each order once a round; tells ratios with their spread, and returns the figures."""
    return {one.name: _check(HotBench(session, one, tell), rounds, tell) for one in APPLICATIONS}


def _check(bench: HotBench, rounds: int, tell: Tell) -> list[Json]:
    beside, alone = bench.orders()
    tell(f"{bench.name}, until {WARM_SHARE:.0%} of its reads take at most {WARM_MS:g} ms:")
    warm = _rounds(beside, rounds, bench.warm_seconds)
    found = []
    for name, seconds in warm.items():
        ratio, politely = _ratios(warm[ASCENDING], seconds), _ratios(warm[POLITELY], seconds)
        figures = _figures(name, seconds, ratio, tell, at_least=GOALS.get(name, 0.0))
        tell(f"{'':46}{POLITELY}: {politely.median:.2f} ({politely.low:.2f} to {politely.high:.2f})")
        found.append({**figures, "politely": asdict(politely)})
    tell("The same volume without an application, until all of it is read:")
    whole = _rounds(alone, rounds, lambda order, _: bench.all_seconds(order))
    for name, seconds in whole.items():
        found.append(_figures(name, seconds, _ratios(seconds, whole[ASCENDING]), tell, at_most=MOST_LATER))
    return found


def _rounds(
    orders: list[Order], rounds: int, measure: Callable[[Order, int], float]
) -> dict[str, list[float]]:
    """Each order's seconds by round. A round runs all orders one after the other."""
    found: dict[str, list[float]] = {order.name: [] for order in orders}
    for number in range(rounds):
        for order in orders:
            found[order.name].append(measure(order, FIRST_SEED + number))
    return found


def _ratios(several: list[float], others: list[float]) -> Spread:
    return Spread.of([one / max(other, 1.0) for one, other in zip(several, others, strict=True)])


def _figures(
    name: str,
    seconds: list[float],
    ratio: Spread,
    tell: Tell,
    *,
    at_least: float = 0.0,
    at_most: float = float("inf"),
) -> Json:
    spread, reached = Spread.of(seconds), at_least <= ratio.median <= at_most
    tell(
        f"{'✓' if reached else '✗'} {name:<30} {spread.median:6.1f} s "
        f"({spread.low:.1f} to {spread.high:.1f})  "
        f"ratio {ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
    )
    return {"order": name, "seconds": seconds, "ratio": asdict(ratio), "reached": reached}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _require(usage: Usage, problem: str, folder: Path) -> None:
    if usage.status:
        output = (folder / "output-0").read_text(encoding="utf-8", errors="replace").strip()
        raise DataPlaneError(f"{problem}, with exit status {usage.status}: {output[-1_000:]}")
