"""What is asked for, what the meter is read for, and what counts as left running."""

from decimal import Decimal

from local.tools.run.lab import left_running, metered, request_by_post, request_of_runbook
from local.tools.run.options import STRATEGIES, Options
from rewarm.contracts.parsing import parse_restore_request

INSTANCE, SNAPSHOT = "i-0123456789abcdef0", "snap-0123456789abcdef0"


def item(resource, kind, usd):
    return {"resource": resource, "kind": kind, "usd": usd, "note": "n"}


def test_the_requests_are_ones_that_rewarm_accepts():
    options = Options(strategy="warm-up-agent", deadline_minutes=30, max_cost_usd=Decimal("0.5"))
    runbook = parse_restore_request(request_of_runbook(options, INSTANCE))
    assert runbook.objective.strategy == "warm-up-agent"
    assert runbook.objective.ready_within_minutes == 30
    assert runbook.objective.max_cost_usd == Decimal("0.5")
    posted = parse_restore_request(request_by_post(options, INSTANCE, SNAPSHOT))
    assert posted.objective.strategy == "provisioned-rate"
    assert posted.source.snapshot_id == SNAPSHOT


def test_the_meter_counts_what_came_in_between():
    before = {"items": [item("vol-1", "storage", 0.5), item("ListSnapshotBlocks", "requests", 0.1)]}
    after = {
        "items": [
            item("vol-1", "storage", 0.6),
            item("vol-2", "storage", 0.2),
            item("vol-2", "initialization-rate", 0.3),
            item("ListSnapshotBlocks", "requests", 0.15),
        ]
    }
    total, parts = metered(before, after)
    assert float(total) == 0.35
    assert [(part["resource"], part["kind"], part["note"]) for part in parts] == [
        ("vol-2", "storage", "n"),
        ("vol-2", "initialization-rate", "n"),
        ("ListSnapshotBlocks", "requests", ""),
    ]


def test_what_a_boost_cost_is_not_the_storage_that_was_ordered():
    after = {"items": [item("vol-1", "storage", 0.2), item("vol-1", "earlier-settings", 0.03)]}
    total, _ = metered({"items": []}, after)
    assert float(total) == 0.03


def test_every_strategy_can_be_asked_for():
    for strategy in STRATEGIES:
        runbook = parse_restore_request(request_of_runbook(Options(strategy=strategy), INSTANCE))
        assert runbook.objective.strategy == strategy


def test_only_what_nobody_ordered_is_left_running():
    before = {"volumes": ["vol-root"], "attachments": [], "fastRestores": [], "commands": []}
    now = {
        "volumes": ["vol-root", "vol-wanted", "vol-lost"],
        "attachments": ["vol-wanted:i-1"],
        "fastRestores": ["snap-1:us-east-1a"],
        "commands": [],
    }
    found = left_running(now, before, {"vol-wanted"})
    assert found == ["volumes: vol-lost", "fastRestores: snap-1:us-east-1a"]
