"""Undo logs are found, priced and deleted by what the bucket has; no record is needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rewarm.contracts.rewinding import RewindEvent
from rewarm.domain.blocks.packs import expires_at
from rewarm.domain.errors import UndoLogInUseError, UndoLogNotFoundError
from rewarm.domain.model import MIB, Strategy
from rewarm.steps.rewind.undo_logs import (
    DeleteUndoLogPorts,
    begin_log,
    delete_undo_log,
    list_undo_logs,
    undo_log,
)
from tests.support.builders import ALICE, NOW, World, assignment, plan, request
from tests.support.worlds.undo_logs import WRITTEN, FakeUndoLogs


@pytest.fixture
def logs() -> FakeUndoLogs:
    sizes = {"undo/restore-1/0/log.json": 300, "undo/restore-1/0/0/000000-000": 100 * MIB}
    return FakeUndoLogs(
        {**sizes, "undo/restore-1/0/1/000003-012": 28 * MIB, "undo/restore-2/4/log.json": 300}
    )


@pytest.fixture
def ports(logs: FakeUndoLogs) -> DeleteUndoLogPorts:
    world = World()
    event = RewindEvent(
        restore_id="restore-1",
        now=WRITTEN,
        request=request(target={"instanceId": assignment().instance_id, "mode": "rewind"}),
        volume=assignment().model_copy(update={"rewinds": "vol-0123456789abcdef0"}),
        plan=plan(Strategy.REWIND),
    )
    begin_log(event, stack_name="rewarm", artifacts=world.artifacts, table=world.table)
    return DeleteUndoLogPorts(logs=logs, artifacts=world.artifacts, undo_log_days=30, table=world.table)


def test_they_are_listed_with_their_volume_size_price_and_end(ports: DeleteUndoLogPorts) -> None:
    first, second = list_undo_logs(ports)["undoLogs"]
    assert first == {
        "restoreId": "restore-1",
        "index": 0,
        "volumeId": "vol-0123456789abcdef0",
        "snapshotId": assignment().snapshot_id,
        "startedAt": "2026-11-21T03:10:00Z",
        "packs": 2,
        "blocks": None,
        "completedAt": None,
        "bytes": 128 * MIB + 300,
        "usdPerMonth": "0.002875",
        "expiresAt": "2026-12-22T00:00:00Z",
    }
    assert (second["restoreId"], second["index"], second["volumeId"], second["packs"]) == (
        "restore-2",
        4,
        None,
        0,
    )


def test_the_earliest_end_of_an_object_is_that_of_its_log(
    ports: DeleteUndoLogPorts, logs: FakeUndoLogs
) -> None:
    logs.written_at["undo/restore-1/0/log.json"] = WRITTEN - timedelta(days=1)
    assert list_undo_logs(ports)["undoLogs"][0]["expiresAt"] == "2026-12-21T00:00:00Z"


def test_a_rewind_names_its_log_only_if_it_has_overwritten_something(ports: DeleteUndoLogPorts) -> None:
    found = undo_log("restore-1", 0, ports)
    assert found is not None
    assert found.bytes > 128 * MIB
    assert found.expires_at.isoformat().startswith("2026-12-22")
    assert undo_log("restore-2", 4, ports) is None
    assert undo_log("restore-3", 0, ports) is None


def test_all_objects_are_deleted_and_the_heads_last(ports: DeleteUndoLogPorts, logs: FakeUndoLogs) -> None:
    assert delete_undo_log("restore-1", by=ALICE, now=NOW, ports=ports) == {
        "restoreId": "restore-1",
        "deletedObjects": 3,
    }
    assert logs.deleted[-1] == "undo/restore-1/0/log.json"
    assert list(logs.sizes) == ["undo/restore-2/4/log.json"]
    with pytest.raises(UndoLogNotFoundError, match="restore-1 has no undo log"):
        delete_undo_log("restore-1", by=ALICE, now=NOW, ports=ports)


def test_the_log_of_a_restore_that_runs_is_kept(ports: DeleteUndoLogPorts, logs: FakeUndoLogs) -> None:
    ports.table.update("restore-1", {"status": "initializing"})
    with pytest.raises(UndoLogInUseError, match="restore-1 still runs"):
        delete_undo_log("restore-1", by=ALICE, now=NOW, ports=ports)
    assert not logs.deleted


def test_a_log_by_which_a_rewind_is_being_undone_is_kept(
    ports: DeleteUndoLogPorts, logs: FakeUndoLogs
) -> None:
    undoing = {"status": "restoring", "startedAt": "2026-11-22T03:00:00Z"}
    ports.table.put_new("restore-9", {**undoing, "request": {"source": {"undoOf": "restore-1"}}})
    with pytest.raises(UndoLogInUseError, match="restore-9 undoes restore-1"):
        delete_undo_log("restore-1", by=ALICE, now=NOW, ports=ports)
    ports.table.update("restore-9", {"status": "ready"})
    assert delete_undo_log("restore-1", by=ALICE, now=NOW, ports=ports)["deletedObjects"] == 3


def test_however_many_restores_run_the_one_that_uses_a_log_is_found(ports: DeleteUndoLogPorts) -> None:
    undoing = {"status": "restoring", "startedAt": "2026-11-22T03:00:00Z"}
    ports.table.put_new("restore-9", {**undoing, "request": {"source": {"undoOf": "restore-1"}}})
    for number in range(250):
        later = {"status": "restoring", "startedAt": f"2026-11-23T03:00:00.{number:03d}Z"}
        ports.table.put_new(f"restore-later-{number}", {**later, "request": {}})
    with pytest.raises(UndoLogInUseError, match="restore-9 undoes restore-1"):
        delete_undo_log("restore-1", by=ALICE, now=NOW, ports=ports)


@pytest.mark.parametrize(
    ("written", "end"),
    [
        (datetime(2026, 11, 21, 0, 0, tzinfo=UTC), datetime(2026, 11, 22, tzinfo=UTC)),
        (datetime(2026, 11, 21, 0, 0, 1, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)),
        (datetime(2026, 11, 21, 23, 59, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)),
    ],
)
def test_s3_deletes_at_the_midnight_after(written: datetime, end: datetime) -> None:
    assert expires_at(written, 1) == end
