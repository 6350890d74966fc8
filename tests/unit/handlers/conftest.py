"""The environment that template.yaml gives the functions, and moto's AWS behind it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws

from rewarm.domain.parts import Part

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIATEST",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "STACK_NAME": "rewarm",
    "RESTORES_TABLE": "restores",
    "IDEMPOTENCY_TABLE": "idempotency",
    "ARTIFACTS_BUCKET": "artifacts",
    "WARMER_DOCUMENT": "rewarm-WarmerDocument",
    "APPLY_DOCUMENT": "rewarm-ApplyDocument",
    "WARMER_WINDOWS_DOCUMENT": "rewarm-WarmerWindowsDocument",
    "BENCHMARK_DOCUMENT": "rewarm-BenchmarkDocument",
    "BENCHMARK_WINDOWS_DOCUMENT": "rewarm-BenchmarkWindowsDocument",
    "HOOK_DOCUMENT": "rewarm-HookDocument",
    "DEVICE_USE_DOCUMENT": "rewarm-DeviceUseDocument",
    "DEVICE_USE_WINDOWS_DOCUMENT": "rewarm-DeviceUseWindowsDocument",
    "RESTORE_STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:restore",
    "RESTORE_VOLUME_STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:restore-volume",
    "CHANGE_PERFORMANCE_STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:change",
    "ALARM_ACCOUNTS": "123456789012",
    "ALARM_COOLDOWN_MINUTES": "60",
    "ALARM_NAME_PREFIX": "rewarm-",
    "MAX_RESTORES_PER_INSTANCE": "10",
    "MAX_RESTORES_IN_FLIGHT": "2000",
    "DESCRIBE_CALLS_PER_SECOND": "16",
    "PARTS": " ".join(f"{part}=yes" for part in Part),
    "PAGES_URL": "https://public.example/v1",
    "UNDO_LOG_DAYS": "30",
    "POWERTOOLS_TRACE_DISABLED": "true",
}


@dataclass
class Context:
    """What Lambda tells a function about itself."""

    function_name: str = "function"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:function"
    aws_request_id: str = "request"
    log_stream_name: str = "stream"

    def get_remaining_time_in_millis(self) -> int:
        return 25_000


@pytest.fixture
def context() -> Context:
    return Context()


@cache
def _client(service: str) -> Any:
    """Made once: moto answers clients that are older than a test as well."""
    return boto3.Session().client(service)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        _client("s3").create_bucket(Bucket="artifacts")
        _table("restores", "pk")
        _table("idempotency", "id")
        yield


@pytest.fixture
def fresh() -> Callable[[str], ModuleType]:
    """A handler's module as a cold start loads it."""

    def load(name: str) -> ModuleType:
        wiring = importlib.import_module("rewarm.wiring")
        wiring._client.cache_clear()
        return importlib.reload(importlib.import_module(f"rewarm.handlers.{name}"))

    return load


@pytest.fixture(scope="module")
def warm_modules() -> dict[str, ModuleType]:
    """The handlers' modules that this file's tests have loaded so far."""
    return {}


@pytest.fixture
def warm(
    fresh: Callable[[str], ModuleType], warm_modules: dict[str, ModuleType]
) -> Callable[[str], ModuleType]:
    """A handler's module as a warm Lambda has it: loaded once, its clients kept."""

    def load(name: str) -> ModuleType:
        if name not in warm_modules:
            warm_modules[name] = fresh(name)
        return warm_modules[name]

    return load


def _table(name: str, key: str) -> None:
    _client("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
    )
