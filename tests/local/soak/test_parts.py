"""A stack with every part left out restores, sweeps, and says of each part what deploys it."""

from __future__ import annotations

import json

import pytest
from boto3.dynamodb.types import TypeSerializer

from local import parts, yaml_text
from local.soak.lab.endings import RESTORE, VOLUME, ended
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import stamp
from local.soak.lab.template import ACCOUNT, REGION
from local.soak.trouble.paths.paths import (
    ALARM,
    ALARM_ARN,
    ALARM_CHANGE,
    ALARM_DETAIL,
    MUTED_DETAIL,
    SUPPRESSED_DETAIL,
    alarmed,
    in_state,
    request,
    restored,
    snapshot,
)
from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.fleets import FleetStatus
from rewarm.page.render import render
from tests.unit.page.test_page import outline

OFF = parts.every(yaml_text.template(), "no")
SCHEDULED = {"kind": "schedule", "scheduleName": "nightly", "scheduledAt": "2026-10-01T02:00:00Z"}
APPLICATIONS = "this stack was deployed without bringing applications back; deploy it with Applications=yes"
STARTS = "this stack was deployed without starts of instances; deploy it with InstanceStarts=yes"
REWINDS = "this stack was deployed without rewinds and direct writes; deploy it with Rewinds=yes"


@pytest.fixture
def bare():
    """No role is refused anything: what only left-out parts need is not asked for."""
    with FastLab(1, parameters=OFF) as lab:
        yield lab
        asked = lab.permissions.authorizer.asked.values()
        assert [str(need) for _, need, decision in asked if not decision.allowed] == []


def test_a_restore_by_the_api_ends_ready(bare):
    assert restored(bare, request(bare, "warm-up-agent")).status == "ready"


def test_an_alarm_restores(bare):
    assert alarmed(bare).status == "ready"


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        (SUPPRESSED_DETAIL, "while the alarm orders-maintenance is in ALARM"),
        (MUTED_DETAIL, "the mute rule maintenance mutes it"),
    ],
)
def test_an_alarm_whose_actions_are_suppressed_restores_nothing_until_it_goes_off_again(bare, detail, reason):
    alarmed(bare, detail)
    (ignored,) = bare.executions(RESTORE)
    assert ignored.output == {"verdict": "suppressed", "duplicateOf": None}
    status, record = bare.api("GET", f"/restores/{ignored.name}")
    assert (status, record["status"]) == (200, "suppressed")
    assert reason in record["reason"]
    assert "rewarm restore --alarm rewarm-orders" in record["reason"]
    bare.events.put(ALARM_CHANGE, "aws.cloudwatch", ALARM_DETAIL, [ALARM_ARN])
    bare.run(lambda: len(bare.executions(RESTORE)) > 1, most_seconds=3_600)
    (again,) = [each for each in bare.executions(RESTORE) if each is not ignored]
    assert bare.finish(again).output["verdict"] == "ready"


def test_a_schedule_restores(bare):
    begun = bare.begin("nightly-1", {"request": request(bare, "auto"), "trigger": SCHEDULED})
    assert ended(bare, begun.name).status == "ready"


def test_messages_link_no_page(bare):
    restored(bare, request(bare, "warm-up-agent"))
    assert bare.slack
    assert "/pages/" not in str(bare.slack)


def test_the_sweeper_ends_what_a_stopped_restore_left(bare):
    restore_id = bare.start(request(bare, "warm-up-agent"))
    assert in_state(bare, restore_id, "Wait For Attachment", "Await Signal")
    for machine, name in ((VOLUME, f"{restore_id}-0"), (RESTORE, restore_id)):
        bare.states.stop(bare.execution(machine, name).arn)
    bare.pass_time(3_600)
    assert bare.functions.places["SweepFunction"] >= 4
    assert not [
        one
        for one in bare.region.call("ec2", "DescribeVolumes", {})["Volumes"]
        if one["State"] == "available"
    ]


def test_the_sweeper_ends_a_fleet_that_ran_when_fleets_were_left_out(bare):
    began = {"S": stamp(bare.scheduler.now)}
    execution = {"S": f"arn:aws:states:{REGION}:{ACCOUNT}:execution:FleetStateMachine:fleet-1"}
    status = {"S": FleetStatus.RESTORING.recorded}
    item = {"pk": {"S": "restore#fleet-1"}, "status": status, "run": {"N": "1"}}
    table = bare.table("RestoresTable")
    table.put({**item, "startedAt": began, "runStartedAt": began, "execution": execution})
    bare.pass_time(7_200)
    (left,) = (one for one in table.items() if one["pk"] == item["pk"])
    assert left["status"] == {"S": FleetStatus.FAILED.recorded}


def refusals(lab):
    """(what is asked, the sentence of the refusal) of requests to POST /restores."""
    source = {"snapshotId": snapshot(lab)}
    target = {"instanceId": lab.region.add_instance()}
    return [
        ({"source": source, "target": {**target, "mode": "rewind"}}, f"target.mode: found rewind; {REWINDS}"),
        (
            {"source": source, "target": target, "objective": {"strategy": "direct-write"}},
            f"objective.strategy: found direct-write; {REWINDS}",
        ),
        (
            {"source": source, "target": {**target, "mode": "replace", "start": True}},
            f"target.start: found true; {STARTS}",
        ),
        (
            {"source": source, "target": target, "after": {"document": {"name": "orders-start"}}},
            f"after: found an object; {APPLICATIONS}",
        ),
    ]


DRILLS = "drill: found an object; this stack was deployed without drills; deploy it with Drills=yes"


def test_each_part_that_a_restore_needs_is_named_by_the_api(bare):
    for asked, sentence in refusals(bare):
        for path in ("/restores", "/plans"):
            status, body = bare.api("POST", path, asked)
            assert (status, body["error"], body["detail"]) == (422, "PartLeftOutError", sentence)
        status, body = bare.api("PUT", f"/runbooks/{ALARM}", asked)
        assert (status, body["detail"]) == (422, sentence)


def test_each_part_that_a_restore_needs_is_named_where_a_schedule_asks(bare):
    for number, (asked, sentence) in enumerate(refusals(bare)):
        data = {"request": asked, "trigger": {**SCHEDULED, "scheduledAt": f"2026-10-01T0{number}:00:00Z"}}
        found = ended(bare, bare.begin(f"nightly-{number}", data).name)
        assert (found.kind, json.loads(found.cause)["errorMessage"]) == ("failed PartLeftOutError", sentence)


def stored(lab, runbook):
    """Puts a runbook as it was stored when the stack had every part."""
    assert lab.api("PUT", f"/runbooks/{ALARM}", request(lab, "auto"))[0] == 200
    table = lab.table("RestoresTable")
    (kept,) = (item for item in table.items() if "request" in item)
    whole = parse_restore_request(runbook).to_json()
    table.put({**kept, "request": TypeSerializer().serialize(whole)})


def fired(lab, runbook):
    """How the restore of the runbook's alarm ended."""
    stored(lab, runbook)
    lab.events.put(ALARM_CHANGE, "aws.cloudwatch", ALARM_DETAIL, [ALARM_ARN])
    lab.run(lambda: bool(lab.states.executions), most_seconds=3_600)
    return ended(lab, next(iter(lab.states.executions.values())).name)


def told(lab, found):
    """The record of the restore, its report, the texts of its page, and its message of a ready volume."""
    record = lab.api("GET", f"/restores/{found.restore_ids[0]}")[1]
    report = json.loads(lab.buckets[lab.stack.buckets[0]][record["reportKey"]].value)
    (ready,) = (one for one in report["events"] if one["event"] == "ready")
    return record, report, outline(render(report)).text, ready


NOT_BACK = f"The application is not brought back, because {APPLICATIONS}."
NOT_REWOUND = (
    f"Nothing is rewound, and a new volume of the snapshot is attached beside the old one, because {REWINDS}."
)
AFTER = {"mounts": [{"path": "/srv/data"}], "document": {"name": "orders-start"}}


def test_an_alarm_restores_without_an_application_that_the_stack_cannot_bring_back(bare):
    found = fired(bare, request(bare, "warm-up-agent") | {"after": AFTER})
    assert found.status == "ready"
    record, report, page, ready = told(bare, found)
    assert NOT_BACK in record["summary"]["notes"]
    assert (record["application"]["state"], record["application"]["reason"]) == ("failed", APPLICATIONS)
    assert NOT_BACK in ready["text"]
    assert ready["title"].endswith("is at full speed, but the application is not back")
    assert (report["application"]["state"], report["application"]["reason"]) == ("failed", APPLICATIONS)
    assert NOT_BACK in page
    assert "but the application is not back" in page
    assert "the application is back" not in page
    assert len([one for one in bare.slack if NOT_BACK in str(one)]) == 2, "with the plan, and with the end"


def test_an_alarm_whose_rewind_is_left_out_gets_a_new_volume_beside_the_old_one(bare):
    source = bare.region.add_volume(size_gib=8, snapshot_id=snapshot(bare))
    old = bare.region.add_instance()
    bare.region.call("ec2", "AttachVolume", {"VolumeId": source, "InstanceId": old, "Device": "/dev/sdf"})
    bare.pass_time(60)
    target = {"instanceId": old, "mode": "rewind", "evidence": "undo-log", "compare": "device"}
    runbook = {"source": {"snapshotId": snapshot(bare, volume_id=source)}, "target": target, "after": AFTER}
    found = fired(bare, runbook)
    assert found.status == "ready"
    record, _, page, ready = told(bare, found)
    assert found.ready != [source]
    assert record["request"]["after"] is None, "its folders have the old volume"
    assert record["summary"]["notes"][:2] == [NOT_REWOUND, NOT_BACK.replace(APPLICATIONS, REWINDS)]
    assert ready["title"].endswith(", but nothing was rewound")
    assert NOT_REWOUND in page


def test_an_alarm_whose_direct_write_is_left_out_takes_another_way(bare):
    found = fired(bare, request(bare, "direct-write"))
    assert found.status == "ready"
    record, _, page, ready = told(bare, found)
    said = f"Nothing is written directly, and the strategy is chosen as for auto, because {REWINDS}."
    assert said in record["summary"]["notes"]
    assert said in page
    assert ready["title"].endswith("is at full speed")


def test_a_plan_of_such_a_runbook_says_what_its_alarm_would_leave_out(bare):
    stored(bare, request(bare, "warm-up-agent") | {"after": AFTER})
    status, plan = bare.api("POST", "/plans", {"source": {"alarm": ALARM}})
    assert status == 200
    assert plan["summary"]["notes"][0] == NOT_BACK


def test_whoever_asks_now_for_what_the_stack_lacks_is_refused_with_a_runbook_too(bare):
    stored(bare, request(bare, "warm-up-agent") | {"after": AFTER})
    asked = {"source": {"alarm": ALARM}, "after": AFTER}
    status, body = bare.api("POST", "/restores", asked)
    assert (status, body["detail"]) == (422, f"after: found an object; {APPLICATIONS}")


def test_the_alarm_of_a_runbook_whose_instance_cannot_be_started_is_refused(bare):
    """Volumes on an instance that nobody starts would be in the place of those that it has."""
    asked, sentence = refusals(bare)[2]
    found = fired(bare, asked)
    assert (found.kind, json.loads(found.cause)["errorMessage"]) == ("failed PartLeftOutError", sentence)
    assert sentence in str(bare.slack)


def test_a_drill_is_refused_with_the_parameter(bare):
    alarmed(bare)
    status, body = bare.api("POST", "/restores", {"source": {"alarm": ALARM}, "drill": {}})
    assert (status, body["detail"]) == (422, DRILLS)


@pytest.mark.parametrize(
    ("method", "path", "body", "part"),
    [
        ("POST", "/fleets", {}, "Fleets"),
        ("POST", "/fleets/plans", {}, "Fleets"),
        ("DELETE", "/fleets/fleet-1", None, "Fleets"),
        ("POST", "/fleets/fleet-1/redrive", None, "Fleets"),
        ("POST", "/volumes/vol-0aaaaaaaaaaaaaaaa/performance", {}, "PerformanceChanges"),
        ("GET", "/volumes/vol-0aaaaaaaaaaaaaaaa/performance", None, "PerformanceChanges"),
        ("GET", "/undo-logs", None, "Rewinds"),
        ("DELETE", "/undo-logs/restore-1", None, "Rewinds"),
        ("PUT", "/calibration", {}, "Calibration"),
        ("PUT", "/calibrations/calibration-1", {}, "Calibration"),
    ],
)
def test_a_route_of_a_part_that_is_left_out_names_its_parameter(bare, method, path, body, part):
    status, answer = bare.api(method, path, body)
    assert (status, answer["error"]) == (422, "PartLeftOutError")
    assert answer["detail"].endswith(f"; deploy it with {part}=yes")


def test_what_only_reads_is_answered(bare):
    for path in ("/fleets", "/restores", "/runbooks", "/calibration"):
        assert bare.api("GET", path)[0] == 200


def test_a_plan_says_why_nothing_is_written(bare):
    source = bare.region.add_volume(size_gib=8, snapshot_id=snapshot(bare))
    snapshot(bare, volume_id=source)
    asked = request(bare, "auto", source={"volumeId": source})
    plan = bare.api("POST", "/plans", asked)[1]["plans"][0]
    (written,) = (one for one in plan["candidates"] if one["strategy"] == "direct-write")
    assert not written["feasible"]
    assert REWINDS in written["reason"]
    assert (plan["rewind"]["possible"], plan["rewind"]["reason"]) == (False, REWINDS)
