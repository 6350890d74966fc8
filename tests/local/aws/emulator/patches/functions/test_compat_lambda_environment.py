"""A function finds what AWS gives it, and one variable more (compat_lambda_environment.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_lambda

if TYPE_CHECKING:
    import pytest

    from local.aws.host import Host

SOURCE = """
    import os

    def handler(event, context):
        return dict(os.environ)
"""
DOCUMENTED = {
    "_HANDLER", "_X_AMZN_TRACE_ID", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_EXECUTION_ENV",
    "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME", "AWS_LAMBDA_LOG_STREAM_NAME",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_LAMBDA_RUNTIME_API",
}  # fmt: skip
"""Lambda developer guide, "Defined runtime environment variables": those that AWS's SDKs or Lambda read."""


def environment(host: Host, **own: str) -> dict[str, str]:
    name = create_lambda(host, SOURCE, environment=own)
    answer = host.client("lambda").invoke(FunctionName=name)
    return dict(json.loads(answer["Payload"].read()))


def test_what_differs_from_aws_is_the_trust_store_alone(host: Host) -> None:
    of_aws = {name for name in environment(host) if name.startswith(("AWS_", "BOTO"))}
    assert of_aws - DOCUMENTED == {"AWS_CA_BUNDLE"}


def test_nothing_of_the_emulator_is_there(host: Host) -> None:
    found = environment(host)
    assert [name for name in found if name.startswith(("MINISTACK", "GATEWAY", "S3_DATA", "DOCKER"))] == []
    assert not any("endpoint" in name.lower() or "127.0.0.1" in value for name, value in found.items())


def test_the_credentials_are_not_those_that_this_process_has_by_now(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "of-a-test-before")
    monkeypatch.delenv("AWS_CA_BUNDLE")
    found = environment(host)
    assert "of-a-test-before" not in found.values()
    assert found["AWS_CA_BUNDLE"] == host.environment["AWS_CA_BUNDLE"]


def test_the_function_s_own_variables_are_there_whatever_the_emulator_has(host: Host) -> None:
    assert environment(host, LOG_LEVEL="WARNING", TABLE="t")["LOG_LEVEL"] == "WARNING"
