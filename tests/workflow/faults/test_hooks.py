"""The application back in the fast lab: whatever befalls it, the volume stays and nothing runs twice."""

from __future__ import annotations

import json
import re

import pytest

from local.soak.audit import applications
from local.soak.lab.endings import RESTORE
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.hook import DOCUMENT, HOOK
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.hook_paths import CONTENT, NAME, PATHS, whole
from local.soak.trouble.paths.interrupted_paths import replacing
from local.soak.trouble.paths.paths import drilled, in_state, request, restored
from rewarm.adapters.hooks import SsmHooks
from rewarm.steps.volume import run_hook

OBSERVE = "Dispatch Warmer To Observe"


def bring_back(lab, *, during=None, target=None, **parts):
    """What became of the application, after a restore that must be ready."""
    asked = request(lab, "provisioned-rate", after=whole(lab, **parts), verify={"samples": 0})
    ending = restored(lab, {**asked, **({"target": target} if target else {})}, during)
    assert ending.kind == "ready", ending
    _, record = lab.api("GET", f"/restores/{ending.restore_ids[0]}")
    assert max(lab.data_plane.applications.documents.values(), default=0) <= 1
    return record["application"]


def troubled(kind, action=DOCUMENT, **more):
    with FastLab(1) as lab:
        lab.data_plane.troubles.append(Trouble(kind, action))
        return bring_back(lab, **more)


def reason(application):
    return next(part["reason"] for part in application["parts"] if part["state"] == "failed")


def test_megabytes_of_output_are_cut_to_the_last_four_kib():
    application = troubled("long-output")
    assert application["state"] == "back"
    assert 4_000 < max(len(part["output"]) for part in application["parts"]) <= 4_096


@pytest.mark.parametrize("action", [DOCUMENT, HOOK])
def test_a_part_that_is_killed_fails(action):
    application = troubled("killed", action)
    assert (application["state"], reason(application)) == ("failed", "it failed")


@pytest.mark.parametrize("action", [DOCUMENT, HOOK])
def test_a_part_that_hangs_is_ended(action):
    application = troubled("hangs", action)
    assert application["state"] == "failed"
    assert "it did not end within" in reason(application) or "ExecutionTimedOut" in reason(application)


def test_an_application_that_does_not_answer_is_not_back():
    with FastLab(1) as lab:
        lab.data_plane.applications.answers = False
        application = bring_back(lab)
        assert reason(application) == "http://127.0.0.1:8080/health answered 503, for 60 s"
        assert any("but the application is not back" in str(one) for one in lab.slack)


def test_an_instance_that_is_terminated_fails_the_part():
    with FastLab(1) as lab:

        def terminate(instance_id, _volume_id):
            lab.region.call("ec2", "TerminateInstances", {"InstanceIds": [instance_id]})

        lab.data_plane.troubles.append(Trouble("call", DOCUMENT, call=terminate))
        assert "terminated" in reason(bring_back(lab))


def test_a_plan_learns_how_long_the_application_takes_from_restores_and_drills():
    with FastLab(1) as lab:
        after = whole(lab)

        def noted():
            asked = request(lab, "provisioned-rate", after=after, verify={"samples": 0})
            return lab.api("POST", "/plans", asked)[1]["summary"]["notes"][0]

        for number in range(3):
            assert "gets its application back: mount " in noted(), f"{number} restores say too little"
            asked = request(lab, "provisioned-rate", after=after, verify={"samples": 0})
            assert restored(lab, asked).status == "ready"
        said = noted()
        assert re.search(r"back in about \d+ s \(P90 \d+ s, as 3 restores showed\): mount ", said), said
        assert re.search(r"health check \(\d+ s, up to 60 s\)", said), said
        asked = request(lab, "provisioned-rate", after=after, verify={"samples": 0})
        (again,) = restored(lab, asked).restore_ids
        assert said.partition(" gets ")[2] in str(lab.api("GET", f"/restores/{again}")[1]["summary"]["notes"])


def meanwhile(lab, act):
    """Does it once the volume is being loaded, long after the restore has begun."""

    def during(restore_id):
        assert in_state(lab, restore_id, "Poll Initialization")
        act()

    return during


@pytest.mark.parametrize("when", ["ready", "attached"])
def test_the_recording_begins_before_the_application_comes_back(when):
    with FastLab(1) as lab:
        asked = request(lab, "warm-up-agent", after=whole(lab, when=when), warmUp={"learn": {"minutes": 1}})
        ending = restored(lab, asked)
        assert ending.kind == "ready", ending
        visits = visits_of_volumes(lab)
        assert lab.api("GET", f"/restores/{ending.restore_ids[0]}")[1]["volumes"][0]["recording"]["commandId"]
    assert visits.count(OBSERVE) == 1
    assert visits[visits.index(OBSERVE) :][:3] == [OBSERVE, "Is Volume Initialized?", "Run Hook"]
    is_first = visits.index(OBSERVE) < visits.index("Dispatch Warmer")
    assert is_first == (when == "attached")


def test_what_the_agent_writes_is_not_recorded():
    with FastLab(1) as lab:
        asked = request(lab, "direct-write", after=whole(lab), warmUp={"learn": {"minutes": 1}})
        assert restored(lab, asked).kind == "ready"
        visits = visits_of_volumes(lab)
    assert "Run Hook" in visits
    assert OBSERVE not in visits


@pytest.mark.parametrize("starts", [True, False])
def test_a_drill_records_only_where_it_starts_the_application(starts):
    with FastLab(1) as lab:
        after = {"after": whole(lab), "drill": {"after": True}} if starts else {}
        assert drilled(lab, "warm-up-agent", warmUp={"learn": {"minutes": 1}}, **after).kind == "ready"
        assert visits_of_volumes(lab).count(OBSERVE) == starts


def visits_of_volumes(lab):
    return [name for one in lab.states.executions.values() if "volume" in one.input for name in one.visits]


def test_a_document_that_is_deleted_meanwhile_is_not_sent():
    with FastLab(1) as lab:
        application = bring_back(
            lab, during=meanwhile(lab, lambda: lab.region.call("ssm", "DeleteDocument", {"Name": NAME}))
        )
        assert "was deleted after the restore began" in reason(application)
        assert not lab.data_plane.applications.documents


def test_a_document_that_is_replaced_meanwhile_is_not_sent():
    with FastLab(1) as lab:

        def replace():
            lab.region.call("ssm", "DeleteDocument", {"Name": NAME})
            content = json.dumps({**CONTENT, "description": "another"})
            tags = [{"Key": "rewarm:hooks", "Value": "rewarm"}]
            lab.region.call("ssm", "CreateDocument", {"Name": NAME, "Content": content, "Tags": tags})

        assert "was replaced after the restore began" in reason(
            bring_back(lab, during=meanwhile(lab, replace))
        )
        assert not lab.data_plane.applications.documents


def test_of_a_document_with_a_new_version_the_earlier_one_is_sent():
    with FastLab(1) as lab:

        def update():
            content = json.dumps({**CONTENT, "description": "another"})
            lab.region.call("ssm", "UpdateDocument", {"Name": NAME, "Content": content})
            lab.region.call("ssm", "UpdateDocumentDefaultVersion", {"Name": NAME, "DocumentVersion": "2"})

        assert bring_back(lab, during=meanwhile(lab, update))["state"] == "back"
        sent = [one for one in lab.region._commands.known.values() if one.document == NAME]
        assert [one.version for one in sent] == ["1"]


def test_a_version_that_its_owner_replaced_is_sent_only_where_a_tag_names_it():
    with FastLab(1) as lab:
        after = whole(lab)
        after["document"]["version"] = "1"
        asked = request(lab, "provisioned-rate", after=after, verify={"samples": 0})
        content = json.dumps({**CONTENT, "description": "another"})
        lab.region.call("ssm", "UpdateDocument", {"Name": NAME, "Content": content})
        lab.region.call("ssm", "UpdateDocumentDefaultVersion", {"Name": NAME, "DocumentVersion": "2"})
        status, answer = lab.api("POST", "/restores", asked)
        assert (status, answer["field"]) == (400, "after.document.name")
        tags = {"Tags": [{"Key": "rewarm:hook-versions", "Value": "1"}]}
        named = {"ResourceType": "Document", "ResourceId": NAME}
        lab.region.call("ssm", "AddTagsToResource", {**named, **tags})
        assert restored(lab, asked).kind == "ready"
        sent = [one for one in lab.region._commands.known.values() if one.document == NAME]
        assert [one.version for one in sent] == ["1"]


def test_a_restore_that_is_stopped_while_its_application_comes_back_says_that_nobody_knows():
    with FastLab(1) as lab:
        lab.data_plane.troubles.append(Trouble("hangs", DOCUMENT))

        def stop(restore_id):
            assert in_state(lab, restore_id, "Run Hook")
            lab.states.stop(lab.execution(RESTORE, restore_id).arn)

        asked = request(lab, "provisioned-rate", after=whole(lab, mounts=[]), verify={"samples": 0})
        ending = restored(lab, asked, stop)
        lab.pass_time(7_200)
        _, record = lab.api("GET", f"/restores/{ending.restore_ids[0]}")
        assert record["status"] in {"ready", "failed", "cancelled"}
        volume_id = ending.ready[0] if ending.ready else record["volumes"][0]["attached"]["volumeId"]
        assert volume_id in lab.data_plane.volumes


def test_a_restore_that_is_cancelled_after_its_document_was_sent_leaves_the_new_volume_in_its_place():
    with FastLab(1) as lab:
        lab.data_plane.troubles.append(Trouble("hangs", DOCUMENT))
        asked = replacing(lab, "warm-up-agent")
        asked["after"] = whole(lab, mounts=[], when="attached")

        def cancel(restore_id):
            assert in_state(lab, restore_id, "Wait For Hook")
            lab.api("DELETE", f"/restores/{restore_id}")

        ending = restored(lab, asked, cancel)
        _, record = lab.api("GET", f"/restores/{ending.restore_ids[0]}")
        (volume,) = record["volumes"]
        assert (record["status"], record["application"]["state"]) == ("cancelled", "failed")
        assert volume["replaced"]["state"] == "stays-out"
        new = volume["attached"]["volumeId"]
        (place,) = lab.region.call("ec2", "DescribeVolumes", {"VolumeIds": [new]})["Volumes"][0][
            "Attachments"
        ]
        assert (place["InstanceId"], place["State"]) == (asked["target"]["instanceId"], "attached")


def test_a_document_that_is_sent_twice_is_seen(monkeypatch):
    """With a control plane that sends again what it does not find."""
    monkeypatch.setattr(run_hook, "may_repeat", lambda *_part: True)
    monkeypatch.setattr(SsmHooks, "find", lambda *_names, **_since: [])
    with FastLab(1) as lab:
        PATHS["application-answer-lost"].play(lab)
        (finding,) = applications.findings(lab)
        assert finding.startswith(f"the document {NAME} was sent 2 times")
