"""Root's commands beside a hostile user: `python -m tests.local.agent.hostile.play --agent FILE --count 20`.

Each play draws a command, what lies in the user's folder before, and whether its process swaps names
meanwhile. Nothing outside of that folder may change, and nothing may wait for ever. A line of JSON says what
came of each. `--seed SEED --first NUMBER --count 1` repeats one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from tests.local.agent.hostile import neighbour
from tests.local.agent.hostile.ground import Ground, differences, snapshot
from tests.local.agent.hostile.works import WORKS, Bench, Work, works_here

PREFIX = "play: "
MOST_SECONDS = 300
"""Only what waits for ever takes as long as that."""


def carry_out(work: Work, ground: Ground) -> tuple[int | None, str]:
    """Its status, None where it did not end, and the end of what it said."""
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(ground.data), **work.environment}
    with subprocess.Popen(
        work.words, cwd=ground.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
            return None, said[-400:]
    return process.returncode, said[-400:]


def play(here: Bench, name: str, seed: str) -> dict[str, Any]:
    """One play; `problem` is empty where all is well."""
    random, ground = Random(seed), here.ground
    ground.renew()
    planted = neighbour.plant_all(ground, random)
    work = WORKS[name](here)
    kept = os.open(_keepsake(ground), os.O_RDONLY | os.O_DIRECTORY)
    before = snapshot(Path(f"/proc/self/fd/{kept}/."))
    swaps = random.random() < 0.7
    child = neighbour.start_swapping(ground, seed) if swaps else None
    try:
        status, said = carry_out(work, ground)
    finally:
        if child is not None:
            neighbour.stop_swapping(child)
    problems = ["it did not end"] if status is None else []
    problems += [f"{path} of the victim changed" for path in ground.changed()]
    after = snapshot(Path(f"/proc/self/fd/{kept}/."))
    problems += [f"{path} of root's folder in the nest changed" for path in differences(before, after)]
    os.close(kept)
    problem = "; ".join(problems)
    found = {"work": name, "seed": seed, "status": status, "swaps": swaps, "problem": problem}
    return {**found, "planted": planted, "said": said} if problem else found


def _keepsake(ground: Ground) -> Path:
    """Where root's folder in the nest is now."""
    places = [ground.nest / neighbour.KEEPSAKE, *ground.data.iterdir()]
    return next(
        path for path in places if path.is_dir() and not path.is_symlink() and path.stat().st_uid == 0
    )


def play_all(here: Bench, seed: str, first: int, count: int) -> None:
    names = works_here(here)
    for number in range(first, first + count):
        found = play(here, names[number % len(names)], f"{seed}/{number}")
        print(PREFIX + json.dumps(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", type=Path, required=True)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warmer-hostile-", dir="/tmp") as folder:
        image = Path(folder) / "loop"
        image.write_bytes(bytes(4 << 20))
        made = subprocess.run(
            ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
        )
        loop = made.stdout.strip()
        try:
            here = Bench(options.agent.resolve(), Ground(Path(folder)), loop)
            here.prepare()
            play_all(here, options.seed, options.first, options.count)
        finally:
            if loop:
                subprocess.run(["losetup", "--detach", loop], check=True)


if __name__ == "__main__":
    main()
