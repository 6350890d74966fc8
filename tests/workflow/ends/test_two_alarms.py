"""Two alarms with runbooks that replace one volume, on the fast lab."""

from __future__ import annotations

from local.soak.lab.endings import RESTORE
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.interrupted_paths import replacing
from local.soak.trouble.paths.paths import ALARM_ARN, ALARM_CHANGE, ALARM_DETAIL

ALARMS = ("rewarm-orders", "rewarm-orders-volumes")


def test_the_second_alarm_is_suppressed_and_calls_nobody() -> None:
    with FastLab(1) as lab:
        asked = replacing(lab, "warm-up-agent")
        for alarm in ALARMS:
            assert lab.api("PUT", f"/runbooks/{alarm}", asked)[0] == 200
        for alarm in ALARMS:
            arn = ALARM_ARN.replace(ALARMS[0], alarm)
            lab.events.put(ALARM_CHANGE, "aws.cloudwatch", {**ALARM_DETAIL, "alarmName": alarm}, [arn])
            lab.pass_time(20)
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
