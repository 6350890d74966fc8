"""Rules that adopt new volumes: which are taken, and which are refused with the field and what is allowed."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rewarm.contracts.rules import check_rule_name, parse_rule
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import Strategy

NAMES = ["vol-0aaaaaaaaaaaaaaaa", "vol-0bbbbbbbbbbbbbbbb"]
TAGS = {"volumeTags": {"ebs.csi.aws.com/cluster": "true"}}


def rule(**parts):
    return parse_rule({"match": TAGS, **parts})


def test_a_rule_without_a_mode_only_observes():
    asked = rule().request(NAMES)
    assert asked.dry_run
    assert asked.source.existing.volume_ids == NAMES
    assert not rule(mode="act").request(NAMES).dry_run


def test_its_requests_have_its_objective_and_budget_and_send_no_messages():
    limits = {"maxUsdPerVolume": "0.5"}
    asked = rule(objective={"strategy": "background"}, warmUp={"maxMibPerSecond": 5}, limits=limits)
    request = asked.request(NAMES)
    assert request.objective.strategy == Strategy.BACKGROUND
    assert request.objective.max_cost_usd == Decimal(1)
    assert request.warm_up.max_mib_per_second == 5
    assert (request.notify.slack, request.notify.email) == (False, False)
    assert (asked.notify.slack, asked.notify.email) == (True, True)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"match": {}}, "^match: found no tag; at least one of volumeTags, instanceTags, snapshotTags"),
        ({"match": {"sizeGibFrom": 8}}, "^match: found no tag"),
        ({"match": {**TAGS, "sizeGibFrom": 8, "sizeGibTo": 4}}, r"^match.sizeGibTo: found 4; .*sizeGibFrom"),
        ({"match": {**TAGS, "volumeTypes": ["standard"]}}, "^match.volumeTypes.0: found .*allowed is 'gp3'"),
        ({"match": {"tags": {"a": "b"}}}, "^match.tags: unknown field; allowed are volumeTags"),
        ({"mode": "try"}, "^mode: found .*'observe' or 'act'"),
        ({"objective": {"maxCostUsd": 1}}, "^objective.maxCostUsd: does not go .*maxUsdPerVolume"),
        ({"objective": {"approveAboveUsd": 0}}, "^objective.approveAboveUsd: does not go with a rule"),
        ({"objective": {"strategy": "volume-clone"}}, "^objective.strategy: .*found volume-clone"),
        ({"warmUp": {"first": [{"startBlock": 0, "blockCount": 1}]}}, "^warmUp.first: does not go"),
        ({"limits": {"maxAtOnce": 0}}, "^limits.maxAtOnce: found 0; allowed is at least 1"),
        ({"limits": {"maxUsdPerDay": -1}}, "^limits.maxUsdPerDay: found -1"),
        ({"limits": {"waitForAttachmentMinutes": 1_441}}, "^limits.waitForAttachmentMinutes: found 1441"),
    ],
)
def test_what_a_rule_may_not_say_is_refused_with_its_field(parts, told):
    with pytest.raises(InvalidRequestError, match=told):
        rule(**parts)


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "a" * 65, "ä"])
def test_a_name_that_would_not_fit_an_address_is_refused(name):
    with pytest.raises(InvalidRequestError, match=r"^name: found .*1 to 64 letters"):
        check_rule_name(name)


@pytest.mark.parametrize("name", ["a", "Kubernetes-2_a.b", "9"])
def test_other_names_are_taken(name):
    check_rule_name(name)
