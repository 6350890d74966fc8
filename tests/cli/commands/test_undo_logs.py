"""`rewarm undo-log`, `rewarm observe` and `rewarm hot` on an API that answers by the contract."""

from __future__ import annotations

import json

from rewarm_cli.problems import DONE, NOT_FOUND, USAGE

LOG = {
    "restoreId": "restore-1", "index": 0, "volumeId": "vol-1", "snapshotId": "snap-1", "packs": 3,
    "startedAt": "2026-11-21T03:10:00Z", "bytes": 134_217_728, "usdPerMonth": "0.002875",
    "expiresAt": "2026-12-22T00:00:00Z", "blocks": 1_204, "completedAt": "2026-11-21T03:12:00Z",
}  # fmt: skip
VOLUME = "vol-0123456789abcdef0"
LINE = {"lineage": VOLUME, "recordings": 3, "newestAt": "2026-11-21T03:10:00Z", "bytes": 61_440}
RECORDING = {
    "restoreId": "restore-1", "index": 0, "beganAt": "2026-11-21T03:10:00Z", "volumeBytes": 107_374_182_400,
    "seconds": 1_800, "blocks": 2_048, "complete": True, "leftOutBecause": None,
}  # fmt: skip
LEFT_OUT = {
    **RECORDING, "seconds": None, "blocks": None, "complete": False, "leftOutBecause": "it has a block twice",
}  # fmt: skip
SET = {"lineage": VOLUME, "blocks": 2_048, "bytes": 1_073_741_824, "recordings": [RECORDING, LEFT_OUT]}


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


def test_a_volume_is_observed_by_an_adoption(rewarm, stack):
    stack.answers["POST", "/restores"] = 202, {"restoreId": "restore-1", "status": "accepted"}
    assert rewarm("observe", VOLUME, "--minutes", "45", "--yes").status == DONE
    (sent,) = (call.body for call in stack.calls if (call.method, call.path) == ("POST", "/restores"))
    assert sent == {"source": {"existing": {"volumeIds": [VOLUME]}}, "warmUp": {"learn": {"minutes": 45}}}
    assert rewarm("observe", VOLUME, "--minutes", "361").status == USAGE
    assert rewarm("observe").status == USAGE
    assert rewarm("observe", VOLUME).status == USAGE


def test_lineages_are_listed(rewarm, stack):
    stack.answers["GET", "/hot-sets"] = 200, {"hotSets": [LINE]}
    assert json.loads(rewarm("hot", "list", "-o", "json").out) == {"hotSets": [LINE]}
    shown = rewarm("hot", "list").out
    for part in (VOLUME, "3", "60 KiB", "2026-11-2"):
        assert part in shown
    stack.answers["GET", "/hot-sets"] = 200, {"hotSets": []}
    assert rewarm("hot", "list").out == "Nothing is recorded.\n"


def test_a_hot_set_is_shown_with_its_recordings(rewarm, stack):
    stack.answers["GET", f"/hot-sets/{VOLUME}"] = 200, SET
    assert json.loads(rewarm("hot", "show", VOLUME, "-o", "json").out) == SET
    shown = rewarm("hot", "show", VOLUME).out
    for part in ("1 GiB are read first", "restore-1", "to the end", "it has a block twice"):
        assert part in shown


def test_a_hot_set_is_deleted_only_with_consent(rewarm, stack):
    stack.answers["DELETE", f"/hot-sets/{VOLUME}"] = 200, {"lineage": VOLUME, "deletedObjects": 3}
    assert rewarm("hot", "delete", VOLUME).status == USAGE
    shown = rewarm("hot", "delete", VOLUME, "--yes")
    assert shown.out == f"What was recorded of {VOLUME} is deleted: 3 objects\n"
    assert json.loads(rewarm("hot", "delete", VOLUME, "--yes", "-o", "json").out)["deletedObjects"] == 3
    assert rewarm("hot", "show", "vol-00000000000000009").status == NOT_FOUND
