"""Events of AWS that make rules look: a volume was made, an instance runs, an adoption of a rule has ended.

An event is a hint and no proof: it only names what rules look at themselves. Other accounts may send events
to this bus, and EventBridge may deliver one twice, hours late, or again from an archive.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from rewarm.domain.model import INSTANCE_ID, VOLUME_ID
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.restores import FIRST, LAST, RULE, Adoptions, RestoreTable
from rewarm.steps.record.restore import RULE_PREFIX

LOOK_SECONDS = 10
"""Whatever made a volume attaches it within seconds; one look covers the volumes of these seconds."""
LONGEST_SILENCE = timedelta(hours=1)
"""Four times as long as the schedule takes from one look to the next."""
REPLAY = "replay-name"
"""EventBridge user guide, "Replaying archived events": the field that it adds to an event."""
_MADE = ("EBS Volume Notification", "createVolume", "available")
_VOLUME = re.compile(rf"arn:[a-z-]+:ec2:([a-z0-9-]+):(\d{{12}}):volume/({VOLUME_ID})")
"""EBS user guide, "EventBridge events for EBS": createVolume names the volume by its ARN."""
_RUNS = ("EC2 Instance State-change Notification", "running")
_INSTANCE = re.compile(INSTANCE_ID)
_ENDED = "Step Functions Execution Status Change"


def is_for_rules(event: JsonObject) -> bool:
    """Whether the event is one of those that make rules look."""
    return event.get("detail-type") in {_MADE[0], _RUNS[0]} or _is_end(event)


def _is_end(event: JsonObject) -> bool:
    """Whether an adoption by a rule has ended, so that others may take its place."""
    detail = event.get("detail")
    if event.get("detail-type") != _ENDED or not isinstance(detail, dict):
        return False
    return str(detail.get("name")).startswith(RULE_PREFIX) and detail.get("status") == "SUCCEEDED"


class HearingPorts(Value, kw_only=True):
    """The ports that hear needs."""

    table: RestoreTable
    adoptions: Adoptions


def hear(event: JsonObject, ports: HearingPorts, *, account: str, region: str, now: datetime) -> bool:
    """Notes what the event names. Returns whether the caller must look, after LOOK_SECONDS.

    If many events come at once, only the first one's caller looks. It sees what the others have noted.
    """
    is_own = (event.get("account"), event.get("region")) == (account, region) and REPLAY not in event
    name = _named(event, account, region) if is_own else None
    if not is_own or (name is None and not _is_end(event)):
        return False
    if not ports.table.listed(RULE, since=FIRST, until=LAST, after=None, limit=1)[0]:
        return False
    if name is not None:
        ports.adoptions.note(name)
    return ports.adoptions.takes_turn(now, now + timedelta(seconds=LOOK_SECONDS))


def silence(table: RestoreTable, adoptions: Adoptions, now: datetime) -> str | None:
    """Returns a warning if no look at all new volumes succeeded for an hour; else None.

    If no look is known, as after an upgrade, the hour begins now.
    """
    if not table.listed(RULE, since=FIRST, until=LAST, after=None, limit=1)[0]:
        return None
    looked_at = adoptions.looked_at()
    if looked_at is None:
        adoptions.looked(now)
    elif now - looked_at > LONGEST_SILENCE:
        return f"rules have not looked at new volumes since {iso(looked_at)}"
    return None


def _named(event: JsonObject, account: str, region: str) -> str | None:
    """The volume or the instance; None if the event lacks a part, or is about another account or Region."""
    detail = event.get("detail")
    if not isinstance(detail, dict):
        return None
    kind = event.get("detail-type")
    if (kind, detail.get("event"), detail.get("result")) == _MADE:
        resources = event.get("resources")
        first = resources[0] if isinstance(resources, list) and resources else None
        found = _VOLUME.fullmatch(str(first))
        return found[3] if found is not None and (found[1], found[2]) == (region, account) else None
    instance_id = str(detail.get("instance-id"))
    is_running = (kind, detail.get("state")) == _RUNS
    return instance_id if is_running and _INSTANCE.fullmatch(instance_id) else None
