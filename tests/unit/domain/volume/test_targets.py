"""Device names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.errors import DeviceInUseError, InvalidRequestError, TargetNotUsableError
from rewarm.domain.volume.targets import choose_device, free_devices
from tests.support.builders import instance

NAMES = [f"/dev/sd{letter}" for letter in "fghijklmnop"]


class TestChooseDevice:
    @given(st.sets(st.sampled_from(NAMES), max_size=10))
    def test_takes_the_first_free_name(self, used):
        chosen = choose_device(None, instance(devices=dict.fromkeys(used, "vol-1")))
        assert chosen == next(name for name in NAMES if name not in used)

    def test_says_where_none_is_free(self):
        with pytest.raises(TargetNotUsableError, match="/dev/sdf to /dev/sdp are all in use"):
            choose_device(None, instance(devices=dict.fromkeys(NAMES, "vol-1")))

    @pytest.mark.parametrize("name", ["/dev/sdf", "/dev/xvdf", "/dev/xvdbb", "/dev/sdz"])
    def test_takes_what_is_asked_for(self, name):
        assert choose_device(name, instance()) == name

    @pytest.mark.parametrize(
        "name", ["/dev/sda1", "/dev/sda", "sdf", "/dev/sdf1", "/dev/nvme1n1", "/dev/sdf\n", ""]
    )
    def test_refuses_other_names(self, name):
        with pytest.raises(
            InvalidRequestError, match=r"^target.device: found .*allowed on a linux instance is"
        ):
            choose_device(name, instance())

    def test_windows_has_names_of_its_own(self):
        windows = instance(platform="windows", devices={"xvdf": "vol-1"})
        assert choose_device(None, windows) == "xvdg"
        with pytest.raises(InvalidRequestError, match="windows instance is xvd"):
            choose_device("/dev/sdf", windows)

    def test_sdf_and_xvdf_are_one_place(self):
        with pytest.raises(DeviceInUseError, match="/dev/xvdf already holds vol-1"):
            choose_device("/dev/xvdf", instance(devices={"/dev/sdf": "vol-1"}))

    def test_a_name_is_given_once_within_a_restore(self):
        assert choose_device(None, instance(), reserved=["/dev/sdf"]) == "/dev/sdg"
        assert choose_device(None, instance(), reserved=["/dev/sdh"], preferred="/dev/sdh") == "/dev/sdf"
        with pytest.raises(DeviceInUseError, match="another volume of this restore"):
            choose_device("/dev/sdf", instance(), reserved=["/dev/sdf"])

    @pytest.mark.parametrize("root", ["/dev/xvda", "/dev/sda1"])
    def test_the_root_device_gets_a_data_name(self, root):
        assert choose_device(None, instance(), preferred=root) == "/dev/sdf"

    @given(st.sets(st.sampled_from([*NAMES, "/dev/xvdf", "xvdg", "/dev/sda1"])))
    def test_free_names_are_valid_and_unused(self, used):
        assert not set(free_devices("linux", used)) & used
