"""How long something that is under way may be silent or out of reach before it is given up."""

from __future__ import annotations

from datetime import timedelta

LEAST = timedelta(minutes=10)
"""An instance reboots in a few minutes (EC2 user guide, "Reboot your instance"); Windows with updates takes
longer. Systems Manager shows a new command late; how late is not documented."""
MOST = timedelta(hours=6)
"""Nobody should have to wait longer for the news that something is lost."""
_OF_SPENT, _OF_LEFT = 4, 10


def patience(spent: timedelta = timedelta(0), left: timedelta | None = None) -> timedelta:
    """From ten minutes to six hours: a quarter of the time spent, or a tenth of that left to the deadline.

    Whoever gives up loses what was spent, so that waiting for a part of it is cheap; a quarter delays the
    next plan by no more than that. A tenth of the time left is a usual margin between a plan's P50 and P90,
    which another plan can spare. `left` is None without a deadline, and below 0 after it.
    """
    spare = timedelta(0) if left is None else left / _OF_LEFT
    return min(MOST, max(LEAST, spent / _OF_SPENT, spare))
