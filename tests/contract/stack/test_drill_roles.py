"""What runs in a drill cannot touch production: by the roles, by the state machine, and as it was played."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.permissions.authorizer import ALLOW, Authorizer
from local.aws.permissions.roles import role_of
from local.soak.lab.lab import FastLab
from local.soak.lab.template import stack
from local.soak.trouble.paths.paths import drilled, request, snapshot
from tests.contract import repository
from tests.contract.repository import actions, functions, statements
from tests.contract.stack.test_state_machines import LAMBDA_TASKS, function_of, functions_of

PLACE = "arn:aws:ec2:us-east-1:123456789012:"
DRILLS = sorted(name for name in functions() if name.startswith("Drill"))
READS = ("Describe", "Get", "List", "BatchGet")
NO_TWIN = {"BoostVolume", "Replace", "Rewind", "StartInstance", "PrepareSnapshot"}
"""A drill changes nothing there: it adopts, replaces and rewinds nothing, and copies no snapshot."""
OURS = {"aws:resourcetag/rewarm:stack": "rewarm"}
OF_DRILL = OURS | {"aws:resourcetag/rewarm:drill": "true"}
FOR_DRILLS = {"aws:resourcetag/rewarm:drills": "true"}
OF_REWARM = {"dynamodb:UpdateItem", "s3:PutObject", "ssm:CancelCommand", "logs:", "xray:"}
"""Rewarm's own records and files. AWS knows no resource of CancelCommand, so no policy can limit it."""


def writes(properties: dict[str, Any]) -> set[str]:
    """The actions on EC2 and instances that change something."""
    named = {action for statement in statements(properties) for action in actions(statement)}
    return {
        action
        for action in named
        if action.startswith(("ec2:", "ssm:")) and not action.partition(":")[2].startswith(READS)
    }


def refused(function: str, action: str, resource: str, context: dict[str, str]) -> bool:
    authorizer = Authorizer(stack().policies)
    return not authorizer.authorize(role_of(function), action, resource, context).allowed


class TestRoles:
    def test_what_a_drill_may_change_is_known_here(self) -> None:
        """Everything else in these roles only reads, or is Rewarm's own."""
        changing = {
            action
            for function in DRILLS
            for one in stack().policies[role_of(function)]
            if one.effect == ALLOW
            for action in one.actions
            if not action.partition(":")[2].startswith(READS) and not action.startswith(tuple(OF_REWARM))
        }
        assert {name for name in changing if not name.startswith("kms:")} == {
            "ec2:AttachVolume", "ec2:CreateTags", "ec2:CreateVolume", "ec2:DeleteTags", "ec2:DeleteVolume",
            "ec2:DetachVolume", "ec2:ModifyVolume", "ssm:SendCommand",
        }  # fmt: skip

    @pytest.mark.parametrize("function", DRILLS)
    @pytest.mark.parametrize("context", [{}, OURS, {"aws:resourcetag/rewarm:drill": "true"}, FOR_DRILLS])
    @pytest.mark.parametrize(
        "action", ["AttachVolume", "CreateTags", "DeleteTags", "DeleteVolume", "DetachVolume", "ModifyVolume"]
    )
    def test_no_volume_but_that_of_a_drill_of_this_stack_is_touched(
        self, function: str, action: str, context: dict[str, str]
    ) -> None:
        assert refused(function, f"ec2:{action}", f"{PLACE}volume/vol-1", context)

    @pytest.mark.parametrize("function", DRILLS)
    def test_no_volume_that_is_there_becomes_one_of_a_drill(self, function: str) -> None:
        tags = {"aws:requesttag/rewarm:stack": "rewarm", "aws:requesttag/rewarm:drill": "true"}
        assert refused(function, "ec2:CreateTags", f"{PLACE}volume/vol-1", tags | OURS)

    @pytest.mark.parametrize("function", DRILLS)
    @pytest.mark.parametrize("context", [{}, OF_DRILL, {"aws:resourcetag/rewarm:drills": "false"}])
    @pytest.mark.parametrize(
        "action",
        [
            "ec2:AttachVolume",
            "ec2:DetachVolume",
            "ssm:SendCommand",
            "ec2:ModifyInstanceAttribute",
            "ec2:CreateTags",
        ],
    )
    def test_no_instance_is_touched_whose_owner_has_not_said_so(
        self, function: str, action: str, context: dict[str, str]
    ) -> None:
        assert refused(function, action, f"{PLACE}instance/i-1", context)

    @pytest.mark.parametrize("function", DRILLS)
    @pytest.mark.parametrize(
        "action",
        ["EnableFastSnapshotRestores", "DisableFastSnapshotRestores", "DeleteSnapshot", "CreateTags"],
    )
    def test_no_snapshot_is_changed(self, function: str, action: str) -> None:
        snapshot_arn = "arn:aws:ec2:us-east-1::snapshot/snap-1"
        assert refused(function, f"ec2:{action}", snapshot_arn, OF_DRILL | FOR_DRILLS)

    @pytest.mark.parametrize("function", DRILLS)
    def test_nothing_is_made_without_the_tag_of_drills(self, function: str) -> None:
        tags = {"aws:requesttag/rewarm:stack": "rewarm"}
        assert refused(function, "ec2:CreateVolume", f"{PLACE}volume/*", tags)
        assert refused(function, "ec2:CopyVolumes", f"{PLACE}volume/vol-1", OF_DRILL)


class TestStateMachine:
    def test_every_state_that_changes_anything_runs_another_function_in_a_drill(self) -> None:
        for machine, name, state in LAMBDA_TASKS:
            ordinary = function_of(state)
            needed = writes(functions()[f"{ordinary}Function"]) and machine == "RestoreVolumeStateMachine"
            if needed and ordinary not in NO_TWIN:
                assert functions_of(state)[0] == f"Drill{ordinary}", name

    def test_the_other_states_of_a_restore_change_nothing(self) -> None:
        for machine, name, state in LAMBDA_TASKS:
            if machine == "RestoreStateMachine":
                assert not writes(functions()[f"{function_of(state)}Function"]), name

    @pytest.mark.parametrize("function", DRILLS)
    def test_the_code_is_the_same(self, function: str) -> None:
        twin = functions()[function]
        ordinary = functions()[function.removeprefix("Drill")]
        for name in ("CodeUri", "Handler", "Timeout", "MemorySize", "Layers", "Environment"):
            assert twin.get(name) == ordinary.get(name), name

    def test_the_choice_is_made_by_the_drill_of_the_request(self) -> None:
        choices = {
            state["Arguments"]["FunctionName"].partition(" ? ")[0]
            for _, _, state in LAMBDA_TASKS
            if len(functions_of(state)) > 1
        }
        assert choices == {"{% $request.drill"}
        assert repository.MACHINES["RestoreVolumeStateMachine"]["States"]["Clean Up Drill"]


def changed(lab: FastLab) -> set[tuple[str, str]]:
    """(role, action) of every call that changed something in EC2 or on an instance."""
    return {
        (principal, need.action)
        for principal, need, _ in lab.permissions.authorizer.asked.values()
        if need.action.startswith(("ec2:", "ssm:")) and not need.action.partition(":")[2].startswith(READS)
    }


def test_a_drill_is_played_by_these_roles_alone_and_leaves_nothing() -> None:
    with FastLab(1) as lab:
        ending = drilled(lab, "warm-up-agent")
        assert ending.status == "ready"
        callers = {principal.removesuffix("FunctionRole") for principal, _ in changed(lab)}
        assert callers == {f"Drill{name}" for name in (
            "CreateVolume", "AttachVolume", "DispatchWarmer", "VerifyVolume", "CleanUp",
        )}  # fmt: skip
        lab.pass_time(60)  # EC2 shows a deleted volume for a moment
        volumes = lab.region.call("ec2", "DescribeVolumes", {})["Volumes"]
        assert not [
            one for one in volumes if any(tag["Key"] == "rewarm:drill" for tag in one.get("Tags", []))
        ]


def test_an_instance_without_the_tag_is_refused_before_anything_is_made() -> None:
    with FastLab(1) as lab:
        ending = drilled(lab, "warm-up-agent", {"instanceId": lab.region.add_instance()})
        assert ending.kind == "refused 422 TargetNotUsableError"
        assert not changed(lab)


def test_a_drill_into_a_zone_needs_no_instance() -> None:
    with FastLab(1) as lab:
        ending = drilled(lab, "provisioned-rate", {"availabilityZone": "us-east-1a"})
        assert ending.status == "ready"
        assert {principal for principal, _ in changed(lab)} == {
            "DrillCreateVolumeFunctionRole", "DrillCleanUpFunctionRole",
        }  # fmt: skip


@pytest.mark.parametrize("strategy", ["fast-snapshot-restore", "volume-clone"])
def test_strategies_that_work_on_the_source_are_refused(strategy: str) -> None:
    with FastLab(1) as lab:
        ending = drilled(lab, strategy)
        assert ending.kind == "refused 400 InvalidRequestError"
        assert "may not change the snapshot" in ending.cause


def test_an_alarm_restores_a_runbook_that_has_a_drill_as_ever() -> None:
    with FastLab(1) as lab:
        asked = request(lab, "warm-up-agent", drill={"recoveryTimeMinutes": 5})
        source = lab.region.add_volume(size_gib=8, snapshot_id=snapshot(lab))
        snapshot(lab, volume_id=source)
        lab.api("PUT", "/runbooks/rewarm-orders", {**asked, "source": {"volumeId": source}})
        status, body = lab.api("POST", "/restores", {"source": {"alarm": "rewarm-orders"}})
        assert status == 202
        record = lab.api("GET", f"/restores/{body['restoreId']}")[1]
        assert record["request"]["drill"] is None
