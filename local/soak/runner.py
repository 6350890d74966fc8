"""One scenario from its seed to its verdicts, and many of them after another."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from local import Json
from local.aws.region import ApiError
from local.soak.audit.adoptions import AdoptionAudit
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import FLEET, LONGEST_SECONDS, RESTORE, VOLUME, Ending, ended
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.lab import FastLab
from local.soak.trouble.attacker import Attacker, attacks
from local.soak.trouble.machine_rows import ACTS
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.outside_hands import outside_hands
from local.soak.trouble.paths.fleet_paths import fleet_ended
from local.soak.trouble.scenarios import Plan, Writer
from local.soak.trouble.volume_user import use
from rewarm.steps.record.restore import RULE_PREFIX

REFUSALS = frozenset(
    {
        "NoStrategyFitsError",
        "InvalidRequestError",
        "TargetNotUsableError",
        "DeviceInUseError",
        "TargetBusyError",
        "NotAttachedError",
    }
)
"""Some scenarios ask for what cannot be had, or twice for one device."""
REFUSED_BY_LAMBDA = "refused 500"
"""API Gateway's answer where Lambda does not run the API's function, or its answer is lost."""
CANCELLED = "RestoreCancelledError"
NOT_APPROVED = "ApprovalTimedOutError"
ENDED_FLEET = frozenset({"ready", "incomplete", "failed", "cancelled"})
EVENT = "event-"
"""How the name of an execution begins that an alarm's event started."""


@dataclass(slots=True)
class Outcome:
    """What came of one scenario."""

    seed: int
    restores: int
    ready: int = 0
    told: list[str] = field(default_factory=list)
    endings: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    virtual_seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Nothing left, nothing wrong, nothing stuck."""
        return not (self.leaks or self.wrong or self.stuck)

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return asdict(self)


def soak(restores: int, first_seed: int, play: Callable[[int], Outcome]) -> Iterator[Outcome]:
    """Scenarios by consecutive seeds until so many restores were made."""
    seed, made = first_seed, 0
    while made < restores:
        outcome = play(seed)
        made += outcome.restores
        seed += 1
        yield outcome


def scenario(
    seed: int, *, rewinds: bool = False, adoptions: bool = False, taggings: int | None = None
) -> Outcome:
    """One scenario, alone in its lab; where that is asked for, a rewind and what undoes it, or adoptions.

    `taggings` is how often an attacker tags things of others; by default that depends on the seed.
    """
    writer = Writer(seed)
    faults, settings = writer.plan.faults, Writer.settings(seed, adoptions=adoptions)
    with FastLab(seed, settings, interference=faults, mishaps=faults) as lab:
        write = writer.write_rewind if rewinds else writer.write_adoption if adoptions else writer.write
        plan = write(lab)
        lab.region.faults.add(*plan.region_faults)
        lab.data_plane.troubles.extend(_bound(plan, lab))
        hands = outside_hands(seed)
        hands.arrange(lab, plan)
        attacker = Attacker(lab, seed)
        attacker.begin(attacks(seed) if taggings is None else taggings)
        endings = _fleet_endings(lab, plan) if plan.fleet is not None else _Play(lab, plan).endings()
        outcome = _judged(lab, plan, endings)
        outcome.wrong += hands.wrong + attacker.findings()
        return outcome


def _bound(plan: Plan, lab: FastLab) -> list[Trouble]:
    """What happens to a machine happens in this lab."""
    for trouble in plan.troubles:
        act = ACTS.get(trouble.kind)
        if act is not None:
            trouble.kind = "call"
            trouble.call = _tolerant(act, lab)
    return plan.troubles


def _tolerant(act: Callable[..., None], lab: FastLab) -> Callable[[str, str], None]:
    def call(instance_id: str, volume_id: str) -> None:
        try:
            act(lab, instance_id, volume_id)
        except ApiError:
            return  # it is gone already

    return call


class _Play:
    """Starts the restores and does to them what the plan says."""

    def __init__(self, lab: FastLab, plan: Plan) -> None:
        self._lab = lab
        self._plan = plan

    def endings(self) -> list[Ending]:
        """Of every restore, in the order of the requests."""
        found: list[str | Ending] = []
        firsts: list[int] = []
        for number, request in enumerate(self._plan.requests):
            firsts.append(len(found))
            found += self._asked(number, request)
            self._lab.pass_time(self._plan.delays[number])
        endings = [one if isinstance(one, Ending) else ended(self._lab, one) for one in found]
        of_number = {number: endings[first] for number, first in enumerate(firsts)}
        for undoing in self._plan.undoings:
            undone = of_number.get(undoing.of)
            undo = None if undone is None else undoing.request(self._lab, undone)
            for one in [] if undo is None else self._asked(undoing.number, undo):
                of_number[undoing.number] = one if isinstance(one, Ending) else ended(self._lab, one)
                endings.append(of_number[undoing.number])
        return [*endings, *self._by_rules()]

    def _by_rules(self) -> list[Ending]:
        """Of what rules began; a rule that observes only has a plan made, which no ending tells."""
        self._lab.pass_time(self._plan.by_rule_seconds)
        begun = [one for one in self._lab.executions(RESTORE) if one.name.startswith(RULE_PREFIX)]
        acting = [one.name for one in begun if not one.input["request"]["dryRun"]]
        return [ended(self._lab, name) for name in acting]

    def _asked(self, number: int, request: Json) -> Iterator[str | Ending]:
        """What began by one request, or how it was refused."""
        before = self._begun()
        status, body = self._lab.api("POST", "/restores", request)
        # Where the answer of the API's function was lost, the restore began all the same.
        began = [str(body["restoreId"])] if status == 202 else sorted(self._begun() - before)
        for restore_id in began:
            self._arrange(number, restore_id)
            yield restore_id
        if not began:
            yield Ending(f"refused {status}", str(body.get("error", "")), str(body))

    def _begun(self) -> set[str]:
        return set(_asked_for(self._lab))

    def _arrange(self, number: int, restore_id: str) -> None:
        lab, plan = self._lab, self._plan
        if number in plan.cancel_after:
            lab.scheduler.after(plan.cancel_after[number], lambda: self._cancel(restore_id))
        if number in plan.stop_after:
            lab.scheduler.after(plan.stop_after[number], lambda: self._stop(number, restore_id))
        for seconds in plan.approve_after.get(number, ()):
            lab.scheduler.after(seconds, lambda: self._approve(restore_id))
        if number in plan.use_after:
            lab.scheduler.start(use(lab, restore_id, after_seconds=plan.use_after[number]))

    def _approve(self, restore_id: str) -> None:
        self._lab.begin_api("POST", f"/restores/{restore_id}/approve")

    def _cancel(self, restore_id: str) -> None:
        self._lab.begin_api("DELETE", f"/restores/{restore_id}")

    def _stop(self, number: int, restore_id: str) -> None:
        """The restore's own execution, or that of its first volume."""
        of_volume = random.Random(self._plan.seed + number).random() < 0.3
        lab = self._lab
        found = lab.execution(VOLUME, f"{restore_id}-0") if of_volume else lab.execution(RESTORE, restore_id)
        if found is not None:
            lab.states.stop(found.arn)
        if number in self._plan.redrive_after:
            lab.scheduler.after(self._plan.redrive_after[number], lambda: self._redrive(restore_id))

    def _redrive(self, restore_id: str) -> None:
        """Of the restore, if it was stopped; its volume's execution has its own end."""
        found = self._lab.execution(RESTORE, restore_id)
        if found is not None and found.status == "ABORTED":
            self._lab.states.redrive(found.arn)


def _fleet_endings(lab: FastLab, plan: Plan) -> list[Ending]:
    """Of every restore of the fleet, and of its redrive; what befalls one of them befalls the fleet."""
    status, body = lab.api("POST", "/fleets", plan.fleet)
    begun = [str(body["fleetId"])] if status == 202 else [one.name for one in lab.executions(FLEET)]
    if not begun:
        return [Ending(f"refused {status}", str(body.get("error", "")), str(body))]
    fleet_id = begun[0]
    for seconds in list(plan.cancel_after.values())[:1]:
        lab.scheduler.after(seconds, lambda: _cancel_fleet(lab, fleet_id))
    for seconds in list(plan.stop_after.values())[:1]:
        lab.scheduler.after(seconds, lambda: _stop_fleet(lab, fleet_id))
    fleet_ended(lab, fleet_id)
    if plan.redrives:
        lab.api("POST", f"/fleets/{fleet_id}/redrive")
        fleet_ended(lab, fleet_id)
    if plan.cancel_after or plan.stop_after:
        everyone = dict.fromkeys(range(len(_asked_for(lab))), 0.0)
        plan.cancel_after, plan.stop_after = everyone, everyone
    return [ended(lab, name) for name in _asked_for(lab)]


def _asked_for(lab: FastLab) -> list[str]:
    """The restores that began, without what an event of an alarm has started."""
    names = [execution.name for execution in lab.executions(RESTORE)]
    return [name for name in names if not name.startswith(EVENT)]


def _cancel_fleet(lab: FastLab, fleet_id: str) -> None:
    lab.begin_api("DELETE", f"/fleets/{fleet_id}")


def _stop_fleet(lab: FastLab, fleet_id: str) -> None:
    found = lab.execution(FLEET, fleet_id)
    if found is not None and found.status == "RUNNING":
        lab.states.stop(found.arn)


def _fleets(lab: FastLab) -> list[str]:
    """What is wrong with the records of fleets: none continues, and `ready` is said of whole ones only.

    A restore whose item somebody has deleted counts as one that waits, also after the fleet's end.
    """
    found = []
    is_counted = not any(key.startswith("restore#") for key in lab.outside.lost)
    for fleet in lab.api("GET", "/fleets")[1]["fleets"]:
        _, record = lab.api("GET", f"/fleets/{fleet['fleetId']}")
        counts = (record["progress"] or {"counts": {}})["counts"]
        if record["status"] not in ENDED_FLEET:
            found.append(f"{fleet['fleetId']} is {record['status']} for ever")
        if is_counted and (record["status"] == "ready") != (set(counts) == {"ready"}):
            found.append(f"{fleet['fleetId']} is {record['status']} with {counts}")
    return found


def _judged(lab: FastLab, plan: Plan, endings: list[Ending]) -> Outcome:
    outcome = Outcome(plan.seed, len(endings), told=plan.told)
    outcome.virtual_seconds = lab.scheduler.now - 1.8e9
    for number, one in enumerate(endings):
        outcome.endings.append(one.kind)
        outcome.ready += one.status == "ready"
        outcome.wrong += _verdict(number, one, plan)
    # What an alarm's event started may still try again; the audit below looks whether it ended.
    running = [one for one in lab.states.running() if not one.name.startswith(EVENT)]
    # An execution that was redriven after its ending was noted still runs. It is not stuck for that.
    late = [lab.finish(one, most_seconds=LONGEST_SECONDS) for one in running]
    outcome.stuck = [f"{one.name} in {one.state}" for one in late if one.status == "RUNNING"]
    plan.faults.lifted = True
    lab.region.faults.clear()
    for reservation in lab.region.call("ec2", "DescribeInstances", {})["Reservations"]:
        for instance in reservation[
            "Instances"
        ]:  # a silent one answers again: nothing may have been given up
            lab.region.change_instance(instance["InstanceId"], reachable=True)
    lab.pass_time(SWEPT_SECONDS)
    outcome.wrong += _boosts(lab, outcome.told) + _old_events(lab) + _fleets(lab)
    everything = Ending("", ready=[name for ending in endings for name in ending.ready])
    for finding in Auditor(lab).findings(everything):
        (outcome.wrong if "is cold" in finding else outcome.leaks).append(finding)
    return outcome


def _boosts(lab: FastLab, told: list[str]) -> list[str]:
    """The boosts of which nobody was told that they wait for EC2, which may take no change for a day."""
    audit = AdoptionAudit(lab)
    adopted = audit.adopted()
    raised = audit.still_raised()
    for _ in range(25):
        if not audit.still_raised().keys() - lab.outside.unconsented:
            break
        lab.pass_time(3_600)
    known = {name: boosts for name, boosts in audit.boosts().items() if name in adopted}
    told += [f"{name} was {', then '.join(boosts)}" for name, boosts in known.items() if boosts]
    untold = [name for name, is_told in raised.items() if not is_told]
    return [f"volume {name} had its boost, and nobody was told" for name in untold]


def _old_events(lab: FastLab) -> list[str]:
    """What an alarm's event started although it was old or suppressed; no scenario has another one."""
    return [
        f"{one.name} restored for an old event"
        for one in lab.states.executions.values()
        if one.name.startswith(EVENT) and one.status == "SUCCEEDED" and one.output["verdict"] == "ready"
    ]


def _verdict(number: int, ending: Ending, plan: Plan) -> list[str]:
    """Whether the end fits what was done to the restore."""
    about = f"restore {number} ended {ending.kind}"
    if ending.status in ("stuck", "timed out", "never started"):
        return [f"{about} within {LONGEST_SECONDS // 86_400} days"]
    if ending.status == "aborted" and number not in plan.stop_after:
        return [f"{about}, and nobody stopped it"]
    # A restore that is redriven after the sweeper has ended it, which marks it as cancelled, ends so, too.
    may_be_cancelled = plan.cancels_any or number in {*plan.cancel_after, *plan.redrive_after}
    if ending.error == CANCELLED and not may_be_cancelled:
        return [f"{about}, and nobody cancelled it"]
    if ending.error == NOT_APPROVED and number not in plan.approve_after:
        return [f"{about}, and no approval was wanted"]
    is_bad = ending.status != "ready" and ending.error not in REFUSALS
    if ending.status == REFUSED_BY_LAMBDA:
        return []
    if plan.harmless and is_bad:
        return [f"{about}, and nothing was wrong: {ending.cause[:300]}"]
    return []
