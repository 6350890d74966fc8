"""How much of what has no end is tested: a fixed sample in `make test`, all of it in `make test-long`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

LONG = os.environ.get("LONG_TESTS") == "1"
"""Set by `make test-long`: new cases of every property, and every row of the fault matrix."""


def load_profile() -> None:
    """Set how properties are tested; to be called before a module with properties is imported.

    `make test` draws the same cases every time, so that a change is judged and not the draw.
    """
    settings.register_profile(
        "rewarm",
        derandomize=not LONG,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("rewarm")


def cases(few: int, many: int) -> settings:
    """Settings of a property: `few` cases in `make test`, `many` in `make test-long`."""
    return settings(max_examples=many if LONG else few)
