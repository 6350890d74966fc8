"""Serves the custom resource PublishedAgent: the deployment copies the warm-up agent to the bucket."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm import wiring
from rewarm.adapters import clients
from rewarm.adapters.artifacts import AgentStore
from rewarm.custom_resource import answer
from rewarm.observability import logger
from rewarm.ports import JsonObject

_S3 = clients.s3_client()
_DIRECTORY = Path(wiring.settings.agent_directory)


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: JsonObject, context: LambdaContext) -> None:
    """Create, Update or Delete."""
    answer(event, context, physical_id=_physical_id(event), apply=partial(_apply, event))


def _apply(event: JsonObject) -> dict[str, Any]:
    store = AgentStore(_S3, event["ResourceProperties"]["Bucket"])
    if event["RequestType"] == "Delete":
        return {"Removed": store.remove()}
    return store.publish(_DIRECTORY, wiring.settings.agents)


def _physical_id(event: JsonObject) -> str:
    """The bucket's id, so that after a change of bucket CloudFormation deletes what is in the old one."""
    bucket = event.get("ResourceProperties", {}).get("Bucket")
    return str(f"warm-up-agent-in-{bucket}" if bucket else event.get("PhysicalResourceId", "warm-up-agent"))
