"""Alarms with runbooks that replace a volume which another restore works on, on the fast lab."""

from __future__ import annotations

from local.soak.lab.endings import RESTORE
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.interrupted_paths import replacing
from local.soak.trouble.paths.paths import ALARM_ARN, ALARM_CHANGE, ALARM_DETAIL

ALARMS = ("rewarm-orders", "rewarm-orders-volumes")


def _goes_off(lab: FastLab, alarm: str) -> None:
    arn = ALARM_ARN.replace(ALARMS[0], alarm)
    lab.events.put(ALARM_CHANGE, "aws.cloudwatch", {**ALARM_DETAIL, "alarmName": alarm}, [arn])
    lab.pass_time(20)


def test_the_second_alarm_is_suppressed_and_calls_nobody() -> None:
    with FastLab(1) as lab:
        asked = replacing(lab, "warm-up-agent")
        for alarm in ALARMS:
            assert lab.api("PUT", f"/runbooks/{alarm}", asked)[0] == 200
        for alarm in ALARMS:
            _goes_off(lab, alarm)
        lab.pass_time(SWEPT_SECONDS)
        first, second = lab.executions(RESTORE)
        assert (first.status, second.status) == ("SUCCEEDED", "SUCCEEDED")
        assert second.output == {"verdict": "suppressed", "duplicateOf": first.name}
        record = lab.api("GET", f"/restores/{second.name}")[1]
        assert (record["status"], record["duplicateOf"]) == ("suppressed", first.name)
        assert first.name in record["reason"]
        assert [sent for sent in lab.events.sent if sent["detail"]["restoreId"] == second.name] == []
        assert lab.api("GET", f"/restores/{first.name}")[1]["status"] == "ready"
        assert not [
            row for row in lab.table("RestoresTable").items() if second.name in str(row.get("restores"))
        ]
        _goes_off(lab, ALARMS[1])  # long before a cooldown would be over
        third = lab.executions(RESTORE)[2]
        status = lab.api("GET", f"/restores/{third.name}")[1]["status"]
        assert status not in {"suppressed", "failed", "refused"}


def test_an_alarm_is_refused_aloud_where_a_person_has_the_device() -> None:
    with FastLab(1) as lab:
        asked = replacing(lab, "warm-up-agent")
        assert lab.api("PUT", f"/runbooks/{ALARMS[0]}", asked)[0] == 200
        by_hand = lab.api("POST", "/restores", asked)[1]["restoreId"]
        lab.pass_time(20)
        _goes_off(lab, ALARMS[0])
        lab.pass_time(SWEPT_SECONDS)
        (of_alarm,) = (found for found in lab.executions(RESTORE) if found.name != by_hand)
        record = lab.api("GET", f"/restores/{of_alarm.name}")[1]
        assert (of_alarm.status, record["status"]) == ("FAILED", "refused")
        assert by_hand in record["failure"]["cause"]
        assert [sent for sent in lab.events.sent if sent["detail"]["restoreId"] == of_alarm.name]
