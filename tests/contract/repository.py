"""The repository's own contracts as data: the template, the state machines, what they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from local import parts, state_machines, yaml_text

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
HANDLERS = ROOT / "functions/rewarm/handlers"
MACHINES = state_machines.definitions()
"""The state machines as they are deployed, by logical name."""


@cache
def template() -> Json:
    """template.yaml with all its parts, and with CloudFormation's short forms spelt out."""
    whole = yaml_text.template()
    return parts.chosen(whole, parts.every(whole))


def resources(kind: str) -> dict[str, Json]:
    """Properties of every resource of a type, by logical name."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template()["Resources"].items()
        if resource["Type"] == kind
    }


def functions() -> dict[str, Json]:
    """Every Lambda function."""
    return resources("AWS::Serverless::Function")


def statements(properties: Json) -> list[Json]:
    """All policy statements of a function or state machine: its own, shared ones, conditional ones."""
    managed = resources("AWS::IAM::ManagedPolicy")
    policies = [
        managed[policy["Ref"]]["PolicyDocument"] if "Ref" in policy else policy
        for policy in properties["Policies"]
    ]
    found = [one for policy in policies for one in policy["Statement"]]
    return [one["Fn::If"][1] if "Fn::If" in one else one for one in found]


def actions(statement: Json) -> list[str]:
    """Its actions as a list."""
    return listed(statement["Action"])


def listed(value: Any) -> list[Any]:
    """A value that may stand alone, as a list."""
    return value if isinstance(value, list) else [value]


def snake(name: str) -> str:
    """CreateVolume as create_volume."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@dataclass(frozen=True)
class Graph:
    """States of one level of a machine."""

    machine: str
    start: str
    states: dict[str, Json]
    outer: frozenset[str] = frozenset()
    """Variables that the level around it may have assigned."""


def graphs(name: str) -> Iterator[Graph]:
    """The machine itself, then the levels inside its Map states."""
    top = MACHINES[name]
    yield Graph(name, top["StartAt"], top["States"])
    for state in top["States"].values():
        if state["Type"] == "Map":
            inner = state["ItemProcessor"]
            yield Graph(name, inner["StartAt"], inner["States"], all_assigned(top["States"]))


def all_states() -> list[tuple[str, str, Json]]:
    """(machine, name, state) of every state at every level."""
    return [
        (machine_name, name, state)
        for machine_name in MACHINES
        for graph in graphs(machine_name)
        for name, state in graph.states.items()
    ]


def tasks() -> list[tuple[str, str, Json]]:
    """Every Task state."""
    return [one for one in all_states() if one[2]["Type"] == "Task"]


def all_assigned(states: Json) -> frozenset[str]:
    """Every variable that any of the states assigns."""
    return frozenset(name for state in states.values() for part in assigns(state) for name in part)


def assigns(state: Json) -> list[Json]:
    """Every Assign block of a state."""
    blocks = [state, *state.get("Catch", []), *state.get("Choices", [])]
    return [block["Assign"] for block in blocks if "Assign" in block]


def edges(state: Json) -> list[tuple[str, frozenset[str]]]:
    """(next state, variables that the way there assigns)."""
    own = frozenset(state.get("Assign", {}))
    branches = [*state.get("Choices", []), *state.get("Catch", [])]
    direct = [(state[name], own) for name in ("Next", "Default") if name in state]
    return direct + [(branch["Next"], frozenset(branch.get("Assign", {}))) for branch in branches]


def expressions(value: Any) -> Iterator[str]:
    """Every JSONata expression in a part of a state, without the states inside a Map."""
    if isinstance(value, str):
        if value.startswith("{%") and value.endswith("%}"):
            yield value[2:-2].strip()
    elif isinstance(value, dict):
        for name, one in value.items():
            if name != "ItemProcessor":
                yield from expressions(one)
    elif isinstance(value, list):
        for one in value:
            yield from expressions(one)
