"""Who can write to the bucket, or has taken functions over, has nothing else run as root on an instance."""

from __future__ import annotations

import hashlib
import json
import re
from unittest import mock

import pytest

from local import Json
from local.aws.region.errors import ApiError
from local.soak.lab.lab import FastLab
from local.soak.lab.template import AGENT_BINARY
from local.soak.trouble.paths.fleet_paths import PATHS
from rewarm.adapters.artifacts import S3Artifacts

EVIL_KEY, EVIL = "restores/x/evil", b"#!/bin/sh\nid\n"
EVIL_SHA256 = hashlib.sha256(EVIL).hexdigest()
FORGED = json.dumps(
    {
        name: {"key": EVIL_KEY, "sha256": EVIL_SHA256}
        for name in ("linux-x86_64", "linux-arm64", "windows-x86_64")
    }
)
VALUES = (
    "vol-0123456789abcdef0", "https://bucket.example/key?X=1", "3600", "none", "/data", "1",
    "read 1 --rw=read", "C:\\data",
)  # fmt: skip


def programs(lab: FastLab) -> set[str]:
    """The hash of every program that a command was sent with."""
    sent = [command.request["Parameters"] for command in lab.region._commands.known.values()]
    return {value for parameters in sent for value in parameters.get("agentSha256", [])}


@pytest.mark.parametrize("way", ["warm-up-agent", "rewind", "replace"])
def test_a_forged_index_and_program_in_the_bucket_change_nothing(way: str) -> None:
    with FastLab(1) as lab:
        bucket = lab.stack.buckets[0]
        lab.buckets.put(bucket, EVIL_KEY, EVIL)
        lab.buckets.put(bucket, "agents/index.json", FORGED.encode())
        ending = PATHS[way].play(lab)
        assert ending.status == "ready", ending
        assert programs(lab) == {hashlib.sha256(AGENT_BINARY).hexdigest()}


@pytest.mark.parametrize("way", ["warm-up-agent", "rewind", "replace"])
def test_a_function_that_names_another_program_is_refused_and_the_error_says_so(way: str) -> None:
    """Its code is not needed to keep to the agents of the build: Systems Manager refuses any other."""
    taken_over = mock.patch.object(S3Artifacts, "agent", return_value=(EVIL_KEY, EVIL_SHA256))
    with FastLab(1) as lab, taken_over:
        lab.buckets.put(lab.stack.buckets[0], EVIL_KEY, EVIL)
        ending = PATHS[way].play(lab)
        assert ending.status == "failed", ending
        assert "SendCommand: InvalidParameters" in ending.cause
        assert "agentSha256" in ending.cause
        assert programs(lab) == set()


def fitting(parameter: Json) -> str:
    """A value that the parameter takes."""
    values = [*parameter.get("allowedValues", []), *VALUES, parameter.get("default", "")]
    return next(value for value in values if re.search(parameter["allowedPattern"], value))


def test_no_document_of_the_stack_takes_another_program() -> None:
    with FastLab(1) as lab:
        starting = {
            name: content
            for name, content in lab.stack.documents.items()
            if "agentSha256" in content["parameters"]
        }
        assert len(starting) >= 7
        for name, content in starting.items():
            instance = lab.region.add_instance(platform="Windows" if "Windows" in name else "Linux")
            values = {key: [fitting(one)] for key, one in content["parameters"].items()}
            asked = {"DocumentName": name, "InstanceIds": [instance], "Parameters": values}
            lab.region.call("ssm", "SendCommand", asked)
            asked["Parameters"] = values | {"agentSha256": [EVIL_SHA256]}
            with pytest.raises(ApiError, match="agentSha256") as refusal:
                lab.region.call("ssm", "SendCommand", asked)
            assert refusal.value.code == "InvalidParameters", name
        assert EVIL_SHA256 not in programs(lab)
