"""`rewarm undo-log` on an API that answers by the contract."""

from __future__ import annotations

import json

from rewarm_cli.problems import DONE, NOT_FOUND, USAGE

LOG = {
    "restoreId": "restore-1", "index": 0, "volumeId": "vol-1", "snapshotId": "snap-1", "packs": 3,
    "startedAt": "2026-11-21T03:10:00Z", "bytes": 134_217_728, "usdPerMonth": "0.002875",
    "expiresAt": "2026-12-22T00:00:00Z", "blocks": 1_204, "completedAt": "2026-11-21T03:12:00Z",
}  # fmt: skip


def test_logs_are_listed_with_size_price_and_end(rewarm, stack):
    stack.answers["GET", "/undo-logs"] = (
        200,
        {"undoLogs": [LOG, {**LOG, "volumeId": None, "snapshotId": None, "completedAt": None}]},
    )
    assert json.loads(rewarm("undo-log", "list", "-o", "json").out)["undoLogs"][0] == LOG
    shown = rewarm("undo-log", "list").out
    for part in ("restore-1", "vol-1", "1,204", "incomplete", "128 MiB", "$0.0029", "2026-12-2"):
        assert part in shown


def test_a_log_is_deleted_by_its_restore(rewarm, stack):
    stack.answers["DELETE", "/undo-logs/restore-1"] = 200, {"restoreId": "restore-1", "deletedObjects": 1_004}
    shown = rewarm("undo-log", "delete", "restore-1", "--yes")
    assert (shown.status, shown.out) == (DONE, "The undo log of restore-1 is deleted: 1,004 objects\n")
    assert json.loads(rewarm("undo-log", "delete", "restore-1", "--yes", "-o", "json").out)["deletedObjects"]


def test_a_log_that_is_not_there_is_said(rewarm):
    assert rewarm("undo-log", "delete", "restore-2", "--yes").status == NOT_FOUND


def test_where_there_is_no_log_that_is_said(rewarm, stack):
    stack.answers["GET", "/undo-logs"] = 200, {"undoLogs": []}
    assert rewarm("undo-log", "list").out == "There is no undo log.\n"
    assert json.loads(rewarm("undo-log", "list", "-o", "json").out) == {"undoLogs": []}


def test_without_a_terminal_a_log_is_deleted_only_with_yes(rewarm, stack):
    shown = rewarm("undo-log", "delete", "restore-1")
    assert (shown.status, "use --yes" in shown.err) == (USAGE, True)
    assert not stack.calls
