"""A restore that waits for approval, in the fast lab: from its plan to its end, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local import Json
from local.soak.lab.endings import RESTORE, Ending
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.paths import awaiting, request, restored

HOUR = 3_600.0


@pytest.fixture
def lab() -> Iterator[FastLab]:
    with FastLab() as made:
        yield made


def asked(lab: FastLab, **objective: object) -> Json:
    """For a rate, whose price is some cents."""
    wanted = request(lab, "provisioned-rate")
    wanted["objective"] |= {"approveAboveUsd": 0, **objective}
    return wanted


def record(lab: FastLab, ending: Ending) -> Json:
    return lab.api("GET", f"/restores/{ending.restore_ids[0]}")[1]


def count(lab: FastLab, ending: Ending, state: str) -> int:
    execution = lab.execution(RESTORE, ending.restore_ids[0])
    assert execution is not None
    return sum(name == state for name, _ in execution.answers)


def volumes(lab: FastLab) -> list[Json]:
    found: list[Json] = lab.region.call("ec2", "DescribeVolumes", {})["Volumes"]
    return [one for one in found if one.get("SnapshotId")]


def test_it_waits_until_somebody_approves_and_then_goes_on(lab: FastLab) -> None:
    waited: list[Json] = []

    def approve(restore_id: str) -> None:
        awaiting(lab, restore_id)
        lab.pass_time(60)
        waited.append(lab.api("GET", f"/restores/{restore_id}")[1])
        assert volumes(lab) == []
        assert lab.api("POST", f"/restores/{restore_id}/approve")[0] == 202
        assert lab.api("POST", f"/restores/{restore_id}/approve")[0] == 202, "asked twice"

    ending = restored(lab, asked(lab, readyWithinMinutes=120), approve)
    assert ending.kind == "ready"
    assert waited[0]["status"] == "awaiting-approval"
    assert waited[0]["plans"]
    assert [event["event"] for event in waited[0]["events"]] == ["plan", "approval"]
    told = record(lab, ending)
    assert told["approval"]["approvedAt"]
    assert [event["event"] for event in told["events"]][:3] == ["plan", "approval", "approved"]
    assert count(lab, ending, "Choose Strategy") == 1
    late = lab.api("POST", f"/restores/{ending.restore_ids[0]}/approve")
    assert (late[0], late[1]["error"]) == (409, "RestoreEndedError")


def test_a_plan_that_waited_is_made_again_and_what_is_dearer_is_asked_about_again(lab: FastLab) -> None:
    questions: list[Json] = []

    def approve_twice(restore_id: str) -> None:
        for seconds in (360, 0):
            assert awaiting(lab, restore_id)
            questions.append(lab.api("GET", f"/restores/{restore_id}")[1]["approval"])
            lab.pass_time(seconds)
            lab.api("POST", f"/restores/{restore_id}/approve")
            lab.pass_time(10)

    # 40 GiB in 16 minutes: with six minutes less it takes a higher rate, and so a higher price.
    wanted = asked(lab, readyWithinMinutes=16)
    wanted["source"] = {"snapshotId": lab.region.add_snapshot(size_gib=40, extents=((0, 81_920),))}
    ending = restored(lab, wanted, approve_twice)
    assert ending.kind == "ready"
    first, second = questions
    assert float(second["usd"]) > float(first["usd"])
    assert "was approved" in second["reason"]
    assert count(lab, ending, "Choose Strategy") == 2
    assert record(lab, ending)["approval"]["usd"] == second["usd"]


def test_nobody_in_time_ends_it_and_nothing_was_made(lab: FastLab) -> None:
    ending = restored(lab, asked(lab, readyWithinMinutes=120))
    assert ending.kind == "failed ApprovalTimedOutError"
    told = record(lab, ending)
    assert (told["status"], told["failure"]["error"]) == ("failed", "ApprovalTimedOutError")
    assert told["finishedAt"] < told["deadlineAt"]
    assert told["events"][-1]["text"].endswith("Nothing was left behind.")
    assert volumes(lab) == []
    wanted = asked(lab)
    assert lab.api("POST", "/restores", wanted)[0] == 202


@pytest.mark.long
def test_without_a_deadline_it_waits_for_a_day(lab: FastLab) -> None:
    ending = restored(lab, asked(lab))
    execution = lab.execution(RESTORE, ending.restore_ids[0])
    assert execution is not None
    assert ending.kind == "failed ApprovalTimedOutError"
    assert 24 * HOUR <= lab.scheduler.now - 1.8e9 < 25 * HOUR
    assert count(lab, ending, "Check Approval") <= 100


@pytest.mark.parametrize("how", ["cancelled", "stopped"])
def test_the_device_is_free_again_after_a_wait_that_somebody_ended(lab: FastLab, how: str) -> None:
    wanted = asked(lab)
    wanted["target"]["device"] = "/dev/sdm"

    def end(restore_id: str) -> None:
        awaiting(lab, restore_id)
        lab.pass_time(60)
        assert lab.api("POST", "/restores", wanted)[0] == 409, "it keeps its device"
        main = lab.execution(RESTORE, restore_id)
        assert main is not None
        if how == "cancelled":
            lab.api("DELETE", f"/restores/{restore_id}")
        else:
            lab.states.stop(main.arn)

    ending = restored(lab, wanted, end)
    lab.pass_time(60)
    told = record(lab, ending)
    assert told["status"] == ("cancelled" if how == "cancelled" else "failed")
    assert volumes(lab) == []
    assert lab.api("POST", "/restores", wanted)[0] == 202


def test_a_record_that_is_lost_while_it_waits_is_made_again(lab: FastLab) -> None:
    def lose(restore_id: str) -> None:
        awaiting(lab, restore_id)
        lab.pass_time(60)
        lab.table("RestoresTable").delete({"pk": {"S": f"restore#{restore_id}"}})
        lab.pass_time(16 * 60)
        assert lab.api("POST", f"/restores/{restore_id}/approve")[0] == 202

    assert restored(lab, asked(lab), lose).kind == "ready"
