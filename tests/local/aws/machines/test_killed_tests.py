"""A machine of a test that was killed is ended by the next tests; one that is in use is left alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from local.aws.host import ROOT
from local.aws.machines.linux import mounts_under
from tests.support.killed import sweep_killed_machines

HOLD = """
import sys, time
from pathlib import Path
from local.aws.machines.machine import Machine
machine = Machine(Path(sys.argv[1]))
machine.start_instance("i-0123456789abcdef0")
print("ready", flush=True)
time.sleep(600)
"""


def test_only_what_nobody_holds_is_swept(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state_dir)], cwd=ROOT, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        assert sweep_killed_machines(tmp_path) == []
        assert mounts_under(tmp_path) != []
        holder.kill()
    assert sweep_killed_machines(tmp_path) == [state_dir]
    assert mounts_under(tmp_path) == []
    assert list((state_dir / "instances").iterdir()) == []
