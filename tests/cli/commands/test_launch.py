"""`rewarm launch`: whose settings the instance gets, that it ends stopped, and that a failure leaves none."""

from __future__ import annotations

import io
import json

import pytest
from botocore.exceptions import ClientError

from local.aws.region.faults import FaultRule
from rewarm_cli import launching
from rewarm_cli.commands import launch as command
from rewarm_cli.launching import NotLaunchedError, Wanted
from rewarm_cli.problems import DECLINED, DONE, FAILED, STOPPED, USAGE
from tests.local.aws.region.region_lab import INSTANCE
from tests.support.commands.launching import LAUNCHED, TEMPLATE, Account


@pytest.fixture
def aws(monkeypatch):
    made = Account()
    monkeypatch.setattr(launching, "pause", made.lab.wait)
    return made


def test_it_is_like_the_other_one_and_stopped(aws):
    planned = launching.plan(aws.ec2, Wanted(like=INSTANCE))
    asked = planned.request
    assert (asked["SubnetId"], asked["SecurityGroupIds"], asked["KeyName"]) == ("subnet-1", ["sg-1"], "ops")
    assert asked["IamInstanceProfile"] == {"Arn": LAUNCHED["IamInstanceProfile"]["Arn"]}
    assert asked["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}
    assert (asked["UserData"], asked["DisableApiTermination"]) == (launching.NO_USER_DATA, False)
    assert planned.left_out == ["user data", "the private address 10.0.0.10"]
    made = aws.launch(planned)
    assert made["State"]["Name"] == "stopped"
    assert {tag["Key"]: tag["Value"] for tag in made["Tags"]} == {"Name": "app", launching.TAG: INSTANCE}
    found = aws.ec2.describe_instances(InstanceIds=[made["InstanceId"]])["Reservations"][0]["Instances"][0]
    (root,) = found["BlockDeviceMappings"]
    assert root["DeviceName"] == "/dev/xvda", "the image's data volume is not made"
    assert root["Ebs"]["DeleteOnTermination"] is False, "as at the source"


def test_a_template_is_overwritten_where_options_say_so(aws):
    wanted = Wanted(
        template=TEMPLATE, instance_type="r6i.large", subnet="subnet-2", security_groups=("sg-9",)
    )
    planned = launching.plan(aws.ec2, wanted)
    asked = planned.request
    assert asked["LaunchTemplate"] == {"LaunchTemplateId": TEMPLATE, "Version": "1"}
    assert (asked["InstanceType"], asked["SubnetId"], asked["SecurityGroupIds"]) == (
        "r6i.large",
        "subnet-2",
        ["sg-9"],
    )
    assert planned.left_out == ["user data"]
    made = aws.launch(planned)
    assert made["InstanceType"] == "r6i.large"
    assert made["BlockDeviceMappings"][0]["Ebs"]["DeleteOnTermination"] is True, "as in the image"


def test_another_subnet_leaves_zone_and_placement_group_to_it(aws):
    aws.lab.region.change_instance(INSTANCE, launched={**LAUNCHED, "Placement": {"GroupId": "pg-1"}})
    assert launching.plan(aws.ec2, Wanted(like=INSTANCE)).request["Placement"] == {"GroupId": "pg-1"}
    assert launching.plan(aws.ec2, Wanted(like=INSTANCE, subnet="subnet-2")).request["Placement"] == {}


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (Wanted(like=INSTANCE, image="ami-0000000000000dead"), "name another one with --image"),
        (Wanted(template="none"), "does not exist"),
    ],
)
def test_what_is_not_there_launches_nothing(aws, wanted, why):
    with pytest.raises((NotLaunchedError, ClientError), match=why):
        launching.plan(aws.ec2, wanted)


def test_an_image_that_boots_otherwise_is_refused(aws):
    arm = aws.lab.region.add_image(name="arm", devices=[], architecture="arm64")
    with pytest.raises(NotLaunchedError, match=r"has Architecture arm64, and i-.* has x86_64"):
        launching.plan(aws.ec2, Wanted(like=INSTANCE, image=arm))


def test_a_template_of_spot_instances_is_refused(aws):
    data = {"ImageId": aws.image, "InstanceMarketOptions": {"MarketType": "spot"}}
    aws.lab.region.add_launch_template("spot", data)
    with pytest.raises(NotLaunchedError, match="Spot"):
        launching.plan(aws.ec2, Wanted(template="spot"))


@pytest.mark.parametrize("operation", ["RunInstances", "StopInstances", "ModifyInstanceAttribute"])
@pytest.mark.parametrize("effect", ["error", "lost-answer"])
def test_a_failure_leaves_no_instance_and_no_volume(aws, operation, effect):
    before = aws.volumes()
    planned = launching.plan(aws.ec2, Wanted(like=INSTANCE))
    rule = {"code": "InternalError", "status": 500, "effect": effect}
    aws.lab.region.faults.add(FaultRule(operation, times=1, **rule))
    with pytest.raises(ClientError):
        aws.launch(planned)
    assert set(aws.others()) <= {"terminated"}
    assert aws.volumes() == before


def test_one_that_ec2_ends_says_why(aws, monkeypatch):
    planned = launching.plan(aws.ec2, Wanted(like=INSTANCE))

    def ends(_seconds):
        (made,) = [one for one in aws.lab.region._tables.instances if one != INSTANCE]
        aws.lab.region.change_instance(made, state="terminated")

    monkeypatch.setattr(launching, "pause", ends)
    with pytest.raises(NotLaunchedError, match="is terminated: EC2 gives no reason"):
        aws.launch(planned)


def test_one_that_never_runs_is_terminated(aws, monkeypatch):
    planned = launching.plan(aws.ec2, Wanted(like=INSTANCE))
    monkeypatch.setattr(launching, "pause", lambda _: None)
    with pytest.raises(NotLaunchedError, match="is not running after 10 minutes"):
        aws.launch(planned)
    assert aws.others() == ["terminated"]


def test_what_cannot_be_ended_is_named(aws):
    aws.lab.region.faults.add(FaultRule("TerminateInstances", code="UnauthorizedOperation", status=403))
    aws.lab.region.faults.add(FaultRule("StopInstances", code="UnauthorizedOperation", status=403))
    with pytest.raises(ClientError):
        aws.launch(launching.plan(aws.ec2, Wanted(like=INSTANCE)))
    assert aws.said[-1].startswith("terminate i-")


class TestCommand:
    @pytest.fixture
    def called(self, aws, rewarm, monkeypatch):
        monkeypatch.setattr(command, "_ec2", lambda _settings: aws.ec2)
        return rewarm

    def test_it_says_how_to_go_on(self, called, aws):
        ended = called("launch", "--like", INSTANCE, "--yes")
        assert ended.status == DONE, ended.err
        assert f"rewarm restore --source-instance {INSTANCE} --instance i-" in ended.out
        assert aws.others() == ["stopped"]

    def test_programs_get_the_id(self, called, aws):
        ended = called("launch", "--template", TEMPLATE, "--yes", "--output", "json")
        answer = json.loads(ended.out)
        assert sorted(answer) == ["imageVolumes", "instanceId", "leftOut"]
        assert len(answer["imageVolumes"]) == 1

    @pytest.mark.parametrize(
        ("answer", "status", "made"), [("y\n", DONE, ["stopped"]), ("n\n", DECLINED, [])]
    )
    def test_it_asks_first(self, called, aws, monkeypatch, answer, status, made):
        monkeypatch.setattr("rewarm_cli.asking.is_terminal", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        ended = called("launch", "--like", INSTANCE)
        assert (ended.status, aws.others()) == (status, made)
        assert f"with the settings of {INSTANCE}?" in ended.err

    def test_a_dry_run_launches_nothing(self, called, aws):
        ended = called("launch", "--like", INSTANCE, "--dry-run")
        assert json.loads(ended.out)["ImageId"] == aws.image
        assert aws.others() == []

    @pytest.mark.parametrize("words", [(), ("--like", INSTANCE, "--template", TEMPLATE)])
    def test_one_source_of_settings_is_needed(self, called, words):
        assert called("launch", *words).status == USAGE

    def test_what_ec2_refuses_is_said(self, called, aws):
        aws.lab.region.faults.add(FaultRule("RunInstances", code="UnauthorizedOperation", status=403))
        ended = called("launch", "--like", INSTANCE, "--yes")
        assert (ended.status, "UnauthorizedOperation" in ended.err) == (FAILED, True)

    def test_ctrl_c_terminates_it(self, called, aws, monkeypatch):
        def stopped(_seconds):
            raise KeyboardInterrupt

        monkeypatch.setattr(launching, "pause", stopped)
        assert called("launch", "--like", INSTANCE, "--yes").status == STOPPED
        assert aws.others() == ["terminated"]
