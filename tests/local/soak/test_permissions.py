"""The fast lab allows what the roles of template.yaml allow, and refuses the rest as AWS does."""

from __future__ import annotations

import pytest

from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.fleet_paths import PATHS


def without(lab, source):
    """Take one statement out of the stack: `AttachVolumeFunction 0` is the first of this function's own."""
    policies = lab.permissions.authorizer.policies
    fewer = {name: tuple(one for one in listed if one.source != source) for name, listed in policies.items()}
    assert fewer != policies
    lab.permissions.authorizer.policies = fewer


def refused_by(lab):
    asked = lab.permissions.authorizer.asked.values()
    return [str(need) for _, need, decision in asked if not decision.allowed]


def ending_without(path, source):
    with FastLab(1) as lab:
        without(lab, source)
        ending = PATHS[path].play(lab)
        refused = [
            str(need)
            for _, need, decision in lab.permissions.authorizer.asked.values()
            if not decision.allowed
        ]
        return ending, refused


def test_a_call_that_the_role_does_not_allow_is_refused_as_aws_does():
    ending, refused = ending_without("provisioned-rate", "AttachVolumeFunction 0")
    assert ending.kind == "failed AccessDeniedError"
    assert (
        "AttachVolumeFunctionRole is not authorized to perform: ec2:AttachVolume on arn:aws:ec2"
        in ending.cause
    )
    assert refused[0].startswith("ec2:AttachVolume on arn:aws:ec2:us-east-1:123456789012:volume/vol-")


def test_a_shared_policy_counts():
    ending, refused = ending_without("provisioned-rate", "AttachToInstances 0")
    assert ending.kind == "failed AccessDeniedError"
    assert refused[0].startswith("ec2:AttachVolume on arn:aws:ec2:us-east-1:123456789012:instance/i-")


def test_a_volume_needs_the_stacks_tag_in_the_request():
    ending, refused = ending_without("provisioned-rate", "CreateVolumeFunction 0")
    assert ending.kind == "failed AccessDeniedError"
    assert "ec2:CreateVolume on arn:aws:ec2:us-east-1:123456789012:volume/*" in refused


def test_a_state_machine_invokes_what_its_role_allows():
    ending, refused = ending_without("provisioned-rate", "RestoreStateMachine 0")
    assert (ending.error, refused[0].partition(" ")[0]) == ("States.Permissions", "lambda:InvokeFunction")


def test_a_state_machine_runs_another_one_only_if_it_may_watch_it():
    ending, refused = ending_without("provisioned-rate", "RestoreStateMachine 2")
    assert ending.status == "failed"
    assert refused[0].startswith(
        "states:DescribeExecution on arn:aws:states:us-east-1:123456789012:execution:"
    )


def test_a_presigned_address_may_what_its_signer_may():
    ending, refused = ending_without("warm-up-agent", "DispatchWarmerFunction 3")
    assert ending.status == "failed"
    assert refused[0].startswith("s3:GetObject on arn:aws:s3:::rewarm-artifactsbucket/agents/")


def test_a_rule_starts_its_target_only_if_it_may():
    with FastLab(1) as lab:
        without(lab, "RestoreStateMachineAlarmRaised 0")
        PATHS["alarm-with-runbook"].play(lab)
        assert not lab.states.executions
        assert "states:StartExecution" in lab.undelivered[0]


def test_who_may_not_list_the_bucket_is_not_told_that_an_object_is_missing():
    with FastLab(1) as lab:
        without(lab, "ReadRestoreFiles 1")
        PATHS["warm-up-agent"].play(lab)
        assert {text.partition(" ")[0] for text in refused_by(lab)} == {"s3:ListBucket"}


@pytest.mark.parametrize("path", ["warm-up-agent", "fast-snapshot-restore", "replace", "performance-change"])
def test_everything_that_a_path_does_is_allowed(path):
    with FastLab(1) as lab:
        PATHS[path].play(lab)
        lab.pass_time(4_000)
        assert refused_by(lab) == []
