"""CloudTrail's event history, of the calls that anybody asks about: LookupEvents (botocore, cloudtrail).

Only ModifyVolume is kept. An event is there some minutes after its call (AWS CloudTrail user guide, "How
CloudTrail works": about 5 minutes on average, not guaranteed).
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

from local import Json
from local.aws.region.core import Core, iso, stamp
from local.aws.region.errors import ApiError
from local.aws.region.filters import page
from local.aws.region.operations import operation

HISTORY_SECONDS = 90 * 86_400
"""botocore, LookupEvents: the last 90 days."""
MOST_EVENTS = 50


@dataclass(frozen=True, slots=True)
class TrailEvent:
    """One call that was made."""

    name: str
    at: float
    parameters: Json
    volume_id: str
    error_code: str | None = None
    event_id: str = field(default_factory=lambda: str(uuid.uuid4()))


class Trail:
    """Keeps what was called, and answers LookupEvents."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._events: list[TrailEvent] = []

    def note(self, name: str, params: Json, error_code: str | None = None) -> None:
        """Keep one call to EC2, refused ones too."""
        volume_id = str(params.get("VolumeId", ""))
        self._events.append(TrailEvent(name, self._core.now(), dict(params), volume_id, error_code))

    @operation("cloudtrail", "LookupEvents")
    def lookup_events(self, params: Json) -> Json:
        """Events by one attribute and a time range, the most recent first."""
        attributes = params.get("LookupAttributes") or []
        if len(attributes) > 1:
            raise ApiError(
                "InvalidLookupAttributesException", "You can only specify one lookup attribute at a time."
            )
        now = self._core.now()
        until = now - self._core.settings.trail_delay_seconds
        found = [
            event
            for event in reversed(self._events)
            if now - HISTORY_SECONDS <= event.at <= until
            and _fits(event, attributes)
            and _within(event, params)
        ]
        most = params.get("MaxResults") or MOST_EVENTS
        items, token = page(found, {**params, "MaxResults": most}, scope="trail", high=MOST_EVENTS)
        return {"Events": [self._describe(item) for item in items], "NextToken": token}

    def _describe(self, one: TrailEvent) -> Json:
        settings = self._core.settings
        record = {
            "eventVersion": "1.10",
            "eventTime": iso(one.at),
            "eventSource": "ec2.amazonaws.com",
            "eventName": one.name,
            "awsRegion": settings.region,
            "requestParameters": {f"{one.name}Request": one.parameters},
            "eventID": one.event_id,
            "readOnly": False,
            "eventType": "AwsApiCall",
            "recipientAccountId": settings.account_id,
            **({"errorCode": one.error_code} if one.error_code else {}),
        }
        return {
            "EventId": one.event_id,
            "EventName": one.name,
            "ReadOnly": "false",
            "EventTime": stamp(float(int(one.at))),
            "EventSource": "ec2.amazonaws.com",
            "Resources": [{"ResourceType": "AWS::EC2::Volume", "ResourceName": one.volume_id}],
            "CloudTrailEvent": json.dumps(record, default=str),
        }


def _fits(one: TrailEvent, attributes: list[Json]) -> bool:
    values = {
        "EventId": one.event_id,
        "EventName": one.name,
        "EventSource": "ec2.amazonaws.com",
        "ReadOnly": "false",
        "ResourceName": one.volume_id,
        "ResourceType": "AWS::EC2::Volume",
    }
    return all(values.get(each["AttributeKey"]) == each["AttributeValue"] for each in attributes)


def _within(one: TrailEvent, params: Json) -> bool:
    since, until = _instant(params.get("StartTime")), _instant(params.get("EndTime"))
    return (since is None or one.at >= since) and (until is None or one.at <= until)


def _instant(value: datetime | None) -> float | None:
    """The JSON protocols carry seconds since the epoch; their parser leaves the zone out."""
    if value is None:
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
