"""The emulator's modules bear the names of the Region's partition (local/aws/emulator/partitions.py)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from local import ROOT
from local.aws.emulator.partitions import changed

NAMES = """
import json, os, sys
from local.aws.emulator import partitions, seam
os.environ["MINISTACK_ACCOUNT_ID"] = "123456789012"
names = []
for region in sys.argv[1:]:
    os.environ["MINISTACK_REGION"] = region
    seam.settle_in(region)
    states, stacks = seam.module("services.stepfunctions"), seam.module("services.cloudformation.engine")
    names.append([
        partitions.region_read(),
        stacks._resolve_refs({"Fn::Sub": "${AWS::Partition} ${AWS::URLSuffix}"}, {}, {}, {}, {}, "s", "i"),
        "arn:aws-cn:states:::sqs:sendMessage" in states._SERVICE_DISPATCH,
    ])
print(json.dumps(names))
"""


def test_one_process_can_be_in_one_region_after_another() -> None:
    regions = ["eu-west-1", "cn-north-1", "us-gov-west-1", "eu-west-1"]
    done = subprocess.run(
        [sys.executable, "-c", NAMES, *regions], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [
        ["eu-west-1", "aws amazonaws.com", False],
        ["cn-north-1", "aws-cn amazonaws.com.cn", True],
        ["us-gov-west-1", "aws-us-gov amazonaws.com", False],
        ["eu-west-1", "aws amazonaws.com", False],
    ]


@pytest.mark.parametrize(
    ("source", "there"),
    [
        ('f"arn:aws:sns:{get_region()}"', 'f"arn:aws-cn:sns:{get_region()}"'),
        ('if spec.partition != "aws"', 'if spec.partition != "aws-cn"'),
        ('f"{name}.s3.{region}.amazonaws.com"', 'f"{name}.s3.{region}.amazonaws.com.cn"'),
        ('"Service": "events.amazonaws.com"', '"Service": "events.amazonaws.com"'),
        ('"http://queue.amazonaws.com/doc/2012-11-05/"', '"http://queue.amazonaws.com/doc/2012-11-05/"'),
    ],
)
def test_arns_and_endpoints_change_and_nothing_else(source: str, there: str) -> None:
    assert changed(source.encode(), "cn-north-1").decode() == there
    assert changed(source.encode(), "eu-west-1").decode() == source
