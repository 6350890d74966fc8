"""The SSM documents that look at a volume's device: what they let in, and what they start."""

from __future__ import annotations

import re

import pytest

from tests.contract.stack.documents import document, script

BOTH = pytest.mark.parametrize("name", ["DeviceUseDocument", "DeviceUseWindowsDocument"])


@BOTH
class TestEachDocument:
    def test_a_volume_is_named_in_full(self, name: str) -> None:
        for key, parameter in document(name)["parameters"].items():
            assert not re.search(parameter["allowedPattern"], "vol-1"), key

    def test_it_hands_the_question_on_to_the_agent(self, name: str) -> None:
        head = script(name).partition("\n# ")[0]
        assert "'--action={{ action }}'" in head
        assert "'--volume={{ volumeId }}'" in head
        assert "'--mount={{ mountPath }}'" in head
        assert re.search(r"\bdevice-use\b", head)
        assert "REWARM_" not in head, "nothing else is loaded"

    def test_a_mount_path_is_no_command(self, name: str) -> None:
        pattern = document(name)["parameters"]["mountPath"]["allowedPattern"]
        for path in ("", "E:", "e:\\", "E:\\data", "E:\\My data\\a.b-c_d"):
            assert re.search(pattern, path), path
        for path in (
            "E",
            "/data",
            "E:data",
            "E:\\a'b",
            "E:\\$x",
            "E:\\a;b",
            "E:\\a`b",
            "\\\\server\\x",
            "E:\\\\",
        ):
            assert not re.search(pattern, path), path
