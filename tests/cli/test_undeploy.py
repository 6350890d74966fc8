"""`make undeploy`: it deletes the stack of samconfig.toml and lists what stays."""

from __future__ import annotations

import io
import json
import subprocess
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from rewarm_cli.clone.undeploy import DELETED, STILL_THERE, STOPPED, main
from rewarm_cli.problems import DECLINED, USAGE
from tests.support.tree import ROOT

REGION = "us-east-1"


@pytest.fixture(autouse=True)
def aws(monkeypatch):
    """An AWS of the test's own."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with mock_aws():
        yield


def client(service):
    return boto3.Session().client(service, region_name=REGION)


def stack(name, *outputs):
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {output: {"Value": f"the-{output.lower()}"} for output in outputs},
    }
    client("cloudformation").create_stack(StackName=name, TemplateBody=json.dumps(template))


def volume(stack_name):
    tags = [{"Key": "rewarm:stack", "Value": stack_name}]
    specification = {"ResourceType": "volume", "Tags": tags}
    made = client("ec2").create_volume(
        AvailabilityZone="us-east-1a", Size=8, TagSpecifications=[specification]
    )
    return made["VolumeId"]


def sam_that_deletes(arguments):
    client("cloudformation").delete_stack(StackName=arguments[arguments.index("--stack-name") + 1])
    return 0


def test_the_stack_of_samconfig_is_deleted_and_what_stays_is_listed(capsys):
    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    ours, other = volume("rewarm"), volume("another")
    assert main(["--yes"], run_sam=sam_that_deletes) == DELETED
    printed = capsys.readouterr().out
    assert "aws s3 rb s3://the-artifactsbucket --force" in printed
    assert (
        "aws dynamodb update-table --table-name the-restorestable --no-deletion-protection-enabled" in printed
    )
    assert "aws dynamodb delete-table --table-name the-restorestable" in printed
    assert f"{ours}: a restored volume of 8 GiB" in printed
    assert other not in printed


def test_undo_logs_are_listed_by_restore_with_their_size(capsys):
    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    client("s3").create_bucket(Bucket="the-artifactsbucket")
    for key in (
        "undo/restore-1/0/log.json",
        "undo/restore-1/0/0/000000-000",
        "restores/restore-2/report.html",
    ):
        client("s3").put_object(Bucket="the-artifactsbucket", Key=key, Body=b"x" * 1024)
    main(["--yes"], run_sam=sam_that_deletes)
    printed = capsys.readouterr().out
    assert "the undo log of restore-1, 2 KiB: s3://the-artifactsbucket/undo/restore-1/" in printed
    assert "restore-2" not in printed


def test_what_is_said_of_the_table_removes_it(capsys):
    """DynamoDB refuses to delete it while it is protected, and the stack's deletion leaves it there."""
    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    dynamodb = client("dynamodb")
    dynamodb.create_table(
        TableName="the-restorestable",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        DeletionProtectionEnabled=True,
    )
    with pytest.raises(dynamodb.exceptions.ClientError, match="DeletionProtectionEnabled is set"):
        dynamodb.delete_table(TableName="the-restorestable")
    assert main(["--yes"], run_sam=sam_that_deletes) == DELETED
    assert "--no-deletion-protection-enabled" in capsys.readouterr().out
    dynamodb.update_table(TableName="the-restorestable", DeletionProtectionEnabled=False)
    dynamodb.delete_table(TableName="the-restorestable")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (None, "aws s3 rb s3://the-artifactsbucket --force"),
        ("Enabled", "empty the-artifactsbucket in the console"),
    ],
)
def test_a_bucket_with_versions_has_to_be_emptied_of_them(capsys, status, said):
    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    client("s3").create_bucket(Bucket="the-artifactsbucket")
    if status is not None:
        client("s3").put_bucket_versioning(
            Bucket="the-artifactsbucket", VersioningConfiguration={"Status": status}
        )
    main(["--yes"], run_sam=sam_that_deletes)
    assert said in capsys.readouterr().out


def test_whoever_may_not_look_what_stays_hears_that_the_stack_is_deleted(capsys, monkeypatch):
    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetBucketVersioning")
    monkeypatch.setattr("rewarm_cli.clone.undeploy._removal", Mock(side_effect=denied))
    assert main(["--yes"], run_sam=sam_that_deletes) == DELETED
    said = capsys.readouterr().out
    assert "rewarm is deleted" in said
    assert "what else is not known" in said
    assert "GetBucketVersioning" in said


@pytest.mark.parametrize(("answer", "status"), [("y\n", STILL_THERE), ("n\n", DECLINED)])
def test_on_a_terminal_it_asks_first(monkeypatch, capsys, answer, status):
    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    monkeypatch.setattr("rewarm_cli.asking.is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    seen = []
    assert main([], run_sam=lambda arguments: seen.append(arguments) or 0) == status
    assert seen == (
        [] if status == DECLINED else
        [["delete", "--stack-name", "rewarm", "--region", REGION, "--no-prompts"]]
    )  # fmt: skip
    assert f"Delete the stack rewarm in {REGION}?" in capsys.readouterr().err


def test_without_a_terminal_it_needs_yes(capsys):
    assert main([], run_sam=pytest.fail) == USAGE
    assert "use --yes" in capsys.readouterr().err


def test_a_stack_that_is_still_there_is_a_failure(capsys):
    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    assert main(["--yes"], run_sam=lambda _: 0) == STILL_THERE
    assert "rewarm is still there: CREATE_COMPLETE" in capsys.readouterr().out


def test_ctrl_c_says_that_the_deletion_continues(capsys):
    def sam_that_is_stopped(_):
        raise KeyboardInterrupt

    stack("rewarm", "ArtifactsBucket", "RestoresTable")
    assert main(["--yes"], run_sam=sam_that_is_stopped) == STOPPED
    assert "A deletion that has begun continues" in capsys.readouterr().out


def test_a_stack_of_somebody_else_is_left_alone(capsys):
    stack("rewarm", "SomethingElse")
    assert main(["--yes"], run_sam=pytest.fail) == STILL_THERE
    assert "it is not Rewarm's" in capsys.readouterr().out


def test_a_stack_that_does_not_exist_is_a_sentence(capsys):
    assert main(["--yes", "--stack-name", "nothing"], run_sam=pytest.fail) == STILL_THERE
    assert "The stack nothing cannot be deleted: " in capsys.readouterr().out


def test_make_runs_it_with_its_options():
    shown = subprocess.run(
        ["make", "--dry-run", "undeploy", "ARGS=--yes"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "local/setup.sh undeploy" in shown
    assert "-m rewarm_cli.clone.undeploy --yes" in shown
