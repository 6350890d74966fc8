"""Items of the table that somebody has changed: what cannot be read counts as missing."""

from __future__ import annotations

from rewarm.domain.model import OnFailure
from rewarm.steps.record.restore import KnownRestore
from rewarm.steps.record.volume import KnownVolume, Rewinding


def test_a_restore_with_a_changed_attribute_is_read_without_that():
    record = KnownRestore.model_validate(
        {"startedAt": "changed by hand", "status": "failed", "request": "text"}
    )
    assert (record.started_at, record.status, record.request.target.instance_id) == (None, "failed", None)


def test_a_volume_with_a_changed_part_is_read_without_that():
    known = KnownVolume.model_validate(
        {
            "volume": "text",
            "cleanUp": {"stays": [{"device": "/dev/sdf"}], "removed": ["volume vol-1"]},
            "rewind": {"others": 5, "evidence": "snap-1"},
        }
    )
    assert known.made.volume_id is None
    assert known.clean_up is not None
    assert known.clean_up.removed == ["volume vol-1"]
    assert known.rewind is not None
    assert known.rewind.snapshots == ["snap-1"]


def test_a_volume_is_kept_where_nobody_can_read_what_is_to_become_of_it():
    requests = [{"onFailure": "delete"}, {"onFailure": "clean-up"}, {}]
    wishes = [KnownRestore.model_validate({"request": one}).request.on_failure for one in requests]
    assert wishes == [OnFailure.KEEP, OnFailure.CLEAN_UP, OnFailure.CLEAN_UP]


def test_a_snapshot_that_the_volume_still_equalled_is_never_called_one_that_the_rewind_made():
    known = Rewinding.model_validate(
        {"evidence": "snap-new", "equal": "snap-user", "others": ["snap-user", "snap-2"]}
    )
    assert known.besides("snap-new") == ["snap-2"]
