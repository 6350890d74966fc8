"""The audit finds a call, a tag or a second warm-up that an adoption must not bring."""

from __future__ import annotations

from copy import copy

from local.soak.audit.adoptions import AdoptionAudit
from local.soak.lab.endings import RESTORE, VOLUME
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.adopt_paths import PATHS, in_use
from local.soak.trouble.paths.paths import PATHS as RESTORES


def findings(lab: FastLab) -> list[str]:
    return list(AdoptionAudit(lab).findings())


def test_a_call_that_changes_a_volume_a_tag_and_a_second_warm_up_are_found() -> None:
    with FastLab(1) as lab:
        (volume_id,) = PATHS["adopted"].play(lab).ready
        assert findings(lab) == []
        lab.calls["Clean Up", "ec2", "DetachVolume"] += 1
        lab.region._tables.volumes[volume_id].tags["rewarm:stack"] = "rewarm"
        (one,) = lab.executions(VOLUME)
        second = copy(one)
        second.arn, second.name, second.started = f"{one.arn}-again", "again", one.started + 1
        lab.states.executions[second.arn] = second
        assert findings(lab) == [
            "Clean Up has called DetachVolume, and every volume is somebody else's",
            f"volume {volume_id} of somebody else has got the tag rewarm:stack",
            f"volume {volume_id} was warmed up twice at once, the second time by again",
        ]


def test_a_volume_that_rules_adopt_twice_is_found() -> None:
    with FastLab(1) as lab:
        (volume_id,) = PATHS["adopted-by-rule"].play(lab).ready
        assert findings(lab) == []
        (one,) = lab.executions(RESTORE)
        second = copy(one)
        second.arn, second.name = f"{one.arn}-again", f"{one.name}-again"
        lab.states.executions[second.arn] = second
        assert findings(lab) == [f"rules have adopted volume {volume_id} 2 times"]


def test_a_volume_that_a_rule_fits_and_nobody_adopts_is_found() -> None:
    with FastLab(1) as lab:
        PATHS["adopted-by-rule"].play(lab)
        match = {"volumeTags": {"app": "orders"}}
        assert lab.api("PUT", "/rules/orders", {"match": match, "mode": "act"})[0] == 200
        tags = [{"ResourceType": "volume", "Tags": [{"Key": "app", "Value": "orders"}]}]
        volume_id = in_use(lab, TagSpecifications=tags)
        lab.pass_time(2_000)
        assert findings(lab) == []
        for one in lab.executions(RESTORE):
            if volume_id in one.input["request"]["source"]["existing"]["volumeIds"]:
                del lab.states.executions[one.arn]
        for one in lab.executions(VOLUME):
            if one.input["volume"]["adopts"] == volume_id:
                del lab.states.executions[one.arn]
        assert findings(lab) == [f"the rule has forgotten volume {volume_id}"]


def test_a_restore_may_make_its_own_volume() -> None:
    with FastLab(1) as lab:
        RESTORES["background"].play(lab)
        assert findings(lab) == []
