"""What an instance says of a volume's device."""

from __future__ import annotations

import json

from rewarm.domain.volume.device_use import DeviceUse, device_use


def line(**told):
    return json.dumps({"event": "use", "volumeId": "vol-1", "mounts": [], "others": [], **told})


class TestDeviceUse:
    def test_nothing_told_is_not_free(self):
        assert device_use("") is None
        assert device_use('{"event": "result"}\nuse') is None

    def test_free(self):
        found = device_use(f"noise\n{line()}\n")
        assert found == DeviceUse()
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
