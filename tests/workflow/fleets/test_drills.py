"""Drills: measured, judged and deleted, however they end. In the fast lab, and once on the embedded AWS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from local import Json
from local.aws.region import FaultRule
from local.soak.lab.endings import RESTORE, Ending
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.hook import DOCUMENT
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.hook_paths import whole
from local.soak.trouble.paths.paths import ALARM, drilled, in_state
from tests.support.stack.restores import PATIENT, RestoreUser, unique

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def fast_lab() -> Iterator[FastLab]:
    with FastLab() as made:
        yield made


def drills(fast_lab: FastLab) -> list[Json]:
    found: list[Json] = fast_lab.api("GET", f"/runbooks/{ALARM}")[1]["drills"]
    return found


def volumes(fast_lab: FastLab) -> list[str]:
    """Of drills, that EC2 still has."""
    found = fast_lab.region.call("ec2", "DescribeVolumes", {})["Volumes"]
    return [
        one["VolumeId"]
        for one in found
        if {"Key": "rewarm:drill", "Value": "true"} in one.get("Tags", []) and one["State"] != "deleting"
    ]


def titles(fast_lab: FastLab, ending: Ending) -> list[str]:
    return [one["title"] for one in fast_lab.api("GET", f"/restores/{ending.restore_ids[0]}")[1]["events"]]


def test_a_drill_is_judged_by_its_objectives_and_kept_beside_the_others(fast_lab: FastLab) -> None:
    first = drilled(fast_lab, "warm-up-agent", drill={"recoveryTimeMinutes": 10})
    second = drilled(fast_lab, "background", drill={"recoveryTimeMinutes": 1})
    assert [ending.kind for ending in (first, second)] == ["ready", "ready"]
    assert [one["outcome"] for one in drills(fast_lab)] == ["passed", "late"]
    assert drills(fast_lab)[1]["recoverySeconds"] > 60
    assert titles(fast_lab, first)[-1].startswith(f"Drill passed: {ALARM} was back at full speed after")
    assert titles(fast_lab, second)[-1].startswith("Drill late:")
    assert all(title.startswith("Drill") for title in titles(fast_lab, first))
    assert volumes(fast_lab) == []


def test_a_drill_that_fails_after_the_volume_could_be_used_leaves_nothing(fast_lab: FastLab) -> None:
    ending = drilled(fast_lab, "provisioned-rate", verify={"samples": 100, "maxP99Ms": 0.001})
    assert (ending.status, ending.error) == ("failed", "VolumeNotFastError")
    assert any("can be used" in title for title in titles(fast_lab, ending))
    assert [one["outcome"] for one in drills(fast_lab)] == ["failed"]
    assert volumes(fast_lab) == []


def test_a_drill_that_is_cancelled_has_failed_and_leaves_nothing(fast_lab: FastLab) -> None:
    def cancel(restore_id: str) -> None:
        in_state(fast_lab, restore_id, "Poll Initialization", "Wait For Initialization")
        assert fast_lab.api("DELETE", f"/restores/{restore_id}")[0] == 202

    ending = drilled(fast_lab, "background", during=cancel)
    assert ending.error == "RestoreCancelledError"
    assert [one["outcome"] for one in drills(fast_lab)] == ["failed"]
    assert volumes(fast_lab) == []


@pytest.mark.parametrize(
    ("state", "outcome"), [("Poll Initialization", "failed"), ("Announce Ready", "passed")]
)
def test_a_drill_that_is_stopped_is_ended_by_the_sweeper(fast_lab: FastLab, state: str, outcome: str) -> None:
    def stop(restore_id: str) -> None:
        in_state(fast_lab, restore_id, state)
        main = fast_lab.execution(RESTORE, restore_id)
        assert main is not None
        fast_lab.states.stop(main.arn)

    drilled(fast_lab, "warm-up-agent", during=stop)
    fast_lab.pass_time(4_000)
    assert volumes(fast_lab) == []
    assert [one["outcome"] for one in drills(fast_lab)] == [outcome], (
        "it was at full speed before it was stopped"
    )


def test_a_drill_whose_volume_cannot_be_deleted_has_failed_and_the_sweeper_goes_on(fast_lab: FastLab) -> None:
    rule = FaultRule("DeleteVolume", code="UnauthorizedOperation", times=1)

    def refuse(_restore_id: str) -> None:
        fast_lab.region.faults.add(rule)

    ending = drilled(fast_lab, "warm-up-agent", during=refuse)
    assert (ending.status, ending.error) == ("failed", "IncompleteCleanUpError")
    assert [one["outcome"] for one in drills(fast_lab)] == ["failed"]
    fast_lab.pass_time(4_000)
    assert volumes(fast_lab) == []


def test_a_drill_brings_the_application_back_and_its_time_is_the_recovery_time(fast_lab: FastLab) -> None:
    ending = drilled(fast_lab, "provisioned-rate", after=whole(fast_lab), drill={"after": True})
    assert (ending.status, ending.cause) == ("ready", "")
    record = fast_lab.api("GET", f"/restores/{ending.restore_ids[0]}")[1]
    application = record["application"]
    assert application["state"] == "back"
    assert [part["title"] for part in application["parts"]][-2:] == ["health check", "unmount"]
    (drill,) = drills(fast_lab)
    assert (drill["outcome"], drill["recoveryOf"]) == ("passed", "application")
    full_speed = (
        max(volume["actualSeconds"] for volume in record["report"]["volumes"]) if "report" in record else 0
    )
    assert drill["recoverySeconds"] > full_speed
    assert any("the application of" in title for title in titles(fast_lab, ending))
    assert volumes(fast_lab) == []


def test_a_drill_whose_application_stays_away_has_failed_and_leaves_nothing(
    fast_lab: FastLab,
) -> None:
    fast_lab.data_plane.applications.answers = False
    ending = drilled(fast_lab, "provisioned-rate", after=whole(fast_lab), drill={"after": True})
    assert ending.status == "ready"
    (drill,) = drills(fast_lab)
    assert (drill["outcome"], drill["recoverySeconds"]) == ("failed", None)
    assert titles(fast_lab, ending)[-1] == f"Drill failed: the application of {ALARM} is not back"
    assert volumes(fast_lab) == []


def test_a_drill_that_is_cancelled_while_its_document_runs_unmounts_and_leaves_nothing(
    fast_lab: FastLab,
) -> None:
    fast_lab.data_plane.troubles.append(Trouble("hangs", DOCUMENT))

    def cancel(restore_id: str) -> None:
        fast_lab.run(lambda: bool(fast_lab.data_plane.applications.documents))
        status, answer = fast_lab.api("DELETE", f"/restores/{restore_id}")
        assert status == 202, answer

    after = whole(fast_lab, when="attached")
    drilled(fast_lab, "provisioned-rate", during=cancel, after=after, drill={"after": True})
    assert [one["outcome"] for one in drills(fast_lab)] == ["failed"]
    assert (volumes(fast_lab), fast_lab.data_plane.mounted) == ([], {})


def test_a_drill_leaves_after_out_unless_its_runbook_says_otherwise(fast_lab: FastLab) -> None:
    ending = drilled(fast_lab, "provisioned-rate", after=whole(fast_lab))
    assert fast_lab.api("GET", f"/restores/{ending.restore_ids[0]}")[1]["request"]["after"] is None


def test_a_drill_on_the_embedded_aws_leaves_production_as_it_was(user: RestoreUser) -> None:
    region, alarm = user.region, unique("rewarm-orders")
    source = region.add_volume(size_gib=1)
    region.add_snapshot(
        size_gib=user.image.size_gib, extents=user.image.extents, path=user.image.path, volume_id=source
    )
    production = region.add_instance()
    isolated = region.add_instance(tags={"rewarm:drills": "true"})
    drill: dict[str, Any] = {"target": {"instanceId": isolated}, "recoveryTimeMinutes": 60}
    user.runbook(
        alarm,
        {
            "source": {"volumeId": source},
            "target": {"instanceId": production},
            "verify": PATIENT,
            "drill": drill,
        },
    )
    before = region.inventory()
    done = user.restore({"source": {"alarm": alarm}, "drill": {}})
    assert done.main.states[-2:] == ["Announce Drill", "Restore Completed"], done.why
    assert done.record["drill"]["outcome"] == "passed"
    assert region.inventory() == before
    assert all(production not in str(visit.payload) for visit in done.volumes[0].visits)
