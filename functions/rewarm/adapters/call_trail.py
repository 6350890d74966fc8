"""When ModifyVolume was called, from CloudTrail's event history (botocore, LookupEvents: the last 90 days).

By the event's name and not by the resource: which resources CloudTrail lists for an EC2 call is not
documented, its parameters are in every event. Calls that EC2 refused carry an `errorCode`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rewarm.adapters.aws_errors import naming_errors

MOST_PAGES = 4
"""Of 50 events; two look-ups a second are allowed for the whole account."""
_PAGE = 50


class CloudTrailCalls:
    """The port CallTrail."""

    def __init__(self, cloudtrail: Any) -> None:
        self._cloudtrail = cloudtrail

    def modifications(self, volume_id: str, *, since: datetime) -> list[datetime]:
        """Of this volume, oldest first."""
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
    """Every value among the parameters of a call that was taken."""
    try:
        told = json.loads(record)
    except ValueError:
        return []
    if not isinstance(told, dict) or told.get("errorCode"):
        return []
    return list(_values(told.get("requestParameters")))


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _values(one)
    else:
        yield value
