"""template.yaml: permissions, packaging, events, alarms, and what the API checks by itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import pytest
from botocore.session import get_session
from openapi_spec_validator import OpenAPIV30SpecValidator

from local.aws.permissions import reference
from local.aws.permissions.policies import Need, problems
from local.aws.permissions.policies import statements as statements_of
from local.soak.lab.template import stack
from local.tools.openapi import OPERATIONS, SIGNATURE, document
from rewarm.contracts.answers import Problem
from rewarm.domain.volume.performance import ModificationRule
from rewarm.steps.announce.claims import CLAIM_SECONDS, PAUSE_SECONDS, TRIES
from rewarm.steps.request.parse_request import OWN_ALARMS
from tests.contract import repository
from tests.contract.repository import ROOT, Json, actions, functions, listed, statements
from tests.support.wired import makers, steps

NO_HANDLERS = {"__init__", "http", "api_others"}
"""Parts of handlers."""
NOT_IN_DRILLS = {
    "DrillAttachVolumeFunction": {"look_commands"},
    "DrillReleaseFunction": {"fast_restores", "copies", "modifications"},
    "DrillCleanUpFunction": {
        "fast_restores", "copies", "modifications", "instances", "states", "look_commands", "look_artifacts",
        "evidence",
    },
}  # fmt: skip
"""A drill has no fast snapshot restore, no boost, and copies, starts, replaces or rewinds nothing."""
NOT_CALLED = {**NOT_IN_DRILLS, "RulesFunction": {"late_artifacts"}}
"""Rules ask which agents there are, and the package says that, not the bucket."""
EVENTS = ROOT / "events/aws"
OWN_ALARM = "operations-of-rewarm-restore-failed"
GATEWAY_RESPONSES = get_session().get_service_model("apigateway").shape_for("GatewayResponseType").enum
DEFINITION = json.loads((ROOT / "api.json").read_text(encoding="utf-8"))


PUBLIC_ROUTES = {("GET", "/pages/{token}"), ("POST", "/slack/interactions")}
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


def longest_value(value: Any) -> str:
    """The longest text that a variable may have. Of a JSON object two characters in five may be quotes."""
    if isinstance(value, dict) and "Fn::If" in value:
        return max((longest_value(branch) for branch in value["Fn::If"][1:]), key=len)
    if isinstance(value, dict) and "=${" in value.get("Fn::Sub", ""):
        return re.sub(r"\$\{(\w+)\}", lambda match: longest_value({"Ref": match[1]}), value["Fn::Sub"])
    name = value.get("Ref") if isinstance(value, dict) else None
    parameter = repository.template()["Parameters"].get(name)
    if name is None:
        return str(value)
    if parameter is None:
        return {"AWS::StackName": LONGEST_STACK, "AWS::AccountId": "0" * 12}.get(name) or longest_name(name)
    if "MaxLength" in parameter:
        return ('"":0,' * parameter["MaxLength"])[: parameter["MaxLength"]]
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
        numbers = repository.template()["Parameters"]
        called = [value for value in substitutions.values() if value.get("Ref") not in numbers]
        assert {json.dumps(value) for value in called} == allowed

    def test_every_permission_says_why(self) -> None:
        lines = [line.strip() for line in (ROOT / "template.yaml").read_text(encoding="utf-8").splitlines()]
        lines = [line for line in lines if not line.startswith(("- !If", "- Has"))]
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
            "evidence": "ec2:DescribeSnapshots", "roots": "ec2:CreateReplaceRootVolumeTask",
            "holds": "dynamodb:", "keeper": "dynamodb:", "pace": "dynamodb:",
            "inventory": "states:ListExecutions",
            "links": "dynamodb:", "rate_requests": "dynamodb:",
            "slack_requests": "secretsmanager:", "logs": "s3:ListBucket",
        }  # fmt: skip
        for name, properties in functions().items():
            granted = [action for statement in statements(properties) for action in actions(statement)]
            for port in makers(properties["Handler"].rpartition(".")[2]) & needed.keys():
                if port in NOT_CALLED.get(name, ()):
                    continue
                assert any(action.startswith(needed[port]) for action in granted), (
                    f"{name} lacks {needed[port]}"
                )


ACCESS_LOGS = {
    "apiId", "authorizer.claims.iss", "authorizer.claims.sub", "httpMethod", "identity.sourceIp",
    "extendedRequestId", "identity.userArn", "path", "requestId", "requestTime", "resourcePath", "status",
}  # fmt: skip
"""API Gateway developer guide, "Variables for access logging" and "Customize HTTP API access logs"."""
OF_CALLERS = {"identity.userArn", "identity.sourceIp", "authorizer.claims.iss", "authorizer.claims.sub"}


class TestAccessLogs:
    LOGS = {
        **{
            name: one["AccessLogSetting"]
            for name, one in repository.resources("AWS::Serverless::Api").items()
        },
        **{
            name: one["AccessLogSettings"]
            for name, one in repository.resources("AWS::ApiGatewayV2::Stage").items()
        },
    }

    def test_every_api_has_one(self) -> None:
        assert len(self.LOGS) == 3
        assert {log["DestinationArn"]["Fn::GetAtt"][0] for log in self.LOGS.values()} == {"ApiLogGroup"}

    @pytest.mark.parametrize("name", sorted(LOGS))
    def test_each_names_its_callers_and_no_secret(self, name: str) -> None:
        fields = json.loads(self.LOGS[name]["Format"])
        variables = {value.removeprefix("$context.") for value in fields.values()}
        assert variables <= ACCESS_LOGS
        if name == "PublicApi":
            assert "identity.sourceIp" in variables
            assert "path" not in variables, "it has the token of a page"
        else:
            assert variables >= OF_CALLERS | {
                "path",
                "httpMethod",
                "status",
                "extendedRequestId",
                "requestTime",
            }

    @pytest.mark.parametrize("name", sorted(LOGS))
    def test_what_a_caller_chooses_replaces_nothing_that_api_gateway_knows(self, name: str) -> None:
        """A text that is not escaped could add a field, and of two fields the last one counts."""
        fields = [value.removeprefix("$context.") for value in json.loads(self.LOGS[name]["Format"]).values()]
        chosen = {"path", "authorizer.claims.sub", "authorizer.claims.iss"} & set(fields)
        assert set(fields[: len(chosen)]) == chosen

    def test_a_stage_waits_for_the_role_that_writes_its_log(self) -> None:
        """A deployment without the role fails: "CloudWatch Logs role ARN must be set in account settings"."""
        resources = repository.template()["Resources"]
        assert {"Ref": "ApiAccount"} in _values(resources["ApiLogGroup"])
        assert resources["ApiAccount"]["DependsOn"] == "RestApi"
        for name in ("ApiAccount", "ApiLogsWriter"):
            assert resources[name]["DeletionPolicy"] == "Retain", "other stacks' APIs log by it"


def _values(value: Any) -> list[Any]:
    """The value and everything in it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(each for one in inner for each in _values(one))]


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
        """A function may make its log group again; those who deliver for Step Functions and APIs may not."""
        groups = repository.resources("AWS::Logs::LogGroup")
        named = {name for name, properties in groups.items() if "LogGroupName" in properties}
        machines = repository.resources("AWS::Serverless::StateMachine").values()
        delivered = {
            one["CloudWatchLogsLogGroup"]["LogGroupArn"]["Fn::GetAtt"][0]
            for machine in machines
            for one in machine["Logging"]["Destinations"]
        }
        assert named == delivered | {"ApiLogGroup"}

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

    def test_a_claim_of_a_message_lasts_longer_than_any_sender_runs(self) -> None:
        """So nobody still sends when another takes over. Who waits for a claim has time left to send."""
        default = repository.template()["Globals"]["Function"]["Timeout"]
        limits = {
            name: functions()[f"{name}Function"].get("Timeout", default) for name in ("Announce", "Sweep")
        }
        assert max(limits.values()) + 15 <= CLAIM_SECONDS
        assert limits["Announce"] >= 3 * (TRIES - 1) * PAUSE_SECONDS

    def test_rules_look_by_events_and_by_the_clock_that_the_sweeper_does_not_hear(self) -> None:
        events = functions()["RulesFunction"]["Events"]
        assert events["Look"]["Properties"]["Schedule"] == "rate(15 minutes)"
        assert events.keys() == {"Look", "VolumeMade", "InstanceRuns", "AdoptionEnded"}
        assert functions()["SweepFunction"]["Events"].keys() == {"Sweep", "ExecutionEnded"}

    def test_the_sweeper_hears_of_executions_that_meet_no_catch(self) -> None:
        rule = functions()["SweepFunction"]["Events"]["ExecutionEnded"]["Properties"]["Pattern"]
        assert rule == {
            "account": [{"Ref": "AWS::AccountId"}],
            "region": [{"Ref": "AWS::Region"}],
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

    def test_the_layers_of_packages_have_a_recipe_and_a_list(self) -> None:
        recipes = (ROOT / "functions" / "Makefile").read_text(encoding="utf-8")
        for name, file in (("Dependencies", "requirements.txt"), ("Charts", "requirements-charts.txt")):
            layer = repository.resources("AWS::Serverless::LayerVersion")[f"{name}Layer"]
            assert layer["ContentUri"] == "functions/"
            assert f"build-{name}Layer: REQUIREMENTS = {file}\n" in recipes
            assert (ROOT / "functions" / file).is_file()


def _actions(rule: Json) -> set[str]:
    """What S3 does by a lifecycle rule, under S3's own names."""
    of_expiration = {"ExpirationInDays", "ExpiredObjectDeleteMarker"}
    named = rule.keys() - {"Id", "Status", "Prefix"}
    return {"Expiration" if name in of_expiration else name for name in named}


def _lifecycle() -> list[Json]:
    bucket: Json = repository.resources("AWS::S3::Bucket")["ArtifactsBucket"]
    return list(bucket["LifecycleConfiguration"]["Rules"])


class TestBucket:
    def test_whatever_is_kept_for_a_restore_or_a_benchmark_is_forgotten_some_day(self) -> None:
        forgotten = {rule["Prefix"] for rule in _lifecycle() if "ExpirationInDays" in rule}
        keys = (ROOT / "functions/rewarm/steps/record/bucket.py").read_text(encoding="utf-8")
        assert forgotten == set(re.findall(r'(?:f|^[A-Z_]+ = )"(\w+/)(?:\{|"$)', keys, re.MULTILINE))

    def test_what_is_promised_to_be_deleted_is_not_kept_as_a_version(self) -> None:
        """Whatever KeepOverwrittenDays says."""
        kept = {"Fn::If": ["KeepsOverwritten", {"Ref": "KeepOverwrittenDays"}, 1]}
        for rule in _lifecycle():
            if "Prefix" in rule:
                days = 1 if rule["Prefix"] in {"deltas/", "recordings/"} else kept
                assert rule["NoncurrentVersionExpiration"]["NoncurrentDays"] == days, rule["Id"]

    def test_no_two_rules_with_the_same_action_overlap(self) -> None:
        """Where rules name a Prefix outside of a Filter, S3 answers "Found overlapping prefixes 'dir/' and
        'di' for same action type 'AbortIncompleteMultipartUpload'" (noobaa/noobaa-core #8426).

        What CloudFormation makes of its `Prefix` is not documented.
        """
        for first, second in permutations(_lifecycle(), 2):
            if first.get("Prefix", "").startswith(second.get("Prefix", "")):
                assert not _actions(first) & _actions(second), (first["Id"], second["Id"])

    def test_requests_without_tls_are_refused(self) -> None:
        (policy,) = repository.resources("AWS::S3::BucketPolicy").values()
        (element,) = policy["PolicyDocument"]["Statement"]
        arn = "arn:aws:s3:::bucket"
        (refusal,) = statements_of("bucket", {"Statement": {**element, "Resource": [arn, f"{arn}/*"]}})
        assert (refusal.effect, element["Principal"], policy["Bucket"]) == (
            "Deny",
            "*",
            {"Ref": "ArtifactsBucket"},
        )
        for action, resource in (
            ("s3:GetObject", f"{arn}/a"),
            ("s3:PutObject", f"{arn}/a"),
            ("s3:ListBucket", arn),
        ):
            for secure in (True, False):
                context = {"aws:securetransport": str(secure).lower()}
                assert refusal.applies(Need(action, resource, context)) is not secure


class TestTables:
    def test_nobody_deletes_what_outlives_the_stack_by_one_call(self) -> None:
        template = repository.template()["Resources"]
        kept = {
            name: one["Properties"].get("DeletionProtectionEnabled", False)
            for name, one in template.items()
            if one["Type"] == "AWS::DynamoDB::Table" and one["DeletionPolicy"] != "Delete"
        }
        assert kept == {"RestoresTable": True}


class TestEvents:
    def test_every_rule_names_account_and_region(self) -> None:
        """A bus may get events of other accounts and Regions. Alarms of others are asked for by account."""
        here = {"account": [{"Ref": "AWS::AccountId"}], "region": [{"Ref": "AWS::Region"}]}
        owners = {**repository.functions(), **repository.resources("AWS::Serverless::StateMachine")}
        patterns = {
            f"{owner} {name}": event["Properties"]["Pattern"]
            for owner, properties in owners.items()
            for name, event in properties.get("Events", {}).items()
            if event["Type"] == "EventBridgeRule"
        }
        assert len(patterns) >= 10
        alarms = patterns.pop("RestoreStateMachine AlarmRaised")
        assert set(alarms) > set(here)
        assert {name for name, pattern in patterns.items() if not here.items() <= pattern.items()} == set()

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
            "plan_id": "planId",
            "lineage": "lineage",
            "name": "name",
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
