"""Each part of the stack can be left out: nothing refers to what is not there, and nobody calls it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from local import dashboard, parts, yaml_text
from local.aws.emulator.deploy import included
from local.aws.permissions import deployed as page
from local.aws.permissions.policies import problems
from local.soak.lab.template import stack
from rewarm.domain.parts import WORDS, Part
from tests.support.tree import ROOT

WHOLE = yaml_text.template()
NAMES = parts.names(WHOLE)
CHOICES = [
    {}, *({**parts.every(WHOLE), name: "no"} for name in NAMES),
    *({**parts.every(WHOLE, "no"), name: "yes"} for name in NAMES), parts.every(WHOLE, "no"),
]  # fmt: skip
"""The defaults, all but one, just one, and none."""
TODAY = 46
"""Functions of a stack with every part."""
_NAMED = re.compile(r"\$\{(\w+)(?:\.\w+)*\}")


def choice_id(choice: dict[str, str]) -> str:
    on = [name for name, said in choice.items() if said == "yes"]
    off = [name for name, said in choice.items() if said == "no"]
    return (
        "defaults"
        if not choice
        else "none"
        if not on
        else f"not {off[0]}"
        if len(off) == 1
        else f"just {on[0]}"
    )


def deployed(choice: dict[str, str]) -> dict[str, Any]:
    template = parts.chosen(WHOLE, choice)
    template["Resources"] = json.loads(json.dumps(template["Resources"]))
    for name, one in template["Resources"].items():
        properties = one.get("Properties", {})
        if properties.pop("Fn::Transform", None):
            properties |= dashboard.included()[name]
        if "Fn::Transform" in properties.get("DefinitionBody", {}):
            properties["DefinitionBody"] = included(ROOT, properties["DefinitionBody"])
    return parts.chosen(template, choice)


def referred(value: Any) -> Iterator[str]:
    """The names that a value refers to. The map of Fn::Sub has names of its own."""
    if isinstance(value, list):
        for one in value:
            yield from referred(one)
    elif isinstance(value, dict):
        for name, argument in value.items():
            if name == "Ref":
                yield argument
            elif name == "Fn::GetAtt":
                yield argument.partition(".")[0] if isinstance(argument, str) else argument[0]
            elif name == "Fn::Sub":
                text, more = argument if isinstance(argument, list) else (argument, {})
                yield from {one for one in _NAMED.findall(text) if one not in more}
                yield from referred(more)
            elif name == "DependsOn":
                yield from argument if isinstance(argument, list) else [argument]
            else:
                yield from referred(argument)


@pytest.mark.parametrize("choice", CHOICES, ids=choice_id)
def test_nothing_refers_to_a_resource_that_is_not_there(choice: dict[str, str]) -> None:
    template = deployed(choice)
    there = template["Resources"].keys() | template["Parameters"].keys()
    made_by_sam = {f"{name}Role" for name in there} | {"RestoreStateMachineAlarmRaised"}
    named = set(referred([template["Resources"], template["Outputs"], template["Globals"]]))
    assert {name for name in named - there - made_by_sam if not name.startswith("AWS::")} == set()


@pytest.mark.parametrize("choice", CHOICES, ids=choice_id)
def test_every_statement_is_one_that_iam_takes(choice: dict[str, str]) -> None:
    found = [one for listed in stack(**choice).policies.values() for one in listed]
    assert [said for one in found for said in problems(one)] == []
    assert not [one for one in found if "left-out" in json.dumps(one.resources)], (
        "nobody may call what is left out"
    )


SERVED = {
    "Fleets": ("/fleet-", ":FleetStateMachine"),
    "Rewinds": ("/undo/", "/rewound/", "/deltas/", "ebs:GetSnapshotBlock"),
    "Applications": ("ssm:DescribeDocument", "HookDocument"),
    "PerformanceChanges": ("cloudtrail:LookupEvents", "ChangePerformance"),
}
"""Words of statements that nothing but the part needs."""


@pytest.mark.parametrize("part", SERVED)
def test_no_role_keeps_a_permission_that_only_a_left_out_part_needs(part: str) -> None:
    def kept(choice: dict[str, str]) -> set[str]:
        listed = [one for found in stack(**choice).policies.values() for one in found]
        said = {one.source: json.dumps([one.actions, one.resources]) for one in listed}
        return {source for source, text in said.items() if any(word in text for word in SERVED[part])}

    assert kept(parts.every(WHOLE))
    assert kept({**parts.every(WHOLE), part: "no"}) == set()


def test_with_everything_off_at_most_sixty_percent_of_the_functions_are_there() -> None:
    found = {name: page.kinds(one)["AWS::Lambda::Function"] for name, one in page.stacks().items()}
    assert found["no part"] <= TODAY * 0.6
    assert found["every part"] == TODAY
    assert found["no part"] < found["default"] < found["every part"]


def test_the_readme_counts_what_is_deployed() -> None:
    text = page.README.read_text(encoding="utf-8")
    assert page.readme(text) == text, "run `make permissions-docs`"
    assert all(f"\n| {name} | " in text for name in page.stacks())


def test_what_the_code_calls_parts_are_the_parameters() -> None:
    assert set(NAMES) == set(Part) == set(WORDS)
    for name in NAMES:
        assert WHOLE["Parameters"][name]["AllowedValues"] == ["yes", "no"]
    usual = {name for name in NAMES if WHOLE["Parameters"][name]["Default"] == "yes"}
    assert usual == {"PublicPages", "Applications", "InstanceStarts"}
    said = WHOLE["Globals"]["Function"]["Environment"]["Variables"]["PARTS"]["Fn::Sub"]
    assert said.split() == [f"{name}=${{{name}}}" for name in NAMES]


@pytest.mark.parametrize("choice", [CHOICES[0], CHOICES[-1]], ids=choice_id)
def test_what_a_left_out_part_cost_is_left_out_too(choice: dict[str, str]) -> None:
    """A log group, a document and a role cost nothing; an alarm and a secret do."""
    there = parts.chosen(WHOLE, choice)["Resources"]
    alarms = {name for name, one in there.items() if one["Type"] == "AWS::CloudWatch::Alarm"}
    assert not {name for name in alarms if name.startswith(("Fleet", "ChangePerformance", "DrillNot"))}
    assert ("SlackSigningSecretValue" in there) == ("PublicApi" in there)


def test_the_dashboard_is_json_without_any_part_and_with_all() -> None:
    for choice in (CHOICES[-1], parts.every(WHOLE)):
        text, more = parts.chosen(deployed(choice), choice)["Resources"]["Dashboard"]["Properties"][
            "DashboardBody"
        ]["Fn::Sub"]
        for name, said in more.items():
            text = text.replace(f"${{{name}}}", said if isinstance(said, str) else said["Fn::Sub"])
        names = [one["properties"].get("title") for one in json.loads(text)["widgets"]]
        assert "Lambda errors" in names
