"""The policies for who deploys allow what `make deploy` and `make undeploy` need, and little else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from local.aws.permissions import reference, roles
from local.aws.permissions.authorizer import Authorizer
from local.aws.permissions.conditions import Context
from local.aws.permissions.policies import Need, Statement, problems, statements
from tests.contract.repository import ROOT, Json
from tests.contract.stack.handler_permissions import KMS, handled, unused_permissions

NAMES = ("deployer", "deployer-services")
REGION, ACCOUNT = "eu-west-1", "123456789012"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/limit"
HERE = f"{REGION}:{ACCOUNT}"
SAM_BUCKET = "aws-sam-cli-managed-default-samclisourcebucket-1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/rewarm-ApiFunctionRole-1"
POLICY = f"arn:aws:iam::{ACCOUNT}:policy/rewarm-UpdateRestores-1"
CHARACTERS = 6_144
"""The longest managed policy, without white space (IAM user guide, "IAM and AWS STS quotas")."""

ARNS = {
    "AWS::ApiGateway::Account": "arn:aws:apigateway:{region}::/account",
    "AWS::ApiGateway::Deployment": "arn:aws:apigateway:{region}::/restapis/1/deployments",
    "AWS::ApiGateway::RestApi": "arn:aws:apigateway:{region}::/restapis",
    "AWS::ApiGateway::Stage": "arn:aws:apigateway:{region}::/restapis/1/stages/v1",
    "AWS::ApiGatewayV2::Api": "arn:aws:apigateway:{region}::/apis",
    "AWS::ApiGatewayV2::Authorizer": "arn:aws:apigateway:{region}::/apis/1/authorizers",
    "AWS::ApiGatewayV2::Integration": "arn:aws:apigateway:{region}::/apis/1/integrations",
    "AWS::ApiGatewayV2::Route": "arn:aws:apigateway:{region}::/apis/1/routes",
    "AWS::ApiGatewayV2::Stage": "arn:aws:apigateway:{region}::/apis/1/stages",
    "AWS::CloudWatch::Alarm": "arn:aws:cloudwatch:{here}:alarm:{name}",
    "AWS::CloudWatch::Dashboard": "arn:aws:cloudwatch::{account}:dashboard/{name}",
    "AWS::DynamoDB::Table": "arn:aws:dynamodb:{here}:table/{name}",
    "AWS::Events::Rule": "arn:aws:events:{here}:rule/{name}",
    "AWS::IAM::ManagedPolicy": "arn:aws:iam::{account}:policy/{name}",
    "AWS::IAM::Policy": ROLE,
    "AWS::IAM::Role": "arn:aws:iam::{account}:role/{name}",
    "AWS::Lambda::Function": "arn:aws:lambda:{here}:function:{name}",
    "AWS::Lambda::LayerVersion": "arn:aws:lambda:{here}:layer:{name}",
    "AWS::Lambda::Permission": "arn:aws:lambda:{here}:function:rewarm-ApiFunction-1",
    "AWS::Logs::LogGroup": "arn:aws:logs:{here}:log-group:{name}",
    "AWS::S3::Bucket": "arn:aws:s3:::{name}",
    "AWS::S3::BucketPolicy": f"arn:aws:s3:::{SAM_BUCKET}",
    "AWS::SNS::Subscription": "arn:aws:sns:{here}:rewarm-NotificationTopic-1",
    "AWS::SNS::Topic": "arn:aws:sns:{here}:{name}",
    "AWS::SQS::Queue": "arn:aws:sqs:{here}:{name}",
    "AWS::SQS::QueuePolicy": "arn:aws:sqs:{here}:rewarm-AlarmEventsDeadLetterQueue-1",
    "AWS::SSM::Document": "arn:aws:ssm:{here}:document/{name}",
    "AWS::SecretsManager::Secret": "arn:aws:secretsmanager:{here}:secret:{name}",
    "AWS::StepFunctions::StateMachine": "arn:aws:states:{here}:stateMachine:{name}",
}
NAME_PROPERTIES = ("AlarmName", "BucketName", "DashboardName", "LayerName", "LogGroupName", "Name")
WITHOUT_STACK_NAME = ("AWS::SecretsManager::Secret", "AWS::StepFunctions::StateMachine")
"""CloudFormation names these by their logical ids alone, as stacks show; AWS does not document it."""

ALARM = f"arn:aws:cloudwatch:{HERE}:alarm:operations-of-rewarm-restore-failed"
OTHERS = {
    # The reference does not know that dashboards have tags; they stand in one statement with alarms.
    "cloudwatch:ListTagsForResource": ALARM,
    "cloudwatch:TagResource": ALARM,
    "cloudwatch:UntagResource": ALARM,
    "iam:AttachRolePolicy": ROLE,
    "iam:DetachRolePolicy": ROLE,
    "iam:GetRole": ROLE,
    "iam:PassRole": ROLE,
    "lambda:GetLayerVersion": f"arn:aws:lambda:{HERE}:layer:DependenciesLayer:1",
    "lambda:DeleteLayerVersion": f"arn:aws:lambda:{HERE}:layer:DependenciesLayer:1",
    "s3:GetObject": f"arn:aws:s3:::{SAM_BUCKET}/rewarm/1",
    "s3:GetObjectVersion": f"arn:aws:s3:::{SAM_BUCKET}/rewarm/1",
}
"""What a handler does with another resource than its own."""

BY_THE_KEY = {f"kms:{name}" for name in KMS}
"""What the policy of a key of one's own allows everybody of the account through S3 and DynamoDB
(docs/scanners.md), so that policies of the account need not."""
REFUSED = {"iam:DeleteRolePermissionsBoundary"}
"""What a handler may need, and who deploys must not do: take the boundary from a role."""
PASSED_TO = {
    "AWS::ApiGateway::Account": "apigateway.amazonaws.com",
    "AWS::Events::Rule": "events.amazonaws.com",
    "AWS::Lambda::Function": "lambda.amazonaws.com",
    "AWS::StepFunctions::StateMachine": "states.amazonaws.com",
}


def document(name: str) -> str:
    text = (ROOT / "docs" / "policies" / f"{name}.json").read_text(encoding="utf-8")
    for placeholder, value in (("REGION", REGION), ("ACCOUNT", ACCOUNT), ("BOUNDARY", "limit")):
        text = text.replace(placeholder, value)
    return text


@pytest.fixture(scope="module")
def deployer() -> Authorizer:
    allowed: list[Statement] = [one for name in NAMES for one in statements(name, json.loads(document(name)))]
    return Authorizer({"deployer": tuple(allowed)})


def physical_name(logical_id: str, resource: Json) -> str:
    """The name that the template gives, or CloudFormation."""
    properties = resource.get("Properties", {})
    given = next((properties[key] for key in NAME_PROPERTIES if key in properties), None)
    if given is not None:
        text = given["Fn::Sub"] if isinstance(given, dict) else given
        values = {"AWS::StackName": "rewarm", "AWS::Region": REGION, "AlarmNamePrefix": "rewarm-"}
        return re.sub(r"\$\{([^}]+)\}", lambda match: values[match[1]], text)
    if resource["Type"] in WITHOUT_STACK_NAME:
        return f"{logical_id}-1"
    name = f"rewarm-{logical_id}-1"
    return name.lower() if resource["Type"] == "AWS::S3::Bucket" else name


def needs(logical_id: str, resource: Json) -> Iterator[Need]:
    """What CloudFormation does for one resource, as who deploys."""
    kind = resource["Type"]
    own = ARNS[kind].format(
        here=HERE, region=REGION, account=ACCOUNT, name=physical_name(logical_id, resource)
    )
    unused = unused_permissions(kind, resource.get("Properties", {}))
    if kind not in PASSED_TO:
        unused.add("iam:PassRole")
    for name in sorted(handled(kind) - unused - REFUSED - BY_THE_KEY):
        known = reference.action(name)
        assert known is not None
        on = own if known.type_of(own) else OTHERS.get(name, reference.NO_RESOURCE)
        context: Context = {
            "iam:permissionsboundary": BOUNDARY,
            "iam:passedtoservice": PASSED_TO.get(kind, ""),
        }
        yield Need(name, on, context)


def of_cloudformation() -> dict[str, Json]:
    """The resources that CloudFormation itself makes: those of the stack, and those of SAM's own stack."""
    stack = {name: one for name, one in roles.resources().items() if not one["Type"].startswith("Custom::")}
    settings = dict.fromkeys(
        ("PublicAccessBlockConfiguration", "BucketEncryption", "VersioningConfiguration")
    )
    sams = {
        "SamBucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": SAM_BUCKET, **settings}},
        "SamBucketPolicy": {"Type": "AWS::S3::BucketPolicy"},
    }
    return stack | sams


@pytest.mark.parametrize("kind", sorted({one["Type"] for one in of_cloudformation().values()}))
def test_each_resource_can_be_made_changed_and_deleted(deployer: Authorizer, kind: str) -> None:
    refused = {
        reason
        for name, one in of_cloudformation().items()
        if one["Type"] == kind
        for need in needs(name, one)
        if (reason := deployer.refusal("deployer", [need]))
    }
    assert refused == set()


def stack_arn(name: str) -> str:
    return f"arn:aws:cloudformation:{HERE}:stack/{name}/1"


def object_arn(key: str) -> str:
    return f"arn:aws:s3:::{SAM_BUCKET}/{key}"


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        *(
            (f"cloudformation:{name}", stack_arn(stack))
            for stack in ("rewarm", "aws-sam-cli-managed-default")
            for name in ("DescribeStacks", "CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet")
        ),
        *(
            (f"cloudformation:{name}", stack_arn("rewarm"))
            for name in ("DescribeStackEvents", "GetTemplateSummary", "GetTemplate", "DeleteStack")
        ),
        *(
            (f"s3:{name}", object_arn("rewarm/1"))
            for name in ("PutObject", "GetObject", "DeleteObject", "AbortMultipartUpload", "GetObjectTagging")
        ),
        ("s3:ListBucket", f"arn:aws:s3:::{SAM_BUCKET}"),
        # A custom resource's function is called as who deploys.
        ("lambda:InvokeFunction", f"arn:aws:lambda:{HERE}:function:rewarm-PublishAgentFunction-1"),
        ("lambda:InvokeFunction", f"arn:aws:lambda:{HERE}:function:rewarm-SweepFunction-1"),
        # API Gateway developer guide, "Configure logging for HTTP APIs in API Gateway".
        *(
            (f"logs:{name}", "*")
            for name in (
                "CreateLogDelivery", "PutResourcePolicy", "UpdateLogDelivery", "DeleteLogDelivery",
                "DescribeResourcePolicies", "GetLogDelivery", "ListLogDeliveries",
            )
        ),
        # What `make undeploy` lists at its end.
        ("ec2:DescribeVolumes", "*"),
    ],
)  # fmt: skip
def test_sam_and_make_undeploy_may_call(deployer: Authorizer, action: str, resource: str) -> None:
    """What SAM's command line calls for `sam deploy` and `sam delete`, and we ourselves."""
    assert deployer.authorize("deployer", action, resource).allowed


def test_the_functions_of_custom_resources_are_those_of_the_template() -> None:
    found = {
        one["Properties"]["ServiceToken"]["Fn::GetAtt"][0]
        for one in roles.resources().values()
        if one["Type"].startswith("Custom::")
    }
    assert found == {"PublishAgentFunction", "SweepFunction"}


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        ("iam:CreateRole", ROLE, {}),
        ("iam:CreateRole", ROLE, {"iam:permissionsboundary": f"arn:aws:iam::{ACCOUNT}:policy/other"}),
        ("iam:CreateRole", ROLE.replace("rewarm-", "other-"), {"iam:permissionsboundary": BOUNDARY}),
        ("iam:PutRolePolicy", ROLE, {}),
        ("iam:AttachRolePolicy", ROLE, {}),
        ("iam:DeleteRolePermissionsBoundary", ROLE, {"iam:permissionsboundary": BOUNDARY}),
        ("iam:CreatePolicyVersion", BOUNDARY, {}),
        ("iam:PassRole", ROLE, {"iam:passedtoservice": "ec2.amazonaws.com"}),
        ("iam:PassRole", ROLE.replace("rewarm-", "other-"), {"iam:passedtoservice": "lambda.amazonaws.com"}),
        ("iam:CreateUser", f"arn:aws:iam::{ACCOUNT}:user/rewarm-1", {}),
        ("cloudformation:DeleteStack", stack_arn("other"), {}),
        ("s3:DeleteObject", object_arn("other/1"), {}),
        ("s3:GetObject", "arn:aws:s3:::rewarm-artifactsbucket-1/restores/1/report.html", {}),
        ("dynamodb:GetItem", f"arn:aws:dynamodb:{HERE}:table/rewarm-RestoresTable-1", {}),
        ("lambda:InvokeFunction", f"arn:aws:lambda:{HERE}:function:rewarm-CreateVolumeFunction-1", {}),
    ],
)
def test_who_deploys_may_not(deployer: Authorizer, action: str, resource: str, context: Context) -> None:
    assert not deployer.authorize("deployer", action, resource, context).allowed


def test_the_boundary_is_protected_whatever_its_name() -> None:
    text = document("deployer").replace("policy/limit", POLICY.rpartition(":")[2])
    named_like_ours = Authorizer({"deployer": statements("deployer", json.loads(text))})
    assert named_like_ours.authorize("deployer", "iam:CreatePolicyVersion", f"{POLICY}2").allowed
    assert not named_like_ours.authorize("deployer", "iam:CreatePolicyVersion", POLICY).allowed


@pytest.mark.parametrize("name", NAMES)
def test_aws_supports_every_statement_and_the_size(name: str) -> None:
    text = document(name)
    assert [said for one in statements(name, json.loads(text)) for said in problems(one)] == []
    assert len(re.sub(r"\s", "", text)) <= CHARACTERS - 500, "placeholders have longer values"
