"""Build arrangements side by side, run the agent on each, and print a line of JSON about each.

usage: play.py --agent FILE --delta FILE --seed SEED --count COUNT [--first NUMBER] [OPTION…]

Run as root in a mount namespace of its own. What was made is taken away at the end, and also after a kill.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from random import Random

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.base import Base, loop_bases, marks, nvme_bases, reset
from tests.local.agent.arrangements.bench import Bench
from tests.local.agent.arrangements.drawn import Arrangement, Kinds, draw, kinds_here
from tests.local.agent.arrangements.layers import LAYERS
from tests.local.agent.arrangements.sweep import sweep
from tests.local.agent.arrangements.templates import Templates
from tests.local.agent.arrangements.users import UNLISTED, USERS

ENDED_EARLY = 128 + signal.SIGTERM
"""Of an agent that --quick has ended while it still looked, as on a busy machine."""
REFUSALS = range(80, 88)
PREFIX = "@@ "
HIDDEN = "whose open files cannot be seen"
"""Where the kernel does not say which file a ring has registered, an agent refuses every device meanwhile."""
MOST_WAITS, WAIT_SECONDS = 60, 5
"""For the ring of another arrangement to go."""
IMPATIENT_SECONDS = 2.0
"""After this, an agent that waits for what no list shows is asked to end."""


def main() -> None:
    """Play the share that the options name."""
    options = _options()
    folder = Path("/tmp") / f"arrangements-{os.getpid()}"  # root's own, and it has a new number
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", folder, "tmpfs", 0, "mode=700")
    keeper, sweeper = _sweep_at_end(folder)
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    with contextlib.suppress(KeyboardInterrupt):
        _play(options, folder, keeper)
    os.close(keeper)
    os.waitpid(sweeper, 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", type=Path, required=True)
    parser.add_argument("--delta", type=Path, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--places", type=int, default=24)
    parser.add_argument("--nvme", action="store_true")
    parser.add_argument("--quick", action="store_true", help="end the agent where it would wait for a minute")
    return parser.parse_args()


def _sweep_at_end(folder: Path) -> tuple[int, int]:
    """Fork a process that takes everything away when this one has ended, however it ends."""
    ended, keeper = os.pipe()
    sweeper = os.fork()
    if sweeper == 0:
        os.setsid()
        os.close(keeper)
        os.read(ended, 1)
        sweep(folder)
        os._exit(0)
    os.close(ended)
    return keeper, sweeper


def _play(options: argparse.Namespace, folder: Path, keeper: int) -> None:
    templates = Templates(folder)
    kinds = kinds_here(templates)
    places = min(options.places, options.count)
    bases = nvme_bases(folder, options.delta) if options.nvme else loop_bases(places, folder, options.delta)
    workers = []
    for place, base in enumerate(bases):
        worker = os.fork()
        if worker == 0:
            os.close(keeper)
            kernel.die_with_parent()
            numbers = range(options.first + place, options.first + options.count, len(bases))
            _work(options, base, folder / f"place{place}", numbers, (kinds, templates))
        workers.append(worker)
    for worker in workers:
        os.waitpid(worker, 0)


def _work(
    options: argparse.Namespace, base: Base, folder: Path, numbers: range, here: tuple[Kinds, Templates]
) -> None:
    """Play these numbers one after another; this never returns."""
    status = 1
    with contextlib.suppress(KeyboardInterrupt):
        kernel.unshare(kernel.CLONE_NEWNS)
        folder.mkdir()
        for number in numbers:
            line = json.dumps(_play_one(options, base, folder, number, here))
            os.write(1, f"{PREFIX}{line}\n".encode())
        status = 0
    os._exit(status)


def _play_one(
    options: argparse.Namespace, base: Base, folder: Path, number: int, here: tuple[Kinds, Templates]
) -> dict[str, object]:
    """Build one, run the agent, take it down; say what happened."""
    kinds, templates = here
    random = Random(f"{options.seed}:{number}")
    arrangement = draw(kinds, random)
    bench = Bench(base.device, base.volume_id, folder / f"a{number}", random)
    bench.folder.mkdir()
    began = time.monotonic()
    told: dict[str, object] = {
        "number": number,
        "layers": arrangement.layers,
        "user": arrangement.user,
        "isOver": arrangement.is_over,
        "isInUse": arrangement.is_in_use,
    }
    try:
        reset(base)
        try:
            _build(bench, arrangement, templates)
            if arrangement.is_over:
                bench.close()
            told |= _judged(options, base, folder, arrangement)
        finally:
            bench.close()
    except Exception:  # whatever it is, this arrangement was not played
        told["problem"] = f"not played: {traceback.format_exc()}"
    shutil.rmtree(bench.folder, ignore_errors=True)
    return told | {"seconds": round(time.monotonic() - began, 2)}


def _build(bench: Bench, arrangement: Arrangement, templates: Templates) -> None:
    device = bench.base
    for layer in arrangement.layers:
        device = LAYERS[layer](bench, device)
    USERS[arrangement.user](bench, device, templates)


def _judged(
    options: argparse.Namespace, base: Base, folder: Path, arrangement: Arrangement
) -> dict[str, object]:
    """What the agent said and did, and what is wrong with it: "" for nothing."""
    is_held, before = kernel.is_held(base.device), kernel.sectors_written(base.device)
    for _ in range(MOST_WAITS):
        use, done = _asked(options.agent, base), _applied(options, base, folder / "state", arrangement)
        if arrangement.is_in_use or HIDDEN not in use + done.stderr:
            break
        time.sleep(WAIT_SECONDS)
    told = {"use": use, "status": done.returncode, "message": done.stderr.strip()[-300:]}
    answer = json.loads(use)
    is_said_to_be_free = not answer["mounts"] and not answer["others"]
    has_written = kernel.sectors_written(base.device) != before
    has_any, has_all = marks(base)
    problem = ""
    if arrangement.is_in_use:
        if has_any or (arrangement.is_quiet and has_written):
            problem = "written to, although it is in use"
        elif done.returncode not in REFUSALS and not (options.quick and done.returncode == ENDED_EARLY):
            problem = "not refused, although it is in use"
        elif is_said_to_be_free:
            problem = "said to be free, although it is in use"
    elif done.returncode != 0 or not has_all:
        problem = "not written to, although it is free"
    elif not is_said_to_be_free:
        problem = "said to be in use, although it is free"
    if is_held and is_said_to_be_free:
        problem = "said to be free, although the kernel holds it"
    return told | {"isHeld": is_held, "problem": problem}


def _asked(agent: Path, base: Base) -> str:
    """The answer of `warmer device-use`, a line of JSON."""
    command = (agent, "device-use", base.device, "--action=check", f"--volume={base.volume_id}")
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _applied(
    options: argparse.Namespace, base: Base, state: Path, arrangement: Arrangement
) -> subprocess.CompletedProcess[str]:
    for file in (state, state.with_name("state.taken")):
        file.unlink(missing_ok=True)
    words = (options.agent, "apply", base.device, "--volume", base.volume_id, "--manifest", base.manifest)
    command = [*map(str, words), "--state", str(state)]
    if options.quick and arrangement.is_in_use and arrangement.user in UNLISTED:
        command = ["timeout", "--preserve-status", str(IMPATIENT_SECONDS), *command]
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
    sys.exit(0)
