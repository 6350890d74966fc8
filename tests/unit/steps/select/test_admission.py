"""Two restores never work on one device: who has it, who waits, who takes over."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import (
    AccessDeniedError,
    DeviceInUseError,
    ServiceUnavailableError,
    TargetBusyError,
    ThrottledError,
    TooManyRestoresError,
)
from rewarm.domain.volume.holds import TargetHolds
from rewarm.ports.restores import MOST_ROUNDS
from rewarm.steps.select.admission import HoldingPorts, assign_and_hold, enter_stack
from rewarm.steps.select.release_target import give_back
from tests.support.builders import INSTANCE_ID, NOW, RESTORE_ID, TO_INSTANCE, World, at, instance, request
from tests.support.wired import wired
from tests.support.worlds.performance import FakeRestoreExecutions

Json = dict[str, Any]
TO_DEVICE: Json = {**TO_INSTANCE, "target": {"instanceId": INSTANCE_ID, "device": "/dev/sdf"}}


def hold(
    world: World, restore_id: str = RESTORE_ID, body: Json | None = None, *, minutes: float = 0, **limits: Any
) -> list[VolumeAssignment]:
    return assign_and_hold(
        request(body),
        restore_id=restore_id,
        now=at(minutes),
        ports=wired(HoldingPorts, world, keeper=world.keeper(**limits)),
    ).volumes


def devices(world: World) -> dict[str, str]:
    return {one.device: one.restore_id for one in world.holds.on_target(INSTANCE_ID).holds}


class TestDevices:
    def test_the_second_restore_to_a_device_hears_who_has_it(self) -> None:
        world = World()
        hold(world, "first", TO_DEVICE)
        with pytest.raises(TargetBusyError) as caught:
            hold(world, "second", TO_DEVICE)
        assert caught.value.held_by == "first"
        assert caught.value.field == "target.device"
        assert (
            "/dev/sdf on i-0123456789abcdef0 is being restored to by first since 2026-11-21 03:00 UTC"
            in str(caught.value)
        )
        assert devices(world) == {"/dev/sdf": "first"}

    def test_also_where_the_first_has_attached_its_volume_by_now(self) -> None:
        world = World()
        hold(world, "first", TO_DEVICE)
        world.instances.add(instance(devices={"/dev/sdf": "vol-00000000000000009"}))
        with pytest.raises(TargetBusyError, match="first"):
            hold(world, "second", TO_DEVICE)
        give_back("first", None, holds=world.holds)
        world.holds.targets.clear()
        with pytest.raises(DeviceInUseError, match="vol-00000000000000009"):
            hold(world, "second", TO_DEVICE)

    @pytest.mark.parametrize("name", ["/dev/xvdf", "/dev/sdf"])
    def test_two_names_of_one_place_are_one_device(self, name: str) -> None:
        world = World()
        hold(world, "first", TO_DEVICE)
        with pytest.raises(TargetBusyError):
            hold(world, "second", {**TO_INSTANCE, "target": {"instanceId": INSTANCE_ID, "device": name}})

    def test_a_device_that_rewarm_chooses_is_one_that_nobody_works_on(self) -> None:
        world = World()
        found = [hold(world, name)[0].device for name in ("first", "second", "third")]
        assert found == ["/dev/sdf", "/dev/sdg", "/dev/sdh"]

    def test_the_same_restore_keeps_its_device_however_often_it_asks(self) -> None:
        world = World()
        hold(world, "other")
        assert hold(world)[0].device == "/dev/sdg"
        version = world.holds.on_target(INSTANCE_ID).version
        world.holds.targets[INSTANCE_ID] = replace(
            world.holds.on_target(INSTANCE_ID).without({"other"}), version=version
        )
        assert hold(world)[0].device == "/dev/sdg"
        assert world.holds.on_target(INSTANCE_ID).version == version, "nothing was written"

    def test_of_two_at_once_both_get_a_device_of_their_own(self) -> None:
        world = World()
        world.holds.intruders.append(TargetHolds(INSTANCE_ID).with_devices("rival", {0: "/dev/sdf"}, NOW))
        assert hold(world)[0].device == "/dev/sdg"
        assert devices(world) == {"/dev/sdf": "rival", "/dev/sdg": RESTORE_ID}

    def test_of_two_at_once_to_one_device_one_has_it(self) -> None:
        world = World()
        world.holds.intruders.append(TargetHolds(INSTANCE_ID).with_devices("rival", {0: "/dev/sdf"}, NOW))
        with pytest.raises(TargetBusyError) as caught:
            hold(world, body=TO_DEVICE)
        assert caught.value.held_by == "rival"

    def test_all_devices_or_none(self) -> None:
        held = TargetHolds(INSTANCE_ID).with_devices("first", {0: "/dev/sdg"}, NOW)
        with pytest.raises(TargetBusyError):
            held.with_devices("second", {0: "/dev/sdf", 1: "/dev/sdg"}, NOW)
        assert held.of("second") == {}

    def test_gives_up_where_others_come_in_between_all_the_time(self) -> None:
        world = World()
        letters = "fghijklmnop"
        held = TargetHolds(INSTANCE_ID)
        for number in range(MOST_ROUNDS):
            held = held.with_devices(f"rival-{number % 3}", {number: f"/dev/sd{letters[number % 3]}"}, NOW)
            world.holds.intruders.append(held)
        with pytest.raises(ServiceUnavailableError, match="begin all the time"):
            hold(world)

    def test_a_plan_holds_nothing(self) -> None:
        world = World()
        hold(world, body={**TO_DEVICE, "dryRun": True})
        assert world.holds.targets == {}


class TestWhoIsOver:
    @pytest.mark.parametrize("status", ["ready", "failed", "cancelled", "refused"])
    def test_the_device_of_a_restore_whose_record_says_so_is_taken_over(self, status: str) -> None:
        world = World()
        hold(world, "first", TO_DEVICE)
        world.table.update("first", {"status": status})
        assert hold(world, "second", TO_DEVICE)[0].device == "/dev/sdf"
        assert devices(world) == {"/dev/sdf": "second"}

    def test_one_that_was_stopped_is_over_when_step_functions_says_so(self) -> None:
        world = World()
        hold(world, "first", TO_DEVICE)
        world.holds.enter("first", instance_id=INSTANCE_ID, now=NOW)
        world.table.update("first", {"status": "restoring"})
        running = FakeRestoreExecutions(running={("first", 0)})
        with pytest.raises(TargetBusyError):
            hold(world, "second", TO_DEVICE, minutes=60, executions=running)
        stopped = FakeRestoreExecutions()
        assert hold(world, "second", TO_DEVICE, minutes=60, executions=stopped)
        assert devices(world) == {"/dev/sdf": "second"}

    def test_one_that_is_about_to_start_is_not_over(self) -> None:
        world = World()
        hold(world, "first", TO_DEVICE)
        with pytest.raises(TargetBusyError):
            hold(world, "second", TO_DEVICE, minutes=5, executions=FakeRestoreExecutions())

    @pytest.mark.parametrize("status", ["restoring", None])
    @pytest.mark.parametrize("is_noted", [True, False])
    @pytest.mark.parametrize(
        ("executions", "found"),
        [
            pytest.param(None, TargetBusyError, id="nobody can ask"),
            pytest.param(
                FakeRestoreExecutions(failure=ThrottledError("slow down")), ThrottledError, id="look failed"
            ),
            pytest.param(FakeRestoreExecutions(running={("first", 0)}), TargetBusyError, id="it runs"),
            pytest.param(FakeRestoreExecutions(), None, id="it is over"),
        ],
    )
    def test_only_one_that_is_known_to_be_over_loses_its_device(
        self,
        executions: FakeRestoreExecutions | None,
        found: type[Exception] | None,
        is_noted: bool,  # noqa: FBT001
        status: str | None,
    ) -> None:
        """Somebody may have deleted the entry of a restore that runs."""
        world = World()
        hold(world, "first", TO_DEVICE)
        if is_noted:
            world.holds.enter("first", instance_id=INSTANCE_ID, now=NOW)
        if status is not None:
            world.table.update("first", {"status": status})
        with pytest.raises(found) if found else nullcontext():
            hold(world, "second", TO_DEVICE, minutes=60, executions=executions)
        assert devices(world) == {"/dev/sdf": "first" if found else "second"}

    def test_an_instance_full_of_dead_restores_has_room(self) -> None:
        world = World()
        for number in range(11):
            hold(world, f"dead-{number}", per_instance=100)
            world.table.update(f"dead-{number}", {"status": "failed"})
        assert hold(world, per_instance=100)[0].device == "/dev/sdf"


class TestLimits:
    def test_of_an_instance(self) -> None:
        world = World()
        hold(world, "a", per_instance=2)
        hold(world, "b", per_instance=2)
        with pytest.raises(
            TooManyRestoresError, match=r"a, b run on i-.*; .*MaxRestoresPerInstance allows 2"
        ) as caught:
            hold(world, "c", per_instance=2)
        assert caught.value.running == ("a", "b")
        assert hold(world, "b", per_instance=2), "who is in stays in"
        world.table.update("a", {"status": "ready"})
        assert hold(world, "c", per_instance=2)

    def test_of_the_stack_makes_room_for_those_that_are_over(self) -> None:
        world = World()
        for name in ("a", "b"):
            hold(world, name)
            enter_stack(request(), restore_id=name, now=NOW, keeper=world.keeper(in_stack=2))
        with pytest.raises(TooManyRestoresError, match=r"^a, b run; "):
            enter_stack(request(), restore_id="c", now=NOW, keeper=world.keeper(in_stack=2))
        world.table.update("a", {"status": "cancelled"})
        enter_stack(request(), restore_id="c", now=NOW, keeper=world.keeper(in_stack=2))
        assert sorted(world.holds.entries) == ["a", "b", "c"], "the sweeper is to find it"

    def test_who_could_not_be_counted_is_not_noted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise AccessDeniedError("BatchGetItem: not authorized")

        world = World()
        monkeypatch.setattr(world.holds, "running", refuse)
        with pytest.raises(AccessDeniedError):
            enter_stack(request(), restore_id="late", now=NOW, keeper=world.keeper())
        assert world.holds.entries == {}

    def test_a_message_names_a_few_and_counts_the_others(self) -> None:
        world = World()
        for number in range(8):
            world.holds.enter(f"r{number}", instance_id=None, now=NOW)
        with pytest.raises(TooManyRestoresError, match=r"^r0, r1, r2, r3, r4 and 3 more run; "):
            enter_stack(request(), restore_id="late", now=NOW, keeper=world.keeper(in_stack=8))
