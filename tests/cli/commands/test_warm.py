"""`rewarm warm`."""

from __future__ import annotations

import pytest

from rewarm_cli.problems import DONE, NOT_BACK, REFUSED, USAGE
from tests.support.commands.stack_api import RefusedError

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


def test_it_may_wait_until_the_volumes_are_attached(rewarm, stack):
    said = {"waitsBecause": f"{VOLUME} is attached to no instance"}
    stack.answers[("POST", "/restores")] = 202, {"restoreId": "restore-1", "status": "accepted", **said}
    ended = rewarm("warm", VOLUME, "--yes", "--wait-for-attachment", "1h")
    assert asked(stack)["source"]["existing"] == {"volumeIds": [VOLUME], "waitForAttachmentMinutes": 60}
    assert f"It waits: {VOLUME} is attached to no instance.\n" in ended.out


def test_it_says_which_volumes_are_left_out(rewarm, stack):
    left = {"effect": f"{VOLUME} is not warmed up", "because": "it is of the type standard"}
    answer = {"restoreId": "restore-1", "status": "accepted", "leftOut": [left]}
    stack.answers[("POST", "/restores")] = 202, answer
    ended = rewarm("warm", "--instance", "i-1", "--yes")
    assert f"{VOLUME} is not warmed up, because it is of the type standard.\n" in ended.out
    record = {"restoreId": "restore-1", "status": "ready", "plans": [], "volumes": []}
    stack.put({**record, "request": {"leftOut": [{**left, "field": "source.existing"}]}})
    assert rewarm("status", "restore-1", "--wait").status == NOT_BACK


def test_each_of_several_instances_has_a_warm_up_of_its_own(rewarm, stack):
    ended = rewarm("warm", "--instance", "i-1", "--instance", "i-2", "--instance", "i-1", "--yes")
    assert ended.status == DONE
    bodies = [call.body for call in stack.calls if (call.method, call.path) == ("POST", "/restores")]
    assert [body["source"]["existing"]["instanceId"] for body in bodies] == ["i-1", "i-2"]
    assert len({call.headers["idempotency-key"] for call in stack.calls if call.method == "POST"}) == 2


def test_an_instance_that_is_refused_keeps_no_other_from_being_warmed(rewarm, stack):
    def before(call):
        if call.method == "POST" and call.body["source"]["existing"]["instanceId"] == "i-1":
            raise RefusedError(422, "TargetNotUsableError", "i-1 is stopped")

    stack.before = before
    ended = rewarm("warm", "--instance", "i-1", "--instance", "i-2", "--yes")
    assert ended.status == REFUSED
    assert "i-1 is stopped" in ended.err
    assert ended.out.count("was accepted") == 1


def test_any_field_of_a_request_can_be_set(rewarm, stack):
    rewarm("warm", VOLUME, "--yes", "--set", "warmUp.politeLatencyMs=5", "--dry-run")
    assert asked(stack)["warmUp"] == {"politeLatencyMs": 5}
    assert asked(stack)["dryRun"] is True


@pytest.mark.parametrize("words", [[], [VOLUME, "--instance", "i-1"]])
def test_volumes_are_named_in_one_way(rewarm, words):
    refused = rewarm("warm", *words, "--yes")
    assert refused.status == USAGE
    assert "say which volumes, by their ids, by --instance, or by --tag" in refused.err
