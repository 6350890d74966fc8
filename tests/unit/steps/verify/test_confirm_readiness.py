"""State Confirm Readiness: VolumeReadOps as a second witness, after the volume was called ready."""

from __future__ import annotations

import pytest

from rewarm.contracts.values import VolumePlan
from rewarm.domain.model import ReadActivity
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.verify.confirm_readiness import (
    ConfirmReadinessEvent,
    ConfirmReadinessPorts,
    confirm_readiness,
)
from tests.support.builders import (
    RESTORE_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    dispatch,
    measurement,
    plan,
    request,
)
from tests.support.wired import wired
from tests.support.worlds.announcing import say

READY = {
    "index": 0,
    "verdict": "ready",
    "volumeId": VOLUME_ID,
    "readyAt": at(10.25).isoformat(),
    "dispatch": dispatch(read_ops_before=0.0).to_json(),
    "after": {"verdict": "fast", "result": measurement()},
}


@pytest.fixture
def world():
    world = World()
    write_plans(RESTORE_ID, [VolumePlan(volume=assignment(), plan=plan())], world.artifacts)
    return world


def confirm(world, minute, *results, pending=None, **changes):
    event = ConfirmReadinessEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=request(**changes),
        results=list(results) or [READY],
        pending=pending,
    )
    return confirm_readiness(event, wired(ConfirmReadinessPorts, world))


def reads(minute, ops, read_ms=45.0):
    return ReadActivity(at(minute), float(ops), 0.0, ops * read_ms / 1_000)


def test_waits_until_the_first_whole_minute_is_over_and_for_cloudwatch(world):
    first = confirm(world, 10.25)
    assert (first.finished, first.wait_seconds) == (False, 105)
    second = confirm(world, 12, pending=first)
    assert (second.finished, second.wait_seconds) == (False, 30)


@pytest.mark.parametrize(
    ("activity", "opinion"),
    [
        ([reads(11, 3)], "confirms"),
        ([reads(10, 9_000), reads(11, 0)], "confirms"),  # the agent's own minute does not count
        ([reads(11, 9_000, read_ms=0.7)], "confirms"),
        ([reads(11, 9_000)], "contradicts"),
        ([], "silent"),
    ],
)
def test_says_what_volume_read_ops_says_until_the_patience_is_over(world, activity, opinion):
    world.metrics.activity = activity
    found, minute = None, 10.25
    while found is None or not found.finished:
        found = confirm(world, minute, pending=found)
        minute += found.wait_seconds / 60
    (confirmation,) = found.confirmations
    assert (confirmation.opinion, confirmation.volume_id, confirmation.index) == (opinion, VOLUME_ID, 0)
    assert confirmation.reason
    assert (minute < 13) is (opinion == "confirms"), "what is not stable yet is looked at again"
    assert minute <= 10.25 + 5.1


@pytest.mark.parametrize(
    "changes",
    [{"dispatch": None}, {"after": None}, {"after": {"verdict": "unmeasured", "reason": "no"}}],
    ids=["no agent has read", "no instance", "VolumeReadOps was waited for before"],
)
def test_has_nothing_to_add(world, changes):
    found = confirm(world, 10.25, {**READY, **changes})
    assert (found.finished, found.confirmations) == (True, [])


def test_a_patience_of_nothing_asks_for_no_witness(world):
    assert confirm(world, 10.25, readiness={"metricsPatienceSeconds": 0}).confirmations == []


def test_a_volume_of_which_nobody_was_told_yet_does_not_wait_for_a_witness(world):
    found = confirm(world, 10.25, READY, {**READY, "index": 1, "announced": False})
    assert (found.finished, found.confirmations) == (True, [])


def test_each_volume_is_heard_once(world):
    other = {**READY, "index": 1, "readyAt": at(12.5).isoformat()}
    write_plans(
        RESTORE_ID,
        [VolumePlan(volume=assignment(index=index), plan=plan()) for index in (0, 1)],
        world.artifacts,
    )
    world.metrics.activity = [reads(11, 0)]
    first = confirm(world, 12.6, READY, other)
    assert [one.opinion for one in first.confirmations] == ["confirms", None]
    world.metrics.activity = [reads(11, 9_000), reads(13, 0)]
    second = confirm(world, 14.1, READY, other, pending=first)
    assert [one.opinion for one in second.confirmations] == ["confirms", "confirms"]


class TestMessage:
    def message(self, *opinions):
        world = World()
        confirmations = [
            {
                "index": index,
                "volumeId": f"vol-{index}",
                "since": at(10).isoformat(),
                "levelBefore": 0,
                "warmReadMs": 20,
                "opinion": opinion,
                "reason": "VolumeReadOps is 7 a minute, 0 before the warm-up",
            }
            for index, opinion in enumerate(opinions)
        ]
        say(world, "confirmed", {"confirmations": confirmations})
        return world.messages.sent[0]

    def test_confirms(self):
        message = self.message("confirms")
        assert message["title"] == "VolumeReadOps confirms: there are no slow reads of vol-0"
        assert message["text"] == "vol-0: VolumeReadOps is 7 a minute, 0 before the warm-up."
        assert (message["severity"], message["nextSteps"]) == ("info", [])

    def test_contradicts_and_says_what_to_do(self):
        message = self.message("confirms", "contradicts", "silent")
        assert message["title"] == "VolumeReadOps contradicts: there are still slow reads of vol-1"
        assert message["severity"] == "warning"
        assert "measure it again" in message["nextSteps"][0]

    def test_silence_is_no_confirmation(self):
        message = self.message("silent", "silent")
        assert message["title"].endswith("CloudWatch has too few whole minutes of 2 volumes")
        assert message["severity"] == "info"

    def test_of_many_volumes_it_names_ten(self):
        message = self.message(*["confirms"] * 12)
        assert message["title"] == "VolumeReadOps confirms: there are no slow reads of 12 volumes"
        assert message["text"].endswith("\nThe report has the other 2 volumes.")
