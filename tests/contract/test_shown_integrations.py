"""What the documents show of FIS and DRS, held against AWS's models of them: nothing is made."""

from __future__ import annotations

import json
import re
from functools import cache

import botocore.session
import pytest
from botocore.validate import ParamValidator

from local import yaml_text
from rewarm_cli.main import rewarm
from tests.support.tree import ROOT

DRS = ROOT / "docs" / "drs"

PARAMETERS = {
    "aws:ebs:volume-io-latency": {
        "duration",
        "readIOPercentage",
        "readIOLatencyMilliseconds",
        "writeIOPercentage",
        "writeIOLatencyMilliseconds",
    },
    "aws:ebs:pause-volume-io": {"duration"},
}
"""Of FIS's actions on volumes, as its action reference has them."""
NEEDED = {
    "aws:ebs:volume-io-latency": "ec2:InjectVolumeIOLatency",
    "aws:ebs:pause-volume-io": "ec2:PauseVolumeIO",
}
"""The permission that each takes, beside ec2:DescribeVolumes and tag:GetResources."""


@cache
def shown():
    """The JSON of the page: a policy, and one template for each action."""
    text = (ROOT / "docs" / "game-day.md").read_text(encoding="utf-8")
    found = [json.loads(body) for body in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    return found[0], {next(iter(one["actions"].values()))["actionId"]: one for one in found[1:]}


def test_both_faults_are_there():
    assert set(shown()[1]) == set(PARAMETERS)


@pytest.mark.parametrize("action", sorted(PARAMETERS))
def test_a_template_is_what_fis_takes(action):
    template = shown()[1][action]
    model = botocore.session.Session().get_service_model("fis").operation_model("CreateExperimentTemplate")
    filled_in = dict.fromkeys(model.idempotent_members, "token")
    assert not ParamValidator().validate(filled_in | template, model.input_shape).has_errors()
    assert set(template) <= set(model.input_shape.members), "FIS knows no other fields"
    (only,) = template["actions"].values()
    assert set(only["parameters"]) == PARAMETERS[action]
    assert re.fullmatch(r"PT([1-9]|[1-5]\d)M", only["parameters"]["duration"]), (
        "it ends by itself, within an hour"
    )


@pytest.mark.parametrize("action", sorted(PARAMETERS))
def test_only_the_volume_with_the_tag_is_hurt(action):
    template = shown()[1][action]
    (only,) = template["actions"].values()
    ((name, target),) = template["targets"].items()
    assert only["targets"] == {"Volumes": name}
    assert (target["resourceType"], target["selectionMode"]) == ("aws:ec2:ebs-volume", "COUNT(1)")
    assert target["resourceTags"] == {"game-day": "target"}


def test_the_role_may_do_what_the_templates_need_and_no_more():
    policy, templates = shown()
    allowed = {action: one for one in policy["Statement"] for action in one["Action"]}
    assert set(allowed) == {"ec2:DescribeVolumes", "tag:GetResources", *(NEEDED[name] for name in templates)}
    for permission in NEEDED.values():
        assert allowed[permission]["Condition"] == {"StringEquals": {"aws:ResourceTag/game-day": "target"}}


def test_the_launch_action_is_what_drs_takes():
    """Patterns are looked at, too: DRS has narrow ones, and botocore checks none."""
    action = json.loads((DRS / "launch-action.json").read_text(encoding="utf-8"))
    shape = botocore.session.Session().get_service_model("drs").shape_for("PutLaunchActionRequest")
    assert not ParamValidator().validate(action, shape).has_errors()
    assert set(action) == set(shape.required_members)
    for name, value in action.items():
        pattern = shape.members[name].metadata.get("pattern")
        assert pattern is None or re.fullmatch(pattern, value), name


def test_the_launch_action_runs_a_document_that_waits_on_the_instance():
    document = yaml_text.loaded((DRS / "document.yaml").read_text(encoding="utf-8"))
    (step,) = document["mainSteps"]
    assert (step["action"], step["precondition"]) == (
        "aws:runShellScript",
        {"StringEquals": ["platformType", "Linux"]},
    )
    assert all("default" in one for one in document["parameters"].values()), "DRS passes no values"
    (command,) = [line for line in step["inputs"]["runCommand"] if "rewarm" in line]
    minutes = document["parameters"]["minutes"]["default"]
    words = command.replace("'{{ minutes }}m'", f"{minutes}m").removeprefix("exec rewarm ").split()
    name, *options = words
    wait = rewarm.commands[name]
    context = wait.make_context(name, options)
    assert context.params["timeout"] is not None
