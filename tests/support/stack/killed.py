"""What killed tests left: a machine in a temporary folder has no next start of its own."""

from __future__ import annotations

import fcntl
from pathlib import Path

from local.aws.machines.linux import mounts_under
from local.aws.machines.machine import sweep


def sweep_killed_machines(folder: Path) -> list[Path]:
    """Ends and unmounts every machine below `folder` whose owner is gone; their state folders."""
    found = {point.parent for point in mounts_under(folder) if point.name == "volumes"}
    swept = []
    for state_dir in sorted(one for one in found if (one / "lock").is_file()):
        with (state_dir / "lock").open() as lock:
            try:
                # As Machine does: whoever lives holds it, from before its first mount until after its last.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            sweep(state_dir)
            swept.append(state_dir)
    return swept
