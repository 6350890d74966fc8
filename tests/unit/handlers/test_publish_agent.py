"""The custom resource: every way out answers CloudFormation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest

from local import agents
from rewarm.settings import Settings
from tests.support.loopback import Loopback, QuietHandler
from tests.unit.handlers.conftest import Context

Json = dict[str, Any]


class CloudFormation:
    """The end that waits for the answer. It runs outside of moto, which lets loopback through."""

    def __init__(self) -> None:
        self.answers: list[Json] = []
        self.content_types: list[str | None] = []
        outer = self

        class Handler(QuietHandler):
            def do_PUT(self) -> None:
                outer.answers.append(json.loads(self.body()))
                outer.content_types.append(self.headers["Content-Type"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.server = Loopback(Handler, "/answer?signature=x")
        self.url = self.server.url

    def close(self) -> None:
        self.server.close()


@pytest.fixture
def cloudformation() -> Iterator[CloudFormation]:
    with closing(CloudFormation()) as found:
        yield found


@pytest.fixture
def handler(
    fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ModuleType:
    monkeypatch.setenv("AGENT_DIRECTORY", str(tmp_path))
    (tmp_path / "warmer-linux-arm64").write_bytes(b"arm")
    (tmp_path / "warmer-linux-x86_64").write_bytes(b"x86")
    with_package_of(monkeypatch, arm=b"arm")
    return fresh("publish_agent")


def with_package_of(monkeypatch: pytest.MonkeyPatch, *, arm: bytes) -> None:
    """The functions' package of a build with these agents."""
    wanted = {"warmer-linux-arm64": arm, "warmer-linux-x86_64": b"x86"}
    monkeypatch.setattr(Settings, "agents", agents.hashes(wanted))


def event(kind: str, url: str, **properties: Any) -> Json:
    return {
        "RequestType": kind, "ResponseURL": url, "StackId": "stack", "RequestId": "request",
        "LogicalResourceId": "PublishedAgent", "ResourceType": "Custom::PublishAgent",
        "ResourceProperties": {"ServiceToken": "arn", "Bucket": "artifacts", **properties},
    }  # fmt: skip


def keys() -> list[str]:
    found = boto3.client("s3").list_objects_v2(Bucket="artifacts").get("Contents", [])
    return sorted(one["Key"] for one in found)


def test_publishes_at_creation_and_removes_at_deletion(
    handler: ModuleType, cloudformation: CloudFormation, context: Context
) -> None:
    handler.lambda_handler(event("Create", cloudformation.url), context)
    answer = cloudformation.answers[0]
    assert (answer["Status"], answer["LogicalResourceId"]) == ("SUCCESS", "PublishedAgent")
    assert (answer["StackId"], answer["RequestId"]) == ("stack", "request")
    assert sorted(answer["Data"]) == ["linux-arm64", "linux-x86_64"]
    assert keys() == sorted(f"agents/{sha256}/warmer" for sha256 in answer["Data"].values())
    boto3.client("s3").put_object(Bucket="artifacts", Key="restores/r/report.json", Body=b"{}")
    handler.lambda_handler(event("Delete", cloudformation.url), context)
    assert cloudformation.answers[1]["Status"] == "SUCCESS"
    assert cloudformation.answers[1]["PhysicalResourceId"] == answer["PhysicalResourceId"]
    assert keys() == ["restores/r/report.json"]


def test_an_update_keeps_the_older_binary(
    handler: ModuleType,
    cloudformation: CloudFormation,
    context: Context,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handler.lambda_handler(event("Create", cloudformation.url), context)
    (tmp_path / "warmer-linux-arm64").write_bytes(b"newer")
    with_package_of(monkeypatch, arm=b"newer")
    handler.lambda_handler(event("Update", cloudformation.url), context)
    assert len(keys()) == 3


def test_a_layer_of_another_build_is_a_failure(
    handler: ModuleType, cloudformation: CloudFormation, context: Context, tmp_path: Path
) -> None:
    (tmp_path / "warmer-linux-arm64").write_bytes(b"forged")
    handler.lambda_handler(event("Create", cloudformation.url), context)
    assert cloudformation.answers[0]["Status"] == "FAILED"
    assert "must be of one build" in cloudformation.answers[0]["Reason"]
    assert keys() == []


def test_no_content_type_is_sent(
    handler: ModuleType, cloudformation: CloudFormation, context: Context
) -> None:
    handler.lambda_handler(event("Create", cloudformation.url), context)
    assert cloudformation.content_types[0] in (None, "")


@pytest.mark.parametrize("properties", [{"Bucket": "missing"}, {"Bucket": None}])
def test_a_failure_is_told_too(
    handler: ModuleType, cloudformation: CloudFormation, context: Context, properties: Json
) -> None:
    handler.lambda_handler(event("Create", cloudformation.url, **properties), context)
    answer = cloudformation.answers[0]
    assert answer["Status"] == "FAILED"
    assert answer["Reason"]
    assert answer["PhysicalResourceId"]


def test_an_empty_layer_is_a_failure(
    handler: ModuleType, cloudformation: CloudFormation, context: Context, tmp_path: Path
) -> None:
    for path in tmp_path.iterdir():
        path.unlink()
    handler.lambda_handler(event("Create", cloudformation.url), context)
    assert cloudformation.answers[0]["Status"] == "FAILED"
    assert "no warm-up agent" in cloudformation.answers[0]["Reason"]
