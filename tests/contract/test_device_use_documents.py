"""The SSM documents that look at a volume's device: what they may do, and what they print."""

from __future__ import annotations

import json
import re

import pytest

from rewarm.domain.volume.replacing import device_use
from tests.contract.documents import document, script

BOTH = pytest.mark.parametrize("name", ["DeviceUseDocument", "DeviceUseWindowsDocument"])


@BOTH
class TestEachDocument:
    def test_a_volume_is_named_in_full(self, name: str) -> None:
        for key, parameter in document(name)["parameters"].items():
            assert not re.search(parameter["allowedPattern"], "vol-1"), key

    def test_nothing_is_unmounted_where_it_only_looks(self, name: str) -> None:
        guards = {
            "DeviceUseDocument": '[ "$action" = check ] || unmount_all',
            "DeviceUseWindowsDocument": "if ($action -eq 'unmount' -and -not $disk.IsOffline) {",
        }
        text = script(name)
        assert guards[name] in text
        assert "--force" not in text
        assert "--lazy" not in text
        assert len(re.findall(r"umount --|Set-Disk", text)) == 1


class TestPowerShell:
    """No PowerShell is to be had from the package registries, so the script is read and not run."""

    text = script("DeviceUseWindowsDocument")

    def test_it_prints_what_the_parser_reads(self) -> None:
        names = re.findall(r"(\w+) = ", self.text.partition("[ordered]@{")[2].partition("})")[0])
        assert names == ["event", "volumeId", "mounts", "others"]
        line = json.dumps({"event": "use", "volumeId": "vol-1", "mounts": "D:\\", "others": []})
        found = device_use(line)
        assert found is not None
        assert found.mounts == ("D:\\",)
