"""Which volumes can be replaced, what an instance says of their use, and what their tags say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rewarm.domain.errors import InvalidRequestError, TargetNotUsableError
from rewarm.domain.model import Attachment, Volume, VolumeSettings
from rewarm.domain.volume.replacing import (
    REPLACED_FROM_TAG,
    TAGS,
    DeviceUse,
    Place,
    check_replaceable,
    device_to_replace,
    device_use,
    holder_of,
    place_of,
)
from tests.support.builders import DEVICE, INSTANCE_ID, NOW, ZONE, instance

ROOT, DATA = "vol-0aaaaaaaaaaaaaaaa", "vol-0bbbbbbbbbbbbbbbb"
HOST = instance(devices={"/dev/xvda": ROOT, "/dev/xvdf": DATA}, root_device="/dev/xvda")


def volume(*attachments, **changes):
    made = Volume(DATA, "in-use", ZONE, VolumeSettings("gp3", 8), None, None, attachments, NOW)
    return replace(made, **changes)


class TestPlace:
    @pytest.mark.parametrize(("delete", "card"), [(True, None), (False, None), (True, 0), (False, 1)])
    def test_its_tags_say_everything(self, delete, card):
        place = Place(INSTANCE_ID, DEVICE, 3, delete_on_termination=delete, card=card)
        tags = place.tags("restore-1", "rewarm")
        assert set(tags) == set(TAGS)
        assert place_of(tags) == place

    @pytest.mark.parametrize(
        "text", ["", "i-1 /dev/sdf", "i-1 /dev/sdf x keep", "a b 1 keep more", "a b 1 keep 1 1"]
    )
    def test_a_tag_that_is_not_ours_says_nothing(self, text):
        assert place_of({REPLACED_FROM_TAG: text}) is None
        assert place_of({}) is None


class TestDevice:
    def test_it_has_ec2s_own_name(self):
        assert device_to_replace(DEVICE, None, HOST) == ("/dev/xvdf", DATA)

    def test_the_sources_own_device_is_taken_where_none_is_asked_for(self):
        assert device_to_replace(None, "/dev/sdf", HOST) == ("/dev/xvdf", DATA)

    def test_none_is_refused_with_those_that_there_are(self):
        with pytest.raises(InvalidRequestError, match=f"^target.device: is missing.*{DATA}"):
            device_to_replace(None, None, HOST)

    def test_one_without_a_volume_is_refused_with_what_works(self):
        with pytest.raises(InvalidRequestError, match="nothing is attached at /dev/sdh") as refused:
            device_to_replace("/dev/sdh", None, HOST)
        assert f"/dev/xvdf ({DATA})" in str(refused.value)
        assert "target.mode attach" in str(refused.value)

    @pytest.mark.parametrize("name", ["/dev/xvda", "/dev/sda"])
    def test_the_root_device_is_refused_with_what_works(self, name):
        with pytest.raises(TargetNotUsableError, match="is the root device") as refused:
            device_to_replace(name, None, HOST)
        assert "target.reboot true" in str(refused.value)

    def test_two_names_of_one_place_are_one(self):
        assert holder_of("/dev/sdf", HOST.devices) == DATA
        assert holder_of("/dev/sdg", HOST.devices) is None


class TestReplaceable:
    def test_a_volume_that_is_attached_here_alone(self):
        gone = Attachment("i-before", DEVICE, "detached")
        check_replaceable(volume(Attachment(INSTANCE_ID, DEVICE, "attached"), gone), INSTANCE_ID, DEVICE)

    @pytest.mark.parametrize("state", ["attaching", "detaching", "busy"])
    def test_one_on_its_way_is_refused(self, state):
        with pytest.raises(TargetNotUsableError, match=f"is {state} at {DEVICE}"):
            check_replaceable(volume(Attachment(INSTANCE_ID, DEVICE, state)), INSTANCE_ID, DEVICE)

    def test_one_that_is_detached_is_refused(self):
        with pytest.raises(TargetNotUsableError, match="is detached at"):
            check_replaceable(volume(), INSTANCE_ID, DEVICE)

    def test_one_on_several_instances_is_refused(self):
        both = [Attachment(one, DEVICE, "attached") for one in (INSTANCE_ID, "i-other")]
        with pytest.raises(TargetNotUsableError, match="attached to i-other too"):
            check_replaceable(volume(*both), INSTANCE_ID, DEVICE)

    def test_one_of_an_aws_service_is_refused(self):
        managed = volume(Attachment(INSTANCE_ID, DEVICE, "attached"), managed_by="eks.amazonaws.com")
        with pytest.raises(TargetNotUsableError, match=r"belongs to eks\.amazonaws\.com"):
            check_replaceable(managed, INSTANCE_ID, DEVICE)


def line(**told):
    return json.dumps({"event": "use", "volumeId": "vol-1", "mounts": [], "others": [], **told})


class TestDeviceUse:
    def test_nothing_told_is_not_free(self):
        assert device_use("") is None
        assert device_use('{"event": "result"}\nuse') is None

    def test_free(self):
        found = device_use(f"noise\n{line()}\n")
        assert found == DeviceUse(volume_id="vol-1")
        assert found.is_free
        assert found.in_words == "not in use"

    def test_mount_points_are_decoded(self):
        found = device_use(line(mounts=[r"/data/with\040blank", "/srv/データ"]))
        assert found.mounts == ("/data/with blank", "/srv/データ")
        assert not found.is_free
        assert found.in_words == "mounted at /data/with blank, /srv/データ"

    def test_everything_that_uses_it_is_named(self):
        found = device_use(line(mounts=["/data"], others=["swap on /dev/nvme1n1p2", "lvm /dev/mapper/x"]))
        assert found.in_words == "mounted at /data and used by swap on /dev/nvme1n1p2, lvm /dev/mapper/x"

    def test_many_are_counted(self):
        found = DeviceUse(mounts=tuple(f"/m{number}" for number in range(7)))
        assert found.in_words == "mounted at /m0, /m1, /m2, /m3, /m4 and 2 more"
