"""What finished restores measured, in the table: one item a strategy, `history#<strategy>`.

The results of a runbook's drills are kept in the same way, in `drills#<runbook>`. What `rewarm calibrate`
measured is an item beside them.

One atomic update appends a record. Conditional updates remove the oldest records only while the list is too
long, so concurrent writers lose nothing. The item expires when no restore of the strategy has finished for as
long as reports are kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rewarm.adapters.aws_errors import naming_errors
from rewarm.adapters.table.restores import RESTORE_SECONDS
from rewarm.adapters.table.table_items import from_item, key_of, to_attribute, unless_refused
from rewarm.domain.model import Strategy
from rewarm.domain.time.measured import Likeness, Measured, Phase
from rewarm.domain.units import iso
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

LOG = logging.getLogger(__name__)
MOST_RECORDS = 60
"""Three times what an estimate takes; with all its points a record has about a kilobyte, an item up to 400
(DynamoDB developer guide, "Constraints")."""
LEASES_KEY = "calibrations"
"""One item, with an attribute for each calibration that has not removed all that it made."""
CALIBRATION_KEY = "history#calibration"
"""Nothing expires it: the next calibration takes its place."""
MOST_ATTEMPTS = 5
"""DynamoDB may leave keys unanswered under load (botocore: BatchGetItem UnprocessedKeys)."""


class DynamoHistory:
    """The port History."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, clock: Callable[[], float] = time.time) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self._clock = clock

    def records(self) -> list[Measured]:
        """The records of every strategy, without those of other versions that cannot be read."""
        found = [
            record
            for item in self._items([_key(strategy) for strategy in Strategy])
            for written in item.get("records", [])
            for record in _read(written)
        ]
        return sorted(found, key=lambda record: (record.at, record.name))

    def add(self, records: Sequence[Measured]) -> None:
        for strategy in dict.fromkeys(record.strategy for record in records):
            of_strategy = [_written(record) for record in records if record.strategy is strategy]
            key = key_of(_key(strategy))
            self._append(key, of_strategy[-MOST_RECORDS:])
            while self._drop_oldest(key):
                pass

    def drills(self, runbook: str) -> list[JsonObject]:
        written = self._read(_drills_key(runbook)).get("records", [])
        # A report may be written twice, and must add its drill once.
        latest = {drill["restoreId"]: drill for drill in written}
        return sorted(latest.values(), key=lambda drill: (drill["at"], drill["restoreId"]))

    def add_drill(self, runbook: str, result: JsonObject) -> None:
        key = key_of(_drills_key(runbook))
        self._append(key, [result])
        while self._drop_oldest(key):
            pass

    def calibration(self) -> JsonObject | None:
        for item in self._items([CALIBRATION_KEY]):
            kept = item.get("calibration")
            if isinstance(kept, dict):
                return kept
        return None

    def keep_calibration(self, calibration: JsonObject) -> None:
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=key_of(CALIBRATION_KEY),
                UpdateExpression="SET calibration = :new",
                ExpressionAttributeValues={":new": to_attribute(calibration)},
            )

    def leases(self) -> JsonObject:
        found = self._read(LEASES_KEY)
        return {name: lease for name, lease in found.items() if name != "pk"}

    def keep_lease(self, calibration_id: str, lease: JsonObject) -> None:
        self._change_lease("SET #lease = :new", calibration_id, {":new": to_attribute(lease)})

    def end_lease(self, calibration_id: str) -> None:
        self._change_lease("REMOVE #lease", calibration_id, {})

    def _change_lease(self, expression: str, calibration_id: str, values: dict[str, Any]) -> None:
        given: Any = {"ExpressionAttributeValues": values} if values else {}
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=key_of(LEASES_KEY),
                UpdateExpression=expression,
                ExpressionAttributeNames={"#lease": calibration_id},
                **given,
            )

    def _read(self, key: str) -> JsonObject:
        with naming_errors():
            answer = self._dynamodb.get_item(TableName=self._table, Key=key_of(key), ConsistentRead=True)
        return from_item(answer.get("Item") or {})

    def _append(self, key: dict[str, Any], records: list[JsonObject]) -> None:
        with naming_errors():
            self._dynamodb.update_item(
                TableName=self._table,
                Key=key,
                UpdateExpression="SET records = list_append(if_not_exists(records, :none), :new), "
                "expiresAt = :expires",
                ExpressionAttributeValues={
                    ":none": {"L": []},
                    ":new": to_attribute(records),
                    ":expires": to_attribute(int(self._clock()) + RESTORE_SECONDS),
                },
            )

    def _drop_oldest(self, key: dict[str, Any]) -> bool:
        dropped = unless_refused(
            self._dynamodb.update_item,
            TableName=self._table,
            Key=key,
            UpdateExpression="REMOVE records[0]",
            ConditionExpression="size(records) > :most",
            ExpressionAttributeValues={":most": to_attribute(MOST_RECORDS)},
        )
        return dropped is not None

    def _items(self, keys: Sequence[str]) -> Iterator[JsonObject]:
        wanted: Mapping[str, Any] = {self._table: {"Keys": [{"pk": {"S": key}} for key in keys]}}
        for _attempt in range(MOST_ATTEMPTS):
            with naming_errors():
                answer = self._dynamodb.batch_get_item(RequestItems=wanted)
            yield from (from_item(item) for item in answer["Responses"].get(self._table, []))
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                return
        LOG.warning("a part of the history was left unanswered: %s", ", ".join(wanted))


def _key(strategy: Strategy) -> str:
    return f"history#{strategy}"


def _drills_key(runbook: str) -> str:
    return f"drills#{runbook}"


def _written(record: Measured) -> JsonObject:
    return {
        "name": record.name,
        "at": iso(record.at),
        "strategy": record.strategy.value,
        "volumeType": record.likeness.volume_type,
        "availabilityZone": record.likeness.availability_zone,
        "instanceType": record.likeness.instance_type,
        "writtenBytes": record.written_bytes,
        "dataBytes": record.data_bytes,
        "snapshotSizeGib": record.snapshot_size_gib,
        "seconds": {phase.value: seconds for phase, seconds in record.seconds.items()},
        "leadSeconds": record.lead_seconds,
        "readLimitMibS": record.read_limit_mib_s,
        "rateMibS": record.rate_mib_s,
        "points": [list(point) for point in record.points],
        "estimatedP50Seconds": record.estimated_p50_seconds,
        "estimatedP90Seconds": record.estimated_p90_seconds,
        "actualSeconds": record.actual_seconds,
        "parts": [list(part) for part in record.parts],
    }


def _read(item: JsonObject) -> Iterator[Measured]:
    try:
        yield _record(item)
    except (KeyError, TypeError, ValueError) as error:
        LOG.warning("a record of the history cannot be read: %s: %s", type(error).__name__, error)


def _record(item: JsonObject) -> Measured:
    return Measured(
        name=item["name"],
        at=datetime.fromisoformat(item["at"]),
        strategy=Strategy(item["strategy"]),
        likeness=Likeness(item["volumeType"], item["availabilityZone"], item["instanceType"]),
        written_bytes=int(item["writtenBytes"]),
        data_bytes=int(item["dataBytes"]),
        snapshot_size_gib=int(item["snapshotSizeGib"]),
        seconds={Phase(name): float(value) for name, value in item["seconds"].items()},
        lead_seconds=item["leadSeconds"],
        read_limit_mib_s=item["readLimitMibS"],
        rate_mib_s=item["rateMibS"],
        points=tuple((float(seconds), int(done)) for seconds, done in item["points"]),
        estimated_p50_seconds=float(item["estimatedP50Seconds"]),
        estimated_p90_seconds=float(item["estimatedP90Seconds"]),
        actual_seconds=float(item["actualSeconds"]),
        parts=tuple((str(title), float(seconds)) for title, seconds in item.get("parts") or []),
    )
