"""`rewarm observe` and `rewarm hot` on an API that answers by the contract."""

from __future__ import annotations

import json

from rewarm_cli.problems import DONE, NOT_FOUND, USAGE

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


def test_a_volume_is_observed_by_an_adoption(rewarm, stack):
    stack.answers["POST", "/restores"] = 202, {"restoreId": "restore-1", "status": "accepted"}
    assert rewarm("observe", VOLUME, "--minutes", "45").status == DONE
    (sent,) = (call.body for call in stack.calls if (call.method, call.path) == ("POST", "/restores"))
    assert sent == {"source": {"existing": {"volumeIds": [VOLUME]}}, "warmUp": {"learn": {"minutes": 45}}}
    assert rewarm("observe", VOLUME, "--minutes", "361").status == USAGE
    assert rewarm("observe").status == USAGE


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
