"""`make plan`: what a restore would take and cost, with the real rules and without an AWS account."""

import sys
from pathlib import Path

# The rules are those that ship; functions/ is no installed package.
_FUNCTIONS = str(Path(__file__).resolve().parents[2] / "functions")
if _FUNCTIONS not in sys.path:
    sys.path.append(_FUNCTIONS)
