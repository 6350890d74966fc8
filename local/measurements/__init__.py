"""`make measurements`: what Rewarm promises, measured on the embedded AWS.

`cases.py` says which restores, `series.py` carries them out one after the other, so that each knows what the
ones before have taught, `verdict.py` holds the estimates against what it took, `view.py` shows it.
`published/` measures the published figures again and writes docs/measurements.md.
"""

import sys
from pathlib import Path

# The strategies and the words are Rewarm's own; functions/ is no installed package.
_FUNCTIONS = str(Path(__file__).resolve().parents[2] / "functions")
if _FUNCTIONS not in sys.path:
    sys.path.append(_FUNCTIONS)
