"""What POST /plans answers, as pictures: the plan, its what-if over deadlines, and its schedule."""

from __future__ import annotations

from rewarm.charts import frontier, plan, schedule
from rewarm.charts.frontier import Frontier, Offer
from rewarm.charts.plan import Panel, Point
from rewarm.charts.wording import alike, offer_text
from rewarm.contracts.plans import FrontierOffer, PlannedVolume, PlanResult
from rewarm.contracts.values import Candidate
from rewarm.domain.units import count_text, size_text, usd_text
from rewarm.domain.words.schedule import strategy_text


def picture(result: PlanResult, name: str) -> str:
    """An SVG file; `name` is one of PICTURES."""
    if name == "schedule":
        return schedule.document(result.summary.schedule, result.summary.deadline_seconds)
    return frontier.document(as_frontier(result)) if name == "what-if" else plan.document(as_panels(result))


def as_panels(result: PlanResult) -> list[Panel]:
    """One for each group of volumes that are alike in what is drawn."""
    return [_panel(result, group) for group in alike(result.plans)]


def as_frontier(result: PlanResult) -> Frontier:
    """For all volumes together."""
    return Frontier(
        title=f"What each deadline costs: {_subject(result.plans)}",
        offers=[_offer(offer) for offer in result.frontier],
        deadline_seconds=_deadline(result),
        budget_usd=_budget(result),
        choice_usd=float(result.summary.total_cost_usd),
    )


def _panel(result: PlanResult, group: list[PlannedVolume]) -> Panel:
    candidates = group[0].candidates
    return Panel(
        title=_subject(group),
        points=[_point(candidate) for candidate in candidates if candidate.feasible],
        impossible=[candidate.strategy.value for candidate in candidates if not candidate.feasible],
        deadline_seconds=_deadline(result),
        # It is for all volumes together, so it does not limit a single one.
        budget_usd=_budget(result) if len(result.plans) == 1 else None,
    )


def _point(candidate: Candidate) -> Point:
    assert candidate.cost_usd is not None
    return Point(
        strategy=candidate.strategy.value,
        name=strategy_text(candidate.strategy, candidate.initialization_rate_mib_s, candidate.boost),
        ready_p50_seconds=candidate.ready_p50_seconds or 1,
        ready_p90_seconds=candidate.ready_p90_seconds or 1,
        usd=float(candidate.cost_usd),
        price=usd_text(candidate.cost_usd),
        chosen=candidate.chosen,
    )


def _offer(offer: FrontierOffer) -> Offer:
    name = offer_text(offer.choices)
    most = max(offer.choices, key=lambda choice: choice.volumes)
    return Offer(
        offer.deadline_seconds, float(offer.cost_usd), usd_text(offer.cost_usd), most.strategy.value, name
    )


def _subject(group: list[PlannedVolume]) -> str:
    """`100 GiB of data onto i-0123 (m7g.large)`; `12 volumes of 100 GiB of data each into us-east-1a`."""
    first = group[0]
    sizes = {planned.facts.data_bytes for planned in group}
    data = f"{size_text(max(sizes))} of data" if len(sizes) == 1 else "up to " + size_text(max(sizes))
    limits = first.facts.instance_limits
    target = f"onto {limits.instance_type}" if limits else f"into {first.volume.availability_zone}"
    if len(group) == 1:
        return f"{data} {target}"
    return f"{count_text(len(group), 'volume')} of {data} each {target}"


def _deadline(result: PlanResult) -> float | None:
    minutes = result.request.objective.ready_within_minutes
    return None if minutes is None else minutes * 60.0


def _budget(result: PlanResult) -> float | None:
    most = result.request.objective.max_cost_usd
    return None if most is None else float(most)
