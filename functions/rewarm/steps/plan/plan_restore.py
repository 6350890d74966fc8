"""POST /plans: every strategy with its time and price; nothing is created and nothing is written.

The answer has the plans of a request, the facts behind them, and the price of every other deadline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from rewarm.contracts.plans import (
    FastSnapshotRestoreFacts,
    FrontierChoice,
    FrontierOffer,
    InstanceLimits,
    PlanFacts,
    PlannedVolume,
    PlanResult,
    Price,
    QuotasLeft,
)
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import VolumeAssignment, VolumePlan
from rewarm.domain.model import FastSnapshotRestore, PriceBook, Strategy
from rewarm.domain.plan.allocation import FrontierStep, frontier
from rewarm.domain.plan.copying import frontier_with_copies
from rewarm.domain.plan.estimates import ENDLESS, SearchTime
from rewarm.domain.units import ceil_seconds
from rewarm.ports import JsonObject
from rewarm.ports.instances import CommandDocuments
from rewarm.ports.restores import RestoreTable
from rewarm.steps.plan import schedule
from rewarm.steps.plan.plan_notes import BLOCK_FIGURES, after_notes
from rewarm.steps.plan.planning import Case, PlanningPorts, approval_rule, gather, plan_cases
from rewarm.steps.plan.rewind_cases import RewindFactsPorts
from rewarm.steps.plan.rewinds import REWIND_PRICES, check_asked, rewinds_of
from rewarm.steps.record.learned_times import known_application
from rewarm.steps.record.recordings import with_hot_sets
from rewarm.steps.request.runbooks import resolve_request
from rewarm.steps.select.hooks import check_document
from rewarm.steps.select.selection import SelectionPorts, assign_volumes, with_agent

CUT_SHORT = (
    "The time for this answer was over before the search was: a plan that is cheaper or earlier may exist, "
    "and some deadlines are missing in the table of their prices."
)
REWIND_NOTE = "The strategies are for new volumes in place of a rewind."


class PlanRestorePorts(RewindFactsPorts, SelectionPorts, PlanningPorts, kw_only=True):
    """The ports that plan_restore needs."""

    table: RestoreTable
    documents: CommandDocuments
    stack_name: str


def plan_restore(
    body: JsonObject,
    *,
    restore_id: str,
    now: datetime,
    ports: PlanRestorePorts,
    has_time: Callable[[], bool] = lambda: True,
) -> PlanResult:
    """Plans by the snapshot's own figures, because listing its blocks could take too long for a caller.
    `has_time` says whether there is time left to search for plans and to look into rewinds.

    Raises every error that names a field of the request, and NoStrategyFitsError.
    """
    request = resolve_request(body, table=ports.table, parts=ports.parts)
    selected = assign_volumes(request, restore_id=restore_id, ports=ports)
    request = selected.request
    volumes = [with_agent(assignment, ports.artifacts) for assignment in selected.volumes]
    platform = volumes[0].platform
    check_document(request, platform, stack_name=ports.stack_name, documents=ports.documents)
    answer = plan_answer(request, volumes, ports, now=now, patience=SearchTime(has_time))
    application = known_application(request.after, volumes[0], ports.history, now)
    known, hot = with_hot_sets(request, answer.plans if has_time() else (), ports.artifacts)
    answer = answer.model_copy(update={"plans": known or answer.plans})
    notes = [*after_notes(request, application), *hot, *answer.summary.notes]
    summary = answer.summary.model_copy(update={"notes": notes})
    if request.is_drill:
        return answer.model_copy(update={"summary": summary})
    book = ports.prices.book(now=now)
    rewinds = rewinds_of(request, volumes, book, ports, now=now, has_time=has_time)
    if request.target.mode == "rewind":
        check_asked(rewinds, request.target.instance_id)
        summary = summary.model_copy(update={"notes": [REWIND_NOTE, *summary.notes]})
    plans = [
        plan.model_copy(update={"rewind": found}) for plan, found in zip(answer.plans, rewinds, strict=True)
    ]
    prices = answer.prices
    if any(found is not None and found.possible for found in rewinds):
        shown = {price.name for price in prices}
        prices = [*prices, *_listed(book, [name for name in REWIND_PRICES if name not in shown], now)]
    return answer.model_copy(update={"plans": plans, "prices": prices, "summary": summary})


def plan_answer(
    request: RestoreRequest,
    volumes: Sequence[VolumeAssignment],
    ports: PlanningPorts,
    *,
    now: datetime,
    patience: SearchTime = ENDLESS,
) -> PlanResult:
    """Returns plans, facts, and prices of other deadlines. Raises NoStrategyFitsError."""
    minutes = request.objective.ready_within_minutes
    deadline_at = None if minutes is None else now + timedelta(minutes=minutes)
    book = ports.prices.book(now=now)
    gathered = gather(request, volumes, ports, deadline_at=deadline_at, now=now)
    cases = [replace(case, objective=replace(case.objective, patience=patience)) for case in gathered]
    decided = plan_cases(cases, book, approval_rule(request), now=now)
    offers = _offers(_frontier(cases, book))
    notes = decided.summary.notes
    return PlanResult(
        request=request,
        plans=[
            PlannedVolume(**dict(plan), facts=_facts(case))
            for plan, case in zip(decided.plans, cases, strict=True)
        ],
        summary=decided.summary.model_copy(
            update={"notes": [CUT_SHORT, *notes] if patience.is_over else notes}
        ),
        frontier=offers,
        prices=_prices(book, decided.plans, now),
        ways=schedule.ways(),
    )


def _frontier(cases: Sequence[Case], book: PriceBook) -> list[FrontierStep]:
    facts = [case.facts for case in cases]
    objective = cases[0].objective
    source = cases[0].copies
    if source is None:
        return frontier(facts, objective, book)
    return frontier_with_copies(facts, source, objective, book)


def _facts(case: Case) -> PlanFacts:
    volume = case.volume
    facts = case.facts
    return PlanFacts(
        data_bytes=facts.data_bytes,
        data_bytes_from=volume.data_bytes_from,
        written_bytes=facts.written_bytes,
        snapshot_size_gib=facts.snapshot_size_gib,
        volume_limits=facts.speed,
        instance_limits=_instance_limits(case),
        agent_available=facts.agent_available,
        fast_snapshot_restore=_fast_restore(facts.fast_restore),
        quotas_left=QuotasLeft(
            fast_snapshot_restores=facts.fast_restore_quota_left,
            initialization_rate_mib_s=facts.rate_quota_left_mib_s,
            volume_clones=facts.clone_quota_left,
        ),
        clone_source=facts.clone_source.volume_id if facts.clone_source else None,
        volumes_of_snapshot=facts.volumes_of_snapshot,
        volumes_of_restore=facts.volumes_of_restore,
    )


def _instance_limits(case: Case) -> InstanceLimits | None:
    limits = case.facts.instance_limits
    instance_type = case.volume.instance_type
    if limits is None or instance_type is None:
        return None
    return InstanceLimits(
        instance_type=instance_type,
        card=case.facts.card,
        baseline_throughput_mib_s=limits.baseline_throughput_mib_s,
        maximum_throughput_mib_s=limits.maximum_throughput_mib_s,
        baseline_iops=limits.baseline_iops,
        maximum_iops=limits.maximum_iops,
    )


def _fast_restore(found: FastSnapshotRestore | None) -> FastSnapshotRestoreFacts:
    if found is None:
        return FastSnapshotRestoreFacts(state="disabled")
    return FastSnapshotRestoreFacts(state=found.state, enabled_at=found.enabled_at, credits=found.credits)


def _offers(steps: Sequence[FrontierStep]) -> list[FrontierOffer]:
    """One offer for each whole second; of several steps within a second, the last is the cheapest."""
    offers = {offer.deadline_seconds: offer for offer in map(_offer, steps)}
    return list(offers.values())


def _offer(step: FrontierStep) -> FrontierOffer:
    counts = Counter((each.strategy, each.rate_mib_s, each.boost) for each in step.estimates)
    return FrontierOffer(
        deadline_seconds=ceil_seconds(step.deadline_seconds),
        cost_usd=step.cost_usd,
        choices=[
            FrontierChoice(volumes=count, strategy=strategy, initialization_rate_mib_s=rate, boost=boost)
            for (strategy, rate, boost), count in counts.items()
        ],
    )


def _prices(book: PriceBook, plans: Sequence[VolumePlan], now: datetime) -> list[Price]:
    """The prices that a strategy's cost can depend on; storage costs the same with every strategy."""
    types = {plan.volume.volume.volume_type for plan in plans}
    writable = any(
        candidate.feasible and candidate.strategy is Strategy.DIRECT_WRITE
        for plan in plans
        for candidate in plan.candidates
    )
    left_out = {"snapshotUsdPerGibMonth", *(() if writable else BLOCK_FIGURES)}
    names = [
        name
        for name in book.figures
        if not name.startswith("storage") and ("." not in name or name.rpartition(".")[2] in types)
    ]
    return _listed(book, [name for name in names if name not in left_out], now)


def _listed(book: PriceBook, names: Iterable[str], now: datetime) -> list[Price]:
    figures = [(name, book.figures[name]) for name in names if name in book.figures]
    return [
        Price(name=name, usd=figure.usd, source=figure.source, as_of=figure.as_of, stale=figure.is_stale(now))
        for name, figure in figures
    ]
