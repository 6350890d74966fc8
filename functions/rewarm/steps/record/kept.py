"""What a restore knows of its volumes, in the bucket: a hundred of them are more than a state can carry.

A payload of Step Functions holds 256 KiB (AWS documentation, "Step Functions service quotas"). The steps hand
on keys; what is shown beside them is for people, and only where it is small.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rewarm.contracts import AnnounceEvent, VolumeAssignment, VolumePlan
from rewarm.contracts.base import Contract
from rewarm.domain.errors import RequestRefusedError
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts

SHOWN_BYTES = 65_536
"""Up to so much is shown in a payload: a quarter of what it holds."""
LARGEST_BYTES = 64 * 1024 * 1024


def is_small(items: Sequence[Contract]) -> bool:
    """Whether they may be in a payload beside their key."""
    return len(json.dumps([item.to_json() for item in items])) <= SHOWN_BYTES


def volumes_key(restore_id: str) -> str:
    """Where the volumes of a restore are kept."""
    return f"restores/{restore_id}/volumes.json"


def plans_key(restore_id: str) -> str:
    """Where the plans of all volumes are kept."""
    return f"restores/{restore_id}/plans.json"


def plan_key(restore_id: str, index: int) -> str:
    """Where the plan of one volume is kept."""
    return f"restores/{restore_id}/{index}/plan.json"


def result_key(restore_id: str, index: int) -> str:
    """Where it is kept what became of one volume."""
    return f"restores/{restore_id}/{index}/result.json"


def kept(key: str, artifacts: Artifacts) -> JsonObject:
    """Raises RequestRefusedError where it is gone: without it the restore cannot go on."""
    text = artifacts.get_text(key, most_bytes=LARGEST_BYTES)
    if text is None:
        raise RequestRefusedError(f"{key} is no longer in the bucket, or has more than {LARGEST_BYTES} bytes")
    found: JsonObject = json.loads(text)
    return found


def keep_volumes(restore_id: str, volumes: Sequence[VolumeAssignment], artifacts: Artifacts) -> str:
    """Their key."""
    key = volumes_key(restore_id)
    artifacts.put_json(key, {"volumes": [one.to_json() for one in volumes]})
    return key


def kept_volumes(key: str, artifacts: Artifacts) -> list[VolumeAssignment]:
    """What keep_volumes has written."""
    return [VolumeAssignment.model_validate(one) for one in kept(key, artifacts)["volumes"]]


def keep_plans(restore_id: str, plans: Sequence[VolumePlan], artifacts: Artifacts) -> str:
    """The key of all; each is there alone as well, for the execution that carries it out."""
    for plan in plans:
        artifacts.put_json(plan_key(restore_id, plan.volume.index), plan.to_json())
    key = plans_key(restore_id)
    artifacts.put_json(key, {"plans": [plan.to_json() for plan in plans]})
    return key


def kept_plans(key: str, artifacts: Artifacts) -> list[VolumePlan]:
    """What keep_plans has written."""
    return [VolumePlan.model_validate(one) for one in kept(key, artifacts)["plans"]]


def kept_plan(restore_id: str, index: int, artifacts: Artifacts) -> VolumePlan:
    """The plan of one volume."""
    return VolumePlan.model_validate(kept(plan_key(restore_id, index), artifacts))


def with_plans(event: AnnounceEvent, artifacts: Artifacts) -> AnnounceEvent:
    """The event as the composers of messages take it: the plans themselves for their key."""
    details = {name: value for name, value in event.details.items() if name != "plansKey"}
    plans = kept(event.details["plansKey"], artifacts)["plans"]
    return event.model_copy(update={"details": {**details, "plans": plans}})


def whole_result(result: JsonObject, artifacts: Artifacts) -> JsonObject:
    """All that is known of a volume; what the payload has where it could not be kept."""
    key = result.get("resultKey")
    return kept(key, artifacts) if isinstance(key, str) else result
