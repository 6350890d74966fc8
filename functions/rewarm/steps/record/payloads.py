"""Volumes, plans and results of a restore in the bucket, because a hundred of them exceed a payload.

A payload of Step Functions holds 256 KiB (AWS documentation, "Step Functions service quotas"). So the steps
pass keys; a small list accompanies its key for people who read the execution.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rewarm.contracts.base import Contract
from rewarm.contracts.values import VolumeAssignment, VolumePlan
from rewarm.domain.errors import RequestRefusedError, RestoreError
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.steps.record.bucket import plan_key, plans_key, volumes_key

if TYPE_CHECKING:
    from rewarm.contracts.events import AnnounceEvent

MOST_SHOWN_BYTES = 65_536
"""The largest list that accompanies its key: a quarter of a payload."""
LARGEST_BYTES = 64 * 1024 * 1024


def is_small(items: Sequence[Contract]) -> bool:
    """Whether the items may accompany their key in a payload."""
    return len(json.dumps([item.to_json() for item in items])) <= MOST_SHOWN_BYTES


def read_object(key: str, artifacts: Artifacts) -> JsonObject:
    """The JSON object. Raises RequestRefusedError where it is missing or too large."""
    text = artifacts.get_text(key, most_bytes=LARGEST_BYTES)
    if text is None:
        raise RequestRefusedError(f"{key} is no longer in the bucket, or has more than {LARGEST_BYTES} bytes")
    found: JsonObject = json.loads(text)
    return found


def read_if_kept(key: str, artifacts: Artifacts) -> JsonObject:
    """The JSON object; empty where it is missing, unreadable, or something else."""
    with suppress(RestoreError, ValueError):
        found = json.loads(artifacts.get_text(key, most_bytes=LARGEST_BYTES) or "{}")
        return found if isinstance(found, dict) else {}
    return {}


def write_volumes(restore_id: str, volumes: Sequence[VolumeAssignment], artifacts: Artifacts) -> str:
    """Writes the volumes of a restore and returns their key."""
    key = volumes_key(restore_id)
    artifacts.put_json(key, {"volumes": [volume.to_json() for volume in volumes]})
    return key


def read_volumes(key: str, artifacts: Artifacts) -> list[VolumeAssignment]:
    """What write_volumes has written. Raises RequestRefusedError."""
    return [VolumeAssignment.model_validate(volume) for volume in read_object(key, artifacts)["volumes"]]


def write_plans(restore_id: str, plans: Sequence[VolumePlan], artifacts: Artifacts) -> str:
    """Writes all plans in one object, returns its key, and writes each plan for its volume's execution."""
    for plan in plans:
        artifacts.put_json(plan_key(restore_id, plan.volume.index), plan.to_json())
    key = plans_key(restore_id)
    artifacts.put_json(key, {"plans": [plan.to_json() for plan in plans]})
    return key


def read_plans(key: str, artifacts: Artifacts) -> list[VolumePlan]:
    """What write_plans has written for all volumes. Raises RequestRefusedError."""
    return [VolumePlan.model_validate(plan) for plan in read_object(key, artifacts)["plans"]]


def read_plan(restore_id: str, index: int, artifacts: Artifacts) -> VolumePlan:
    """What write_plans has written for one volume. Raises RequestRefusedError."""
    return VolumePlan.model_validate(read_object(plan_key(restore_id, index), artifacts))


def with_plans(event: AnnounceEvent, artifacts: Artifacts) -> AnnounceEvent:
    """The event with the plans in place of their key. Raises RequestRefusedError."""
    details = {name: value for name, value in event.details.items() if name != "plansKey"}
    plans = read_object(event.details["plansKey"], artifacts)["plans"]
    return event.model_copy(update={"details": {**details, "plans": plans}})


def whole_result(result: JsonObject, artifacts: Artifacts) -> JsonObject:
    """The full result of a volume; the given one if it has no key, because it could not be written.

    Raises RequestRefusedError.
    """
    key = result.get("resultKey")
    return read_object(key, artifacts) if isinstance(key, str) else result
