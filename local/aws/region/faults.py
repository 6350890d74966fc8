"""Faults by name: a scenario is data that says which operation fails, how, how often and when."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local import Json
from local.aws.region.errors import ApiError

EFFECTS = ("error", "lost-answer", "stall", "drop", "duplicate", "volume-error", "snapshot-error", "corrupt")
"""What a rule does. `lost-answer` does the work, then fails the call; the last six act on inner targets."""

SCENARIOS = Path(__file__).with_name("scenarios.json")


@dataclass(frozen=True, slots=True)
class FaultRule:
    """One fault.

    `target` is an operation name, or `event:<detail type>`, `volume:creation`, `volume:initialization`,
    `volume:modification`, `fast-restore:enable`, `command:delivery`, `snapshot:creation` (it ends in
    `error`, or stays `pending` where it stalls), `block:data` (a byte of what GetSnapshotBlock sends is
    not the one that its checksum is of), or `root:replacement` (it fails, stalls or, with the code
    `failed-detached`, leaves the instance without a root volume).
    """

    target: str
    effect: str = "error"
    code: str = "InternalError"
    message: str = "An internal error has occurred"
    status: int = 400
    times: int | None = 1
    """How often; None means always."""
    skip: int = 0
    """How many matching calls pass first."""
    when: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that the call must have; `{"VolumeInitializationRate": "*"}` means any value."""
    at_fraction: float = 0.5
    """For `stall`: the share at which initialisation stops."""

    def __post_init__(self) -> None:
        if self.effect not in EFFECTS:
            raise ValueError(f"effect {self.effect!r} of {self.target!r} is none of {', '.join(EFFECTS)}")

    def fits(self, target: str, params: Json) -> bool:
        """Whether this rule is about that call."""
        return target == self.target and all(
            params.get(key) is not None if value == "*" else params.get(key) == value
            for key, value in self.when.items()
        )

    def error(self) -> ApiError:
        """The error that the caller gets."""
        return ApiError(self.code, self.message, self.status)


class Faults:
    """The rules in force and how often each has been met."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[tuple[FaultRule, list[int]]] = []

    def add(self, *rules: FaultRule) -> None:
        """Put rules in force."""
        with self._lock:
            self._rules.extend((rule, [0]) for rule in rules)

    def clear(self) -> None:
        """End every fault."""
        with self._lock:
            self._rules.clear()

    def inject(self, name: str, library: Path = SCENARIOS) -> None:
        """Put the rules of the named scenario in force."""
        scenarios = load(library)
        if name not in scenarios:
            raise KeyError(
                f"no scenario {name!r} in {library.name}; there are: {', '.join(sorted(scenarios))}"
            )
        self.add(*scenarios[name])

    def take(
        self, target: str, params: Json | None = None, *, effects: Iterable[str] = EFFECTS
    ) -> FaultRule | None:
        """The rule that this call meets, counted; None when it goes well."""
        with self._lock:
            for rule, seen in self._rules:
                if rule.effect in effects and rule.fits(target, params or {}):
                    seen[0] += 1
                    if _in_force(rule, seen[0]):
                        return rule
        return None


def load(library: Path = SCENARIOS) -> dict[str, tuple[FaultRule, ...]]:
    """Every scenario of a file: name -> {"description", "rules": [...]}; unknown keys are refused."""
    document = json.loads(library.read_text(encoding="utf-8"))
    return {
        name: tuple(FaultRule(**rule) for rule in scenario["rules"]) for name, scenario in document.items()
    }


def _in_force(rule: FaultRule, seen: int) -> bool:
    return seen > rule.skip and (rule.times is None or seen <= rule.skip + rule.times)
