"""The custom resource EndedRestores: ends restores where the stack goes away, and always answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from rewarm.domain.errors import AccessDeniedError, IncompleteCleanUpError
from tests.unit.handlers.conftest import Context
from tests.unit.handlers.test_publish_agent import CloudFormation

Json = dict[str, Any]


class Stack:
    """The method `goes_away` of the port Inventory."""

    goes: bool | Exception = True
    asked = ""

    def goes_away(self, stack_id: str) -> bool:
        self.asked = stack_id
        if isinstance(self.goes, Exception):
            raise self.goes
        return self.goes


@pytest.fixture
def cloudformation() -> Iterator[CloudFormation]:
    with closing(CloudFormation()) as found:
        yield found


@pytest.fixture
def handler(fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fresh("sweep")
    monkeypatch.setattr(module, "_INVENTORY", Stack())
    monkeypatch.setattr("rewarm.steps.clean_up.end_stack.end_stack", lambda ports, end: 2)
    return module


def event(kind: str, url: str) -> Json:
    """CloudFormation user guide, "Custom resource request objects"."""
    own = {} if kind == "Create" else {"PhysicalResourceId": "restores-of-rewarm"}
    return {
        "RequestType": kind, "ResponseURL": url, "StackId": "arn:stack", "RequestId": "request",
        "LogicalResourceId": "EndedRestores", "ResourceType": "Custom::EndRestores",
        "ResourceProperties": {"ServiceToken": "arn", "Subscription": ""}, **own,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_creation_and_update_end_nothing(
    kind: str, handler: ModuleType, cloudformation: CloudFormation, context: Context
) -> None:
    handler.lambda_handler(event(kind, cloudformation.url), context)
    (answer,) = cloudformation.answers
    assert (answer["Status"], answer["Data"]) == ("SUCCESS", {"Stopped": 0})
    assert answer["PhysicalResourceId"] == "restores-of-rewarm"
    assert handler._INVENTORY.asked == ""


def test_deletion_ends_what_runs(
    handler: ModuleType, cloudformation: CloudFormation, context: Context
) -> None:
    handler.lambda_handler(event("Delete", cloudformation.url), context)
    (answer,) = cloudformation.answers
    assert answer == {
        "Status": "SUCCESS", "Data": {"Stopped": 2}, "Reason": "See the log stream stream",
        "PhysicalResourceId": "restores-of-rewarm", "StackId": "arn:stack", "RequestId": "request",
        "LogicalResourceId": "EndedRestores",
    }  # fmt: skip
    assert handler._INVENTORY.asked == "arn:stack"


def test_an_update_that_is_taken_back_ends_nothing(
    handler: ModuleType, cloudformation: CloudFormation, context: Context
) -> None:
    """CloudFormation deletes then what the update had added; the restores of the stack go on."""
    handler._INVENTORY.goes = False
    handler.lambda_handler(event("Delete", cloudformation.url), context)
    assert cloudformation.answers[0]["Data"] == {"Stopped": 0}


def test_what_is_left_is_told(
    handler: ModuleType, cloudformation: CloudFormation, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(ports: object, end: object) -> int:
        raise IncompleteCleanUpError("volume vol-1 (volumes): not allowed " + "é" * 5_000)

    monkeypatch.setattr("rewarm.steps.clean_up.end_stack.end_stack", left)
    handler.lambda_handler(event("Delete", cloudformation.url), context)
    (answer,) = cloudformation.answers
    assert answer["Status"] == "FAILED"
    assert "Delete the stack again" in answer["Reason"]
    assert "volume vol-1 (volumes): not allowed" in answer["Reason"]
    assert len(str(answer)) < 4_096


def test_what_cannot_be_asked_is_told(
    handler: ModuleType, cloudformation: CloudFormation, context: Context
) -> None:
    handler._INVENTORY.goes = AccessDeniedError("cloudformation:DescribeStacks")
    handler.lambda_handler(event("Delete", cloudformation.url), context)
    (answer,) = cloudformation.answers
    assert (answer["Status"], "cloudformation:DescribeStacks" in answer["Reason"]) == ("FAILED", True)


def test_what_hangs_is_told_in_time(
    handler: ModuleType, cloudformation: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short(Context):
        def get_remaining_time_in_millis(self) -> int:
            return int(handler.ANSWER_SECONDS) * 1_000 + 200

    monkeypatch.setattr("rewarm.steps.clean_up.end_stack.end_stack", lambda ports, end: time.sleep(3_600))
    handler.lambda_handler(event("Delete", cloudformation.url), Short())
    (answer,) = cloudformation.answers
    assert (answer["Status"], "time was not enough" in answer["Reason"]) == ("FAILED", True)
