"""What a part of the plan's price has come to, by the time that it really took.

AWS's own bill comes a day later; storage is no part of these prices.
"""

from __future__ import annotations

import math
from decimal import Decimal

from rewarm.domain.model import Strategy
from rewarm.domain.plan.cost import FSR_MINIMUM_MINUTES, LIST_BLOCKS
from rewarm.domain.units import elapsed_text, round_usd

AS_PLANNED = "as planned: time has no part in it"
NEVER_MADE = "no volume was made"
UNKNOWN = "how long it lasted is not known here; AWS's bill has it"


def billed(
    strategy: Strategy,
    item: str,
    planned_usd: Decimal,
    planned_seconds: float | None,
    *,
    is_made: bool,
    actual_seconds: float | None,
) -> tuple[Decimal | None, str]:
    """US dollars, None where they cannot be known, and how that is counted.

    A provisioned rate is billed in full once the volume is there, requests when they are made; fast snapshot
    restore by the minute with an hour at least, performance by the second (the sources are at cost.py).
    """
    if planned_seconds is None:
        return (planned_usd, AS_PLANNED) if is_made or item == LIST_BLOCKS else (Decimal(0), NEVER_MADE)
    if actual_seconds is None:
        return None, UNKNOWN
    counted = float(math.ceil(max(0.0, actual_seconds)))
    if strategy is Strategy.FAST_SNAPSHOT_RESTORE:
        counted = 60.0 * max(FSR_MINIMUM_MINUTES, math.ceil(actual_seconds / 60))
    usd = round_usd(planned_usd * Decimal(counted) / Decimal(planned_seconds)) if planned_seconds else None
    return usd, f"for {elapsed_text(counted)}; planned were {elapsed_text(planned_seconds)}"
