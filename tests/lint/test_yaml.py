"""YAML is clean for yamllint, and the state machines load as the JSON that AWS makes of them."""

from __future__ import annotations

import json

import pytest
import yaml

from local import state_machines
from tests.support.tree import BIN, complaints, files

MACHINES = state_machines.definitions()


def test_yamllint():
    assert complaints([BIN / "yamllint", "--strict", *files("*.yaml", "*.yml")]) == ""


@pytest.mark.parametrize("machine", MACHINES)
def test_a_state_machine_has_only_text_keys(machine):
    assert json.loads(json.dumps(MACHINES[machine])) == MACHINES[machine]


def test_every_block_is_used():
    tokens = [
        token
        for path in files("*.yaml", below="statemachine")
        for token in yaml.scan(path.read_text(encoding="utf-8"))
    ]
    blocks = [token.value for token in tokens if isinstance(token, yaml.AnchorToken)]
    assert set(blocks) == {token.value for token in tokens if isinstance(token, yaml.AliasToken)}
    assert len(set(blocks)) == len(blocks), "a name stands for one block"
