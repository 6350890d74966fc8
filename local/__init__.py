"""What runs without an AWS account: the embedded AWS, the fast lab, and the commands of the Makefile."""

import sys
from pathlib import Path

# The functions and the command line are those that ship; neither is an installed package here.
_ROOT = Path(__file__).resolve().parents[1]
sys.path += [folder for name in ("functions", "cli") if (folder := str(_ROOT / name)) not in sys.path]
