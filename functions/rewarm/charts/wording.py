"""How strategies are written beside marks and in tables; needs no matplotlib."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rewarm.contracts.plans import FrontierChoice, PlannedVolume
from rewarm.contracts.values import Candidate
from rewarm.domain.units import usd_text
from rewarm.domain.words.schedule import strategy_text


def offer_text(choices: Iterable[FrontierChoice], *, rates: bool = False) -> str:
    """`provisioned-rate`, `3 x provisioned-rate, 1 x warm-up-agent`; with `rates`, at which ones."""
    counts: Counter[str] = Counter()
    for choice in choices:
        details = (choice.initialization_rate_mib_s, choice.boost) if rates else (None, None)
        counts[strategy_text(choice.strategy, *details)] += choice.volumes
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} x {name}" for name, count in counts.most_common())


def alike(plans: Iterable[PlannedVolume]) -> list[list[PlannedVolume]]:
    """Returns groups of volumes whose plans read the same; millionths of a dollar make no difference."""
    groups: dict[tuple[object, ...], list[PlannedVolume]] = {}
    for planned in plans:
        volume = planned.volume
        text = tuple(
            (
                strategy_text(candidate.strategy, candidate.initialization_rate_mib_s, candidate.boost),
                candidate.chosen,
                candidate.ready_p50_seconds,
                candidate.ready_p90_seconds,
                _price(candidate),
            )
            for candidate in planned.candidates
        )
        place = (volume.snapshot_id, volume.instance_id or volume.availability_zone)
        groups.setdefault((*place, planned.facts.data_bytes, text), []).append(planned)
    return list(groups.values())


def _price(candidate: Candidate) -> str:
    return "" if candidate.cost_usd is None else usd_text(candidate.cost_usd)
