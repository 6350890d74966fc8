"""State Check Performance, GET /volumes/{volumeId}/performance, and what people are told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.results import CheckPerformanceResult
from rewarm.domain.errors import ModificationFailedError, ThrottledError
from rewarm.domain.volume.performance import ModificationRule, PerformanceSettings
from rewarm.steps.announce.announce import announce
from rewarm.steps.performance.check_performance import CheckPerformancePorts, check_performance
from rewarm.steps.performance.routes import PerformancePorts, get_performance
from tests.support.builders import NOW, VOLUME_ID, at
from tests.support.fakes import FakeArtifacts, FakeMessages
from tests.support.wired import wired
from tests.support.worlds.performance import CHANGE_ID, ORIGINAL, TARGET, ChangeWorld, check_event

SECOND = 1 / 60


@pytest.fixture
def world() -> ChangeWorld:
    made = ChangeWorld()
    made.changed("modifying")
    return made


def look(world: ChangeWorld, minutes: float, **changes: Any) -> CheckPerformanceResult:
    return check_performance(
        check_event(at(minutes), **changes),
        wired(CheckPerformancePorts, world, metrics=world.activity),
    )


class TestByEc2:
    def test_waits_while_ec2_modifies(self, world: ChangeWorld) -> None:
        result = look(world, 0.5)
        assert (result.finished, result.state, result.wait_seconds) == (False, "modifying", 8)
        assert world.table.records[CHANGE_ID]["status"] == "changing"

    @pytest.mark.parametrize(("minutes", "seconds"), [(0.1, 5), (4, 60), (20, 300), (600, 300)])
    def test_waits_longer_the_longer_it_takes(self, world: ChangeWorld, minutes: float, seconds: int) -> None:
        assert look(world, minutes).wait_seconds == seconds

    @pytest.mark.parametrize("state", ["optimizing", "completed"])
    def test_without_load_ec2s_word_is_enough(self, world: ChangeWorld, state: str) -> None:
        world.changed(state)
        result = look(world, 0.5)
        assert (result.finished, result.known_by, result.took_effect_at) == (True, "modification", at(0.5))
        assert result.reason == (
            f"EC2 says that the change is {state}; the volume works too little for CloudWatch to show it"
        )
        assert world.table.records[CHANGE_ID]["status"] == "changed"

    def test_where_nothing_can_be_seen_ec2s_word_is_enough(self, world: ChangeWorld) -> None:
        same = {"iops": 3_000}
        io1, io2 = (PerformanceSettings(volume_type=name, **same) for name in ("io1", "io2"))
        world.changed("optimizing", target=io1)
        result = look(world, 0.5, original=io2, target=io1, size_gib=100)
        assert result.finished
        assert "CloudWatch has nothing to show" in result.reason

    def test_a_failed_change_fails(self, world: ChangeWorld) -> None:
        world.changed("failed", message="insufficient capacity")
        with pytest.raises(ModificationFailedError, match="insufficient capacity; it is as it was"):
            look(world, 0.5)

    def test_a_day_without_effect_is_told(self, world: ChangeWorld) -> None:
        assert not look(world, 1_439).finished
        with pytest.raises(ModificationFailedError, match="within 24 h; it may still do so"):
            look(world, 1_440)

    def test_a_later_change_means_that_ours_was_completed(self, world: ChangeWorld) -> None:
        world.changed("modifying", at(5), target=PerformanceSettings("io2", 3_000))
        assert look(world, 6).state == "completed"

    def test_an_earlier_change_means_that_ec2_lags_behind(self, world: ChangeWorld) -> None:
        world.changed("completed", at(-60), target=PerformanceSettings("io2", 1_000))
        assert look(world, 0.1).state == "modifying"
        world.modifications.changes.clear()
        assert look(world, 0.1).state == "modifying"


class TestByCloudWatch:
    def test_waits_for_it_under_load_and_tells_when_it_held(self, world: ChangeWorld) -> None:
        world.activity.rates(at(-2), 1_053.6, 1_053.6, 1_053.6)
        world.changed("optimizing")
        first = look(world, 0.6)
        assert (first.finished, first.wait_seconds, first.in_force_since) == (False, 20, at(0.6))
        world.activity.rates(at(1), 2_016.2)
        second = look(world, 2.1, previous=first)
        assert (second.finished, second.known_by, second.took_effect_at) == (True, "cloudwatch", at(1))
        assert (second.rate, second.rate_before, second.unit) == (2_016.2, 1_053.6, "IOPS")
        assert second.reason == (
            "CloudWatch shows 2,016 IOPS in the minute of 2026-11-21 03:01 UTC (1,054 before)"
        )
        assert second.in_force_since == at(0.6)

    def test_may_be_sooner_than_ec2(self, world: ChangeWorld) -> None:
        world.activity.rates(at(0), 2_016)
        result = look(world, 1.2)
        assert (result.state, result.known_by, result.took_effect_at) == ("modifying", "cloudwatch", NOW)

    def test_a_load_below_the_limit_is_waited_for_not_for_ever(self, world: ChangeWorld) -> None:
        world.changed("optimizing")
        world.activity.rates(at(0), *[900.0] * 10)
        first = look(world, 1)
        assert not first.finished
        result = look(world, 5, previous=first)
        assert (result.finished, result.known_by, result.took_effect_at) == (True, "modification", at(1))
        assert "CloudWatch did not show it within 4 min" in result.reason

    def test_a_silent_cloudwatch_is_no_load(self, world: ChangeWorld) -> None:
        world.changed("optimizing")
        world.activity.failure = ThrottledError("slow down")
        assert look(world, 1).known_by == "modification"


class TestRequestedAt:
    def test_is_ec2s_start_until_cloudtrail_has_the_call(self, world: ChangeWorld) -> None:
        first = look(world, 1)
        assert (first.requested_at, first.requested_from) == (NOW, "ec2")
        world.trail.calls[VOLUME_ID] = [NOW - timedelta(hours=1), NOW - timedelta(seconds=2)]
        second = look(world, 2, previous=first)
        assert (second.requested_at, second.requested_from) == (at(-2 * SECOND), "cloudtrail")
        world.trail.calls.clear()
        assert look(world, 3, previous=second).requested_from == "cloudtrail"

    def test_a_call_of_another_change_is_not_this_ones(self, world: ChangeWorld) -> None:
        world.trail.calls[VOLUME_ID] = [NOW + timedelta(minutes=6)]
        assert look(world, 7).requested_from == "ec2"


class TestGet:
    def get(self, world: ChangeWorld, minutes: float = 30) -> dict[str, Any]:
        return get_performance(
            VOLUME_ID,
            now=at(minutes),
            ports=wired(PerformancePorts, world, rule=ModificationRule.FOUR_IN_24_H),
        )

    def test_a_volume_that_was_never_changed(self) -> None:
        told = self.get(ChangeWorld())
        assert told["performance"] == {"volumeType": "io2", "iops": 1_000, "throughputMibS": None}
        assert (told["modification"], told["change"]) == (None, None)
        assert told["slots"] == {
            "rule": "4-in-24-h", "startedWithin24Hours": [], "limit": 4, "nextFreeAt": None, "reason": "",
        }  # fmt: skip

    def test_tells_of_the_change_and_asks_cloudtrail_once_more(self, world: ChangeWorld) -> None:
        world.modifications.changes.clear()
        world.ask({"iops": 2_000})
        world.changed("optimizing", progress_percent=40)
        world.table.update(CHANGE_ID, {"startedAt": "2026-11-21T03:00:00Z"})
        look(world, 1)
        told = self.get(world)
        assert (told["change"]["changeId"], told["change"]["status"]) == (CHANGE_ID, "changed")
        assert (told["change"]["requestedAt"], told["change"]["requestedFrom"]) == (
            "2026-11-21T03:00:00Z",
            "ec2",
        )
        assert (told["modification"]["state"], told["modification"]["progressPercent"]) == ("optimizing", 40)
        assert told["slots"]["startedWithin24Hours"] == ["2026-11-21T03:00:00Z"]
        assert told["slots"]["nextFreeAt"] == "2026-11-21T04:15:00Z"
        world.trail.calls[VOLUME_ID] = [NOW - timedelta(seconds=1)]
        assert self.get(world)["change"]["requestedFrom"] == "cloudtrail"
        assert world.table.records[CHANGE_ID]["requestedAt"] == "2026-11-21T02:59:59Z"


class TestMessages:
    def announce(self, world: ChangeWorld, event: str, **details: Any) -> dict[str, Any]:
        messages = FakeMessages()
        common = {"volumeId": VOLUME_ID, "original": ORIGINAL, "target": TARGET}
        announce(
            AnnounceEvent(restore_id=CHANGE_ID, now=at(3), event=event, details={**common, **details}),
            table=world.table,
            messages=messages,
            artifacts=FakeArtifacts(),
        )
        (sent,) = messages.sent
        return sent

    def test_when_it_was_asked_for_and_when_it_held(self, world: ChangeWorld) -> None:
        world.activity.rates(at(0), 1_053, 2_016)
        world.changed("optimizing")
        world.trail.calls[VOLUME_ID] = [at(-20 * SECOND)]
        check = look(world, 2.1)
        sent = self.announce(
            world, "performance-changed", check=check.to_json(), notify={"slack": False, "email": True}
        )
        assert sent["title"] == f"{VOLUME_ID} is io2 with 2,000 IOPS"
        assert "from io2 with 1,000 IOPS to io2 with 2,000 IOPS; it took effect 80 s after" in sent["text"]
        assert "CloudWatch shows 2,016 IOPS" in sent["text"]
        fields = {one["name"]: one["value"] for one in sent["fields"]}
        assert fields["Requested"] == "2026-11-21T02:59:40Z (CloudTrail)"
        assert fields["Took effect"] == "2026-11-21T03:01:00Z"
        assert (sent["kind"], sent["links"]) == (
            "Change",
            {"performance": f"/volumes/{VOLUME_ID}/performance"},
        )
        assert sent["notify"] == {"slack": False, "email": True}
        assert "lies between the two settings" in sent["nextSteps"][0]
        assert world.table.records[CHANGE_ID]["finishedAt"] == "2026-11-21T03:03:00Z"

    def test_why_it_failed(self, world: ChangeWorld) -> None:
        cause = '{"errorMessage": "EC2 gave it up", "errorType": "ModificationFailedError"}'
        failure = {"state": "Check Performance", "error": "ModificationFailedError", "cause": cause}
        sent = self.announce(world, "performance-failed", failure=failure)
        assert (sent["severity"], sent["title"]) == ("error", f"{VOLUME_ID} could not be changed")
        assert "EC2 gave it up" in sent["text"]
        record = world.table.records[CHANGE_ID]
        assert (record["status"], record["failure"]["error"]) == ("failed", "ModificationFailedError")
