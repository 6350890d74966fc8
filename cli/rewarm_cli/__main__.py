"""`python -m rewarm_cli`: the same as `rewarm`."""

import sys

from rewarm_cli.main import run

if __name__ == "__main__":
    sys.exit(run())
