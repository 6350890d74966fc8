"""Each call is judged by the policies of whoever signed it (local/aws/front/authorization.py)."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import ClientError

from local.aws.front.authorization import session_of
from tests.support.stack.refusals import each, refusal
from tests.support.stack.state_machines import (
    create_bucket,
    create_lambda,
    create_machine,
    invoke_state,
    start,
    wait,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from local.aws.host import Host

    Clients = Callable[..., Callable[[str], Any]]


@pytest.fixture
def with_role(host: Host) -> Clients:
    """Clients of a role that has just these statements, and one that no test uses: a policy needs one."""

    def clients(*statements: dict[str, Any]) -> Callable[[str], Any]:
        name = f"role-{uuid.uuid4().hex[:8]}"
        iam = host.client("iam")
        role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps({"Statement": []}))
        iam.put_role_policy(
            RoleName=name,
            PolicyName="own",
            PolicyDocument=json.dumps({"Statement": [*statements, may("iam:GetUser")]}),
        )
        key = host.keys.of(session_of(role["Role"]["Arn"], "a-function"))
        session: Any = boto3.Session(
            key.access_key_id, key.secret, key.session_token, region_name=host.addresses.region
        )
        # Newer Regions refuse the global name of S3, for which botocore presigns otherwise.
        style: Any = {"addressing_style": "virtual"}
        config = Config(retries={"total_max_attempts": 1}, signature_version="s3v4", s3=style)
        usual = Config(retries={"total_max_attempts": 1})
        return lambda service: session.client(service, config=config if service == "s3" else usual)

    return clients


def may(*actions: str, resource: str = "*", **condition: dict[str, str]) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource, "Condition": condition}


@each(
    ec2=("UnauthorizedOperation", 403),
    s3=("AccessDenied", 403),
    sns=("AuthorizationError", 403),
    cloudformation=("AccessDenied", 403),
    ssm=("AccessDeniedException", 400),
    dynamodb=("AccessDeniedException", 400),
    stepfunctions=("AccessDeniedException", 400),
    cloudwatch=("AccessDeniedException", 400),
    **{"lambda": ("AccessDeniedException", 403)},
)
def test_what_no_statement_allows_is_refused(
    with_role: Clients, service: str, operation: str, expected: tuple[str, int]
) -> None:
    assert refusal(getattr(with_role()(service), operation)) == expected


def test_an_operation_whose_resources_the_table_does_not_know_is_refused(with_role: Clients) -> None:
    """It cannot be judged without its resource: the embedded AWS refuses it rather than allow too much."""
    clients = with_role(may("*"))
    with pytest.raises(ClientError, match="a resource that the action does not support") as refused:
        clients("ec2").terminate_instances(InstanceIds=["i-0123456789abcdef0"])
    assert refused.value.response["Error"]["Code"] == "UnauthorizedOperation"
    topic = "arn:aws:sns:us-east-1:123456789012:any"
    assert refusal(clients("sns").get_topic_attributes, TopicArn=topic) == ("AuthorizationError", 403)


def test_an_operation_without_resources_needs_no_entry_in_the_table(with_role: Clients) -> None:
    assert refusal(with_role()("ec2").describe_regions) == ("UnauthorizedOperation", 403)
    allowed = with_role(may("ec2:DescribeRegions"))("ec2")
    assert refusal(allowed.describe_regions)[0] == "InvalidAction", "allowed, and not modelled"


def test_what_is_no_operation_of_aws_is_refused(host: Host, with_role: Clients) -> None:
    request = AWSRequest("GET", f"{host.addresses.endpoint('lambda')}/no-such-operation")
    credentials = with_role(may("*"))("lambda")._request_signer._credentials
    SigV4Auth(credentials, "lambda", host.addresses.region).add_auth(request)
    sent = urllib.request.Request(request.url, headers=dict(request.headers.items()))
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(sent)
    with refused.value as answer:
        assert "which is no action of AWS" in answer.read().decode()


def test_what_a_statement_allows_is_answered(with_role: Clients) -> None:
    clients = with_role(may("ec2:DescribeVolumes", "ssm:ListCommands", "states:ListStateMachines"))
    clients("ec2").describe_volumes()
    clients("ssm").list_commands()
    clients("stepfunctions").list_state_machines()
    assert refusal(clients("ec2").describe_snapshots)[0] == "UnauthorizedOperation"


def test_who_one_is_needs_no_permission(with_role: Clients) -> None:
    with_role()("sts").get_caller_identity()


def test_a_condition_key_that_the_action_does_not_support_never_holds(with_role: Clients) -> None:
    clients = with_role(may("ec2:DescribeVolumes", StringEquals={"aws:ResourceTag/team": "orders"}))
    assert refusal(clients("ec2").describe_volumes)[0] == "UnauthorizedOperation"


def test_the_tags_of_what_is_called_count(host: Host, with_role: Clients) -> None:
    ours, theirs = (host.region.add_volume(size_gib=1, tags={"team": team}) for team in ("orders", "stock"))
    ec2 = with_role(may("ec2:DeleteVolume", StringEquals={"aws:ResourceTag/team": "orders"}))("ec2")
    assert refusal(ec2.delete_volume, VolumeId=theirs)[0] == "UnauthorizedOperation"
    ec2.delete_volume(VolumeId=ours)


def test_a_presigned_address_may_what_its_signer_may(host: Host, with_role: Clients) -> None:
    s3 = host.client("s3")
    create_bucket(host, "signers")
    s3.put_object(Bucket="signers", Key="page", Body=b"page")
    allowed = with_role(may("s3:GetObject", resource=f"arn:{host.addresses.partition}:s3:::signers/page"))(
        "s3"
    )
    what = {"Bucket": "signers", "Key": "page"}
    with urllib.request.urlopen(allowed.generate_presigned_url("get_object", what)) as answer:
        assert answer.read() == b"page"
    other = with_role(may("s3:GetObject", resource=f"arn:{host.addresses.partition}:s3:::signers/other"))(
        "s3"
    )
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(other.generate_presigned_url("get_object", what))


def test_who_may_not_list_the_bucket_is_not_told_that_an_object_is_missing(
    host: Host, with_role: Clients
) -> None:
    create_bucket(host, "unlisted")
    reads = may("s3:GetObject", resource=f"arn:{host.addresses.partition}:s3:::unlisted/*")
    lists = may("s3:ListBucket", resource=f"arn:{host.addresses.partition}:s3:::unlisted")
    missing = {"Bucket": "unlisted", "Key": "missing"}
    assert refusal(with_role(reads)("s3").get_object, **missing) == ("AccessDenied", 403)
    assert refusal(with_role(reads, lists)("s3").get_object, **missing) == ("NoSuchKey", 404)


def test_a_state_machine_invokes_what_its_role_allows(host: Host) -> None:
    function = create_lambda(host, "def handler(event, context):\n    return 1\n")
    machine = create_machine(host, {"Call": invoke_state(function)})
    iam = host.client("iam")
    iam.create_role(RoleName="idle", AssumeRolePolicyDocument=json.dumps({"Statement": []}))
    role = iam.get_role(RoleName="idle")["Role"]["Arn"]
    host.client("stepfunctions").update_state_machine(stateMachineArn=machine, roleArn=role)
    ended = wait(host, start(host, machine))
    assert (ended["status"], ended["error"]) == ("FAILED", "Lambda.AWSLambdaException")
    assert "is not authorized to perform: lambda:InvokeFunction" in ended["cause"]


def test_sts_names_whoever_has_signed(host: Host, with_role: Clients) -> None:
    """STS API reference, GetCallerIdentity: a role's session, a user with a key of IAM's API, the root."""
    session = with_role()("sts").get_caller_identity()
    assert ":assumed-role/role-" in session["Arn"]
    assert session["UserId"].endswith(":a-function")
    arn, sts, _ = user_with_key(host)
    named = sts.get_caller_identity()
    user = host.client("iam").get_user(UserName=arn.rpartition("/")[2])["User"]
    assert (named["Arn"], named["UserId"]) == (arn, user["UserId"])
    assert host.client("sts").get_caller_identity()["Arn"].endswith(":root")


def test_a_key_of_iams_api_works_until_it_is_inactive_or_gone(host: Host) -> None:
    arn, sts, key_id = user_with_key(host)
    iam, name = host.client("iam"), arn.rpartition("/")[2]
    iam.update_access_key(UserName=name, AccessKeyId=key_id, Status="Inactive")
    assert refusal(sts.get_caller_identity) == ("InvalidClientTokenId", 403)
    iam.update_access_key(UserName=name, AccessKeyId=key_id, Status="Active")
    assert sts.get_caller_identity()["Arn"] == arn
    iam.delete_access_key(UserName=name, AccessKeyId=key_id)
    assert refusal(sts.get_caller_identity) == ("InvalidClientTokenId", 403)


def user_with_key(host: Host) -> tuple[str, Any, str]:
    """ARN of a new user, its client of STS, and the id of its access key."""
    iam, name = host.client("iam"), f"user-{uuid.uuid4().hex[:8]}"
    arn = iam.create_user(UserName=name)["User"]["Arn"]
    key = iam.create_access_key(UserName=name)["AccessKey"]
    session: Any = boto3.Session(
        key["AccessKeyId"], key["SecretAccessKey"], region_name=host.addresses.region
    )
    return arn, session.client("sts", config=Config(retries={"total_max_attempts": 1})), key["AccessKeyId"]
