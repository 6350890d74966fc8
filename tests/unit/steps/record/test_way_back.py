"""Each message, report and answer looks whether what undoes a restore is still there, and says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from rewarm.contracts.events import AnnounceEvent, ReportEvent
from rewarm.contracts.values import Trigger
from rewarm.domain.errors import AccessDeniedError, ServiceUnavailableError, ThrottledError
from rewarm.domain.model import BinnedSnapshot, Strategy
from rewarm.ports import JsonObject
from rewarm.steps.announce.announce import announce
from rewarm.steps.record.bucket import undo_head_key
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.record.restore import KnownRestore
from rewarm.steps.record.way_back import WayBackPorts, looked
from rewarm.steps.report.report import ReportPorts, report
from rewarm.steps.request.routes import GetRestorePorts, get_restore
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    plan,
    request,
    snapshot,
    volume_plan,
)
from tests.support.wired import wired
from tests.support.worlds.announcing import FAILURE, ready_details

EVIDENCE, OLD, HEAD = "snap-00000000000000eee", "vol-00000000000000aaa", undo_head_key(RESTORE_ID, 0)
LOG = {
    "restoreId": RESTORE_ID,
    "bytes": 2 << 20,
    "usdPerMonth": "0.01",
    "expiresAt": "2026-12-22T00:00:00Z",
}
REPLACES = {"volumeId": OLD, "sizeGib": 100, "usdPerMonth": "9.6"}
NOTED: dict[str, JsonObject] = {
    "snapshot": {"rewind": {"volumeId": VOLUME_ID, "evidence": EVIDENCE}},
    "undo-log": {"rewind": {"volumeId": VOLUME_ID, "undoLog": LOG}},
    "volume": {
        "replaced": {"volumeId": OLD, "newVolumeId": VOLUME_ID, "state": "replaced"},
        "cleanUp": {"removed": [], "kept": [f"volume {OLD}: it is out; {OLD} is detached and kept"]},
    },
}
"""Kind of the way back -> what the record says of it."""
COMMANDS = (
    "undo-log delete",
    "aws ec2 delete-snapshot",
    "aws ec2 delete-volume",
    "create-replace-root-volume",
)
FAILS = (AccessDeniedError("not allowed"), ThrottledError("slow down"), ServiceUnavailableError("no answer"))


class Silent:
    """A port of which no call is answered."""

    def __init__(self, error: Exception) -> None:
        self.error, self.asked = error, 0

    def __getattr__(self, _name: str) -> Callable[..., Any]:
        def refuse(*_args: object, **_named: object) -> Any:
            self.asked += 1
            raise self.error

        return refuse


def there(kind: str, *, gone: bool = False) -> World:
    """A world whose record names the way back; with `gone`, somebody has deleted that."""
    world = World()
    noted = {name: dict(part) for name, part in NOTED[kind].items()}
    world.table.put(RESTORE_ID, {"status": "initializing", "volumeCount": 1})
    world.table.update_volume(RESTORE_ID, 0, noted)
    if not gone and kind == "snapshot":
        world.snapshots.add(snapshot(EVIDENCE))
    elif not gone and kind == "undo-log":
        world.artifacts.objects[HEAD] = {"snapshotId": SNAPSHOT_ID}
    elif not gone:
        made = world.volumes.create(SNAPSHOT_ID, "zone", assignment().volume.settings(), None, "token")
        world.volumes.volumes[OLD] = replace(world.volumes.volumes[made], volume_id=OLD)
    return world


def ports_of(world: World, **others: Any) -> WayBackPorts:
    known = {"snapshots": world.snapshots, "volumes": world.volumes, "artifacts": world.artifacts}
    return WayBackPorts(**{**known, **others})


def all_fail(world: World, error: Exception) -> WayBackPorts:
    return ports_of(world, snapshots=Silent(error), volumes=Silent(error), artifacts=Silent(error))


def planned(kind: str) -> tuple[Any, Any]:
    is_rewind = kind != "volume"
    volume = assignment(replaces=None if is_rewind else REPLACES, device="/dev/sdf")
    return volume, plan(Strategy.REWIND if is_rewind else Strategy.WARM_UP_AGENT)


def has_ended(world: World, kind: str, state: str) -> None:
    if kind != "volume":
        noted = world.table.get_volume(RESTORE_ID, 0)["rewind"]
        world.table.update_volume(RESTORE_ID, 0, {"rewind": {**noted, "state": state}})


def ready(world: World, kind: str, look: Callable[[KnownRestore], KnownRestore]) -> str:
    has_ended(world, kind, "done")
    volume, chosen = planned(kind)
    details = {**ready_details(), "volume": volume.to_json(), "plan": chosen.to_json()}
    event = AnnounceEvent(restore_id=RESTORE_ID, now=at(9), event="ready", request=request(), details=details)
    announce(event, table=world.table, messages=world.messages, way_back=look)
    (message,) = world.messages.sent
    return " ".join([message["text"], *message["nextSteps"]])


def failed(world: World, kind: str, look: Callable[[KnownRestore], KnownRestore]) -> str:
    has_ended(world, kind, "writing")
    if kind == "volume":
        noted = world.table.get_volume(RESTORE_ID, 0)["replaced"]
        world.table.update_volume(RESTORE_ID, 0, {"replaced": {**noted, "state": "stays-out"}})
    details = {"failure": FAILURE, "results": [{"index": 0, "verdict": "failed"}]}
    event = AnnounceEvent(
        restore_id=RESTORE_ID, now=at(9), event="failed", request=request(), details=details
    )
    announce(event, table=world.table, messages=world.messages, way_back=look)
    (message,) = world.messages.sent
    return " ".join([message["text"], *message["nextSteps"]])


def reported(world: World, kind: str, look: Callable[[KnownRestore], KnownRestore]) -> str:
    has_ended(world, kind, "done")
    volume, chosen = planned(kind)
    event = ReportEvent(
        restore_id=RESTORE_ID,
        now=at(8),
        started_at=NOW,
        request=request(),
        trigger=Trigger(kind="api"),
        plans_key=write_plans(RESTORE_ID, [volume_plan(volume=volume, plan=chosen)], world.artifacts),
        results=[{"index": 0, "verdict": "ready", "volumeId": VOLUME_ID, "initialization": {"ready": True}}],
    )
    result = report(event, wired(ReportPorts, world, draw=lambda _: None, way_back=look))
    left = world.artifacts.objects[result.report_key]["left"]
    return " ".join([result.volumes[0].way_back, *(f"{thing['thing']}: {thing['remove']}" for thing in left)])


def shown(world: World, kind: str, look: Callable[[KnownRestore], KnownRestore]) -> str:
    has_ended(world, kind, "done")
    answer = get_restore(RESTORE_ID, wired(GetRestorePorts, world, way_back=look))
    assert answer is not None
    return str(answer["volumes"][0]["wayBack"])


PLACES = pytest.mark.parametrize("place", [ready, failed, reported, shown])
KINDS = pytest.mark.parametrize("kind", sorted(NOTED))
NAMES = {"snapshot": EVIDENCE, "undo-log": RESTORE_ID, "volume": OLD}
Place = Callable[[World, str, Callable[[KnownRestore], KnownRestore]], str]


@PLACES
@KINDS
def test_what_is_there_is_named(place: Place, kind: str) -> None:
    world = there(kind)
    said = place(world, kind, partial(looked, ports=ports_of(world)))
    assert NAMES[kind] in said
    assert "no way back" not in said
    assert "could look" not in said
    if kind != "volume":
        assert "undoes this one" in said


@PLACES
@KINDS
def test_what_is_gone_is_not_promised_and_no_command_needs_it(place: Place, kind: str) -> None:
    world = there(kind, gone=True)
    said = place(world, kind, partial(looked, ports=ports_of(world)))
    assert "here is no way back" in said
    assert NAMES[kind] in said
    assert "undoes this one" not in said
    assert "and kept" not in said
    assert not [command for command in COMMANDS if command in said]
    found = {"snapshot": "EC2 shows no such snapshot", "undo-log": HEAD, "volume": "EC2 shows no such volume"}
    assert found[kind] in said


@PLACES
@KINDS
@pytest.mark.parametrize("error", FAILS, ids=lambda error: type(error).__name__)
def test_where_nobody_can_look_it_is_named_with_the_reason(place: Place, kind: str, error: Exception) -> None:
    world = there(kind)
    said = place(world, kind, partial(looked, ports=all_fail(world, error)))
    assert NAMES[kind] in said
    assert "no way back" not in said
    if (place, kind) != (failed, "volume"):  # Clean-up has looked itself, and its account is said.
        assert f"is still there ({error})" in said


def test_a_snapshot_in_the_recycle_bin_is_named_with_what_recovers_it() -> None:
    world = there("snapshot", gone=True)
    world.snapshots.binned.append(BinnedSnapshot(EVIDENCE, VOLUME_ID, at(1), at(9)))
    said = shown(world, "snapshot", partial(looked, ports=ports_of(world)))
    assert f"restore-snapshot-from-recycle-bin --snapshot-id {EVIDENCE}" in said


def test_a_snapshot_that_failed_is_no_way_back_and_still_costs_money() -> None:
    world = there("snapshot")
    world.snapshots.add(snapshot(EVIDENCE, state="error"))
    said = reported(world, "snapshot", partial(looked, ports=ports_of(world)))
    assert "There is no way back" in said
    assert "is in the state error" in said
    assert f"aws ec2 delete-snapshot --snapshot-id {EVIDENCE}" in said


def test_a_log_without_the_snapshot_that_it_is_laid_over_is_no_way_back() -> None:
    world = there("undo-log")
    world.snapshots.snapshots.clear()
    said = reported(world, "undo-log", partial(looked, ports=ports_of(world)))
    assert f"is there, but {SNAPSHOT_ID}, which the undoing needs too, is gone" in said
    assert "undoes this one" not in said
    assert "rewarm undo-log delete" in said, "it still costs money"


def test_a_service_that_does_not_answer_is_asked_once() -> None:
    world = there("snapshot")
    silent = Silent(ServiceUnavailableError("no answer"))
    volumes = {index: {"rewind": {"volumeId": VOLUME_ID, "evidence": EVIDENCE}} for index in range(8)}
    record = looked(KnownRestore.model_validate({"volumes": volumes}), ports_of(world, snapshots=silent))
    assert silent.asked == 1
    seen = [volume.rewind.presence.found for volume in record.volumes.values() if volume.rewind is not None]
    assert seen == ["unknown"] * 8


def test_what_was_gone_before_is_gone_although_nobody_can_look_now() -> None:
    noted = {"volumeId": VOLUME_ID, "evidence": EVIDENCE, "evidenceState": "gone"}
    known = KnownRestore.model_validate({"volumes": {0: {"rewind": noted}}})
    rewind = looked(known, all_fail(World(), FAILS[0])).volume(0).rewind
    assert rewind is not None
    assert rewind.presence.is_gone


def test_a_look_stores_nothing() -> None:
    world = there("snapshot", gone=True)
    before = str(world.table.records)
    shown(world, "snapshot", partial(looked, ports=ports_of(world)))
    has_ended(world, "snapshot", "done")
    assert "presence" not in str(world.table.records)
    assert before.count("evidence") == str(world.table.records).count("evidence")


def test_a_volume_that_was_never_moved_is_not_looked_for() -> None:
    silent = Silent(FAILS[0])
    for state in (None, "in-place", "back"):
        noted = {"replaced": {"volumeId": OLD, "state": state}}
        looked(KnownRestore.model_validate({"volumes": {0: noted}}), ports_of(World(), volumes=silent))
    assert silent.asked == 0


def test_a_ready_message_without_a_record_says_where_the_way_back_is_named() -> None:
    world = there("snapshot")
    world.table.records.clear()
    volume, chosen = planned("snapshot")
    details = {**ready_details(), "volume": volume.to_json(), "plan": chosen.to_json()}
    event = AnnounceEvent(restore_id=RESTORE_ID, now=at(9), event="ready", request=request(), details=details)
    announce(event, table=world.table, messages=world.messages)
    assert f"GET /restores/{RESTORE_ID} names it" in world.messages.sent[0]["text"]
