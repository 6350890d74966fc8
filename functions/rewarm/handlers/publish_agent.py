"""Serves the custom resource PublishedAgent: the warm-up agent reaches the bucket as part of the deployment.

CloudFormation waits long if nobody answers, so every way out of here answers (CloudFormation user guide, page
"Custom resource response objects").
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import urllib3
from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm.adapters import clients
from rewarm.adapters.agent_store import AgentStore
from rewarm.handlers import wiring
from rewarm.observability import logger
from rewarm.ports import JsonObject

_S3 = clients.s3_client()
_DIRECTORY = Path(wiring.settings.agent_directory)
_HTTP = urllib3.PoolManager(
    timeout=urllib3.Timeout(connect=5.0, read=15.0), retries=urllib3.Retry(5, backoff_factor=1)
)
_REASON_LENGTH = 1_000


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: JsonObject, context: LambdaContext) -> None:
    """Create, Update or Delete."""
    answer: JsonObject = {"Status": "SUCCESS"}
    try:
        answer["Data"] = _apply(event)
    except Exception as error:  # whatever it is, CloudFormation must hear of it
        logger.exception("the agent was not published")
        answer = {"Status": "FAILED", "Reason": f"{type(error).__name__}: {error}"[:_REASON_LENGTH]}
    _respond(event, {**answer, "PhysicalResourceId": _physical_id(event)}, context)


def _apply(event: JsonObject) -> dict[str, Any]:
    store = AgentStore(_S3, event["ResourceProperties"]["Bucket"])
    if event["RequestType"] == "Delete":
        return {"Removed": store.remove()}
    index = store.publish(_DIRECTORY)
    return {name: entry["sha256"] for name, entry in index.items()}


def _physical_id(event: JsonObject) -> str:
    """One per bucket: after a change of bucket CloudFormation deletes what is in the old one."""
    bucket = event.get("ResourceProperties", {}).get("Bucket")
    return str(f"warm-up-agent-in-{bucket}" if bucket else event.get("PhysicalResourceId", "warm-up-agent"))


def _respond(event: JsonObject, answer: JsonObject, context: LambdaContext) -> None:
    body = {
        "Reason": f"See the log stream {context.log_stream_name}",
        **answer,
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    # S3 signed the address without a content type, so none may be sent.
    response = _HTTP.request("PUT", event["ResponseURL"], body=json.dumps(body), headers={"Content-Type": ""})
    logger.info("CloudFormation was told", status=answer["Status"], http_status=response.status)
