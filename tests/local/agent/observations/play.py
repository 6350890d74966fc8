"""Play scenes of `warmer observe` on one disk, and print a line of JSON about each.

usage: play.py --agent FILE --source histogram|events [--disk DEVICE] [--mount]

Run as root. Without a disk it is a loop device, in a mount namespace that only this process has; with --mount
somebody has mounted tracefs where it belongs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

from tests.local.agent.arrangements import kernel
from tests.local.agent.observations import kills
from tests.local.agent.observations.observer import Place
from tests.local.agent.observations.scenes import SCENES, Scene, SkippedError

PREFIX = "@@ "
DISK_BYTES = 128 << 20


def main() -> None:
    """Play all scenes in the way that the options name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--disk")
    parser.add_argument("--mount", action="store_true")
    options = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    kernel.unshare(kernel.CLONE_NEWNS)
    if options.mount:
        kernel.mount("none", kills.TRACING.parent, "tracefs")
    with tempfile.TemporaryDirectory(prefix="observe-", dir="/tmp") as folder:
        image = Path(folder) / "disk"
        image.touch()
        os.truncate(image, DISK_BYTES)
        disk = options.disk or kernel.attach_loop(str(image))
        try:
            place = Place(options.agent, disk, Path(folder), options.source)
            play(place, (*SCENES, *(kills.KILLS if options.mount else ())))
        finally:
            if options.disk is None:
                kernel.detach_loop(disk)


def play(place: Place, scenes: tuple[Scene, ...]) -> None:
    """Each scene, with its line; kills need to see the instances."""
    for scene in scenes:
        told = {"scene": scene.__name__, "source": place.source, "problem": "", "skipped": ""}
        try:
            scene(place)
        except SkippedError as reason:
            told["skipped"] = str(reason)
        except Exception:  # whatever it is, the scene has failed
            told["problem"] = traceback.format_exc()
        os.write(1, f"{PREFIX}{json.dumps(told)}\n".encode())


if __name__ == "__main__":
    main()
    sys.exit(0)
