"""kill_apply.py WARMER OLD NEW DELTA KILLS SEED SECONDS: kill `apply` at random moments; each time it goes on to the end.

Each kill is a trial of its own. The last line says how many trials there were, how many kills met a running
agent, and how many blocks were written twice at most. Those can only be what was in flight, at most 40.
"""

from __future__ import annotations

import filecmp
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path


IN_FLIGHT = 40


def main() -> None:
    """Run the trials; exit status 1 if the device is not as it must be after one."""
    warmer, old, new, delta = sys.argv[1:5]
    kills, draw = int(sys.argv[5]), random.Random(int(sys.argv[6]))
    command = [warmer, "apply", "killed", "--image", "--volume", "vol-0123456789abcdef0"]
    command += ["--manifest", f"{delta}/manifest", "--state", "killed-state", "--max-mib-s", "2000"]
    most_seconds, worst, share, met = float(sys.argv[7]), 0, 0.0, 0
    for _ in range(kills):
        subprocess.run(["cp", "--sparse=always", old, "killed"], check=True)
        Path("killed-state").unlink(missing_ok=True)
        agent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.005, most_seconds))
        met += agent.poll() is None
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        result = json.loads(ended.stdout.splitlines()[-1])
        if ended.returncode != 0 or not filecmp.cmp("killed", new, shallow=False):
            print(f"{ended.stdout}{ended.stderr}")
            sys.exit(1)
        worst = max(worst, result["blocksWrittenAgain"])
        share = max(share, result["blocksWrittenAgain"] / result["blocksDone"])
    print(f"{kills} trials, {met} kills, at most {worst} blocks written twice, {share:.2%} of them")
    sys.exit(worst > IN_FLIGHT)


main()
