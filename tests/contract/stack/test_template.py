"""template.yaml: permissions, packaging, events, alarms, and what the API checks by itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from fnmatch import fnmatch, fnmatchcase
from itertools import pairwise
from typing import Any

import pytest
from botocore.session import get_session
from openapi_spec_validator import OpenAPIV30SpecValidator

from local.aws.permissions import reference
from local.aws.permissions.policies import problems
from local.soak.lab.template import stack
from rewarm.contracts.answers import Problem
from rewarm.domain.volume.performance import ModificationRule
from rewarm.domain.volume.replacing import TAGS as REPLACING_TAGS
from rewarm.openapi import OPERATIONS, SIGNATURE, document
from rewarm.steps.request.parse_request import OWN_ALARMS
from tests.contract import repository
from tests.contract.repository import ROOT, Json, actions, functions, listed, statements
from tests.support.wired import makers, steps

STACK_TAG = "aws:ResourceTag/rewarm:stack"
MANAGED_TAG = "aws:ResourceTag/rewarm:managed"
REPLACED_TAG = "aws:ResourceTag/rewarm:replaced-by-stack"
REWINDING_TAG = "aws:ResourceTag/rewarm:rewinding-by-stack"
NO_HANDLERS = {"__init__", "http", "api_others"}
"""Parts of handlers."""
NOT_IN_DRILLS = {
    "DrillAttachVolumeFunction": {"look_commands"},
    "DrillReleaseFunction": {"fast_restores", "copies", "modifications"},
    "DrillCleanUpFunction": {
        "fast_restores", "copies", "modifications", "instances", "states", "look_commands", "look_artifacts",
    },
}  # fmt: skip
"""A drill has no fast snapshot restore and no boost, copies no snapshot, and starts and replaces nothing."""
EVENTS = ROOT / "events/aws"
OWN_ALARM = "operations-of-rewarm-restore-failed"
GATEWAY_RESPONSES = get_session().get_service_model("apigateway").shape_for("GatewayResponseType").enum
DEFINITION = json.loads((ROOT / "api.json").read_text(encoding="utf-8"))


PUBLIC_ROUTES = {("GET", "/pages/{token}"), ("POST", "/slack/interactions")}
PUBLIC_ACTIONS = {
    "dynamodb:GetItem", "dynamodb:BatchGetItem", "s3:GetObject", "s3:ListBucket", "dynamodb:UpdateItem",
    "dynamodb:DeleteItem", "states:SendTaskSuccess", "secretsmanager:GetSecretValue",
}  # fmt: skip
NAME_LIMITS = {
    "AWS::DynamoDB::Table": 255, "AWS::S3::Bucket": 63, "AWS::SSM::Document": 128, "AWS::SNS::Topic": 256,
    "AWS::Serverless::StateMachine": 80, "AWS::SecretsManager::Secret": 512,
}  # fmt: skip
"""botocore: the longest name."""
LONGEST_STACK = "s" * 128
LONGEST_ARN = "arn:aws-us-gov:secretsmanager:us-gov-west-1:123456789012:stateMachine:"


def draws(function: str) -> bool:
    """Whether a function makes pictures or pages."""
    paths = repository.HANDLERS.glob(f"{function}*.py")
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return "draw" in makers(function) or any(
        re.search(r"from rewarm\.(charts|page|restore_page)\b", text) for text in texts
    )


def keys_of(resource: Any) -> list[str]:
    """The patterns of keys in the artifacts bucket."""
    texts = [str(one.get("Fn::Sub", "")) if isinstance(one, dict) else str(one) for one in listed(resource)]
    return [text.partition("${ArtifactsBucket.Arn}/")[2] for text in texts]


def longest_value(value: Any) -> str:
    """The longest text that a variable may have; each character of a price may need two in JSON."""
    if isinstance(value, dict) and "Fn::If" in value:
        return max((longest_value(branch) for branch in value["Fn::If"][1:]), key=len)
    name = value.get("Ref") if isinstance(value, dict) else None
    parameter = repository.template()["Parameters"].get(name)
    if name is None:
        return str(value)
    if parameter is None:
        return {"AWS::StackName": LONGEST_STACK, "AWS::AccountId": "0" * 12}.get(name) or longest_name(name)
    if "MaxLength" in parameter:
        return '"' * parameter["MaxLength"]
    return max(map(str, parameter.get("AllowedValues") or [parameter["MaxValue"]]), key=len)


def longest_name(resource: str) -> str:
    """The longest name that CloudFormation may give a resource, or its ARN where Ref gives that."""
    kind = repository.template()["Resources"][resource]["Type"]
    name = f"{LONGEST_STACK}-{resource}-{'X' * 13}"[: NAME_LIMITS[kind]]
    is_arn = kind in ("AWS::SNS::Topic", "AWS::Serverless::StateMachine", "AWS::SecretsManager::Secret")
    return LONGEST_ARN + name if is_arn else name


class TestPermissions:
    @pytest.mark.parametrize("name", sorted(functions()))
    def test_every_function_has_statements_of_its_own_and_no_wildcard(self, name: str) -> None:
        for statement in statements(functions()[name]):
            for action in actions(statement):
                assert "*" not in action, name
                known = reference.action(action)
                assert known is not None, action
                # Where the call knows no resource, IAM refuses it unless the statement has "*".
                everywhere = statement["Resource"] == "*"
                assert everywhere == (not known.resource_types), f"{name}: {action}"

    def test_aws_supports_every_statement(self) -> None:
        """Actions, resources and condition keys are those of the Service Authorization Reference."""
        found = [one for listed in stack().policies.values() for one in listed]
        assert [said for one in found for said in problems(one)] == []

    def test_a_shared_policy_has_several_roles_and_a_role_has_room_for_more(self) -> None:
        roles = [*functions().values(), *repository.resources("AWS::Serverless::StateMachine").values()]
        shared = [[policy["Ref"] for policy in role["Policies"] if "Ref" in policy] for role in roles]
        users = Counter(name for names in shared for name in names)
        assert set(users) == set(repository.resources("AWS::IAM::ManagedPolicy"))
        assert min(users.values()) > 1
        # A role may have 10 (IAM user guide, "IAM and AWS STS quotas"); SAM attaches two, for logs and X-Ray.
        assert max(map(len, shared)) + 2 < 10

    @pytest.mark.parametrize("name", sorted(repository.MACHINES))
    def test_a_state_machine_may_call_what_its_definition_calls(self, name: str) -> None:
        machine = repository.resources("AWS::Serverless::StateMachine")[name]
        allowed = {
            json.dumps(resource)
            for statement in statements(machine)
            if actions(statement)[0] in ("lambda:InvokeFunction", "states:StartExecution")
            for resource in listed(statement["Resource"])
        }
        substitutions = dict(machine["DefinitionSubstitutions"])
        assert substitutions.pop("Partition") == {"Ref": "AWS::Partition"}
        assert {json.dumps(value) for value in substitutions.values()} == allowed

    def test_a_child_execution_can_be_watched_and_stopped(self) -> None:
        machine = repository.resources("AWS::Serverless::StateMachine")["RestoreStateMachine"]
        granted = {action for statement in statements(machine) for action in actions(statement)}
        needed = {
            "states:StartExecution", "states:DescribeExecution", "states:StopExecution",
            "events:PutTargets", "events:PutRule", "events:DescribeRule",
        }  # fmt: skip
        assert needed <= granted

    @pytest.mark.parametrize(
        "action",
        ["ec2:DeleteVolume", "ec2:DetachVolume", "ec2:AttachVolume", "ec2:ModifyVolume", "ec2:DeleteTags"],
    )
    def test_only_volumes_of_this_stack_are_touched(self, action: str) -> None:
        found = 0
        for properties in functions().values():
            for statement in statements(properties):
                if action in actions(statement) and "volume/" in json.dumps(statement["Resource"]):
                    condition = statement["Condition"]["StringEquals"]
                    # Others of the account only where their owner has said so, and only their performance.
                    if action != "ec2:ModifyVolume" or condition != {MANAGED_TAG: "true"}:
                        # A replaced volume is marked first; it is never deleted, and never changed.
                        marked = action not in ("ec2:DeleteVolume", "ec2:ModifyVolume")
                        marks = [tag for tag in (REPLACED_TAG, REWINDING_TAG) if marked and tag in condition]
                        tag = marks[0] if marks else STACK_TAG
                        assert condition[tag] == {"Ref": "AWS::StackName"}
                    found += 1
        assert found

    def test_tags_are_written_at_creation_or_on_our_own_volumes_only(self) -> None:
        for properties in functions().values():
            for statement in statements(properties):
                if "ec2:CreateTags" in actions(statement):
                    condition = statement["Condition"]["StringEquals"]
                    creating = set(listed(condition.get("ec2:CreateAction", [])))
                    # On a volume that is to be replaced only the tags that say so.
                    keys = statement["Condition"].get("ForAllValues:StringEquals", {}).get("aws:TagKeys", [])
                    replacing = set(keys) == set(REPLACING_TAGS) and condition == {
                        "aws:RequestTag/rewarm:replaced-by-stack": {"Ref": "AWS::StackName"}
                    }
                    # On an instance that is to be started only the tag that allows that.
                    starting = keys == ["rewarm:started-by-stack"] and condition == {
                        "aws:RequestTag/rewarm:started-by-stack": {"Ref": "AWS::StackName"}
                    }
                    # On a volume that goes back to a snapshot only the tags that say so.
                    rewinding = keys == ["rewarm:rewinding", "rewarm:rewinding-by-stack"] and condition == {
                        "aws:RequestTag/rewarm:rewinding-by-stack": {"Ref": "AWS::StackName"}
                    }
                    made = bool(creating) and (
                        creating <= {"CreateVolume", "CopyVolumes"}
                        or creating in ({"CopySnapshot"}, {"CreateSnapshot"})
                    )
                    assert STACK_TAG in condition or made or replacing or starting or rewinding

    @pytest.mark.parametrize("name", sorted(functions()))
    def test_what_is_changed_was_tagged_by_the_call_that_made_it(self, name: str) -> None:
        """A tag that can be set later proves nothing; see SECURITY.md."""
        changing = {"ec2:AttachVolume", "ec2:DeleteSnapshot", "ec2:DeleteVolume", "ec2:DetachVolume"}
        if name != "ChangePerformanceFunction":  # a person names the volume there
            changing.add("ec2:ModifyVolume")
        for statement in statements(functions()[name]):
            condition = statement.get("Condition", {})
            is_of_stack = STACK_TAG in condition.get("StringEquals", {})
            if is_of_stack and changing & set(actions(statement)):
                assert condition["StringLike"]["aws:ResourceTag/rewarm:creation"] == "?*"

    def test_no_role_may_set_that_tag_on_what_is_there(self) -> None:
        for properties in functions().values():
            for statement in statements(properties):
                if "ec2:CreateTags" not in actions(statement) or "Condition" not in statement:
                    continue
                condition = statement["Condition"]
                keys = condition.get("ForAllValues:StringEquals", {}).get("aws:TagKeys", [])
                is_creating = "ec2:CreateAction" in condition["StringEquals"]
                is_of_drill = "aws:ResourceTag/rewarm:drill" in condition["StringEquals"]
                assert is_creating or is_of_drill or (keys and "rewarm:creation" not in keys)

    def test_the_sample_policy_for_accounts_names_every_tag_that_is_no_consent(self) -> None:
        text = (repository.ROOT / "docs/policies/tags-scp.json").read_text(encoding="utf-8")
        patterns = json.loads(text)["Statement"][0]["Condition"]["ForAnyValue:StringLike"]["aws:TagKeys"]
        sources = (path.read_text(encoding="utf-8") for path in (repository.ROOT / "functions").rglob("*.py"))
        used = {tag for source in sources for tag in re.findall(r'"(rewarm:[a-z-]+)"', source)}
        named = {tag for tag in used if any(fnmatchcase(tag, pattern) for pattern in patterns)}
        assert used - named == {"rewarm:drills", "rewarm:managed"}

    def test_only_instances_with_our_tag_are_started_stopped_or_untagged(self) -> None:
        ours = {"aws:ResourceTag/rewarm:started-by-stack": {"Ref": "AWS::StackName"}}
        found = 0
        for properties in functions().values():
            for statement in statements(properties):
                on_instances = "instance/*" in str(statement.get("Resource"))
                if on_instances and {"ec2:StartInstances", "ec2:StopInstances", "ec2:DeleteTags"} & set(
                    actions(statement)
                ):
                    assert statement["Condition"]["StringEquals"] == ours
                    found += 1
        assert found == 6

    @pytest.mark.parametrize(
        ("action", "users"),
        [
            (
                "s3:PutObject",
                {"SelectSnapshot", "ChooseStrategy", "KeepResult", "Report", "DispatchWarmer", "PublishAgent",
                 "Api", "VerifyVolume", "PollInitialization", "Sweep", "PrepareFleet", "ReportFleet",
                 "ListBlocks", "CopyShard", "Rewind"},
            ),
            (
                "s3:GetObject",
                {"SelectSnapshot", "ChooseStrategy", "Announce", "LoadPlan", "Report", "DispatchWarmer",
                 "VerifyVolume", "PollInitialization", "ConfirmReadiness", "Api", "PublishAgent", "Sweep",
                 "AttachVolume", "Replace", "CleanUp", "Public", "PrepareFleet", "ReportFleet",
                 "ListBlocks", "CopyShard", "JoinParts", "Rewind"},
            ),
            ("cloudwatch:GetMetricData",
             {"ChooseStrategy", "PrepareSnapshot", "DispatchWarmer", "PollInitialization", "Api",
              "CheckPerformance", "ConfirmReadiness", "PrepareFleet"}),
            ("ec2:EnableFastSnapshotRestores", {"PrepareSnapshot"}),
            ("ec2:DisableFastSnapshotRestores", {"Release", "CleanUp", "Sweep"}),
            ("ec2:ModifyVolume", {"Release", "CleanUp", "ChangePerformance", "Sweep"}),
            ("cloudtrail:LookupEvents", {"CheckPerformance", "Api"}),
            ("ec2:CopyVolumes", {"CreateVolume"}),
            ("ec2:CopySnapshot", {"PrepareSnapshot"}),
            ("ec2:CreateSnapshot", {"Rewind"}),
            ("ec2:DeleteSnapshot", {"Release", "CleanUp", "Sweep"}),
            (
                "ssm:SendCommand",
                {"AttachVolume", "DispatchWarmer", "VerifyVolume", "Api", "Replace", "CleanUp", "Sweep",
                 "Rewind"},
            ),
            ("ssm:ListCommands", {"DispatchWarmer", "VerifyVolume", "CleanUp", "Sweep", "Rewind"}),
            ("ec2:ModifyInstanceAttribute", {"AttachVolume", "Replace", "CleanUp", "Sweep"}),
            ("ec2:CreateReplaceRootVolumeTask", {"Replace"}),
            ("secretsmanager:GetSecretValue", {"Announce", "Sweep", "Public"}),
            ("dynamodb:PutItem", {"ParseRequest", "SelectSnapshot", "ReleaseTarget", "Sweep", "Api"}),
            ("dynamodb:UpdateItem",
             {"ParseRequest", "SelectSnapshot", "ChooseStrategy", "CheckApproval", "ChooseFallback",
              "Announce", "Report",
              "ReleaseTarget", "PrepareSnapshot", "CreateVolume", "Replace", "DispatchWarmer", "VerifyVolume",
              "PollInitialization", "AwaitSignal", "Release", "CleanUp", "ChangePerformance",
              "CheckPerformance", "Sweep", "Api", "Public", "PrepareFleet", "StartInstance", "ListBlocks",
              "CopyShard", "Rewind"}),
            ("ec2:StartInstances", {"StartInstance"}),
            ("ec2:StopInstances", {"CleanUp", "Sweep"}),
            ("ec2:DescribeInstances",
             {"SelectSnapshot", "AttachVolume", "StartInstance", "Replace", "DispatchWarmer",
              "PollInitialization", "VerifyVolume", "CleanUp", "Sweep", "Api", "PrepareFleet",
              "ChooseStrategy", "Rewind"}),
            ("ec2:DescribeInstanceTypes",
             {"SelectSnapshot", "ChooseStrategy", "VerifyVolume", "Api", "PrepareFleet"}),
            ("servicequotas:GetAWSDefaultServiceQuota", set()),
        ],
    )  # fmt: skip
    def test_only_who_needs_it_may(self, action: str, users: set[str]) -> None:
        found = {
            name.removesuffix("Function")
            for name, properties in functions().items()
            if any(action in actions(statement) for statement in statements(properties))
        }
        # The functions of drills share one policy; test_drill_roles.py says what it lets nobody touch.
        assert {name for name in found if not name.startswith("Drill")} == users

    @pytest.mark.parametrize(
        ("key", "writers"),
        [
            ("undo/restore-1/0/log.json", {"Rewind"}),
            ("undo/restore-1/0/2/000001-002", {"ListBlocks", "CopyShard"}),
            ("rewound/vol-1.json", {"Rewind"}),
        ],
    )
    def test_what_decides_to_what_a_volume_goes_back_is_written_by_few(
        self, key: str, writers: set[str]
    ) -> None:
        found = {
            name.removesuffix("Function")
            for name, properties in functions().items()
            for statement in statements(properties)
            if "s3:PutObject" in actions(statement)
            and any(fnmatch(key, keys) for keys in keys_of(statement["Resource"]))
        }
        assert found == writers

    def test_no_attribute_of_an_instance_that_iam_can_name_is_changed(self) -> None:
        """EC2 user guide, "ec2:Attribute condition key": objects that have only a Value can be named."""
        request = get_session().get_service_model("ec2").shape_for("ModifyInstanceAttributeRequest")
        single = {
            name
            for name, shape in request.members.items()
            if shape.type_name == "structure" and set(shape.members) == {"Value"}
        }
        assert "UserData" in single
        for properties in functions().values():
            changing = {
                statement["Effect"]: statement
                for statement in statements(properties)
                if "ec2:ModifyInstanceAttribute" in actions(statement)
            }
            assert set(changing) in (set(), {"Allow", "Deny"})
            if denied := changing.get("Deny"):
                assert denied["Resource"]["Fn::Sub"].endswith(":instance/*")
                # An attribute is a field of its own (UserData), or named in the field Attribute (userData).
                assert set(denied["Condition"]["StringEqualsIgnoreCase"]["ec2:Attribute"]) == single

    def test_every_permission_says_why(self) -> None:
        lines = [line.strip() for line in (ROOT / "template.yaml").read_text(encoding="utf-8").splitlines()]
        lines = [line for line in lines if not line.startswith(("- !If", "- HasSlack"))]
        for above, line in pairwise(lines):
            if line.startswith(("- &", "- Effect: Allow", "- {Effect: Allow")):
                assert above.startswith("#"), line

    def test_what_a_handler_is_wired_to_it_may_use(self) -> None:
        needed = {
            "snapshots": "ec2:DescribeSnapshots", "instances": "ec2:DescribeInstance", "volumes": "ec2:",
            "modifications": "ec2:DescribeVolumesModifications", "history": "dynamodb:",
            "fast_restores": "ec2:DescribeFastSnapshotRestores", "commands": "ssm:", "prices": "pricing:",
            "blocks": "ebs:ListChangedBlocks", "lists": "ebs:ListChangedBlocks",
            "reader": "ebs:GetSnapshotBlock", "packs": "s3:GetObject",
            "metrics": "cloudwatch:GetMetricData", "quotas": "servicequotas:", "artifacts": "s3:",
            "trail": "cloudtrail:LookupEvents", "log": "dynamodb:",
            "start_performance_change_executions": "states:StartExecution",
            "witness": "states:DescribeExecution",
            "waiters": "dynamodb:", "tasks": "states:SendTaskSuccess",
            "table": "dynamodb:", "messages": "sns:Publish", "executions": "states:StartExecution",
            "benchmark_commands": "ssm:SendCommand", "agent_commands": "ssm:SendCommand",
            "look_commands": "ssm:SendCommand", "late_artifacts": "s3:",
            "look_artifacts": "s3:", "announce_artifacts": "s3:",
            "tagged_snapshots": "ec2:DeleteSnapshot", "fleets": "states:StopExecution",
            "states": "ec2:St", "copies": "ec2:DescribeSnapshots",
            "evidence": "ec2:CreateSnapshot", "roots": "ec2:CreateReplaceRootVolumeTask",
            "holds": "dynamodb:", "keeper": "dynamodb:", "pace": "dynamodb:",
            "inventory": "states:ListExecutions",
            "links": "dynamodb:", "rate_requests": "dynamodb:",
            "slack_requests": "secretsmanager:", "logs": "s3:ListBucket",
        }  # fmt: skip
        for name, properties in functions().items():
            granted = [action for statement in statements(properties) for action in actions(statement)]
            for port in makers(properties["Handler"].rpartition(".")[2]) & needed.keys():
                if port in NOT_IN_DRILLS.get(name, ()):
                    continue
                assert any(action.startswith(needed[port]) for action in granted), (
                    f"{name} lacks {needed[port]}"
                )


class TestFunctions:
    @pytest.mark.parametrize("name", sorted(functions()))
    def test_each_is_packaged_and_logged_alike(self, name: str) -> None:
        properties = functions()[name]
        assert properties["CodeUri"] == "functions/"
        assert "LoggingConfig" not in properties, "all functions write to one log group"
        assert properties["Handler"].startswith("rewarm.runtime.")

    def test_logs_are_kept_as_long_as_is_asked_for(self) -> None:
        groups = repository.resources("AWS::Logs::LogGroup")
        assert repository.template()["Globals"]["Function"]["LoggingConfig"]["LogGroup"]["Ref"] in groups
        for properties in groups.values():
            assert properties["RetentionInDays"] == {"Ref": "LogRetentionDays"}

    def test_late_lines_do_not_take_the_name_of_the_next_stacks_log_group(self) -> None:
        """A function may make its log group again; the log delivery of Step Functions may not."""
        groups = repository.resources("AWS::Logs::LogGroup")
        named = {name for name, properties in groups.items() if "LogGroupName" in properties}
        machines = repository.resources("AWS::Serverless::StateMachine").values()
        delivered = {
            one["CloudWatchLogsLogGroup"]["LogGroupArn"]["Fn::GetAtt"][0]
            for machine in machines
            for one in machine["Logging"]["Destinations"]
        }
        assert named == delivered

    @pytest.mark.parametrize("name", sorted(functions()))
    def test_the_longest_prices_fit_into_lambdas_environment(self, name: str) -> None:
        """4 KB for all variables of a function (Lambda developer guide, "Lambda quotas"), as JSON."""
        common = repository.template()["Globals"]["Function"]["Environment"]["Variables"]
        given = {**common, **functions()[name].get("Environment", {}).get("Variables", {})}
        longest = {variable: longest_value(value) for variable, value in given.items()}
        assert len(json.dumps(longest, separators=(",", ":"))) <= 4_096

    def test_every_price_can_be_overridden_at_once(self) -> None:
        book = json.loads((ROOT / "functions/rewarm/prices.json").read_text(encoding="utf-8"))
        prices = {name: float(price) for name, (price, _) in book["regions"]["us-east-1"].items()}
        longest = repository.template()["Parameters"]["PriceOverrides"]["MaxLength"]
        assert len(json.dumps(prices)) <= longest

    def test_no_log_level_of_the_stack_makes_lambda_drop_metrics(self) -> None:
        """A line without a level counts as INFO (Lambda developer guide, "Log-level filtering")."""
        template = repository.template()
        level = template["Globals"]["Function"]["LoggingConfig"]["ApplicationLogLevel"]
        assert level == {"Fn::If": ["LogsDebug", "DEBUG", "INFO"]}
        assert template["Conditions"]["LogsDebug"] == {"Fn::Equals": [{"Ref": "LogLevel"}, "DEBUG"]}
        variables = template["Globals"]["Function"]["Environment"]["Variables"]
        assert variables["POWERTOOLS_LOG_LEVEL"] == {"Ref": "LogLevel"}

    def test_every_handler_is_deployed(self) -> None:
        deployed = {properties["Handler"].split(".")[2] for properties in functions().values()}
        files = {path.stem for path in repository.HANDLERS.glob("*.py")} - NO_HANDLERS
        assert deployed == files | steps().keys()

    def test_the_sweeper_runs_by_itself_and_is_watched(self) -> None:
        schedule = functions()["SweepFunction"]["Events"]["Sweep"]
        assert (schedule["Type"], schedule["Properties"]["Schedule"]) == ("Schedule", "rate(15 minutes)")
        alarm = repository.resources("AWS::CloudWatch::Alarm")["SweepErrorsAlarm"]
        assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": "SweepFunction"}}]

    def test_the_sweeper_hears_of_executions_that_meet_no_catch(self) -> None:
        rule = functions()["SweepFunction"]["Events"]["ExecutionEnded"]["Properties"]["Pattern"]
        assert rule == {
            "source": ["aws.states"],
            "detail-type": ["Step Functions Execution Status Change"],
            "detail": {
                "status": ["ABORTED", "TIMED_OUT", "FAILED"],
                "stateMachineArn": [
                    {"Ref": "RestoreStateMachine"},
                    {"Ref": "RestoreVolumeStateMachine"},
                    {"Ref": "FleetStateMachine"},
                ],
            },
        }

    def test_the_rule_for_modifications_is_what_the_code_knows(self) -> None:
        parameter = repository.template()["Parameters"]["ModificationRule"]
        assert parameter["AllowedValues"] == [one.value for one in ModificationRule]
        assert parameter["Default"] == ModificationRule.FOUR_IN_24_H

    def test_settings_know_every_variable(self) -> None:
        settings = (ROOT / "functions/rewarm/settings.py").read_text(encoding="utf-8")
        given = set(repository.template()["Globals"]["Function"]["Environment"]["Variables"])
        for properties in functions().values():
            given |= set(properties.get("Environment", {}).get("Variables", {}))
        own = {name for name in given if not name.startswith(("POWERTOOLS_", "MPL"))}
        assert all(f'"{name}"' in settings for name in own)
        read = set(re.findall(r'(?:_required|get)\("([A-Z_]+)"', settings))
        assert read - own == {"AWS_REGION", "AWS_DEFAULT_REGION"}

    def test_the_layer_of_pictures_is_only_for_those_who_draw(self) -> None:
        charts = {"Ref": "ChartsLayer"}
        users = {name for name, properties in functions().items() if charts in properties.get("Layers", [])}
        drawing = {
            name
            for name, properties in functions().items()
            if draws(properties["Handler"].rpartition(".")[2])
        }
        wanted = {"ApiFunction", "PublicFunction", "ReportFunction", "ReportFleetFunction", "SweepFunction"}
        assert users == drawing == wanted
        for name in users:
            assert functions()[name]["Environment"]["Variables"]["MPLCONFIGDIR"] == "/tmp/matplotlib"
            assert functions()[name]["MemorySize"] >= 1_024

    @pytest.mark.parametrize(
        ("name", "files"),
        [("AnnounceFunction", ["plans.json"]), ("PublicFunction", ["report.html", "progress*.json"])],
    )
    def test_who_sends_and_opens_links_may_read_these_files_only(self, name: str, files: list[str]) -> None:
        allowed = [one for one in statements(functions()[name]) if "s3:GetObject" in actions(one)]
        assert [one["Resource"] for one in allowed] == [
            {"Fn::Sub": f"${{ArtifactsBucket.Arn}}/restores/*/{file}"} for file in files
        ]

    def test_everybody_can_call_two_routes_only_and_slowly(self) -> None:
        """They are in an API of their own, so all routes of the other one ask for a signature."""
        apis = repository.resources("AWS::Serverless::Api")
        assert set(apis) == {"RestApi", "PublicApi"}
        paths = apis["PublicApi"]["DefinitionBody"]["paths"]
        assert {
            (method.upper(), path) for path, methods in paths.items() for method in methods
        } == PUBLIC_ROUTES
        for operation in (operation for methods in paths.values() for operation in methods.values()):
            uri = operation["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
            assert uri.endswith("functions/${PublicFunction.Arn}/invocations")
        events = [event for one in functions().values() for event in one.get("Events", {}).values()]
        assert not [event for event in events if event["Type"] in ("Api", "HttpApi")]
        (limits,) = apis["PublicApi"]["MethodSettings"]
        assert (limits["HttpMethod"], limits["ResourcePath"]) == ("*", "/*")
        assert limits["ThrottlingRateLimit"] <= 10

    def test_what_everybody_can_call_may_write_nothing_but_what_its_routes_need(self) -> None:
        granted = {action for one in statements(functions()["PublicFunction"]) for action in actions(one)}
        assert granted == PUBLIC_ACTIONS

    def test_the_layers_of_packages_have_a_recipe_and_a_list(self) -> None:
        recipes = (ROOT / "functions" / "Makefile").read_text(encoding="utf-8")
        for name, file in (("Dependencies", "requirements.txt"), ("Charts", "requirements-charts.txt")):
            layer = repository.resources("AWS::Serverless::LayerVersion")[f"{name}Layer"]
            assert layer["ContentUri"] == "functions/"
            assert f"build-{name}Layer: REQUIREMENTS = {file}\n" in recipes
            assert (ROOT / "functions" / file).is_file()


class TestBucket:
    def test_whatever_is_kept_for_a_restore_or_a_benchmark_is_forgotten_some_day(self) -> None:
        rules = repository.resources("AWS::S3::Bucket")["ArtifactsBucket"]["LifecycleConfiguration"]["Rules"]
        forgotten = {rule["Prefix"] for rule in rules if "ExpirationInDays" in rule}
        keys = (ROOT / "functions/rewarm/steps/record/bucket.py").read_text(encoding="utf-8")
        assert forgotten == set(re.findall(r'f"(\w+/)\{', keys))


class TestEvents:
    def pattern(self) -> Json:
        machine = repository.resources("AWS::Serverless::StateMachine")["RestoreStateMachine"]
        found: Json = machine["Events"]["AlarmRaised"]["Properties"]
        return found

    def test_the_rule_takes_awss_alarm_event(self) -> None:
        event = json.loads((EVENTS / "cloudwatch-alarm-state-change.json").read_text(encoding="utf-8"))
        pattern = self.pattern()["Pattern"]
        assert event["source"] in pattern["source"]
        assert event["detail-type"] in pattern["detail-type"]
        assert event["detail"]["state"]["value"] in pattern["detail"]["state"]["value"]
        prefix = repository.template()["Parameters"]["AlarmNamePrefix"]["Default"]
        assert pattern["detail"]["alarmName"] == [{"prefix": {"Ref": "AlarmNamePrefix"}}]
        assert event["detail"]["alarmName"].startswith(prefix)

    def test_a_lost_event_is_kept_and_noticed(self) -> None:
        assert self.pattern()["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0] == "AlarmEventsDeadLetterQueue"
        assert self.pattern()["RetryPolicy"]["MaximumRetryAttempts"] > 0
        watched = json.dumps(repository.resources("AWS::CloudWatch::Alarm"))
        for queue in repository.resources("AWS::SQS::Queue"):
            assert queue in watched

    @pytest.mark.parametrize("length", range(1, len(OWN_ALARM) + 1))
    def test_no_prefix_matches_the_stacks_own_alarms(self, length: int) -> None:
        parameter = repository.template()["Parameters"]["AlarmNamePrefix"]
        assert not re.fullmatch(parameter["AllowedPattern"], OWN_ALARM[:length])

    def test_a_prefix_is_what_a_rules_name_may_hold(self) -> None:
        pattern = repository.template()["Parameters"]["AlarmNamePrefix"]["AllowedPattern"]
        allowed = ["rewarm-", "r", "ops-", "operational-", "operations.", "Operations-of-", "o-", "0"]
        refused = ["", "-rewarm", "teams/rewarm-", "teams: rewarm"]
        assert [prefix for prefix in allowed + refused if re.fullmatch(pattern, prefix)] == allowed

    def test_a_second_stack_with_the_same_prefix_is_refused(self) -> None:
        """Custom names are unique across all stacks (CloudFormation user guide, "Name type")."""
        assert self.pattern()["RuleName"] == {"Fn::Sub": "rewarm-alarms-${AlarmNamePrefix}"}
        longest = repository.template()["Parameters"]["AlarmNamePrefix"]["MaxLength"]
        rule = get_session().get_service_model("events").shape_for("RuleName")
        assert len("rewarm-alarms-") + longest <= rule.metadata["max"]
        assert re.fullmatch(rule.metadata["pattern"], "rewarm-alarms-aZ0_.-")

    def test_the_stacks_alarms_are_known_as_its_own(self) -> None:
        for alarm in repository.resources("AWS::CloudWatch::Alarm").values():
            name = alarm["AlarmName"]["Fn::Sub"]
            assert name.startswith(OWN_ALARMS + "${AWS::StackName}-")
            assert alarm["AlarmActions"] == [{"Ref": "NotificationTopic"}]


class TestApi:
    def test_the_template_includes_the_definition(self) -> None:
        api = repository.resources("AWS::Serverless::Api")["RestApi"]
        included = {"Name": "AWS::Include", "Parameters": {"Location": "api.json"}}
        assert api["DefinitionBody"] == {"Fn::Transform": included}

    def test_only_signed_calls_are_answered_and_all_by_the_function(self) -> None:
        for path in DEFINITION["paths"].values():
            for operation in path.values():
                assert operation["security"] == [{SIGNATURE: []}]
                integration = operation["x-amazon-apigateway-integration"]
                assert (integration["type"], integration["httpMethod"]) == ("aws_proxy", "POST")
                assert integration["uri"]["Fn::Sub"].endswith("functions/${ApiFunction.Arn}/invocations")
        scheme = DEFINITION["components"]["securitySchemes"][SIGNATURE]
        assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"
        permission = repository.resources("AWS::Lambda::Permission")["ApiPermission"]
        assert permission["FunctionName"] == {"Ref": "ApiFunction"}

    def test_routes_and_resolver_agree(self) -> None:
        told = {(one.method.upper(), one.path) for one in OPERATIONS}
        source = "".join(
            path.read_text(encoding="utf-8") for path in sorted(repository.HANDLERS.glob("api*.py"))
        )
        names = {
            "restore_id": "restoreId",
            "fleet_id": "fleetId",
            "alarm_name": "alarmName",
            "volume_id": "volumeId",
            "benchmark_id": "benchmarkId",
            "calibration_id": "calibrationId",
        }
        answered = {
            (method.upper(), re.sub(r"<(\w+)>", lambda match: f"{{{names[match[1]]}}}", path))
            for method, path in re.findall(r'@(?:app|router)\.(get|post|put|delete)\("([^"]+)"\)', source)
        }
        assert told == answered

    def test_what_is_deployed_has_the_routes_that_are_published(self) -> None:
        deployed = {path.replace("+}", "}"): set(methods) for path, methods in DEFINITION["paths"].items()}
        any_method = {"x-amazon-apigateway-any-method"}
        assert deployed.pop("/{path}") == any_method
        assert deployed == {path: any_method | set(methods) for path, methods in document()["paths"].items()}

    def test_it_is_what_api_gateway_imports(self) -> None:
        """API Gateway developer guide, "Develop REST APIs using OpenAPI": 2.0 and 3.0."""
        assert DEFINITION["openapi"].startswith("3.0.")
        text = json.dumps(DEFINITION).replace('{"Ref": "AWS::StackName"}', '"rewarm"')
        plain = json.loads(text.replace("+}", "}"))
        OpenAPIV30SpecValidator(plain).validate()

    def test_only_the_function_checks_a_request(self) -> None:
        """What API Gateway's own check says cannot be put into JSON: nothing escapes it."""
        assert "x-amazon-apigateway-request-validators" not in DEFINITION
        for path in DEFINITION["paths"].values():
            for operation in path.values():
                assert "requestBody" not in operation
                assert {one["in"] for one in operation["parameters"]} <= {"path"}

    @pytest.mark.parametrize("kind", GATEWAY_RESPONSES)
    def test_what_api_gateway_answers_itself_has_the_form_of_the_functions_answers(self, kind: str) -> None:
        response = DEFINITION["x-amazon-apigateway-gateway-responses"][kind]
        template = response["responseTemplates"]["application/json"]
        # Neither can be chosen by the caller (API Gateway developer guide, "$context variables").
        variables = {"$context.error.responseType", "$context.extendedRequestId"}
        assert set(re.findall(r"\$[a-zA-Z.]+", template)) == variables
        answer = json.loads(template.replace("$context.error.responseType", kind))
        Problem.model_validate(answer)
        assert (answer["error"], answer["field"], str(answer["status"])) == (
            kind,
            None,
            response["statusCode"],
        )
        assert answer["detail"] == answer["message"] != ""
        headers = response["responseParameters"]
        assert headers["gatewayresponse.header.Content-Type"] == "'application/problem+json'"
        assert ("gatewayresponse.header.Retry-After" in headers) is (answer["status"] == 429)

    def test_each_route_for_tokens_asks_for_a_scope(self) -> None:
        """A token without one of them is refused (API Gateway developer guide, "JWT authorizers")."""
        routes = {
            route["RouteKey"]: [
                scope["Fn::Sub"].removeprefix("${JwtScopePrefix}") for scope in route["AuthorizationScopes"]
            ]
            for route in repository.resources("AWS::ApiGatewayV2::Route").values()
            if route["AuthorizationType"] == "JWT" and route["AuthorizerId"] == {"Ref": "JwtAuthorizer"}
        }
        assert routes == {
            "GET /{path+}": ["read", "write"],
            "POST /plans": ["read", "write"],
            "POST /restores/{restoreId}/approve": ["approve"],
            "$default": ["write"],
        }

    def test_the_function_ends_before_api_gateway_stops_waiting(self) -> None:
        """Its integration timeout is 29 seconds (API Gateway developer guide, "Quotas")."""
        assert functions()["ApiFunction"]["Timeout"] <= 25
