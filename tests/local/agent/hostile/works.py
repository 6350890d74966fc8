"""What root runs in another user's folder: each command of the agent that makes files, and its script."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from local import ROOT
from tests.local.agent.hostile.ground import Ground

VOLUME = "vol-0123456789abcdef0"
DELTA = ROOT / "warmer" / "tests" / "cli" / "delta.py"
BLOCK = 524_288
BLOCKS = 6


@dataclass(frozen=True)
class Work:
    """One run: its command line, and more of its environment."""

    words: list[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Bench:
    """What all works share: the agent, images, a delta, and a loop device (empty: there is none)."""

    agent: Path
    ground: Ground
    loop: str

    @property
    def images(self) -> Path:
        return self.ground.folder / "images"

    def prepare(self) -> None:
        self.images.mkdir()
        for name in ("old", "new"):
            (self.images / name).write_bytes(os.urandom(BLOCK * BLOCKS))
        for folder, more in (("d", []), ("u", [f"undo=file://{self.ground.data}"])):
            words = [
                sys.executable,
                str(DELTA),
                "old",
                "new",
                folder,
                VOLUME,
                "snap-0123456789abcdef0",
                *more,
            ]
            subprocess.run([*words, "samples=0"], cwd=self.images, check=True)

    def disk(self) -> str:
        """A fresh copy of the old image."""
        shutil.copy(self.images / "old", self.images / "disk")
        return str(self.images / "disk")


def bench(here: Bench) -> Work:
    jobs = "read 1 --rw=write --bs=4k --size=64k"
    words = ["bench", f"--home={here.ground.data}/home", f"--targets={here.ground.data}", f"--jobs={jobs}"]
    return Work([str(here.agent), *words], {"REWARM_RESULT_URL": f"file://{here.images}/result"})


def warm(here: Bench) -> Work:
    return Work([str(here.agent), "warm", here.disk(), "--state", f"{here.ground.data}/state"], {})


def _apply(here: Bench, delta: str) -> Work:
    words = ["apply", here.disk(), "--image", "--volume", VOLUME, "--state", f"{here.ground.data}/state"]
    return Work([str(here.agent), *words, "--manifest", f"{here.images}/{delta}/manifest"], {})


def apply(here: Bench) -> Work:
    return _apply(here, "d")


def apply_with_undo(here: Bench) -> Work:
    return _apply(here, "u")


def observe(here: Bench) -> Work:
    words = ["observe", here.loop, "--output", f"{here.ground.data}/out", "--seconds", "1"]
    return Work([str(here.agent), *words, "--state", f"{here.ground.data}/state"], {})


def _run(here: Bench, action: str) -> Work:
    (here.images / "map").write_text(f"0 {BLOCKS}\n", encoding="utf-8")
    words = [
        "run",
        here.disk(),
        f"--action={action}",
        f"--volume={VOLUME}",
        f"--home={here.ground.data}/home",
    ]
    urls = {
        "REWARM_MAP_URL": f"file://{here.images}/map",
        "REWARM_PROGRESS_URL": f"file://{here.images}/said",
    }
    return Work([str(here.agent), *words, "--patience-seconds=1"], urls)


def run(here: Bench) -> Work:
    return _run(here, "warm")


def run_verify(here: Bench) -> Work:
    return _run(here, "verify")


def verify(here: Bench) -> Work:
    return Work([str(here.agent), "verify", here.disk(), "--samples", "10"], {})


def inspect(here: Bench) -> Work:
    return Work([str(here.agent), "inspect", here.disk()], {})


def device_use(here: Bench) -> Work:
    return Work([str(here.agent), "device-use", here.disk(), f"--volume={VOLUME}", "--action=check"], {})


def script(here: Bench) -> Work:
    """start.sh, which downloads the agent anew."""
    library = here.ground.folder / "library"
    shutil.rmtree(library, ignore_errors=True)
    text = (ROOT / "documents" / "start.sh").read_text(encoding="utf-8").replace("/var/lib", str(library))
    checksum = hashlib.sha256(here.agent.read_bytes()).hexdigest()
    given = f"set -- 'file://{here.agent}' '{checksum}' inspect '{here.disk()}'\n"
    return Work(["/bin/sh", "-c", given + text], {})


WORKS: dict[str, Callable[[Bench], Work]] = {
    work.__name__: work
    for work in (
        bench,
        warm,
        apply,
        apply_with_undo,
        observe,
        run,
        run_verify,
        verify,
        inspect,
        device_use,
        script,
    )
}


def works_here(here: Bench) -> list[str]:
    """Those that this machine can do."""
    lacks = set() if here.loop and Path("/sys/kernel/tracing").exists() else {"observe"}
    lacks |= set() if shutil.which("fio") else {"bench"}
    return [name for name in WORKS if name not in lacks]
