"""Answers CloudFormation for a custom resource that a Lambda function serves.

CloudFormation waits long if nobody answers, so every way out of here answers (CloudFormation user guide, page
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
"""A response may have 4,096 bytes, ids included."""


def is_custom_resource(event: JsonObject) -> bool:
    """CloudFormation sent it, and waits at the address in it."""
    return "ResponseURL" in event and event.get("RequestType") in {"Create", "Update", "Delete"}


def answer(
    event: JsonObject, context: LambdaContext, *, physical_id: str, apply: Callable[[], JsonObject]
) -> None:
    """What `apply` returns is the answer's data; what it raises is the reason of a failure."""
    told: JsonObject = {"Status": "SUCCESS"}
    try:
        told["Data"] = apply()
    except Exception as error:  # whatever it is, CloudFormation must hear of it
        logger.exception("the custom resource failed")
        told = {"Status": "FAILED", "Reason": _short(f"{type(error).__name__}: {error}")}
    _respond(event, {**told, "PhysicalResourceId": physical_id}, context)


def _short(reason: str) -> str:
    """By bytes: JSON makes six of one that is not ASCII."""
    return reason.encode("ascii", "replace")[:_REASON_LENGTH].decode("ascii")


def _respond(event: JsonObject, told: JsonObject, context: LambdaContext) -> None:
    body = {
        "Reason": f"See the log stream {context.log_stream_name}",
        **told,
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    # S3 signed the address without a content type, so none may be sent.
    response = _HTTP.request("PUT", event["ResponseURL"], body=json.dumps(body), headers={"Content-Type": ""})
    logger.info("CloudFormation was told", status=told["Status"], http_status=response.status)
