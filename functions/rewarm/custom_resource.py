"""Answers CloudFormation for a custom resource that a Lambda function serves.

CloudFormation waits long without an answer, so every path here sends one (CloudFormation user guide, page
"Custom resource response objects").
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import urllib3
from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm.observability import logger

JsonObject = dict[str, Any]
_HTTP = urllib3.PoolManager(
    timeout=urllib3.Timeout(connect=5.0, read=15.0), retries=urllib3.Retry(5, backoff_factor=1)
)
_REASON_LENGTH = 1_000
"""A response may have 4,096 bytes, including its ids."""


def is_custom_resource(event: JsonObject) -> bool:
    """Whether the event is CloudFormation's, which waits for an answer at the event's address."""
    return "ResponseURL" in event and event.get("RequestType") in {"Create", "Update", "Delete"}


def answer(
    event: JsonObject, context: LambdaContext, *, physical_id: str, apply: Callable[[], JsonObject]
) -> None:
    """Answers with what `apply` returns as data; if it raises, with the failure and its reason."""
    outcome: JsonObject = {"Status": "SUCCESS"}
    try:
        outcome["Data"] = apply()
    except Exception as error:  # CloudFormation must get every error
        logger.exception("the custom resource failed")
        outcome = {"Status": "FAILED", "Reason": _short(f"{type(error).__name__}: {error}")}
    _respond(event, {**outcome, "PhysicalResourceId": physical_id}, context)


def _short(reason: str) -> str:
    """Cut by bytes in ASCII, because JSON writes six bytes for any other character."""
    return reason.encode("ascii", "replace")[:_REASON_LENGTH].decode("ascii")


def _respond(event: JsonObject, outcome: JsonObject, context: LambdaContext) -> None:
    body = {
        "Reason": f"See the log stream {context.log_stream_name}",
        **outcome,
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    # S3 signed the address without a content type, so none may be sent.
    response = _HTTP.request("PUT", event["ResponseURL"], body=json.dumps(body), headers={"Content-Type": ""})
    logger.info("CloudFormation was answered", status=outcome["Status"], http_status=response.status)
