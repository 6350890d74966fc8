"""`rewarm warm`."""

from __future__ import annotations

import pytest

from rewarm_cli.problems import DONE, USAGE

VOLUME = "vol-0123456789abcdef0"


def asked(stack):
    return next(call.body for call in stack.calls if call.path == "/restores" and call.method == "POST")


@pytest.mark.parametrize(
    ("words", "existing"),
    [
        ([VOLUME], {"volumeIds": [VOLUME]}),
        (["--instance", "i-1"], {"instanceId": "i-1"}),
        (["--tag", "app=orders", "--tag", "tier=db"], {"tags": {"app": "orders", "tier": "db"}}),
    ],
)
def test_it_names_volumes_by_id_by_instance_or_by_tags(rewarm, stack, words, existing):
    assert rewarm("warm", *words, "--yes", "--ready-within", "2h").status == DONE
    assert asked(stack) == {"source": {"existing": existing}, "objective": {"readyWithinMinutes": 120}}


def test_any_field_of_a_request_can_be_set(rewarm, stack):
    rewarm("warm", VOLUME, "--yes", "--set", "warmUp.politeLatencyMs=5", "--dry-run")
    assert asked(stack)["warmUp"] == {"politeLatencyMs": 5}
    assert asked(stack)["dryRun"] is True


@pytest.mark.parametrize("words", [[], [VOLUME, "--instance", "i-1"]])
def test_volumes_are_named_in_one_way(rewarm, words):
    refused = rewarm("warm", *words, "--yes")
    assert refused.status == USAGE
    assert "say which volumes, by their ids, by --instance, or by --tag" in refused.err
