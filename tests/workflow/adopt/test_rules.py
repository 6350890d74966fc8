"""Rules in the fast lab: what others make and attach is adopted by itself, proven, and left where it is."""

from __future__ import annotations

from typing import Any

import pytest

from local import Json
from local.aws.region.core import iso
from local.soak.audit.auditor import Auditor
from local.soak.audit.table_items import records
from local.soak.lab.endings import RESTORE, ended
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.adopt_paths import in_use
from local.soak.trouble.paths.interrupted_paths import stop
from local.soak.trouble.paths.paths import in_state
from rewarm.domain.volume.adopting import WARM_SINCE_TAG
from tests.workflow.adopt.test_adoptions import changes

TAG = {"ebs.csi.aws.com/cluster": "true"}
TAGGED = {"TagSpecifications": [{"ResourceType": "volume", "Tags": [
    {"Key": key, "Value": value} for key, value in TAG.items()
]}]}  # fmt: skip
QUARTER, HOUR = 900.0, 3_600.0


def put(lab: FastLab, **parts: Any) -> None:
    rule: Json = {"match": {"volumeTags": TAG}, "mode": "act", "verify": {"samples": 100}, **parts}
    status, answer = lab.api("PUT", "/rules/kubernetes", rule)
    assert status == 200, answer


def begun(lab: FastLab) -> list[str]:
    return [one.name for one in lab.executions(RESTORE)]


def adopted(lab: FastLab) -> list[str]:
    asked = [one.input["request"]["source"]["existing"]["volumeIds"] for one in lab.executions(RESTORE)]
    return [name for names in asked for name in names]


def test_a_volume_that_others_make_and_attach_is_adopted_and_proven() -> None:
    with FastLab(1) as lab:
        put(lab)
        volume_id = in_use(lab, **TAGGED)
        lab.pass_time(QUARTER)
        (restore_id,) = begun(lab)
        ending = ended(lab, restore_id)
        _, record = lab.api("GET", f"/restores/{restore_id}")
        assert ending.kind == "ready"
        assert record["trigger"]["ruleName"] == "kubernetes"
        assert WARM_SINCE_TAG in lab.region._tables.volumes[volume_id].tags
        lab.pass_time(HOUR + QUARTER)
        assert changes(lab) <= {("Release", "ec2", "CreateTags")}
        assert Auditor(lab).findings(ending) == []
        (message,) = [one["detail"] for one in lab.events.sent if one["detail"]["event"] == "rule-report"]
        assert message["title"] == "The rule kubernetes adopts 1 new volume"
        assert "1 volume reached full speed" in message["text"]
        assert begun(lab) == [restore_id]


def test_an_event_has_an_attached_volume_adopted_within_seconds() -> None:
    with FastLab(1) as lab:
        put(lab, match={"instanceTags": {"role": "db"}})
        instance_id = lab.region.add_instance(state="stopped", tags={"role": "db"})
        volume_id = in_use(lab, instance_id)
        lab.region.call("ec2", "StartInstances", {"InstanceIds": [instance_id]})
        lab.run(lambda: bool(begun(lab)), most_seconds=QUARTER)
        assert adopted(lab) == [volume_id]


@pytest.mark.parametrize("told", ["doubled", "lost"])
def test_events_that_are_doubled_or_lost_change_nothing(told: str) -> None:
    with FastLab(1) as lab:
        put(lab)
        send, copies = lab.events.put, 2 if told == "doubled" else 0

        def sent(kind: str, *rest: Any, **fields: Any) -> None:
            for _ in range(copies if kind == "EBS Volume Notification" else 1):
                send(kind, *rest, **fields)

        lab.region._core._on_event = sent
        volume_id = in_use(lab, **TAGGED)
        lab.pass_time(3 * QUARTER)
        assert adopted(lab) == [volume_id]


def test_an_event_of_another_account_or_of_yesterday_begins_nothing() -> None:
    with FastLab(1) as lab:
        volume_id = in_use(lab, **TAGGED)
        put(lab)
        detail = {"event": "createVolume", "result": "available", "cause": "", "request-id": ""}
        arn = f"arn:aws:ec2:us-east-1:123456789012:volume/{volume_id}"
        foreign = arn.replace("123456789012", "999999999999")
        lab.events.put("EBS Volume Notification", "aws.ec2", detail, [arn])
        lab.events.put("EBS Volume Notification", "aws.ec2", detail, [foreign])
        lab.events.put("EBS Volume Notification", "aws.ec2", detail, [arn], account="999999999999")
        lab.pass_time(2 * QUARTER)
        assert begun(lab) == []


def test_a_rule_that_observes_plans_and_touches_nothing() -> None:
    with FastLab(1) as lab:
        put(lab, mode="observe")
        volume_id = in_use(lab, **TAGGED)
        lab.pass_time(HOUR + 3 * QUARTER)
        assert adopted(lab) == [volume_id]
        assert changes(lab) == set()
        assert lab.region._tables.volumes[volume_id].tags.keys() == TAG.keys()
        (message,) = [one["detail"] for one in lab.events.sent if one["detail"]["event"] == "rule-report"]
        assert message["title"] == "The rule kubernetes would adopt 1 new volume"
        assert "Plans of 1 volume were made" in message["text"]


def test_a_limit_has_the_others_wait_until_one_has_ended() -> None:
    with FastLab(1) as lab:
        put(lab, limits={"maxAtOnce": 1})
        instance_id = lab.region.add_instance()
        made = [in_use(lab, instance_id, f"/dev/sd{letter}", **TAGGED) for letter in "fgh"]
        lab.run(lambda: len(begun(lab)) == len(made), most_seconds=HOUR)
        assert sorted(adopted(lab)) == sorted(made)
        ready = [lab.api("GET", f"/restores/{name}")[1].get("finishedAt") for name in begun(lab)]
        starts = [iso(one.started) for one in lab.executions(RESTORE)]
        assert ready[0] < starts[1]
        assert ready[1] < starts[2]


@pytest.mark.parametrize(
    "moment", ["while it is read", "when it is ready", "after its end", "once it was stopped"]
)
def test_an_adoption_whose_record_somebody_deletes_makes_room_for_others(moment: str) -> None:
    with FastLab(1) as lab:
        put(lab, limits={"maxAtOnce": 1})
        instance_id = lab.region.add_instance()
        much = lab.region.add_snapshot(size_gib=40, extents=((0, 70_000),))
        wanted = {"SnapshotId": much, **TAGGED}
        made = [in_use(lab, instance_id, f"/dev/sd{letter}", **wanted) for letter in "fg"]
        lab.run(lambda: bool(begun(lab)), most_seconds=QUARTER)
        (first,) = begun(lab)
        in_state(lab, first, "Poll Initialization", "Wait For Initialization")
        if moment == "when it is ready":
            lab.run(lambda: records(lab)[first]["status"] == "ready", most_seconds=HOUR)
        elif moment == "after its end":
            ended(lab, first)
        elif moment == "once it was stopped":
            stop(lab, first)
        key = f"restore#{first}"
        lab.table("RestoresTable").delete({"pk": {"S": key}})
        lab.outside.lost.add(key)
        lab.run(lambda: len(begun(lab)) == len(made), most_seconds=HOUR)
        assert sorted(adopted(lab)) == sorted(made)
        ending = ended(lab, begun(lab)[1])
        assert ending.kind == "ready"
        lab.pass_time(HOUR)
        assert Auditor(lab).findings(ending) == []
