"""POST /volumes/{volumeId}/performance, and the state Change Performance."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from rewarm.domain.errors import (
    InvalidRequestError,
    ModificationPostponedError,
    RestoreError,
    ServiceUnavailableError,
    TargetNotUsableError,
    VolumeNotFoundError,
)
from rewarm.domain.volume.performance import BOOST_TAG, ModificationRule, PerformanceSettings
from rewarm.ports.restores import BOOST
from rewarm.steps.performance.change_performance import (
    ChangePerformanceEvent,
    ChangePerformancePorts,
    ChangePerformanceResult,
    change_performance,
)
from rewarm.steps.record.boosts import NotedBoost
from tests.support.builders import NOW, VOLUME_ID, at
from tests.support.wired import wired
from tests.support.worlds.performance import CHANGE_ID, IO2, ORIGINAL, STACK, TARGET, ChangeWorld

DAY = timedelta(hours=24)
FAST = {"iops": 2_000}


@pytest.fixture
def world() -> ChangeWorld:
    return ChangeWorld()


def refused(world: ChangeWorld, error: type[RestoreError], body: Any = None, **changes: Any) -> RestoreError:
    with pytest.raises(error) as caught:
        world.ask(FAST if body is None else body, **changes)
    assert world.executions.started == {}
    assert world.table.records == {}
    return caught.value


class TestRequest:
    @pytest.mark.parametrize("iops", [2_000, 100])
    def test_raises_and_lowers(self, world: ChangeWorld, iops: int) -> None:
        answer = world.ask({"iops": iops, "notify": {"slack": False}})
        assert (answer["changeId"], answer["status"], answer["volumeId"]) == (
            CHANGE_ID,
            "accepted",
            VOLUME_ID,
        )
        assert answer["original"] == {"volumeType": "io2", "iops": 1_000, "throughputMibS": None}
        assert answer["target"] == {"volumeType": "io2", "iops": iops, "throughputMibS": None}
        assert answer["links"] == {"self": f"/volumes/{VOLUME_ID}/performance"}
        started = world.executions.started[CHANGE_ID]
        assert started["notify"] == {"slack": False, "email": True}
        assert (started["sizeGib"], started["acceptedAt"]) == (100, "2026-11-21T03:00:00Z")
        assert world.table.records[CHANGE_ID]["status"] == "accepted"
        assert world.log.change_id(VOLUME_ID) == CHANGE_ID
        assert world.modifications.started == []

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "request"), ({"notify": {"slack": True}}, "request"), ({"iops": "2000"}, "iops"),
            ({"iops": 99}, "iops"), ({"throughputMibS": 100}, "throughputMibS"), ({"size": 200}, "size"),
            ({"volumeType": "standard"}, "volumeType"), ({"iops": 200_000}, "iops"),
            ({"throughputMibS": 250}, "throughputMibS"), ({"iops": 1_000}, "request"),
            ({"volumeType": "st1"}, "volumeType"),
        ],
    )  # fmt: skip
    def test_refuses_by_field(self, world: ChangeWorld, body: Any, field: str) -> None:
        assert refused(world, InvalidRequestError, body).field == field

    def test_refuses_what_is_no_volume(self, world: ChangeWorld) -> None:
        assert refused(world, InvalidRequestError, volume_id="vol-1").field == "volumeId"
        refused(world, VolumeNotFoundError, volume_id="vol-0000000000000dead")

    @pytest.mark.parametrize(
        "tags",
        [{}, {"rewarm:stack": "another"}, {"rewarm:managed": "yes"}, {"rewarm:stack": STACK}],
    )
    def test_refuses_a_volume_that_nobody_gave_us(self, world: ChangeWorld, tags: dict[str, str]) -> None:
        world.put(replace(IO2, tags=tags))
        assert "tag it rewarm:managed=true" in str(refused(world, TargetNotUsableError))

    def test_takes_one_that_its_owner_gave_us(self, world: ChangeWorld) -> None:
        world.put(replace(IO2, tags={"rewarm:managed": "true"}))
        assert world.ask(FAST)["status"] == "accepted"

    def test_refuses_a_volume_that_is_not_there_yet(self, world: ChangeWorld) -> None:
        world.put(state="creating")
        refused(world, TargetNotUsableError)

    def test_leaves_a_boost_alone(self, world: ChangeWorld) -> None:
        world.put(replace(IO2, tags={**IO2.tags, BOOST_TAG: "io2 iops=100"}))
        assert "boosted" in str(refused(world, ModificationPostponedError))

    def test_leaves_the_boost_of_an_adoption_alone(self, world: ChangeWorld) -> None:
        noted = NotedBoost(
            volume_id=VOLUME_ID, restore_id="restore-1", index=0, asked_at=NOW, original=ORIGINAL,
            boosted=TARGET, size_gib=100, usd_per_hour=Decimal("0.01"),
        )  # fmt: skip
        world.table.store(BOOST, VOLUME_ID, noted.to_json())
        assert "by restore-1, and lowered to io2 with 1,000 IOPS" in str(
            refused(world, ModificationPostponedError)
        )

    def test_an_execution_that_does_not_start_fails_the_change(self, world: ChangeWorld) -> None:
        world.executions.failure = ServiceUnavailableError("busy")
        with pytest.raises(ServiceUnavailableError):
            world.ask(FAST)
        assert world.table.records[CHANGE_ID]["status"] == "failed"


class TestSlots:
    def test_the_fifth_is_refused_with_the_time_of_the_next(self, world: ChangeWorld) -> None:
        world.trail.calls[VOLUME_ID] = [at(-1_200), at(-600)]
        world.log.note_start(VOLUME_ID, at(-300))
        world.changed("completed", at(-60))
        error = refused(world, ModificationPostponedError)
        assert isinstance(error, ModificationPostponedError)
        assert error.retry_at == at(-1_200) + DAY
        assert "takes its next change at 2026-11-21T07:00:00Z: 4 modifications" in str(error)
        assert world.ask(FAST, now=at(-1_200) + DAY)["status"] == "accepted"

    @pytest.mark.parametrize("state", ["modifying", "optimizing"])
    def test_none_while_the_earlier_one_is_under_way(self, world: ChangeWorld, state: str) -> None:
        world.changed(state, at(-1), progress_percent=10)
        error = refused(world, ModificationPostponedError)
        assert isinstance(error, ModificationPostponedError)
        assert error.retry_at == at(9)
        assert f"{state}, 10 % done" in str(error)

    def test_six_hours_where_the_partition_has_the_older_rule(self, world: ChangeWorld) -> None:
        world.changed("completed", at(-60))
        rule = ModificationRule.SIX_HOURS
        error = refused(world, ModificationPostponedError, rule=rule)
        assert isinstance(error, ModificationPostponedError)
        assert error.retry_at == at(300)
        assert world.ask(FAST, rule=rule, now=at(300))["status"] == "accepted"

    def test_a_trail_that_does_not_answer_leaves_ec2_the_last_word(self, world: ChangeWorld) -> None:
        world.trail.failure = ServiceUnavailableError("no answer")
        assert world.ask(FAST)["status"] == "accepted"


def change(world: ChangeWorld, now: datetime = NOW) -> ChangePerformanceResult:
    event = ChangePerformanceEvent(
        restore_id=CHANGE_ID, now=now, volume_id=VOLUME_ID, original=ORIGINAL, target=TARGET, accepted_at=NOW
    )
    return change_performance(event, wired(ChangePerformancePorts, world))


class TestStep:
    def test_asks_ec2_and_remembers_when(self, world: ChangeWorld) -> None:
        world.modifications.now = at(0.1)
        result = change(world)
        assert world.modifications.started == [(VOLUME_ID, PerformanceSettings("io2", 2_000))]
        assert result.started_at == at(0.1)
        assert world.log.starts(VOLUME_ID) == [at(0.1)]
        assert world.table.records[CHANGE_ID] == {"status": "changing", "startedAt": "2026-11-21T03:00:06Z"}

    @pytest.mark.parametrize("state", ["modifying", "optimizing", "completed", "failed"])
    def test_asks_once_however_often_it_is_called(self, world: ChangeWorld, state: str) -> None:
        change(world)
        world.modifications.become(VOLUME_ID, state)
        change(world, at(1))
        assert len(world.modifications.started) == 1

    def test_an_earlier_change_to_the_same_settings_is_another(self, world: ChangeWorld) -> None:
        world.changed("completed", at(-600))
        change(world)
        assert len(world.modifications.started) == 1

    def test_ec2_may_show_late_what_it_took(
        self, world: ChangeWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(world.modifications, "latest", lambda _volume_id: None)
        assert change(world, at(0.5)).started_at == at(0.5)

    def test_ec2_has_the_last_word(self, world: ChangeWorld) -> None:
        world.modifications.failure = ModificationPostponedError("VolumeModificationRateExceeded")
        with pytest.raises(ModificationPostponedError):
            change(world)
        assert world.log.starts(VOLUME_ID) == []

    def test_a_lost_answer_whose_second_call_is_refused_is_ours(self, world: ChangeWorld) -> None:
        start = world.modifications.start

        def lost(volume_id: str, target: PerformanceSettings) -> None:
            start(volume_id, target)
            raise ModificationPostponedError("IncorrectModificationState")

        world.modifications.start = lost  # type: ignore[method-assign]
        assert change(world).started_at == NOW
        assert len(world.modifications.started) == 1
