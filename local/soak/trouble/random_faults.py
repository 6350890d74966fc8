"""Trouble at random moments: calls, functions, agents, machines and events, for a while or until lifted."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from local.soak.lab.functions import Mishap
from local.soak.lab.transport import Call, NoInterference, Refusal, denied
from local.soak.trouble.wire_faults import INTERNAL, JSON_THROTTLED, THROTTLED

CALL_KINDS = ("throttled", "internal", "denied", "lost")
MISHAP_KINDS = ("timeout", "memory", "crash")


@dataclass(slots=True)
class CallFault:
    """One kind of trouble with some calls, from one instant to another."""

    kind: str
    place: str | None
    service: str | None
    operation: str | None
    begins: float
    ends: float
    share: float

    def hits(self, call: Call, chance: random.Random) -> bool:
        """Whether it strikes this call."""
        wanted = (self.place, self.service, self.operation)
        fits = all(one is None or one == have for one, have in zip(wanted, call.key, strict=True))
        return fits and self.begins <= call.at < self.ends and chance.random() < self.share

    def __str__(self) -> str:
        """For people."""
        what = " ".join(one for one in (self.place, self.service, self.operation) if one) or "every call"
        seconds = self.ends - self.begins
        lasts = "for good" if seconds > 1e6 else f"for {seconds:.0f} s"
        return f"{self.kind} {what} from {self.begins - 1.8e9:.0f} s on {lasts}, {self.share:.0%}"


@dataclass(slots=True)
class InvocationFault:
    """One invocation in a place, the n-th, goes wrong."""

    place: str
    mishap: Mishap
    skip: int

    def __str__(self) -> str:
        """For people."""
        when = "after" if self.mishap.after_work else "before"
        return f"{self.mishap.kind} of {self.place} {when} its work, after {self.skip}"


@dataclass
class RandomFaults(NoInterference):
    """All that goes wrong with calls and functions in one scenario."""

    chance: random.Random
    call_faults: list[CallFault] = field(default_factory=list)
    invocation_faults: list[InvocationFault] = field(default_factory=list)
    lifted: bool = False
    met: int = 0

    def before(self, call: Call) -> Refusal | None:
        """The first fault that strikes."""
        for fault in () if self.lifted else self.call_faults:
            if fault.kind != "lost" and fault.hits(call, self.chance):
                self.met += 1
                return refusal(fault.kind, call.service)
        return None

    def after(self, call: Call) -> bool:
        """Answers that get lost."""
        for fault in () if self.lifted else self.call_faults:
            if fault.kind == "lost" and fault.hits(call, self.chance):
                self.met += 1
                return True
        return False

    def invocation(self, place: str) -> Mishap | None:
        """Accidents in their order."""
        for fault in () if self.lifted else list(self.invocation_faults):
            if fault.place != place:
                continue
            if fault.skip:
                fault.skip -= 1
                return None
            self.invocation_faults.remove(fault)
            self.met += 1
            return fault.mishap
        return None


def refusal(kind: str, service: str) -> Refusal:
    """The error that a service sends."""
    if kind == "throttled":
        return THROTTLED.get(service, JSON_THROTTLED)
    if kind == "denied":
        return denied(service)
    return Refusal(INTERNAL.get(service, "InternalFailure"), "An internal error has occurred", 500)
