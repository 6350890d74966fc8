"""The first program of the machine in QEMU: loads modules, plays its share, turns the machine off."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.local.agent.arrangements import kernel, play


def main(arguments: list[str]) -> None:
    """Arguments are the agent's path and options of play.py; this ends the machine."""
    run(lambda: _play(*arguments))


def run(play_all: Callable[[], None]) -> None:
    """Prepare the machine, play, and end it."""
    try:
        _prepare()
        play_all()
    except BaseException:  # the first program must not end
        traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()
    kernel.LIBC.reboot(kernel.RB_POWER_OFF)


def _prepare() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    kernel.mount("none", Path("/proc"), "proc")
    kernel.mount("none", Path("/sys"), "sysfs")
    kernel.mount("none", Path("/dev"), "devtmpfs")
    kernel.mount("none", Path("/tmp"), "tmpfs")  # this machine's own
    for module in sorted(Path("/modules").iterdir()):
        with contextlib.suppress(OSError):  # for example a cipher for another processor
            kernel.load_module(module)
    with contextlib.suppress(OSError):
        kernel.mount("none", Path("/sys/kernel/config"), "configfs")
    for descriptor, target in (
        (os.open("/dev/console", os.O_WRONLY), 1),
        (os.open("/dev/null", os.O_RDONLY), 0),
    ):
        os.dup2(descriptor, target)


def _play(agent: str, *options: str) -> None:
    sys.argv = ["play.py", "--agent", agent, "--delta", "/t/delta.py", "--nvme", *options]
    play.main()
