"""What restore-volume does when a plan cannot be carried out, a wait ends early or a volume stays cold.

Step by step as on the embedded AWS, which goes the same way (tests/workflow/stack/test_fast_lab_fidelity.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from local.aws.region import FaultRule, RegionSettings, VolumeSettings
from local.aws.region.resources import ImageDevice
from local.soak.lab.endings import RESTORE, VOLUME
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import Execution
from tests.support.stack.restores import texts

Json = dict[str, Any]
ZONE = {"availabilityZone": "us-east-1a"}
EXTENTS = ((0, 150), (1_000, 250))
DENIED = "You are not authorized to perform this operation."


class Restored:
    """A restore on the fast lab that has ended."""

    def __init__(self, lab: FastLab, request: Json) -> None:
        before = lab.region.inventory()
        restore_id = lab.start(request)
        main = lab.execution(RESTORE, restore_id)
        assert main is not None
        self.main = lab.finish(main)
        self.volumes = [one for one in lab.executions(VOLUME) if one.name.startswith(f"{restore_id}-")]
        self.record = lab.api("GET", f"/restores/{restore_id}")[1]
        self.said = [texts(message) for message in lab.slack]
        found = lab.region.inventory()
        since = {kind: [one for one in ids if one not in before[kind]] for kind, ids in found.items()}
        self.left = {kind: ids for kind, ids in since.items() if ids}
        self.restore_id = restore_id

    @property
    def volume(self) -> Execution:
        """The only volume's execution."""
        (volume,) = self.volumes
        return volume

    def assert_failed(self, error: str, *words: str) -> None:
        """Failed everywhere for this reason, and people read why."""
        assert (self.main.status, self.main.error, self.volume.state) == ("FAILED", error, "Volume Failed")
        assert (self.record["status"], self.record["failure"]["error"]) == ("failed", error)
        assert self.said[-1].startswith("❌ Restore failed")
        assert [word for word in words if word not in self.said[-1]] == [], self.said[-1]


@pytest.fixture
def lab() -> Iterator[FastLab]:
    with FastLab(seed=1) as made:
        yield made


def request(lab: FastLab, strategy: str, **objective: Any) -> Json:
    """A snapshot onto an instance."""
    return {
        "source": {"snapshotId": lab.region.add_snapshot(size_gib=8, extents=EXTENTS)},
        "target": {"instanceId": lab.region.add_instance()},
        "objective": {"strategy": strategy, **objective},
    }


def described(lab: FastLab, volume_id: str) -> Json:
    """The volume, with its tags by key."""
    found: Json = lab.region.call("ec2", "DescribeVolumes", {"VolumeIds": [volume_id]})["Volumes"][0]
    return found | {"Tags": {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}}


def test_plans_take_over_one_after_the_other(lab: FastLab) -> None:
    """No rate to be had, then no fast snapshot restore: the background is late, and better than nothing."""
    asked = request(lab, "auto", readyWithinMinutes=60) | {"target": ZONE}
    lab.region.faults.inject("rate-refused")
    lab.region.faults.inject("fast-restore-refused")
    done = Restored(lab, asked)
    assert done.record["plans"][0]["plan"]["strategy"] == "provisioned-rate"
    assert done.main.status == "SUCCEEDED", done.main.cause
    assert done.volume.visits.count("Announce Fallback") == 2
    assert done.volume.output["strategy"] == "background"
    volume_id = done.volume.output["volumeId"]
    assert done.left == {"volumes": [volume_id]}
    assert described(lab, volume_id)["Tags"]["rewarm:strategy"] == "background"
    events = ["plan", "fallback", "fallback", "available", "ready"]
    assert [one["event"] for one in done.record["events"]] == events


def test_volumes_of_one_snapshot_share_one_fast_snapshot_restore(lab: FastLab) -> None:
    snapshot_id = lab.region.add_snapshot(size_gib=1, extents=EXTENTS)
    devices = [ImageDevice(device, snapshot_id, 1) for device in ("/dev/sdf", "/dev/sdg")]
    asked = request(lab, "fast-snapshot-restore")
    asked["source"] = {"imageId": lab.region.add_image(name="orders", devices=devices)}
    done = Restored(lab, asked)
    assert done.main.status == "SUCCEEDED", done.main.cause
    volumes = [described(lab, one.output["volumeId"]) for one in done.volumes]
    assert [volume["FastRestored"] for volume in volumes] == [True, True]
    restored = {volume["Attachments"][0]["Device"]: volume["SnapshotId"] for volume in volumes}
    assert restored == {"/dev/sdf": snapshot_id, "/dev/sdg": snapshot_id}
    assert sorted(done.left) == ["attachments", "volumes"]
    billed = [item["resource"] for item in lab.region.money()["items"]]
    assert billed.count(f"{snapshot_id}:us-east-1a") == 1


def test_an_event_ends_a_long_wait_and_a_false_one_costs_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a minute after each look at the status an event says that the volume has been initialized."""
    an_hour = VolumeSettings(background_mib_s=sum(count for _, count in EXTENTS) / 2 / 3_600)
    with FastLab(seed=1, settings=RegionSettings(volume=an_hour)) as lab:
        core, initializations = lab.region._core, lab.region._initializations
        describe = initializations.describe

        def with_event_to_come(volume: Any, now: float) -> Any:
            arn = core.arn(f"volume/{volume.volume_id}")
            detail = {"event": " initializeVolume", "result": "succeeded"}
            core.at(now + 30, lambda _due: core.emit("EBS Volume Notification", detail, [arn]))
            return describe(volume, now)

        monkeypatch.setattr(initializations, "describe", with_event_to_come)
        done = Restored(lab, request(lab, "background") | {"target": ZONE})
        assert done.main.status == "SUCCEEDED", done.main.cause
        assert lab.data_plane.volumes[done.volume.output["volumeId"]].cold_share == 0
    told = [answer["waitSeconds"] for state, answer in done.volume.answers if state == "Poll Initialization"]
    stays = zip(done.volume.visits, pairwise(done.volume.entered), strict=False)
    took = [left - entered for state, (entered, left) in stays if state == "Await Signal"]
    waits = list(zip(told, took, strict=False))
    assert [most for most, seconds in waits if seconds < most - 30], waits
    assert all(seconds <= most + 30 for most, seconds in waits), waits


def test_a_missing_permission_is_named(lab: FastLab) -> None:
    asked = request(lab, "background")
    lab.region.faults.inject("access-denied")
    done = Restored(lab, asked)
    done.assert_failed("AccessDeniedError", "CreateVolume", "Nothing was left behind.")
    assert done.left == {}


@pytest.mark.parametrize("on_failure", ["clean-up", "keep"])
def test_on_failure_decides_before_the_volume_is_announced(lab: FastLab, on_failure: str) -> None:
    asked = request(lab, "background") | {"onFailure": on_failure}
    rule = FaultRule("AttachVolume", code="UnauthorizedOperation", message=DENIED, status=403, times=None)
    lab.region.faults.add(rule)
    done = Restored(lab, asked)
    done.assert_failed("AccessDeniedError", "AttachVolume")
    assert "Announce Attached" not in done.volume.visits
    if on_failure == "clean-up":
        assert done.left == {}
        assert "Nothing was left behind." in done.said[-1]
        return
    (volume_id,) = done.left["volumes"]
    assert done.left == {"volumes": [volume_id]}
    assert described(lab, volume_id)["Tags"]["rewarm:failed"] == done.restore_id
    assert f"Left behind: volume {volume_id}" in done.said[-1]


def test_a_volume_that_is_still_cold_is_never_called_ready(lab: FastLab) -> None:
    done = Restored(lab, request(lab, "background") | {"verify": {"samples": 16, "maxP99Ms": 0.01}})
    done.assert_failed("VolumeNotFastError", "16 reads of 4 KiB", "0.01 ms is allowed")
    assert "Announce Attached" in done.volume.visits
    (volume_id,) = done.left["volumes"]
    volume = described(lab, volume_id)
    assert volume["Tags"]["rewarm:failed"] == done.restore_id
    assert [one["State"] for one in volume["Attachments"]] == ["attached"]
    assert f"Left behind: volume {volume_id}" in done.said[-1]
