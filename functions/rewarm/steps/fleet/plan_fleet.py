"""Route POST /fleets/plans, and the plan of a run: all volumes of a fleet in one plan.

One call to EC2 asks about 200 snapshots, volumes or instances. Each restore gets its volumes' shares of the
plan. A restore whose facts are not known is left out, and plans on its own.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Decimal

from rewarm.contracts.base import JsonObject
from rewarm.contracts.fleets import FleetPlanResult, FleetRequest, PlannedFleetVolume, UnplannedVolumes
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import (
    FleetShare,
    PlannedVolumes,
    PlanSummary,
    Trigger,
    VolumeAssignment,
    VolumePlan,
)
from rewarm.domain.errors import InvalidRequestError, NoStrategyFitsError, RestoreError
from rewarm.domain.fleets import Span, ends_of, ready_from
from rewarm.domain.model import BLOCK_BYTES, Instance, Snapshot, Strategy, Volume
from rewarm.domain.plan.approval import ApprovalRule
from rewarm.domain.plan.estimates import ENDLESS, SearchTime
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import MICRO_DOLLAR
from rewarm.domain.value import Value
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.restores import Pace
from rewarm.steps.fleet.fleet_sources import FleetSourcePorts, resolve_fleet
from rewarm.steps.fleet.requests import FleetRestore, parse_fleet_request, restores_of, source_of
from rewarm.steps.plan.plan_notes import few_notes
from rewarm.steps.plan.planning import Case, PlanningPorts, gather, plan_briefly
from rewarm.steps.select.selection import known_volumes, with_agent
from rewarm.steps.select.turns import calls_of_restore, turns_of_fleet

MOST_PLANNED_AT_ONCE = 1_000
"""The most volumes that POST /fleets/plans plans within API Gateway's 29 seconds."""
TRIES = 4
"""How often a plan is made again with less time, because restores wait for each other."""
EARLY_SECONDS = 300
"""How long before its turn for the Region's rate a restore begins, so that it cannot be late for it."""
_Urgency = tuple[bool, float, float]
"""(needs no Region's rate, seconds until its turn, its duration as a negative): the least begins first."""


class PlanFleetPorts(FleetSourcePorts, PlanningPorts, kw_only=True):
    """The ports that the plan of a fleet needs."""

    artifacts: Artifacts
    pace: Pace
    most_in_stack: int
    """How many restores of the stack may run at once."""


class PlannedRestore(Value):
    """A restore with its part of the plan; `problem` says why a restore has none and plans on its own."""

    restore: FleetRestore
    plans: Sequence[VolumePlan] = ()
    shares: Sequence[FleetShare] = ()
    begins_seconds: float = 0.0
    problem: str | None = None

    def to_item(self, trigger: Trigger, turns_from: datetime | None, *, is_limited: bool) -> JsonObject:
        """The item of the Distributed Map. A restore without a plan has no part of the fleet's budget."""
        if turns_from is not None and self.plans:
            turn_at = turns_from + timedelta(seconds=self.begins_seconds)
            trigger = trigger.model_copy(update={"turn_at": turn_at})
        budgets = [plan.budget_usd for plan in self.plans if plan.budget_usd is not None]
        budget = sum(budgets, Decimal(0)).quantize(MICRO_DOLLAR, rounding=ROUND_DOWN) if is_limited else None
        shares = [share.to_json() for share in self.shares] or None
        return self.restore.to_item(trigger, budget_usd=budget, shares=shares)


class FleetPlan(Value):
    """The restores of a run in the order in which they begin, and the plan of all together."""

    restores: Sequence[PlannedRestore]
    answer: FleetPlanResult

    def to_items(self, trigger: Trigger, pace: Pace, at_once: int, now: datetime) -> list[JsonObject]:
        """The items of the Distributed Map. Restores that begin at once take turns at EC2 in this order.

        The others take their turns when they begin, as do all restores of a plan that needs approval.
        """
        wanted = self.answer.request.objective
        is_limited = wanted.max_cost_usd is not None or wanted.approve_above_usd is not None
        first = [planned_restore for planned_restore in self.restores[:at_once] if planned_restore.plans]
        calls = sum(calls_of_restore(len(planned_restore.plans)) for planned_restore in first)
        summary = self.answer.summary
        asks = summary is not None and summary.needs_approval is not None
        turns_from = None if asks or not first else pace.due(calls, now=now)
        return [
            planned_restore.to_item(trigger, turns_from if number < at_once else None, is_limited=is_limited)
            for number, planned_restore in enumerate(self.restores)
        ]


def plan_fleet(
    body: JsonObject, *, now: datetime, ports: PlanFleetPorts, has_time: Callable[[], bool] = lambda: True
) -> FleetPlanResult | None:
    """What the fleet would cost and when it would be ready, by the snapshots' own figures.

    None where that takes longer than there is time. Raises every error that names a field of the request, and
    NoStrategyFitsError.
    """
    request = parse_fleet_request(body, ports.parts)
    items: list[JsonObject] = [asdict(item) for item in resolve_fleet(source_of(request), ports)]
    restores = restores_of("fleet", items, request, run=1)
    if len(items) > MOST_PLANNED_AT_ONCE:
        return None
    minutes = request.objective.ready_within_minutes
    deadline_at = None if minutes is None else now + timedelta(minutes=minutes)
    patience = SearchTime(has_time)
    plan = _planned(request, restores, ports, _Terms(now, deadline_at, patience=patience))
    return None if patience.is_over else plan.answer


def planned(
    request: FleetRequest,
    restores: Sequence[FleetRestore],
    ports: PlanFleetPorts,
    *,
    deadline_at: datetime | None,
    now: datetime,
    approved_usd: Decimal | None = None,
) -> FleetPlan:
    """One plan for all restores.

    Without such a plan, each restore plans on its own; if the fleet has a budget or needs approval, raises
    NoStrategyFitsError instead.
    """
    return _planned(request, restores, ports, _Terms(now, deadline_at, approved_usd))


class _Terms(Value):
    now: datetime
    deadline_at: datetime | None
    approved_usd: Decimal | None = None
    patience: SearchTime = ENDLESS


def _planned(
    request: FleetRequest, restores: Sequence[FleetRestore], ports: PlanFleetPorts, terms: _Terms
) -> FleetPlan:
    rule = _rule(request, restores, terms.approved_usd)
    volumes, problems = _assigned(restores, ports)
    known = [restore for restore in restores if restore.restore_id in volumes]
    course, problem = None, ""
    if known:
        try:
            found = [(restore, volumes[restore.restore_id]) for restore in known]
            cases = [
                replace(case, objective=replace(case.objective, patience=terms.patience))
                for case in _cases(request, found, ports, terms.deadline_at, terms.now)
            ]
            at_once = places_of_fleet(request, ports.most_in_stack)
            course = _course(cases, found, at_once, rule, ports, terms.now)
        except NoStrategyFitsError as error:
            if request.objective.max_cost_usd is not None or rule.above_usd is not None or rule.replaces:
                raise
            problem = str(error)
    left_out = [
        PlannedRestore(restore, problem=problems.get(restore.restore_id, problem))
        for restore in restores
        if course is None or restore.restore_id in problems
    ]
    of_plan = [] if course is None else course.planned(terms.deadline_at, terms.now)
    answer = FleetPlanResult(
        request=request,
        restore_count=len(restores),
        volume_count=sum(len(restore.volumes) for restore in restores),
        deadline_at=terms.deadline_at,
        summary=None if course is None else course.summary(terms.deadline_at, terms.now),
        volumes=[volume for restore in of_plan for volume in _shown(restore)],
        unplanned=_unplanned(left_out),
    )
    return FleetPlan([*of_plan, *left_out], answer)


def _rule(
    request: FleetRequest, restores: Iterable[FleetRestore], approved_usd: Decimal | None
) -> ApprovalRule:
    wanted = request.objective
    replaces = wanted.approve_replace and any(each.request.target.mode == "replace" for each in restores)
    return ApprovalRule(wanted.approve_above_usd, replaces, approved_usd)


def _shown(planned_restore: PlannedRestore) -> Iterator[PlannedFleetVolume]:
    for plan, share in zip(planned_restore.plans, planned_restore.shares, strict=True):
        yield PlannedFleetVolume(
            **dict(share),
            snapshot_id=plan.volume.snapshot_id,
            instance_id=plan.volume.instance_id,
            availability_zone=plan.volume.availability_zone,
        )


def _unplanned(left_out: Iterable[PlannedRestore]) -> list[UnplannedVolumes]:
    counts: Counter[str] = Counter()
    for planned_restore in left_out:
        counts[planned_restore.problem or ""] += len(planned_restore.restore.volumes)
    return [UnplannedVolumes(volume_count=count, reason=reason) for reason, count in counts.items()]


class _Course(Value):
    """The plan of all volumes, and when each restore is at full speed if only so many run at once."""

    restores: Sequence[tuple[FleetRestore, Sequence[VolumePlan]]]
    """The restores in the order in which they begin."""
    begins: Sequence[float]
    """Seconds until the turn of each restore at EC2."""
    ends: Sequence[float]
    whole: PlannedVolumes

    @property
    def end(self) -> float:
        """Seconds until the last restore is at full speed."""
        return max(self.ends)

    def summary(self, deadline_at: datetime | None, now: datetime) -> PlanSummary:
        """The summary, including how long restores wait for each other."""
        ready_at = now + timedelta(seconds=self.end)
        late = deadline_at is not None and ready_at > deadline_at
        notes = few_notes(self.whole.summary.notes)
        update = {"ready_p90_at": ready_at, "deadline_missed": late, "notes": notes}
        return self.whole.summary.model_copy(update=update)

    def planned(self, deadline_at: datetime | None, now: datetime) -> list[PlannedRestore]:
        """Each restore with its shares."""
        everything = [plan for _, plans in self.restores for plan in plans]
        sharers = Counter(map(_shared, everything))
        written = max(1, len({plan.volume.snapshot_id for plan in everything if _is_written(plan)}))
        moved = _bytes_moved(self.restores)
        found = []
        for (restore, plans), begins, end in zip(self.restores, self.begins, self.ends, strict=True):
            late = deadline_at is not None and now + timedelta(seconds=end) > deadline_at
            ready_at = [now + timedelta(seconds=ready_from(_span(plan), begins)) for plan in plans]
            shares = [
                _share(plan, _beside(plan, restore, moved), at, is_late=late).model_copy(
                    update={"sharers": sharers[_shared(plan)], "snapshots_read": written}
                )
                for plan, at in zip(plans, ready_at, strict=True)
            ]
            found.append(PlannedRestore(restore, plans, shares, begins))
        return found


def _is_fast(plan: VolumePlan) -> bool:
    return plan.plan.strategy is Strategy.FAST_SNAPSHOT_RESTORE


def _is_written(plan: VolumePlan) -> bool:
    return plan.plan.strategy is Strategy.DIRECT_WRITE


def _shared(plan: VolumePlan) -> tuple[str, ...]:
    """A key that volumes with shared costs have in common: fast snapshot restore in a zone, or the blocks."""
    if _is_fast(plan):
        return plan.volume.snapshot_id, plan.volume.availability_zone
    return (plan.volume.snapshot_id,) if _is_written(plan) else ()


_Way = tuple[str | None, int | None]
"""An instance, and its EBS card where it has more than one."""


def _bytes_moved(
    restores: Iterable[tuple[FleetRestore, Sequence[VolumePlan]]],
) -> dict[_Way, list[tuple[str, int]]]:
    """By instance and EBS card: (restore, bytes that its agent reads and writes there)."""
    found: dict[_Way, list[tuple[str, int]]] = {}
    for restore, plans in restores:
        for plan in plans:
            if _uses_agent(plan) and plan.volume.instance_id is not None:
                size = plan.volume.written_blocks * BLOCK_BYTES * (2 if _is_written(plan) else 1)
                found.setdefault(_way(plan), []).append((restore.restore_id, size))
    return found


def _way(plan: VolumePlan) -> _Way:
    return plan.volume.instance_id, plan.volume.card


def _beside(
    plan: VolumePlan, restore: FleetRestore, moved: Mapping[_Way, Sequence[tuple[str, int]]]
) -> list[int]:
    """Bytes that other restores' agents move through the same instance or EBS card."""
    return [size for name, size in moved.get(_way(plan), ()) if name != restore.restore_id]


def _uses_agent(plan: VolumePlan) -> bool:
    return plan.plan.strategy.reads_with_agent or plan.plan.strategy.writes_with_agent


def _share(
    planned_volume: VolumePlan, beside: list[int], ready_p90_at: datetime, *, is_late: bool
) -> FleetShare:
    plan = planned_volume.plan
    nothing = Decimal(0)
    return FleetShare(
        strategy=plan.strategy,
        initialization_rate_mib_s=plan.initialization_rate_mib_s,
        boost=plan.boost,
        card=planned_volume.volume.card,
        start_at=plan.start_at,
        ready_p90_at=ready_p90_at,
        deadline_missed=is_late or plan.deadline_missed,
        cost_usd=plan.cost_usd,
        fast_restore_usd=plan.decidable_usd if _is_fast(planned_volume) else nothing,
        blocks_usd=plan.decidable_usd if _is_written(planned_volume) else nothing,
        read_beside=beside if _uses_agent(planned_volume) else [],
    )


def _cases(
    request: FleetRequest,
    restores: Sequence[tuple[FleetRestore, Sequence[VolumeAssignment]]],
    ports: PlanFleetPorts,
    deadline_at: datetime | None,
    now: datetime,
) -> list[Case]:
    everything = [volume for _, volumes in restores for volume in volumes]
    return gather(_as_one(request, restores[0][0]), everything, ports, deadline_at=deadline_at, now=now)


def _course(
    cases: Sequence[Case],
    restores: Sequence[tuple[FleetRestore, Sequence[VolumeAssignment]]],
    at_once: int,
    rule: ApprovalRule,
    ports: PlanFleetPorts,
    now: datetime,
) -> _Course:
    """The plan; made again with less time if restores that wait for each other would be late."""
    book = ports.prices.book(now=now)

    def course(seconds: float | None) -> _Course:
        limited = [
            replace(case, objective=replace(case.objective, deadline_seconds=seconds)) for case in cases
        ]
        return _in_order(restores, plan_briefly(limited, book, rule, now=now), at_once, ports.pace)

    deadline = cases[0].objective.deadline_seconds
    best = course(deadline)
    tighter = deadline
    for _ in range(TRIES if len(cases) <= MOST_PLANNED_AT_ONCE else 1):
        slowest = max(map(_ready, best.whole.plans))
        is_in_time = deadline is None or best.end <= max(deadline, slowest)
        if deadline is None or tighter is None or is_in_time or cases[0].objective.patience.is_over:
            break
        tighter = min(tighter, slowest) * deadline / best.end
        try:
            best = min(best, course(tighter), key=lambda found: found.end)
        except NoStrategyFitsError:
            break
    return best


def places_of_fleet(request: FleetRequest, most_in_stack: int) -> int:
    """How many restores of the fleet may run at once."""
    return min(request.max_concurrency or most_in_stack, most_in_stack)


def _as_one(request: FleetRequest, restore: FleetRestore) -> RestoreRequest:
    """The settings that all volumes share, as the request of one restore."""
    objective = restore.request.objective.model_copy(update={"max_cost_usd": request.objective.max_cost_usd})
    return restore.request.model_copy(update={"objective": objective})


def _in_order(
    restores: Sequence[tuple[FleetRestore, Sequence[VolumeAssignment]]],
    whole: PlannedVolumes,
    at_once: int,
    pace: Pace,
) -> _Course:
    """The course of restores in the order in which they begin; a restore that waits has a place in the stack.

    Restores that need the Region's rate begin as their turns come. Of the others, if all can begin at once,
        the longest begin first; else they begin in the request's order.
    """
    plans = iter(whole.plans)
    each = [(restore, [next(plans) for _ in volumes]) for restore, volumes in restores]
    by_urgency = sorted(
        ((min(map(_urgency, plans)), (restore, plans)) for restore, plans in each),
        key=lambda keyed: keyed[0] if len(each) <= at_once else keyed[0][:2],
    )
    found = list(_as_turns_come(by_urgency, pace))
    begins = turns_of_fleet([len(plans) for _, plans in found], pace)
    spans = [list(map(_span, plans)) for _, plans in found]
    return _Course(found, begins, ends_of(spans, at_once, begins), whole)


def _as_turns_come(
    by_urgency: Sequence[tuple[_Urgency, tuple[FleetRestore, list[VolumePlan]]]], pace: Pace
) -> Iterator[tuple[FleetRestore, list[VolumePlan]]]:
    """Restores that need the rate begin a little before their turns (P50) for it, the others between them."""
    holders = deque((turn, restore) for (is_other, turn, _), restore in by_urgency if not is_other)
    others = deque(restore for (is_other, _, _), restore in by_urgency if is_other)
    begins = 0.0
    while holders or others:
        is_due = bool(holders) and holders[0][0] <= begins + EARLY_SECONDS
        found = holders.popleft()[1] if is_due or not others else others.popleft()
        begins += pace.seconds_of(calls_of_restore(len(found[1])))
        yield found


def _urgency(plan: VolumePlan) -> _Urgency:
    return plan.plan.strategy is not Strategy.PROVISIONED_RATE, _turn(plan)[0], -_ready(plan)


def _turn(plan: VolumePlan) -> tuple[float, float]:
    """Seconds that the volume waits for the Region's rate: P50 and P90."""
    return plan.plan.phases.get(Phase.QUEUE, (0.0, 0.0))


def _ready(plan: VolumePlan) -> float:
    """Seconds until the volume is at full speed (P90), if it begins at once."""
    return float(plan.plan.ready_p90_seconds)


def _span(plan: VolumePlan) -> Span:
    """Seconds until the volume's turn for the rate and until full speed (P90)."""
    return _turn(plan)[1], _ready(plan)


def _assigned(
    restores: Sequence[FleetRestore], ports: PlanFleetPorts
) -> tuple[dict[str, list[VolumeAssignment]], dict[str, str]]:
    """The volumes of each restore, and why the volumes of other restores are not known."""
    wanted = {
        restore.restore_id: [_snapshot_id(volume.item) for volume in restore.volumes] for restore in restores
    }
    names = list(dict.fromkeys(name for asked in wanted.values() for name in asked if name))
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in ports.snapshots.restorable(names)}
    sources = {volume.volume_id: volume for volume in ports.volumes.existing(_sources(snapshots.values()))}
    targets = dict.fromkeys(restore.request.target.instance_id for restore in restores)
    found_instances = ports.instances.existing([name for name in targets if name])
    instances = {instance.instance_id: instance for instance in found_instances}
    agents: dict[tuple[str | None, str | None], bool] = {}
    found: dict[str, list[VolumeAssignment]] = {}
    problems: dict[str, str] = {}
    for restore in restores:
        try:
            found[restore.restore_id] = [
                _with_agent(volume, agents, ports.artifacts)
                for volume in _volumes(restore, wanted[restore.restore_id], snapshots, sources, instances)
            ]
        except RestoreError as error:
            problems[restore.restore_id] = str(error)
    return found, problems


def _snapshot_id(item: Mapping[str, JsonObject]) -> str:
    return str(item["snapshot"].get("snapshotId") or "")


def _sources(snapshots: Iterable[Snapshot]) -> list[str]:
    return list(dict.fromkeys(snapshot.volume_id for snapshot in snapshots if snapshot.volume_id))


def _volumes(
    restore: FleetRestore,
    wanted: Sequence[str],
    snapshots: Mapping[str, Snapshot],
    sources: Mapping[str, Volume],
    instances: Mapping[str, Instance],
) -> list[VolumeAssignment]:
    instance_id = restore.request.target.instance_id
    missing = [name for name in wanted if name not in snapshots]
    if missing or (instance_id is not None and instance_id not in instances):
        raise InvalidRequestError(f"EC2 shows no {missing[0] or 'snapshot' if missing else instance_id}")
    instance = None if instance_id is None else instances[instance_id]
    volumes = known_volumes(restore.request, [snapshots[name] for name in wanted], sources, instance)
    starts = bool(restore.request.target.start)
    return [volume.model_copy(update={"starts_instance": starts}) for volume in volumes]


def _with_agent(
    volume: VolumeAssignment, known: dict[tuple[str | None, str | None], bool], artifacts: Artifacts
) -> VolumeAssignment:
    """The volume with whether there is an agent for it, looked up once for each kind of instance."""
    kind = volume.platform, volume.architecture
    if kind not in known:
        known[kind] = with_agent(volume, artifacts).agent_available
    return volume.model_copy(update={"agent_available": known[kind]})
