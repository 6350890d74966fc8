"""What undoes a rewind is deleted between the writing and the message, and the message says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.soak.lab.endings import ended
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.lab import FastLab
from local.soak.trouble.undoings import delete_snapshot
from rewarm.steps.record.bucket import undo_prefix
from tests.support.stack.restores import texts
from tests.workflow.rewind.test_undo_logs import LOG, Volume

Json = dict[str, Any]
SNAPSHOT: Json = {"evidence": "snapshot", "compare": "device"}


@pytest.fixture
def fast() -> Iterator[FastLab]:
    with FastLab(seed=4) as made:
        yield made


def before(lab: FastLab, state: str, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody acts while the execution comes to the state."""
    usual = lab.invocation

    def at(place: str) -> Any:
        if place == state:
            act()
        return usual(place)

    monkeypatch.setattr(lab, "invocation", at)


def forget_log(lab: FastLab, restore_id: str) -> None:
    objects = lab.buckets[lab.stack.buckets[0]]
    for key in [key for key in objects if key.startswith(undo_prefix(restore_id))]:
        objects.pop(key)


def forget_evidence(lab: FastLab, volume_id: str) -> None:
    for shown in lab.region.call("ec2", "DescribeSnapshots", {})["Snapshots"]:
        if shown["VolumeId"] == volume_id and shown.get("Tags"):
            delete_snapshot(lab, shown["SnapshotId"], is_needed=False)


@pytest.mark.parametrize(("event", "state"), [("ready", "Announce Ready"), ("failed", "Announce Failure")])
@pytest.mark.parametrize("kept", [LOG, SNAPSHOT], ids=["undo-log", "snapshot"])
def test_a_way_back_that_was_deleted_after_the_writing_is_not_promised(
    fast: FastLab, event: str, state: str, kept: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = Volume(fast)
    if event == "failed":
        fast.data_plane.troubles.append(Trouble("bad-pack", action="apply"))
    restore_id = volume.started(**kept)

    def act() -> None:
        if kept is LOG:
            forget_log(fast, restore_id)
        else:
            forget_evidence(fast, volume.volume_id)

    before(fast, state, act, monkeypatch)
    assert ended(fast, restore_id).kind.startswith(event)
    sent = [one["detail"] for one in fast.events.sent if one["detail"].get("restoreId") == restore_id]
    (message,) = [found for found in sent if found["event"] == event]
    said = " ".join([message["text"], *message["nextSteps"]])
    assert "There is no way back" in said
    assert "undoes this one" not in said
    assert "undo-log delete" not in said
    assert "Delete what undoes" not in said
    shown = fast.api("GET", f"/restores/{restore_id}", {})[1]["volumes"][0]
    assert shown["wayBack"].startswith("There is no way back")
    assert any("There is no way back" in texts(one) for one in fast.slack)
