"""A hundred volumes, each with as much to tell as it can have: no item of the record is large.

The steps write through the adapter, and what is measured are the items as DynamoDB was given them.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import boto3
import pytest

from rewarm.adapters.table.restores import DynamoRestoreTable
from rewarm.contracts.base import JsonObject
from rewarm.contracts.events import AnnounceEvent, ReportEvent
from rewarm.contracts.values import Failure, Trigger
from rewarm.ports.restores import Standing
from rewarm.steps.announce.announce import announce
from rewarm.steps.clean_up.clean_up import CleanUpEvent, CleanUpPorts, clean_up
from rewarm.steps.plan.choose_fallback import ChooseFallbackEvent, choose_fallback
from rewarm.steps.record.payloads import read_plan
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.report.report import ReportPorts, report
from rewarm.steps.request.routes import GetRestorePorts, get_restore
from tests.support.builders import NOW, RESTORE_ID, at
from tests.support.holds import FakePace
from tests.support.values import accounts
from tests.support.wired import wired
from tests.support.worlds.hundred import VOLUMES, Restore

TABLE = "restores"
FAILED = range(0, VOLUMES, 20)
"""Those that fail; the others are announced and fall back, and then are at full speed."""
ITEM_BYTES = 102_400
"""A quarter of what an item holds (DynamoDB developer guide, "Constraints"): a write is billed by the KB."""
CAUSE_CHARACTERS = 32_768
"""botocore stepfunctions, SensitiveCause: the most that a cause has."""
OUTPUT_CHARACTERS = 8_000
"""botocore ssm, StandardErrorContent: the most that a command says there."""
BINS = [{"upToMs": number / 10, "count": 1_000_000 + number} for number in range(60)]

RUN = {"target": "vol-1", "pattern": "random-read", "problem": "fio: " + "y" * OUTPUT_CHARACTERS}


@pytest.fixture
def restore(dynamodb: Any) -> Restore:
    """As far as it is planned, with its record in DynamoDB."""
    made = Restore()
    made.world.table = DynamoRestoreTable(dynamodb, TABLE, clock=lambda: 1_800_000_000.0)  # type: ignore[assignment]
    made.world.table.put_new(RESTORE_ID, {"status": "planning", "request": made.request.to_json()})
    made.tell(made.choose(made.select().volumes_key))
    return made


def sizes() -> dict[str, int]:
    """Of each item, in JSON with DynamoDB's types: a little more than it counts."""
    pages = boto3.Session().client("dynamodb").get_paginator("scan").paginate(TableName=TABLE)
    rows = [row for page in pages for row in page["Items"]]
    return {row["pk"]["S"]: len(json.dumps(row)) for row in rows}


def story(plan: JsonObject) -> JsonObject:
    """All that the state machine can hand on of a volume that failed, with long measurements."""
    measured = {"finished": True, "verdict": "slow", "result": {**accounts.AFTER, "histogram": BINS}}
    return {
        "plan": plan,
        "preparation": {"ready": True, "state": "enabled", "credits": 1.0, "enabledByUs": True},
        "timeline": accounts.ready()["timeline"],
        "before": measured,
        "after": {**measured, "benchmarks": [RUN] * 2},
        "released": {"released": ["fast snapshot restore of snap-1 in us-east-1a disabled"] * 5},
        "warmUps": 2,
        "spentUsd": "12.5",
    }


def carry_out(restore: Restore, index: int) -> JsonObject:
    """One volume that is announced and falls back twice, each time for the longest cause there is."""
    world = restore.world
    planned = read_plan(RESTORE_ID, index, world.artifacts)
    volume_id = f"vol-{index:017x}"
    volume = planned.volume.model_copy(update={"device": f"/dev/sd{index:03d}", "instance_id": "i-1"})
    common: JsonObject = {"restore_id": RESTORE_ID, "request": restore.request}
    failure = Failure(state="Poll Initialization", error="AgentFailedError", cause="x" * CAUSE_CHARACTERS)
    details = {"volume": volume.to_json(), "plan": planned.plan.to_json(), "volumeId": volume_id}
    attached = {**details, "device": volume.device}
    announce(
        AnnounceEvent(**common, now=at(2), event="attached", details=attached),
        table=world.table,
        messages=world.messages,
    )
    for number in range(2):
        takeover = ChooseFallbackEvent(
            **common,
            now=at(3 + number),
            volume=volume,
            plan=planned.plan,
            fallbacks=[planned.plan],
            tried=[],
            failure=failure,
            attached_announced=True,
            warm_ups=0,
            agent_lost=False,
            began_at=NOW,
            spent_usd=Decimal(0),
        )
        choose_fallback(takeover, table=world.table, rate_requests=FakePace())
        told = {**details, "failure": failure.to_json()}
        announce(
            AnnounceEvent(**common, now=at(3 + number), event="fallback", details=told),
            table=world.table,
            messages=world.messages,
        )
    if index not in FAILED:
        assert RestoreNotes(world.table, RESTORE_ID).mark_settled(index)
        return {"verdict": "ready", "index": index, "volumeId": volume_id, "readyAt": "2026-11-21T03:07:30Z"}
    clean_up(
        CleanUpEvent(
            **common,
            now=at(9),
            volume=volume,
            volume_id=volume_id,
            attached_announced=True,
            story=story(planned.plan.to_json()),
        ),
        wired(CleanUpPorts, world),
    )
    return {"verdict": "failed", "index": index, "error": failure.error, "cause": failure.cause}


@pytest.mark.long
def test_no_item_of_a_restore_of_a_hundred_volumes_is_large(restore: Restore) -> None:
    world = restore.world
    results = [carry_out(restore, index) for index in range(VOLUMES)]
    event = ReportEvent(
        **restore.common,
        started_at=NOW,
        deadline_at=at(120),
        request=restore.request,
        trigger=Trigger(kind="api"),
        plans_key=f"restores/{RESTORE_ID}/plans.json",
        results=results,
    )
    report(
        event,
        wired(ReportPorts, world, draw=lambda _: None),
    )
    failed = {"failure": {"state": "Restore Volumes", "error": "AgentFailedError", "cause": "x" * 30_000}}
    announce(
        AnnounceEvent(
            **restore.common, event="failed", request=restore.request, details={**failed, "results": results}
        ),
        table=world.table,
        messages=world.messages,
    )
    found = sizes()
    of_volumes = {key: size for key, size in found.items() if key.startswith("restore-volume#")}
    assert len(of_volumes) == VOLUMES
    assert max(found.values()) < ITEM_BYTES, sorted(found.items(), key=lambda one: -one[1])[:3]
    assert sum(of_volumes.values()) > 4 * ITEM_BYTES, "one item could not have held it"
    assert max(of_volumes.values()) > ITEM_BYTES / 4, "else the stories are not long"
    record = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
    assert [one["index"] for one in record["volumes"]] == list(range(VOLUMES))
    assert [one["index"] for one in record["volumes"] if "story" in one] == list(FAILED)
    assert len([one for one in record["events"] if one["event"] == "fallback"]) >= VOLUMES
    assert world.table.standing(RESTORE_ID) == Standing(is_cancelled=False, status="failed")
