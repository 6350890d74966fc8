"""The state machines are what Step Functions accepts: three checkers, as each misses what others find."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonata import Jsonata

from local import Json, state_machines
from tests.support.tree import BIN, ROOT, complaints

MACHINES = state_machines.definitions()
SUBSTITUTION = re.compile(r"\$\{(\w+)\}")
EXAMPLE_ARN = "arn:aws:lambda:us-east-1:123456789012:function:example"
NUMBERS = {"TimeoutSeconds", "MaxConcurrency", "ToleratedFailurePercentage", "ToleratedFailureCount"}
MAX_DEFINITION_BYTES = 1_048_576
"""AWS documentation, Step Functions quotas: a state machine definition."""

of_each = pytest.mark.parametrize("machine", MACHINES)


def definition(machine: str) -> Json:
    """The state machine with the partition, and an ARN for each other substitution."""
    text = SUBSTITUTION.sub(
        lambda match: "aws" if match[1] == "Partition" else EXAMPLE_ARN, json.dumps(MACHINES[machine])
    )
    substituted: Json = json.loads(text)
    return substituted


def expressions(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every JSONata expression with its place."""
    if isinstance(value, str) and value.startswith("{%"):
        yield place, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from expressions(item, f"{place}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from expressions(item, f"{place}/{index}")


def test_asl_validator(tmp_path):
    """References between states, unreachable states, fields of each state type."""
    options = []
    for machine in MACHINES:
        asl = tmp_path / f"{machine}.asl.json"
        # Its pattern of an expression knows no line feeds.
        asl.write_text(json.dumps(definition(machine)).replace("\\n", " "), encoding="utf-8")
        options += ["--json-path", asl]
    tool = ROOT / "tests/lint/asl/node_modules/asl-validator/dist/bin/asl-validator.js"
    assert complaints([BIN / "node", tool, *options]) == ""


def test_cfn_lint_of_the_definitions(tmp_path):
    """Rule E3601 looks only into AWS::StepFunctions::StateMachine, so the definition is wrapped in one.

    It knows no expression where a number is due, which JSONata states may have (Step Functions developer
    guide, "Transforming data with JSONata in Step Functions"): a number stands for it here.
    """
    resources = {}
    for machine in MACHINES:
        found = definition(machine)
        for state in found["States"].values():
            for name in NUMBERS & state.keys():
                if str(state[name]).startswith("{%"):
                    state[name] = 60
        properties = {"RoleArn": "arn:aws:iam::123456789012:role/example", "Definition": found}
        resources[machine] = {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}
    template = tmp_path / "template.json"
    template.write_text(json.dumps({"Resources": resources}), encoding="utf-8")
    assert complaints([BIN / "cfn-lint", template]) == ""


@of_each
def test_every_expression_compiles(machine):
    """And ends with its mark: a block scalar without `-` would end with a line feed, and be plain text."""
    found = list(expressions(definition(machine)))
    assert found
    for place, text in found:
        assert text.endswith("%}"), f"{place} does not end with %}}"
        Jsonata.jsonata(text[2:-2].strip())


@of_each
def test_no_field_of_the_other_query_language(machine):
    """A JSONPath field in a JSONata state machine is ignored or refused, depending on who reads it."""
    forbidden = ("InputPath", "OutputPath", "ResultPath", "Parameters", "ResultSelector", "Variable")
    text = json.dumps(definition(machine))
    assert not [word for word in forbidden if f'"{word}":' in text]
    assert "States.Format(" not in text
    assert definition(machine)["QueryLanguage"] == "JSONata"


@of_each
def test_definition_size(machine):
    assert len(json.dumps(definition(machine)).encode()) < MAX_DEFINITION_BYTES
