"""The audit holds what is said of a rewound volume against what was really written to it."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from local.aws.machines.dataplane import SnapshotImage
from local.aws.region.snapshots.contents import candidates, differs
from local.soak.audit.rewinds import RewindAudit
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.applying import APPLY
from local.soak.lab.instances.undoing import overlaid
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import API
from local.soak.trouble.paths.copy_paths import PATHS
from local.soak.trouble.random_faults import CallFault, RandomFaults
from local.soak.trouble.undoings import Undoing
from rewarm.steps.record.bucket import undo_prefix

SEED = 4


def findings(lab: FastLab, restore_id: str, said: str = "") -> list[str]:
    """With one more message, where something is said."""
    if said:
        lab.events.sent.append({"detail": {"restoreId": restore_id, "title": said}})
    return list(RewindAudit(lab).findings([restore_id]))


@pytest.mark.parametrize(
    ("share", "wrong", "words"),
    [
        (0.1, "{volume} is mixed: 7 blocks", "called mixed"),
        (0.9, "Nothing was written to {volume}", "says that it wrote nothing"),
    ],
)
def test_a_wrong_word_about_what_was_written_is_found(share: float, wrong: str, words: str) -> None:
    with FastLab(SEED) as lab:
        lab.data_plane.troubles.append(Trouble("bad-pack", APPLY, share))
        ending = PATHS["rewind"].play(lab)
        assert ending.status == "failed", ending
        (restore_id,) = ending.restore_ids
        assert findings(lab, restore_id) == []
        volume_id = rewound(lab)
        assert any(words in one for one in findings(lab, restore_id, wrong.format(volume=volume_id)))


def test_a_way_back_that_is_gone_is_found() -> None:
    with FastLab(SEED) as lab:
        ending = PATHS["rewind"].play(lab)
        (restore_id,) = ending.restore_ids
        assert findings(lab, restore_id) == []
        shown: list[Any] = lab.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]
        for one in shown:
            lab.region.call("ec2", "DeleteSnapshot", {"SnapshotId": one["SnapshotId"]})
        assert any("calls" in one and "the way back" in one for one in findings(lab, restore_id))


def test_a_way_back_that_has_something_else_is_found() -> None:
    with FastLab(SEED) as lab:
        (restore_id,) = PATHS["rewind"].play(lab).restore_ids
        volume = lab.data_plane.volume(rewound(lab))
        volume.befores[restore_id] = overlaid(volume.befores[restore_id], {7: "another"})
        (found,) = findings(lab, restore_id)
        assert f"is not what {volume.volume_id} was before" in found
        volume.used.add(7)
        assert findings(lab, restore_id) == [], "somebody wrote that while the agent was away"


def test_a_volume_that_is_held_and_a_snapshot_that_nobody_was_told_of_are_found() -> None:
    with FastLab(SEED) as lab:
        (restore_id,) = PATHS["rewind"].play(lab).restore_ids
        volume_id = rewound(lab)
        lab.data_plane.volume(volume_id).reader = object()
        tags = [{"Key": "rewarm:evidence", "Value": "snap-1"}]
        snapshot = {"ResourceType": "snapshot", "Tags": tags}
        made = lab.region.call(
            "ec2", "CreateSnapshot", {"VolumeId": volume_id, "TagSpecifications": [snapshot]}
        )
        assert findings(lab, restore_id) == [
            f"{volume_id} is still held",
            f"nobody was told of {made['SnapshotId']}",
        ]


def test_a_record_that_has_lost_its_request_is_audited() -> None:
    with FastLab(SEED) as lab:
        ending = PATHS["rewind"].play(lab)
        (restore_id,) = ending.restore_ids
        table = lab.table("RestoresTable")
        del table.rows[table.place({"pk": {"S": f"restore#{restore_id}"}})]["request"]
        assert findings(lab, restore_id) == []


def test_people_may_delete_an_undo_log_whose_record_does_not_answer() -> None:
    faults = RandomFaults(Random(SEED))
    with FastLab(SEED, interference=faults) as lab:
        ending = PATHS["rewind-with-undo-log"].play(lab)
        faults.call_faults.append(CallFault("internal", API, "dynamodb", "BatchGetItem", 0, math.inf, 1))
        assert Undoing(1, 0, {}, "deleted", None, Random(SEED)).request(lab, ending) is None
        faults.lifted = True
        (rewind, _undo) = ending.restore_ids
        assert not [key for key in lab.buckets[lab.stack.buckets[0]] if key.startswith(undo_prefix(rewind))]
        assert list(RewindAudit(lab).findings(ending.restore_ids)) == []


def rewound(lab: FastLab) -> str:
    """The only volume of the path."""
    (volume_id,) = lab.data_plane.volumes
    return volume_id


def test_blocks_that_an_undo_puts_back_to_zeros_are_listed_as_changed() -> None:
    extents = ((0, 10), (20, 4))
    image = SnapshotImage("snap-1", 1, extents, None, ((extents, "seed"),))
    undone = overlaid(image, dict.fromkeys((3, 4, 21)))
    listed = [block for block in candidates(image, undone, 0) if differs(image, undone, block)]
    assert listed == [3, 4, 21]
