"""Where one strategy begins to beat another, by asking the rules at many points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from local.tools.plan import curves, offline
from local.tools.plan.options import Options
from rewarm.domain.model import Strategy
from rewarm.domain.plan import cost
from rewarm.domain.plan.estimates import Estimate, EstimateLimits
from rewarm.domain.plan.estimators import ESTIMATORS
from rewarm.domain.plan.facts import VolumeFacts

NOW = datetime(2026, 11, 21, tzinfo=UTC)
INSTANCE_TYPE = "m7g.4xlarge"
"""Its baseline to EBS is above what S3 gives one volume, so that it is no limit here."""
SIZES_GIB = (10, 30, 100, 300, 1_024, 4_096, 16_384)
VOLUMES = (1, 2, 3, 4, 6, 8, 12)
NAMES = {
    "background": ("background", False),
    "warm-up-agent": ("warm-up-agent", False),
    "boosted-warm-up": ("boosted-warm-up, highest boost", False),
    "rate 100": ("provisioned-rate, 100 MiB/s", True),
    "rate 300": ("provisioned-rate, 300 MiB/s", False),
    "fast-snapshot-restore": ("fast-snapshot-restore", False),
}


@dataclass(frozen=True, slots=True)
class Totals:
    """All volumes of a restore: the last one's P90, and what they cost together."""

    p90_seconds: float
    usd: float


def size_name(gib: int) -> str:
    """`300 GiB`, `4 TiB`."""
    return f"{gib // 1_024} TiB" if gib >= 1_024 else f"{gib} GiB"


@cache
def ways(
    size_gib: int, volumes: int = 1, region: str = "us-east-1", fsr: str = "disabled"
) -> dict[str, Totals]:
    """Each way by its name in NAMES; ways that cannot be had are left out."""
    credit = 1.0 if fsr == "enabled" else None
    options = Options(
        size_gib=size_gib, volumes=volumes, region=region, instance_type=INSTANCE_TYPE, fsr_state=fsr,
        credits=credit,
    )  # fmt: skip
    facts, _ = offline.facts(options, NOW)
    found = {name: [_way(name, fact, region) for fact in facts] for name in NAMES}
    return {name: _totals(estimates) for name, estimates in found.items() if None not in estimates}


def _way(name: str, facts: VolumeFacts, region: str) -> Estimate | None:
    strategy = Strategy.PROVISIONED_RATE if name.startswith("rate") else Strategy(name)
    # A deadline that nothing meets asks for the highest rate and boost, none for the lowest rate.
    limits = EstimateLimits() if name == "rate 100" else EstimateLimits(deadline_seconds=0)
    outcome = ESTIMATORS[strategy](facts, offline.Prices(region).book(now=NOW), limits)
    return outcome if isinstance(outcome, Estimate) else None


def _totals(estimates: Sequence[Estimate | None]) -> Totals:
    known = [estimate for estimate in estimates if estimate is not None]
    usd = sum(cost.total(one.parts) for one in known)
    return Totals(max(one.times.ready_p90 for one in known), float(usd))


def by_size() -> curves.Picture:
    """When the agent beats all: one volume of growing size."""
    points = [ways(gib) for gib in SIZES_GIB]
    return curves.Picture(
        title="One volume, by the data in its snapshot",
        x_label="data in the snapshot",
        xs=SIZES_GIB,
        x_names=[size_name(gib) for gib in SIZES_GIB],
        panels=_panels(points, list(NAMES)),
    )


def by_volumes(size_gib: int) -> curves.Picture:
    """When fast snapshot restore beats the rate: several volumes of one snapshot, each on its own."""
    points = [ways(size_gib, volumes) for volumes in VOLUMES]
    return curves.Picture(
        title=f"Several volumes from one snapshot of {size_name(size_gib)}",
        x_label="volumes",
        xs=VOLUMES,
        x_names=[str(volumes) for volumes in VOLUMES],
        panels=_panels(points, ["rate 100", "rate 300", "fast-snapshot-restore"]),
        logarithmic=False,
    )


def _panels(points: Sequence[Mapping[str, Totals]], names: Sequence[str]) -> list[curves.Panel]:
    def curve(name: str, figure: str) -> curves.Curve:
        text, faint = NAMES[name]
        strategy = "provisioned-rate" if name.startswith("rate") else name
        ys = [getattr(point[name], figure) if name in point else None for point in points]
        return curves.Curve(strategy, text, ys, faint)

    return [
        curves.Panel(
            "P90 of full speed (the last volume's)", "seconds", [curve(name, "p90_seconds") for name in names]
        ),
        curves.Panel("cost, US dollars (all volumes)", "usd", [curve(name, "usd") for name in names]),
    ]


def volumes_until_cheaper(size_gib: int, rate: str, region: str = "us-east-1", most: int = 16) -> int | None:
    """From how many volumes on fast snapshot restore costs less than the rate; None where it never does."""
    low, high = 1, most
    if not _fsr_is_cheaper(size_gib, rate, high, region):
        return None
    while low < high:
        middle = (low + high) // 2
        if _fsr_is_cheaper(size_gib, rate, middle, region):
            high = middle
        else:
            low = middle + 1
    return low


def _fsr_is_cheaper(size_gib: int, rate: str, volumes: int, region: str) -> bool:
    found = ways(size_gib, volumes, region)
    return "fast-snapshot-restore" in found and found["fast-snapshot-restore"].usd < found[rate].usd
