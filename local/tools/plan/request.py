"""The restore request that the options and the request file make together."""

from __future__ import annotations

import json
from typing import Any

from local.tools.plan.options import Options
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import RestoreRequest
from rewarm.domain.errors import InvalidRequestError, RestoreError

DEFAULT_REGION = "us-east-1"
NO_INSTANCE = "none"
SNAPSHOT_ID = "snap-0123456789abcdef0"
INSTANCE_ID = "i-0123456789abcdef0"
"""Of a snapshot and an instance that only the options describe."""
OPTION_OF = {
    "volume.volumeType": "--volume-type",
    "volume.iops": "--iops",
    "volume.throughputMibS": "--throughput",
    "volume.sizeGib": "--size-gib",
    "objective.readyWithinMinutes": "--deadline-minutes",
    "objective.maxCostUsd": "--max-cost-usd",
    "objective.strategy": "--strategy",
    "target.availabilityZone": "--zone",
    "target.instanceType": "--instance-type",
}
"""Field of the request to the option that sets it."""


def build(options: Options) -> RestoreRequest:
    """Options win over the file. Raises InvalidRequestError."""
    return parse_restore_request(body(options))


def body(options: Options) -> dict[str, Any]:
    """The JSON object, not checked yet. Raises InvalidRequestError."""
    made = _from_file(options) if options.request else _from_nothing(options)
    own = {
        "volume": {
            "volumeType": options.volume_type,
            "iops": options.iops,
            "throughputMibS": options.throughput,
        },
        "objective": {
            "readyWithinMinutes": options.deadline_minutes,
            "maxCostUsd": None if options.max_cost_usd is None else str(options.max_cost_usd),
            "strategy": options.strategy,
            "strict": options.strict or None,
        },
    }
    for part, values in own.items():
        given = {name: value for name, value in values.items() if value is not None}
        if given and isinstance(made.setdefault(part, {}), dict):
            made[part] = {**made[part], **given}
    return made


def _from_nothing(options: Options) -> dict[str, Any]:
    zone = options.zone or f"{options.region or DEFAULT_REGION}a"
    target = {"instanceId": INSTANCE_ID}
    if options.instance_type == NO_INSTANCE:
        target = {"availabilityZone": zone}
    return {"source": {"snapshotId": SNAPSHOT_ID}, "target": target}


def _from_file(options: Options) -> dict[str, Any]:
    assert options.request is not None
    try:
        read = json.loads(options.request.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidRequestError(f"{options.request} is not JSON: {error}", field="--request") from error
    if not isinstance(read, dict):
        raise InvalidRequestError(f"{options.request} holds no JSON object", field="--request")
    return read


def complaint(error: RestoreError, options: Options) -> str:
    """What is wrong, by the name under which the user has given it."""
    field = error.field or "request"
    message = str(error).removeprefix(f"{field}: ")
    if field in {"--request", "--region"}:
        return f"argument {field}: {message}"
    if options.request is None and field in OPTION_OF:
        return f"argument {OPTION_OF[field]}: {message}"
    return f"{options.request}: {field}: {message}" if options.request else f"{field}: {message}"
