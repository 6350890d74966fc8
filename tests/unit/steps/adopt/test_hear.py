"""Events of AWS have rules look; what others send, or what is broken, changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.steps.adopt.hear import LOOK_SECONDS, hear, is_for_rules, silence
from rewarm.steps.adopt.rules import put_rule
from tests.support.builders import ALICE, NOW
from tests.support.worlds.adoptions import RuleWorld

ACCOUNT, REGION, VOLUME = "123456789012", "us-east-1", "vol-0123456789abcdef0"
INSTANCE = "i-0123456789abcdef0"
PLACE = {"account": ACCOUNT, "region": REGION, "source": "aws.ec2"}
ARN = f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/{VOLUME}"
MADE = {
    **PLACE, "detail-type": "EBS Volume Notification", "resources": [ARN],
    "detail": {"event": "createVolume", "result": "available", "cause": "", "request-id": ""},
}  # fmt: skip
RUNS = {
    **PLACE, "detail-type": "EC2 Instance State-change Notification",
    "detail": {"instance-id": INSTANCE, "state": "running"},
}  # fmt: skip
ENDED = {
    **PLACE, "source": "aws.states", "detail-type": "Step Functions Execution Status Change",
    "detail": {"name": "rule-0123456789abcdef", "status": "SUCCEEDED"},
}  # fmt: skip


@pytest.fixture
def world():
    made = RuleWorld()
    put_rule("all", {"match": {"volumeTags": {"app": "*"}}}, by=ALICE, table=made.table)
    return made


def heard(world, event, seconds=0.0):
    return hear(event, world, account=ACCOUNT, region=REGION, now=NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize(("event", "noted"), [(MADE, [VOLUME]), (RUNS, [INSTANCE]), (ENDED, [])])
def test_each_event_has_rules_look_at_what_it_names(world, event, noted):
    assert is_for_rules(event)
    assert heard(world, event)
    assert world.adoptions.noted == noted


def test_of_many_events_one_caller_looks_and_after_that_look_the_next_one(world):
    assert [heard(world, MADE, second) for second in range(LOOK_SECONDS + 1)] == [
        True, *[False] * (LOOK_SECONDS - 1), True,
    ]  # fmt: skip
    assert world.adoptions.noted == [VOLUME]


def test_without_a_rule_nothing_is_noted():
    world = RuleWorld()
    assert not heard(world, MADE)
    assert world.adoptions.noted == []
    assert world.adoptions.turn is None


def test_a_volume_that_rules_have_dealt_with_is_not_noted_again(world):
    world.adoptions.claim(VOLUME, "rule-1")
    heard(world, MADE)
    assert world.adoptions.noted == []


def changed(event, /, **changes):
    return {**event, **changes}


def detail(event, /, **changes):
    return {**event, "detail": {**event["detail"], **changes}}


@pytest.mark.parametrize(
    "event",
    [
        changed(MADE, account="999999999999"),
        changed(MADE, region="eu-west-1"),
        changed(MADE, **{"replay-name": "again"}),
        changed(MADE, resources=[ARN.replace(ACCOUNT, "999999999999")]),
        changed(MADE, resources=[ARN.replace(REGION, "eu-west-1")]),
        changed(MADE, resources=[f"{ARN}/../vol-1"]),
        changed(MADE, resources=["vol-0123456789abcdef0"]),
        changed(MADE, resources=[]),
        changed(MADE, resources=None),
        changed(MADE, resources=[{"a": "b"}]),
        changed(MADE, detail=None),
        changed(MADE, detail=["createVolume"]),
        detail(MADE, result="failed"),
        detail(MADE, event="deleteVolume"),
        changed(RUNS, account="999999999999"),
        detail(RUNS, state="stopped"),
        detail(RUNS, **{"instance-id": "i-0123456789abcdef0#x"}),
        detail(RUNS, **{"instance-id": None}),
        changed(ENDED, account="999999999999"),
        detail(ENDED, name="restore-0123456789abcdef"),
        detail(ENDED, status="FAILED"),
        changed(ENDED, detail="text"),
        {},
    ],
)
def test_what_others_send_or_what_is_broken_changes_nothing(world, event):
    assert not heard(world, event)
    assert world.adoptions.noted == []
    assert world.adoptions.turn is None


@pytest.mark.parametrize("event", [detail(ENDED, status="FAILED"), detail(ENDED, name="restore-1"), {}])
def test_other_events_are_the_sweepers(event):
    assert not is_for_rules(event)


def said(world, minutes):
    return silence(world.table, world.adoptions, NOW + timedelta(minutes=minutes))


def test_an_hour_without_a_look_at_everything_is_said_where_there_is_a_rule(world):
    assert said(world, 0) is None, "an upgrade begins the hour"
    assert said(world, 60) is None
    assert said(world, 61) == "rules have not looked at new volumes since 2026-11-21T03:00:00Z"
    world.look(61, scans=False)
    assert said(world, 62) is not None
    world.look(62)
    assert said(world, 120) is None


def test_without_a_rule_nobody_has_to_look():
    world = RuleWorld()
    assert said(world, 0) is None
    assert said(world, 500) is None
