"""`rewarm bench`: the same benchmark on several mounts of an instance, side by side.

`options.py` is the command line, `stack.py` finds the API of the stack, `tables.py` and `picture.py` show
the runs.
"""

import sys
from pathlib import Path

# The words and patterns are Rewarm's own; functions/ is no installed package.
_FUNCTIONS = str(Path(__file__).resolve().parents[2] / "functions")
if _FUNCTIONS not in sys.path:
    sys.path.append(_FUNCTIONS)
