"""What a local user does in folders of its own while root works there: plants names, and swaps them."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path
from random import Random

from tests.local.agent.hostile.ground import NOBODY, Ground, make_tree

AT_FDCWD = -100
EXCHANGE = 2
"""renameat2(2)."""
KEEPSAKE = "keepsake"
"""A folder of root's in the nest, which its owner may rename and not look into."""
_LIBRARY = ctypes.CDLL(None)


def machine_name() -> str:
    path = Path("/etc/machine-id")
    return path.read_text(encoding="utf-8").strip() if path.exists() else os.uname().nodename


def names(agent_from: int) -> list[str]:
    """Names that the agent and its script would use, the temporary ones of processes from `agent_from` on."""
    prefix = f".rewarm-benchmark-{machine_name()}."
    fixed = ["state", "state.taken", "out", "home", "undo-0", "undo-0.new", "undo-1.new", "warmer"]
    left = [
        f"{prefix}x",
        f"{prefix}a\nb\x1b\u202e",
        prefix + "n" * (254 - len(prefix)),
        "rewarm-work-1f",
        "rewarm-work-x",
    ]
    return fixed + left + [f"out.{agent_from + i}.new" for i in range(40)]


INNER = (
    "state",
    "benchmark.lock",
    "progress",
    "result",
    "fio.json",
    "read.0.0",
    "file",
    "vol-0123456789abcdef0",
)


def _own_folder(path: Path, ground: Ground) -> None:
    """A folder in which each name of the agent's leads to root's files."""
    path.mkdir(0o755)
    for i, name in enumerate(INNER):
        (path / name).symlink_to(ground.victim / ("secret", "empty", "fresh", "inner")[i % 4])
        os.chown(path / name, NOBODY, NOBODY, follow_symlinks=False)


LINKS = {"link to a folder": "", "link to a file": "secret", "link to nothing": "fresh"}
HARD_LINKS = {"hard link": "secret", "hard link to an empty file": "empty"}
"""This user may make none of root's files where the kernel protects them, and root makes them here."""
KINDS = (*LINKS, *HARD_LINKS, "pipe", "file", "folder", "deep folder")


def plant(path: Path, kind: str, ground: Ground) -> None:
    """Make one thing that this user could have made, or that another one of root's became by a rename."""
    if kind in HARD_LINKS:
        path.hardlink_to(ground.victim / HARD_LINKS[kind])
        return
    match kind:
        case "keepsake":
            (ground.nest / KEEPSAKE).rename(path)
            return
        case "pipe":
            os.mkfifo(path, 0o666)
        case "file":
            path.write_text("mine", encoding="utf-8")
        case "folder":
            _own_folder(path, ground)
        case "deep folder":
            path.joinpath(*["d"] * 60).mkdir(parents=True)
        case _:
            path.symlink_to(ground.victim / LINKS[kind])
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def plant_all(ground: Ground, random: Random) -> list[str]:
    """Plant a drawn few; returns what and where."""
    make_tree(ground.nest / KEEPSAKE)
    (ground.nest / KEEPSAKE).chmod(0o700)
    wanted = names(os.getpid() + 1)
    chosen = random.sample(wanted[:13], random.randint(1, 7)) + random.sample(
        wanted[13:], random.randint(0, 40)
    )
    planted = [(name, random.choice(KINDS)) for name in chosen]
    if random.random() < 0.5:
        planted[0] = (planted[0][0], "keepsake")
    for name, kind in planted:
        plant(ground.data / name, kind, ground)
    return [f"{kind} at {name!r:.60}" for name, kind in planted]


def _exchange(one: str, other: str) -> bool:
    status: int = _LIBRARY.renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), EXCHANGE)
    return status == 0


def _swap_for_ever(ground: Ground, random: Random) -> None:
    os.chdir(ground.nest)
    evil = [f"evil-{i}" for i in range(4)]
    for name, target in zip(evil, ("", "secret", "fresh", "bare"), strict=True):
        Path(name).symlink_to(ground.victim / target)
    _own_folder(Path("evil-folder"), ground)
    evil.append("evil-folder")
    while True:
        try:
            listed = [path.name for path in Path("data").iterdir()]
        except OSError:
            listed = []
        for name in listed:
            bad = random.choice(evil)
            if _exchange(f"data/{name}", bad) and random.random() < 0.8:
                _exchange(f"data/{name}", bad)
        if random.random() < 0.3:
            bad = random.choice(evil)
            if _exchange("data", bad):
                os.sched_yield()
                _exchange("data", bad)


def start_swapping(ground: Ground, seed: str) -> int:
    """Start the user's process, which swaps names until it is ended. Returns its number."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            _swap_for_ever(ground, Random(seed))
        finally:
            os._exit(1)
    return child


def stop_swapping(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
