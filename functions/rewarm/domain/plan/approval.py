"""When somebody must approve a plan before anything is made, until when, and what it may cost afterwards."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from rewarm.domain.units import price_text
from rewarm.domain.value import Value

WITHOUT_DEADLINE = timedelta(hours=24)
"""How long a restore waits that has no deadline."""
LEAST_WAIT = timedelta(minutes=10)
"""People need time to read, also where the deadline leaves none."""
MARGIN = timedelta(minutes=2)
"""Time left so that a plan that is approved at the last moment is still in time."""
STALE_AFTER = timedelta(minutes=5)
"""After so long the times of a plan do not hold any more, and it is made again."""


class ApprovalRule(Value):
    """What the request wants approved, and what was approved already."""

    above_usd: Decimal | None = None
    """Compared with the same price as a budget; 0 asks about every plan."""
    replaces: bool = False
    """It replaces a volume, and wants that approved."""
    approved_usd: Decimal | None = None

    @property
    def most_usd(self) -> Decimal | None:
        """What a plan may cost without being asked about; None where every price may pass."""
        return None if self.above_usd is None else max(self.above_usd, self.approved_usd or Decimal(0))

    def reason(self, usd: Decimal, *, unpriced: bool) -> str | None:
        """Why a plan for this price needs approval; `unpriced` where it has a part without a known price."""
        reasons = [self._of_price(usd, unpriced=unpriced), self._of_replacing()]
        return " ".join(reason for reason in reasons if reason) or None

    def _of_price(self, usd: Decimal, *, unpriced: bool) -> str | None:
        if self.above_usd is None or self.most_usd is None:
            return None
        if not usd and not self.above_usd and self.approved_usd is None:
            return "Every plan needs approval (objective.approveAboveUsd is 0)."
        above = f"above {price_text(self.above_usd)} it needs approval (objective.approveAboveUsd)."
        if usd > self.most_usd:
            before = (
                "" if self.approved_usd is None else f", and {price_text(self.approved_usd)} was approved"
            )
            return f"The plan costs {price_text(usd)}{before}; {above}"
        if unpriced and self.approved_usd is None:
            return f"The plan has a part whose price is not known; {above}"
        return None

    def _of_replacing(self) -> str | None:
        if not self.replaces or self.approved_usd is not None:
            return None
        return "The plan replaces a volume, which needs approval (objective.approveReplace)."

    def ceiling_usd(self, usd: Decimal) -> Decimal | None:
        """What the restore may cost in all once a plan for this price begins; None if there is no limit."""
        return None if self.most_usd is None else max(self.most_usd, usd)


def open_until(now: datetime, deadline_at: datetime | None, ready_p90_at: datetime) -> datetime:
    """When waiting for an approval becomes pointless: what is left then is what the plan needs (P90)."""
    if deadline_at is None:
        return now + WITHOUT_DEADLINE
    return max(now + LEAST_WAIT, deadline_at - (ready_p90_at - now) - MARGIN)
