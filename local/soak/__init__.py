"""The fast lab: the real state machines and handlers in one process and virtual time, alike for each seed."""

import sys
from pathlib import Path

# The rules are those that ship; functions/ is no installed package.
_FUNCTIONS = str(Path(__file__).resolve().parents[2] / "functions")
if _FUNCTIONS not in sys.path:
    sys.path.append(_FUNCTIONS)
