"""The SSM documents that look at a volume's device: what they let in, and what they start."""

from __future__ import annotations

import re

import pytest

from tests.contract.documents import document, script

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
        assert re.search(r"\bdevice-use\b", head)
        assert "REWARM_" not in head, "nothing else is loaded"
