"""Changes of a volume: our notes in the table (one item a volume, `performance#<volume>`), and CloudTrail.

CloudTrail's event history (botocore, LookupEvents: the last 90 days) is searched by the event's name, not by
the resource. AWS does not document which resources it lists for an EC2 call, but every event has the call's
parameters. Calls that EC2 refused carry an `errorCode`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.restore_records import RESTORE_SECONDS
from rewarm.adapters.table_items import from_item, to_attribute
from rewarm.domain.units import iso

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

KEPT_SECONDS = 3 * 86_400
"""Longer than the 24 hours in which EC2 counts the starts of changes."""


class DynamoPerformanceLog:
    """The port PerformanceLog."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def starts(self, volume_id: str) -> list[datetime]:
        return sorted(datetime.fromisoformat(text) for text in self._item(volume_id).get("startedAt", []))

    def note_start(self, volume_id: str, started_at: datetime) -> None:
        """Adds to a set of times, so that two writers lose nothing, and removes old times."""
        self._update(volume_id, "ADD startedAt :times", {":times": {"SS": [iso(started_at)]}})
        old = [
            iso(start) for start in self.starts(volume_id) if self._clock() - start.timestamp() > KEPT_SECONDS
        ]
        if old:
            self._update(volume_id, "DELETE startedAt :times", {":times": {"SS": old}})

    def change_id(self, volume_id: str) -> str | None:
        return self._item(volume_id).get("changeId")

    def begin(self, volume_id: str, change_id: str) -> None:
        self._update(volume_id, "SET changeId = :id", {":id": {"S": change_id}})

    def _item(self, volume_id: str) -> dict[str, Any]:
        with naming_errors():
            answer = self._dynamodb.get_item(TableName=self._table, Key=_key(volume_id), ConsistentRead=True)
        return from_item(answer.get("Item", {}))

    def _update(self, volume_id: str, expression: str, values: dict[str, Any]) -> None:
        expires = "expiresAt = :expires"
        both = f"{expression}, {expires}" if expression.startswith("SET ") else f"{expression} SET {expires}"
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(volume_id),
                UpdateExpression=both,
                ExpressionAttributeValues={
                    **values,
                    ":expires": to_attribute(int(self._clock()) + RESTORE_SECONDS),
                },
            )


def _key(volume_id: str) -> dict[str, Any]:
    return {"pk": {"S": f"performance#{volume_id}"}}


MOST_PAGES = 4
"""Of 50 events; two look-ups a second are allowed for the whole account."""
_PAGE = 50


class CloudTrailCalls:
    """The port CallTrail."""

    def __init__(self, cloudtrail: Any) -> None:
        self._cloudtrail = cloudtrail

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        paginator = self._cloudtrail.get_paginator("lookup_events")
        with naming_errors():
            pages = paginator.paginate(
                LookupAttributes=[{"AttributeKey": "EventName", "AttributeValue": "ModifyVolume"}],
                StartTime=since,
                PaginationConfig={"MaxItems": MOST_PAGES * _PAGE, "PageSize": _PAGE},
            )
            found = [event for page in pages for event in page.get("Events", [])]
        return sorted(
            event["EventTime"] for event in found if volume_id in _changed(event.get("CloudTrailEvent", ""))
        )


def _changed(record: str) -> list[Any]:
    """Every value among the parameters of a call that EC2 accepted; none for a refused call."""
    try:
        call = json.loads(record)
    except ValueError:
        return []
    if not isinstance(call, dict) or call.get("errorCode"):
        return []
    return list(_values(call.get("requestParameters")))


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _values(part)
    else:
        yield value
