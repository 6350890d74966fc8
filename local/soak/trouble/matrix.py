"""The fault matrix: every call that any state makes, times everything that can go wrong with it.

Nobody picks the rows: the calls are those that the paths make when they run, and each row is played on the
shortest path that makes its call, if possible on one that ends well.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import Ending
from local.soak.lab.functions import Mishap
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.permissions.permission_use import Use, uses_of
from local.soak.trouble.wire_faults import PASSING, CallFault, Kind, kinds, refusal_of

Key = tuple[str, str, str]
SEED = 1
BY_RULE = "adopted-by-rule"
"""The path on which a rule adopts a volume."""
SETTLED_SECONDS = 120.0
"""What AWS itself is still about to do once a restore has ended: a volume that is being deleted."""
SWEPT_SECONDS = 4_000.0
"""Four sweeps, and what they begin."""
CLEANERS = frozenset(
    {
        "Clean Up",
        "Clean Up Attempt",
        "Release",
        "Run Hook",  # it cancels a command that hangs
        "Release Target",
        "Report",
        "Announce Failure",
        "Announce Ready",
        "Announce Unreported",
        "SweepFunction",
    }
)
"""States whose work the sweeper does where they cannot."""
API = "ApiFunction"
LOWERED_LATER = "still has its boost"
"""EC2 bills the lower settings at once, and takes hours to be done; the sweeper removes the tag then."""
AT_FULL_SPEED = frozenset(
    {
        "Release",
        "Report Volume",
        "Announce Ready",
        "Report",
        "Announce Unreported",
        "Confirm Readiness",
        "Report Confirmation",
        "Announce Confirmation",
    }
)
"""States of a volume that is ready: whatever fails in them, it stays so, and so does its restore."""
HOURLY = ("fast-snapshot-restore", "boosted-warm-up")
"""Paths on which `Release` has something to give back, which most of the shortest ones have not."""
SWITCHED_OFF_BY = "aws ec2 disable-fast-snapshot-restores"
ENDLESS = {Kind.THROTTLED_FOR_EVER: "ThrottledError", Kind.ACCESS_DENIED: "AccessDeniedError"}
FALL_BACKS = {"FastSnapshotRestoreUnavailableError"}
"""What AWS says it could not do is a reason for the next plan, or for the end where there is none."""
MISHAPS = (
    ("timeout before the effect", Mishap("timeout")),
    ("timeout after the effect", Mishap("timeout", after_work=True)),
    ("out of memory", Mishap("memory")),
    ("crash after the effect", Mishap("crash", after_work=True)),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a path does where nothing goes wrong."""

    path: str
    ending: Ending
    calls: frozenset[Key]
    places: frozenset[str]
    length: int
    troubles: frozenset[str]
    """Errors that its states meet although nothing is injected: what makes the path what it is."""
    uses: tuple[Use, ...] = ()
    """The permissions that it uses."""


@dataclass(frozen=True, slots=True)
class CallRow:
    """One fault of one call."""

    key: Key
    kind: Kind
    path: str

    def __str__(self) -> str:
        """For people."""
        place, service, operation = self.key
        return f"{place}, {service} {operation}: {self.kind} ({self.path})"


@dataclass(frozen=True, slots=True)
class MishapRow:
    """One mishap of a function in one state."""

    place: str
    name: str
    path: str

    def __str__(self) -> str:
        """For people."""
        return f"{self.place}: {self.name} ({self.path})"


@dataclass(slots=True)
class Result:
    """What came of a row."""

    ending: Ending
    met: int
    left: list[str] = field(default_factory=list)
    """What was left at the end."""
    left_after_sweeps: list[str] = field(default_factory=list)
    told: str = ""
    """The messages that people were sent."""


class OneMishap:
    """The first invocation in a place goes wrong."""

    def __init__(self, place: str, mishap: Mishap) -> None:
        self.met = 0
        self._place = place
        self._mishap = mishap

    def invocation(self, place: str) -> Mishap | None:
        """Only the first."""
        if place != self._place or self.met:
            return None
        self.met = 1
        return self._mishap


def record(name: str) -> Recorded:
    """The path without faults."""
    with FastLab(SEED) as lab:
        ending = PATHS[name].play(lab)
        lab.pass_time(SWEPT_SECONDS)
        calls = frozenset(lab.calls)
        places = frozenset(lab.functions.places)
        executions = lab.states.executions.values()
        troubles = frozenset(error for execution in executions for _, error in execution.failures)
        uses = tuple(uses_of(lab, name))
        return Recorded(name, ending, calls, places, lab.functions.invocations, troubles, uses)


def _by_worth(recorded: dict[str, Recorded]) -> list[Recorded]:
    """Those that end ready first, and adoptions after restores, because they do least of what states do.

    One by a rule comes last: it does what others do, after it has waited.
    """

    def worth(one: Recorded) -> tuple[bool, bool, bool, float]:
        return one.path == BY_RULE, one.ending.status != "ready", one.path.startswith("adopted"), one.length

    return sorted(recorded.values(), key=worth)


def call_rows(recorded: dict[str, Recorded]) -> list[CallRow]:
    """Every call with every kind of fault, each on the shortest path.

    Those of rules come on the path of a rule: rules look every 15 minutes, so they make calls on all paths.
    """
    where = {key: one.path for one in reversed(_by_worth(recorded)) for key in one.calls}
    where |= {key: BY_RULE for key in recorded[BY_RULE].calls if key[0] == "RulesFunction"}
    return [
        CallRow(key, kind, path) for key in sorted(where) for path, kind in _ways(key, where[key], recorded)
    ]


def _ways(key: Key, shortest: str, recorded: dict[str, Recorded]) -> list[tuple[str, Kind]]:
    found = [(shortest, kind) for kind in kinds(key)]
    if key[0] == "Release":
        others = [one for one in HOURLY if one != shortest and key in recorded[one].calls]
        found += [(other, kind) for other in others for kind in kinds(key) if kind in ENDLESS]
    return found


def mishap_rows(recorded: dict[str, Recorded]) -> list[MishapRow]:
    """Every function in every state with every mishap."""
    where = {place: one.path for one in reversed(_by_worth(recorded)) for place in one.places}
    return [MishapRow(place, name, where[place]) for place in sorted(where) for name, _ in MISHAPS]


def play(row: CallRow | MishapRow) -> Result:
    """The row's path with its fault."""
    if isinstance(row, CallRow):
        fault = CallFault(row.key, row.kind)
        with FastLab(SEED, interference=fault) as lab:
            return _played(lab, row.path, fault)
    mishaps = OneMishap(row.place, dict(MISHAPS)[row.name])
    with FastLab(SEED, mishaps=mishaps) as lab:
        return _played(lab, row.path, mishaps)


def _played(lab: FastLab, path: str, fault: Any) -> Result:
    ending = PATHS[path].play(lab)
    lab.pass_time(SETTLED_SECONDS)
    result = Result(ending, fault.met)
    result.told = json.dumps(lab.slack)
    result.left = Auditor(lab).findings(ending)
    if not result.met:
        # Some calls are made by the schedule only, after the restore.
        lab.pass_time(SWEPT_SECONDS)
        result.met = fault.met
    if result.left:
        fault.lifted = True
        lab.pass_time(SWEPT_SECONDS)
        result.left_after_sweeps = Auditor(lab).findings(ending)
    return result


REFUSAL_MEANS = {("kms", "DescribeKey"): "SnapshotNotUsableError"}
"""Where a refusal is an answer: who may not look at a snapshot's key may not restore the snapshot."""


def complaints(row: CallRow | MishapRow, result: Result, recorded: Recorded) -> list[str]:
    """What is wrong with the way the row ended; empty where nothing is."""
    found = [f"the fault was never met on {row.path}"] if not result.met else []
    found += _of_ending(row, result.ending, recorded)
    found += [f"left for ever: {left_after_sweep}" for left_after_sweep in result.left_after_sweeps]
    place = row.key[0] if isinstance(row, CallRow) else row.place
    goes_on = any(one.startswith("fast snapshot restore of") for one in result.left)
    if place == "Release" and goes_on and SWITCHED_OFF_BY not in result.told:
        found.append(f"nobody is told how to end what goes on: {result.told[-600:]}")
    if place not in CLEANERS and "stopped" not in recorded.path:
        found += [f"left to the sweeper: {one}" for one in result.left if LOWERED_LATER not in one]
    return found


def _of_ending(row: CallRow | MishapRow, ending: Ending, recorded: Recorded) -> list[str]:
    expected = recorded.ending
    place = row.key[0] if isinstance(row, CallRow) else row.place
    if ending.kind == expected.kind or (place == API and _is_told_at_once(ending)):
        return []
    if place in AT_FULL_SPEED and expected.status == "ready":
        return [f"a volume at full speed ended {ending.kind}: {ending.cause[:300]}"]
    if isinstance(row, MishapRow) or row.kind in PASSING:
        if isinstance(row, CallRow) and row.kind is Kind.PARTIAL_FAILURE and ending.error in FALL_BACKS:
            return []
        return [f"ended {ending.kind} instead of {expected.kind}: {ending.cause[:300]}"]
    if ending.status == "failed" and ending.error in recorded.troubles:
        # The next plan could not take over: what the first one met is still the reason.
        return []
    if ending.status.startswith("refused") or ending.status == "failed":
        return _of_reason(row, ending)
    return [f"ended {ending.kind}: {ending.cause[:300]}"]


def _is_told_at_once(ending: Ending) -> bool:
    """The API refuses, and nothing has begun; or it could not cancel, and the restore went on."""
    return ending.kind == "ready" or ending.status in {
        "refused 403",
        "refused 500",
        "refused 429",
        "refused 502",
        "refused 503",
    }


def _of_reason(row: CallRow, ending: Ending) -> list[str]:
    """Never ending trouble with a call that is needed: the reason names the trouble and the call."""
    wanted, operation = ENDLESS[row.kind], row.key[2]
    code = refusal_of(row.kind, row.key[1]).code
    found = []
    if row.kind is Kind.ACCESS_DENIED and ending.error == REFUSAL_MEANS.get(row.key[1:]):
        wanted = ending.error
    if ending.error != wanted and code not in ending.cause:
        # A clean-up that fails too stands behind the reason for which it was needed.
        found.append(f"failed with {ending.error} instead of {wanted}: {ending.cause[:300]}")
    if re.search(rf"\b{operation}\b", ending.cause) is None:
        found.append(f"the reason does not name {operation}: {ending.cause[:300]}")
    return found
