"""Several volumes from one request: each by an execution of its own, ready only where all are."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.pages import is_of, link_of, opened
from tests.support.stack.restores import PATIENT, Restore, RestoreUser, texts

Json = dict[str, Any]


def lost_instance(user: RestoreUser) -> tuple[str, dict[str, str]]:
    """An instance with two volumes, and the newest snapshot of each by device."""
    instance_id = user.instance(root_size_gib=0)
    newest = {}
    for device in ("/dev/sdf", "/dev/sdh"):
        volume_id = user.region.add_volume(size_gib=1, attach_to=instance_id, device=device, has_data=False)
        user.snapshot(volume_id=volume_id, start_time=user.region.now() - 7_200)
        newest[device] = user.snapshot(volume_id=volume_id, start_time=user.region.now() - 3_600)
    return instance_id, newest


def request_for_both(user: RestoreUser, strategy: str) -> tuple[Json, dict[str, str]]:
    source, newest = lost_instance(user)
    target = user.instance()
    user.mark()
    request = {
        "source": {"instanceId": source},
        "target": {"instanceId": target},
        "objective": {"strategy": strategy},
        "verify": PATIENT,
    }
    return request, newest


def restored(user: RestoreUser, done: Restore) -> dict[str, str]:
    """Snapshot by device of what was attached."""
    volumes = [user.volume(volume_id) for volume_id in user.volumes_of(done.restore_id)]
    return {volume["Attachments"][0]["Device"]: volume["SnapshotId"] for volume in volumes}


def assert_each_message_links_its_volume(user: RestoreUser, done: Restore) -> None:
    """A volume's message may go out hours before the restore has a page: it links a page of its own."""
    linked = {}
    *messages, confirmation = user.messages(done.restore_id)
    for message in messages:
        if "is at full speed" in message["text"]:
            url = str(link_of(message))
            (volume_id,) = [one for one in user.volumes_of(done.restore_id) if one in texts(message)]
            linked[volume_id] = opened(url)
    assert sorted(linked) == sorted(user.volumes_of(done.restore_id))
    for index, volume in enumerate(done.record["volumes"]):
        page, own = linked[volume["volume"]["volumeId"]], opened(volume["report"]["reportUrl"])
        assert page.text == own.text
        assert "This page is of one volume" in page.text
        assert volume["volume"]["volumeId"] in page.text
        assert is_of(page, user.report(f"{done.restore_id}/{index}"))
    whole = opened(done.record["reportUrl"])
    assert opened(str(link_of(confirmation))).text == whole.text
    assert "Ready: 2 volumes at full speed" in whole.text
    assert is_of(whole, user.report(done.restore_id))


def test_every_volume_of_an_instance_is_restored_under_its_device_name(user: RestoreUser) -> None:
    request, newest = request_for_both(user, "warm-up-agent")
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.main.output["verdict"] == "ready"
    assert [volume.states[-1] for volume in done.volumes] == ["Volume Ready"] * 2
    assert restored(user, done) == newest
    for volume_id in user.volumes_of(done.restore_id):
        counters = user.counters(volume_id)
        assert counters.read_blocks == counters.written_blocks > 0
    events = ["attached", "attached", "confirmed", "plan", "ready", "ready"]
    assert sorted(one["event"] for one in done.record["events"]) == events
    assert [one["index"] for one in done.record["volumes"]] == [0, 1]
    assert [one["verdict"] for one in user.report(done.restore_id)["volumes"]] == ["ready", "ready"]
    assert_each_message_links_its_volume(user, done)


@pytest.mark.long
def test_devices_restrict_the_restore(user: RestoreUser) -> None:
    request, newest = request_for_both(user, "background")
    request["source"]["devices"] = ["/dev/sdh"]
    request["verify"] = {"samples": 0}
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    assert restored(user, done) == {"/dev/sdh": newest["/dev/sdh"]}


def test_one_of_two_fails_and_the_good_one_is_delivered(user: RestoreUser) -> None:
    request, newest = request_for_both(user, "background")
    request["verify"] = {"samples": 0}
    user.region.faults.add(
        FaultRule("CreateVolume", code="UnauthorizedOperation", when={"SnapshotId": newest["/dev/sdh"]})
    )
    done = user.restore(request)
    assert (done.main.status, done.main.error) == ("FAILED", "AccessDeniedError"), done.why
    assert [volume.states[-1] for volume in done.volumes] == ["Volume Ready", "Volume Failed"]
    assert restored(user, done) == {"/dev/sdf": newest["/dev/sdf"]}
    (volume_id,) = user.volumes_of(done.restore_id)
    said = texts(user.messages(done.restore_id)[-1])
    assert said.startswith("❌ Restore failed")
    assert f"volume {volume_id} (ready)" in said
    assert done.record["status"] == "failed"
    page = opened(str(link_of(user.messages(done.restore_id)[-1])))
    assert "Failed: 1 of 2 volumes" in page.text
    assert volume_id in page.text
    assert is_of(page, user.report(done.restore_id))
    assert [one["verdict"] for one in user.report(done.restore_id)["volumes"]] == ["ready", "failed"]


def test_a_device_for_several_volumes_is_refused(user: RestoreUser) -> None:
    request, _ = request_for_both(user, "background")
    request["target"]["device"] = "/dev/sdf"
    answer = user.call("POST", "/restores", request)
    assert (answer.status, answer.body["field"]) == (400, "target.device"), answer
    assert user.left() == {}
