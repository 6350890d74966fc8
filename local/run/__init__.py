"""The main job as a user sees it: restores on the embedded AWS, shown live, measured and proved."""

import sys
from pathlib import Path

# The view says sizes, times and prices in Rewarm's own words; functions/ is no installed package.
_FUNCTIONS = str(Path(__file__).resolve().parents[2] / "functions")
if _FUNCTIONS not in sys.path:
    sys.path.append(_FUNCTIONS)
