"""What a restore leaves: in words where it was stopped, and what costs money with price and command."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from rewarm.contracts.values import Keeping
from rewarm.domain.model import Strategy
from rewarm.domain.volume.performance import BoostOutcome
from rewarm.steps.record.leftovers import removed_and_kept, things_left
from rewarm.steps.record.restore import KnownRestore
from tests.support.builders import INSTANCE_ID, SNAPSHOT_ID, ZONE, assignment, volume_plan

FAILED = [{"index": 0, "verdict": "failed"}]


def kept_of(rewind):
    record = KnownRestore.model_validate({"volumes": {0: {"rewind": {"volumeId": "vol-1", **rewind}}}})
    return removed_and_kept("restore-1", FAILED, record)[1][0]


@pytest.mark.parametrize(
    ("rewind", "text"),
    [
        pytest.param(
            {"evidence": "snap-2", "evidenceState": "pending"},
            "snapshot snap-2 (vol-1 as it was, in the state pending; vol-1 is unchanged)",
            id="snapshot-made",
        ),
        pytest.param(
            {"evidence": "snap-2", "state": "writing"},
            "snapshot snap-2 (it has vol-1 as it was before the rewind; vol-1 may be mixed: its rewind ended "
            "while blocks were being written; it is tagged rewarm:rewinding)",
            id="writing",
        ),
        pytest.param(
            {"undoLog": {"restoreId": "restore-1"}},
            "undo log of restore-1 (it has what vol-1 had before the rewind, where that has overwritten it; "
            "vol-1 is unchanged)",
            id="undo-log",
        ),
    ],
)
def test_what_a_stopped_rewind_leaves_is_named(rewind, text):
    assert kept_of(rewind) == text


COSTS = Keeping(volume_usd="8", snapshot_usd="5", fast_restore_usd="547.5")
OLD = {"volumeId": "vol-old", "sizeGib": 100, "usdPerMonth": "9.6"}
REPORT = {"volume_id": "vol-new", "boost": None, "release_failure": None, "strategy": Strategy.WARM_UP_AGENT}


def left_of(known, verdict="ready", **changes):
    """(thing, dollars a month, command) of each thing that one volume's restore has left."""
    replaces = OLD if changes.pop("replaces", False) else None
    planned = volume_plan(volume=assignment(replaces=replaces), keeping=COSTS)
    of_restore = {name: known.pop(name) for name in ("settled0", "request") if name in known}
    record = KnownRestore.model_validate({"volumes": {0: known}, **of_restore})
    report = SimpleNamespace(**{**REPORT, **changes})
    found = things_left("restore-1", [planned], [{"index": 0, "verdict": verdict}], [report], record)
    return [(one.thing, one.usd_per_month and str(one.usd_per_month), one.remove) for one in found]


def test_a_restore_that_is_ready_may_have_left_nothing():
    assert left_of({}) == []


def test_the_volume_that_was_replaced_has_its_price_and_goes_by_a_command():
    (found,) = left_of({"replaced": {"volumeId": "vol-old", "state": "replaced"}}, replaces=True)
    assert found == (
        "vol-old (100 GiB), the volume that was replaced", "9.6",
        "aws ec2 delete-volume --volume-id vol-old",
    )  # fmt: skip


def test_one_that_is_back_in_its_place_is_in_use():
    assert left_of({"replaced": {"volumeId": "vol-old", "state": "put-back"}}, replaces=True) == []


def test_volumes_of_a_restore_that_failed_have_the_price_of_a_new_volume():
    stays = [{"volumeId": "vol-new", "device": "/dev/sdf", "instanceId": INSTANCE_ID}]
    (found,) = left_of({"cleanUp": {"removed": [], "kept": [], "stays": stays}}, "failed")
    assert found[:2] == ("vol-new, a volume that is not ready", "8")
    assert found[2].startswith("aws ec2 detach-volume --volume-id vol-new && ")


def test_the_volume_of_a_drill_that_stays_is_not_called_slow():
    account = {"removed": [], "kept": [], "stays": [{"volumeId": "vol-new"}]}
    (found,) = left_of({"cleanUp": account, "request": {"drill": {"runbook": "database"}}}, "failed")
    assert found[0] == "vol-new, the volume of a drill"


def test_a_volume_that_was_ready_and_could_not_be_deleted_is_named_once():
    stays = [{"volumeId": "vol-new", "device": "/dev/sdf", "instanceId": INSTANCE_ID}]
    kept = f"volume vol-new, still /dev/sdf on {INSTANCE_ID} (its tag is gone)"
    known = {"volume": {"volumeId": "vol-new"}, "cleanUp": {"removed": [], "kept": [kept], "stays": stays}}
    (found,) = left_of({**known, "settled0": True}, "failed")
    assert found[2].startswith("aws ec2 detach-volume --volume-id vol-new && ")
    record = KnownRestore.model_validate({"volumes": {0: known}, "settled0": True})
    assert removed_and_kept("restore-1", FAILED, record)[1] == [kept]


def test_the_evidence_of_a_rewind_is_a_snapshot_or_an_undo_log():
    (evidence,) = left_of({"rewind": {"volumeId": "vol-1", "evidence": "snap-2", "state": "done"}})
    assert evidence == (
        "snap-2, a snapshot of vol-1 before the rewind (at most)", "5",
        "aws ec2 delete-snapshot --snapshot-id snap-2",
    )  # fmt: skip
    (log,) = left_of({"rewind": {"volumeId": "vol-1", "undoLog": {"restoreId": "restore-1"}}})
    assert log == ("the undo log of restore-1", None, "rewarm undo-log delete restore-1")
    noted = {"restoreId": "restore-1", "usdPerMonth": "0.0031"}
    (log,) = left_of({"rewind": {"volumeId": "vol-1", "undoLog": noted}})
    assert log[1] == "0.0031"


def test_a_boost_that_is_not_lowered_and_a_fast_restore_that_may_be_on_are_named():
    boost = BoostOutcome("not-lowered", "gp3, 16,000 IOPS", "gp3, 3,000 IOPS")
    (boosted,) = left_of({}, boost=boost)
    assert boosted[0] == "vol-new is still gp3, 16,000 IOPS, to be gp3, 3,000 IOPS"
    (adopted,) = left_of({}, boost=replace(boost, usd_per_hour=Decimal("0.02"), command="aws ec2 …"))
    assert adopted[1:] == ("14.600000", "aws ec2 …")
    assert left_of({}, boost=replace(boost, state="left-alone")) == []
    noted = {"state": "not-lowered", "boosted": "io2", "target": "gp3", "usdPerHour": "0.02", "command": "…"}
    assert left_of({"cleanUp": {"boost": noted}}, verdict="failed") == [
        ("vol-new is still io2, to be gp3", "14.600000", "…")
    ]
    assert left_of({"cleanUp": {"boost": {**noted, "state": "left-alone"}}}, verdict="failed") == []
    (fast,) = left_of(
        {}, release_failure=SimpleNamespace(cause="no."), strategy=Strategy.FAST_SNAPSHOT_RESTORE
    )
    assert fast[1] == "547.5"
    assert fast[2].endswith(f"--availability-zones {ZONE} --source-snapshot-ids {SNAPSHOT_ID}")
