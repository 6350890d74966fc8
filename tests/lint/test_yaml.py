"""YAML is clean for yamllint, and the state machines load as the JSON that AWS makes of them."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.support.tree import BIN, complaints, files


def test_yamllint():
    assert complaints([BIN / "yamllint", "--strict", *files("*.yaml", "*.yml")]) == ""


@pytest.mark.parametrize("path", files("*.asl.yaml", below="statemachine"), ids=lambda path: path.name)
def test_a_state_machine_has_only_text_keys_and_no_anchors(path):
    text = path.read_text(encoding="utf-8")
    assert not [token for token in yaml.scan(text) if isinstance(token, (yaml.AnchorToken, yaml.AliasToken))]
    definition = yaml.safe_load(text)
    assert json.loads(json.dumps(definition)) == definition
