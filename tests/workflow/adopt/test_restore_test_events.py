"""Events of restore tests that come twice, late or not to their end: each test has its verdict."""

from __future__ import annotations

import pytest

from local import Json
from local.aws.region.faults import FaultRule
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import Execution
from local.soak.trouble.paths.adopt_paths import TESTS, told_by_backup, volume_of_a_test

HOUR, DAY = 3_600.0, 86_400.0


def job_of(lab: FastLab, detail: Json) -> Json:
    return lab.region.call("backup", "DescribeRestoreJob", {"RestoreJobId": detail["restoreJobId"]})


def executions(lab: FastLab) -> list[Execution]:
    return lab.executions(TESTS)


def restores(lab: FastLab) -> int:
    return len(lab.executions("RestoreStateMachine"))


def attached(lab: FastLab, volume_id: str) -> list[Json]:
    found: list[Json] = lab.region.call("ec2", "DescribeVolumes", {"VolumeIds": [volume_id]})["Volumes"]
    return found[0].get("Attachments", [])


def until(lab: FastLab, state: str) -> Execution:
    assert lab.run(lambda: any(one.state == state for one in executions(lab)), most_seconds=HOUR)
    return next(one for one in executions(lab) if one.state == state)


def test_a_doubled_event_warms_once_and_the_first_verdict_is_the_only_one() -> None:
    with FastLab(1) as lab:
        volume_id, detail = volume_of_a_test(lab)
        told_by_backup(lab, detail, times=2)
        lab.pass_time(12 * HOUR)
        assert job_of(lab, detail)["ValidationStatus"] == "SUCCESSFUL"
        assert {one.status for one in executions(lab)} == {"SUCCEEDED"}
        assert sorted(str(one.output["verdict"]) for one in executions(lab)) == ["None", "SUCCESSFUL"]
        assert restores(lab) == 1
        assert attached(lab, volume_id) == []
        told_by_backup(lab, detail)
        lab.pass_time(HOUR)
        assert executions(lab)[-1].output == {"verdict": None}, "an event that comes hours late"


@pytest.mark.parametrize("times", [1, 2])
def test_a_test_whose_execution_died_while_its_volume_was_attached_gets_a_verdict(times: int) -> None:
    with FastLab(1) as lab:
        volume_id, detail = volume_of_a_test(lab)
        told_by_backup(lab, detail, times=times)
        dying = until(lab, "Restore")
        lab.states.stop(dying.arn)
        lab.pass_time(DAY)
        job = job_of(lab, detail)
        assert job["ValidationStatus"] == "TIMED_OUT"
        said = "Not tested to the end: the execution of the test is ABORTED."
        assert job["ValidationStatusMessage"] == said
        assert attached(lab, volume_id) == []
        assert len(executions(lab)) == times + 1
        assert {one.status for one in executions(lab)} == {"SUCCEEDED", "ABORTED"}


def test_nobody_finishes_what_finishes_so_it_comes_to_an_end() -> None:
    with FastLab(1) as lab:
        _, detail = volume_of_a_test(lab)
        lab.region.faults.add(FaultRule("PutRestoreValidationResult", code="Busy", status=500, times=None))
        told_by_backup(lab, detail)
        lab.pass_time(2 * DAY)
        assert [one.status for one in executions(lab)] == ["FAILED", "FAILED", "SUCCEEDED"]
        assert executions(lab)[-1].output == {"verdict": None}


def test_a_volume_that_a_person_has_attached_is_left_and_the_verdict_says_so() -> None:
    with FastLab(1) as lab:
        volume_id, detail = volume_of_a_test(lab)
        place = {"InstanceId": lab.region.add_instance(), "Device": "/dev/sdk"}
        lab.region.call("ec2", "AttachVolume", {"VolumeId": volume_id, **place})
        told_by_backup(lab, detail)
        lab.pass_time(DAY)
        job = job_of(lab, detail)
        assert job["ValidationStatus"] == "TIMED_OUT"
        said = f"Not tested: {volume_id} was attached already when its test began."
        assert job["ValidationStatusMessage"] == said
        assert [one["InstanceId"] for one in attached(lab, volume_id)] == [place["InstanceId"]]
        assert restores(lab) == 0


def test_a_restore_that_cannot_be_started_is_said() -> None:
    with FastLab(1) as lab:
        volume_id, detail = volume_of_a_test(lab)
        lab.begin(f"restore-testing-{detail['restoreJobId'].lower()}", {"request": {}})
        told_by_backup(lab, detail)
        lab.pass_time(DAY)
        job = job_of(lab, detail)
        assert job["ValidationStatusMessage"].startswith("Not tested: Rewarm could not be started: ")
        assert attached(lab, volume_id) == []


def test_the_minutes_are_those_until_the_volume_was_at_full_speed() -> None:
    """Not until its warm-up began."""
    with FastLab(1) as lab:
        volume_id, detail = volume_of_a_test(lab, blocks=40_000)
        told_by_backup(lab, detail)
        lab.pass_time(12 * HOUR)
        (restore,) = lab.executions("RestoreStateMachine")
        least = restore.output["slowestSeconds"] / 60
        said = job_of(lab, detail)["ValidationStatusMessage"]
        assert least > 2
        minutes = int(said.removeprefix(f"{volume_id} is at full speed ").split()[0])
        assert least <= minutes <= least + 6, said
