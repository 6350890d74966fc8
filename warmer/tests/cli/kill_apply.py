"""kill_apply.py WARMER OLD NEW DELTA KILLS SEED: kill `apply` at random moments; each time it goes on to the end.

Each kill is a trial of its own. The last line says how many trials there were, how many kills met a running
agent, and the largest share of the blocks that was written twice.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """Run the trials; exit status 1 if the device is not as it must be after one."""
    warmer, old, new, delta = sys.argv[1:5]
    kills, draw = int(sys.argv[5]), random.Random(int(sys.argv[6]))
    command = [warmer, "apply", "killed", "--image", "--volume", "vol-0123456789abcdef0"]
    command += ["--manifest", f"{delta}/manifest", "--state", "killed-state", "--max-mib-s", "2000"]
    wanted, worst, met = Path(new).read_bytes(), 0.0, 0
    for _ in range(kills):
        shutil.copyfile(old, "killed")
        Path("killed-state").unlink(missing_ok=True)
        agent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.005, 0.4))
        met += agent.poll() is None
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        result = json.loads(ended.stdout.splitlines()[-1])
        if ended.returncode != 0 or Path("killed").read_bytes() != wanted:
            print(f"{ended.stdout}{ended.stderr}")
            sys.exit(1)
        worst = max(worst, result["blocksWrittenAgain"] / result["blocksDone"])
    print(f"{kills} trials, {met} kills, at most {worst:.4f} written twice")
    sys.exit(worst > 0.02)


main()
