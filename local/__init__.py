"""What runs without an AWS account: the embedded AWS, the fast lab, and the commands of the Makefile."""

import logging
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
"""Of the working tree."""
Json = dict[str, Any]
"""An object of JSON, as AWS and the functions write it."""

# The functions and the command line are those that ship; neither is an installed package here.
sys.path += [folder for name in ("functions", "cli") if (folder := str(ROOT / name)) not in sys.path]

# SAM's translator warns of a switch of AWS's own service that nobody here can set.
logging.getLogger("samtranslator.feature_toggle").setLevel(logging.ERROR)
