"""A step of an ARC Region switch plan: starts a restore or a fleet of Rewarm, and succeeds once it is ready.

ARC calls the function again while it raises. The plan's execution is in the idempotency key of the start, so
every call of one execution finds the same restore. What ARC sends is not documented, so it is not read: the
function asks ARC which execution of the plan is in progress (ListPlanExecutions).
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session
from botocore.session import Session

Json = dict[str, Any]

PATIENCE_SECONDS = 30
"""As long as API Gateway itself waits, and a second more."""
ENDED = frozenset({"failed", "cancelled", "refused", "duplicate", "suppressed", "incomplete"})
"""Statuses from which no restore and no fleet becomes ready (docs/api.md)."""


class NotReadyYetError(RuntimeError):
    """It was started, and is not ready; ARC calls again after the retry interval."""


class RestoreFailedError(RuntimeError):
    """It has ended and is not ready. Each further call says so again, until the step's time is over."""


class NotStartedError(RuntimeError):
    """Nothing was started, or nobody knows; the next call tries again and starts nothing twice."""


def lambda_handler(_event: object, _context: object) -> Json:
    """Returns the restore's or fleet's id and status once it is ready. Raises until then."""
    body = json.loads(os.environ["REQUEST"])
    kind = os.environ["KIND"]
    execution_id = _execution_in_progress(os.environ["PLAN_ARN"])
    # Steps of one execution that ask for different restores need different keys.
    asked = hashlib.sha256(os.environ["REQUEST"].encode()).hexdigest()[:16]
    started = _call("POST", f"/{kind}s", body, {"Idempotency-Key": f"region-switch-{execution_id}-{asked}"})
    name = f"{kind}Id"
    found = _call("GET", f"/{kind}s/{started[name]}")
    if found["status"] == "ready":
        return {name: started[name], "status": "ready"}
    said = f"{started[name]} is {found['status']}"
    if found["status"] in ENDED:
        why = (found.get("failure") or {}).get("message", "")
        raise RestoreFailedError(f"{said}: {why}" if why else said)
    raise NotReadyYetError(said)


def _execution_in_progress(plan_arn: str) -> str:
    """The plan's execution in this Region that began last. Raises NotStartedError where none runs."""
    switch = boto3.client("arc-region-switch")
    pages = switch.get_paginator("list_plan_executions").paginate(planArn=plan_arn, state="inProgress")
    region = os.environ["AWS_REGION"]
    running = [one for page in pages for one in page.get("items", []) if one["executionRegion"] == region]
    if not running:
        raise NotStartedError(f"no execution of {plan_arn} for {region} is in progress")
    return str(max(running, key=lambda one: one["startTime"])["executionId"])


def _call(method: str, path: str, body: Json | None = None, headers: dict[str, str] | None = None) -> Json:
    """The answer's body. Raises NotStartedError where the API refuses or does not answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **(headers or {})}
    request = AWSRequest(method, os.environ["API_URL"].rstrip("/") + path, headers, data)
    session = Session()
    SigV4Auth(session.get_credentials(), "execute-api", os.environ["AWS_REGION"]).add_auth(request)
    sender = URLLib3Session(session.get_config_variable("ca_bundle") or True, timeout=PATIENCE_SECONDS)
    try:
        answer = sender.send(request.prepare())
        found: Json = json.loads(answer.text)
    except (BotoCoreError, ValueError) as error:
        raise NotStartedError(f"{method} {path} was not answered: {error}") from error
    if answer.status_code not in {200, 202}:
        raise NotStartedError(f"{method} {path} answered {answer.status_code}: {answer.text[:500]}")
    return found
