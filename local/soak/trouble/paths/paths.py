"""Ways through the state machines: what is restored, and what happens on the way. Their calls are the matrix.

A path knows no faults but those that make it what it is (a rate that cannot be had, somebody who cancels).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local import Json
from local.aws.region import FaultRule
from local.soak.lab.endings import LONGEST_SECONDS, RESTORE, VOLUME, Ending, ended
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import stamp

GIB_BLOCKS = 2_048
RECORDED_SECONDS = 300.0
"""A recording of a minute is over by then."""
OLD_SECONDS = 3 * 86_400.0
FAST_INSTANCE = "m5.4xlarge"
ALARM = "rewarm-orders"
ALARM_ARN = f"arn:aws:cloudwatch:us-east-1:123456789012:alarm:{ALARM}"
ALARM_CHANGE = "CloudWatch Alarm State Change"
ALARM_DETAIL: Json = {
    "alarmName": ALARM,
    "state": {"value": "ALARM", "reason": "r"},
    "previousState": {"value": "OK"},
}
SUPPRESSED_DETAIL: Json = {
    **ALARM_DETAIL,
    "state": {**ALARM_DETAIL["state"], "actionsSuppressedBy": "Alarm"},
    "configuration": {"alarmRule": "ALARM(orders)", "actionsSuppressor": "orders-maintenance"},
}
MUTED_DETAIL: Json = {
    **ALARM_DETAIL,
    "muteDetail": {"mutedByArn": "arn:aws:cloudwatch:us-east-1:123456789012:alarm-mute-rule:maintenance"},
}


Play = Callable[[FastLab], Ending]


@dataclass(frozen=True, slots=True)
class Path:
    """One way."""

    name: str
    play: Play


PATHS: dict[str, Path] = {}


def path(name: str) -> Callable[[Play], Play]:
    """Add a path by name."""

    def add(play: Play) -> Play:
        PATHS[name] = Path(name, play)
        return play

    return add


# ------------------------------------------------------------------------------------------------ scenes
def snapshot(lab: FastLab, **fields: Any) -> str:
    """8 GiB with little data in two extents."""
    return lab.region.add_snapshot(size_gib=8, extents=((0, 150), (1_000, 250)), **fields)


def snapshot_of(lab: FastLab, blocks: int) -> str:
    """40 GiB with so much data, of a volume."""
    return lab.region.add_snapshot(size_gib=40, extents=((0, blocks),), volume_id="vol-0aaaaaaaaaaaaaaaa")


def request(lab: FastLab, strategy: str, **parts: Any) -> Json:
    """A snapshot onto an instance."""
    asked: Json = {
        "source": {"snapshotId": snapshot(lab)},
        "target": {"instanceId": lab.region.add_instance()},
        "objective": {"strategy": strategy},
        "verify": {"samples": 100},
    }
    return {**asked, **parts}


def restored(lab: FastLab, asked: Json, during: Callable[[str], None] | None = None) -> Ending:
    """Starts a restore by POST /restores, waits for its end, and returns it."""
    status, body = lab.api("POST", "/restores", asked)
    if status != 202:
        # The function may have ended after it had started the restore, which runs and whose id nobody knows.
        begun = [execution.name for execution in lab.executions(RESTORE)]
        refusal = Ending(f"refused {status}", str(body.get("error", "")), str(body.get("message", "")))
        return ended(lab, *begun) if begun else refusal
    restore_id = str(body["restoreId"])
    if during is not None:
        during(restore_id)
    return ended(lab, restore_id)


def in_state(lab: FastLab, restore_id: str, *states: str) -> bool:
    """Until the first volume's execution has come to one of the states; False where it never does."""

    def there() -> bool:
        child = lab.execution(VOLUME, f"{restore_id}-0")
        main = lab.execution(RESTORE, restore_id)
        over = main is not None and main.status != "RUNNING"
        return over or (child is not None and child.state in states)

    lab.run(there, most_seconds=LONGEST_SECONDS)
    child = lab.execution(VOLUME, f"{restore_id}-0")
    return child is not None and child.state in states


# ------------------------------------------------------------------------------------------------- paths
@path("warm-up-agent")
def _warm_up(lab: FastLab) -> Ending:
    asked = request(lab, "warm-up-agent", warmUp={"first": [{"startBlock": 10, "blockCount": 5}]})
    return restored(lab, asked)


@path("provisioned-rate")
def _provisioned_rate(lab: FastLab) -> Ending:
    return restored(lab, request(lab, "provisioned-rate"))


@path("fast-snapshot-restore")
def _fast_snapshot_restore(lab: FastLab) -> Ending:
    return restored(lab, request(lab, "fast-snapshot-restore"))


@path("another-region")
def _another_region(lab: FastLab) -> Ending:
    neighbour = lab.region.neighbour("eu-west-1")
    key = neighbour.arn("key/11111111-2222-3333-4444-555555555555", "kms")
    snapshot_id = neighbour.add_snapshot(size_gib=8, extents=((0, 400),), encrypted=True, kms_key_id=key)
    asked = request(lab, "warm-up-agent", source={"snapshotId": snapshot_id, "region": "eu-west-1"})
    asked["objective"]["readyWithinMinutes"] = 60
    return restored(lab, asked)


@path("background")
def _background(lab: FastLab) -> Ending:
    return restored(lab, request(lab, "background"))


@path("benchmarks")
def _benchmarks(lab: FastLab) -> Ending:
    wanted = {"samples": 100, "benchmarks": ["random-read", "init"], "benchmarkSeconds": 10}
    return restored(lab, request(lab, "warm-up-agent", verify=wanted))


@path("boosted-warm-up")
def _boosted(lab: FastLab) -> Ending:
    asked = request(lab, "boosted-warm-up", volume={"throughputMibS": 125})
    asked["target"] = {"instanceId": lab.region.add_instance(instance_type=FAST_INSTANCE)}
    return restored(lab, asked)


@path("volume-clone")
def _clone(lab: FastLab) -> Ending:
    lab.region.add_volume(volume_id="vol-0aaaaaaaaaaaaaaaa", size_gib=8)
    asked = request(lab, "volume-clone")
    asked["source"] = {"snapshotId": snapshot(lab, volume_id="vol-0aaaaaaaaaaaaaaaa")}
    return restored(lab, asked)


@path("zone-only")
def _zone_only(lab: FastLab) -> Ending:
    return restored(lab, request(lab, "provisioned-rate", target={"availabilityZone": "us-east-1a"}))


@path("alarm-with-runbook")
def _alarm(lab: FastLab) -> Ending:
    return alarmed(lab)


@path("alarm-that-comes-late")
def _late_alarm(lab: FastLab) -> Ending:
    return alarmed(lab, time=stamp(lab.scheduler.now - OLD_SECONDS))


@path("alarm-that-is-replayed")
def _replayed_alarm(lab: FastLab) -> Ending:
    return alarmed(lab, **{"replay-name": "orders"})


def alarmed(lab: FastLab, detail: Json = ALARM_DETAIL, /, **fields: str) -> Ending:
    """A runbook, and the event of its alarm with this detail and these fields."""
    source = lab.region.add_volume(size_gib=8, snapshot_id=snapshot(lab))
    snapshot(lab, volume_id=source)
    asked = request(lab, "auto", source={"volumeId": source, "at": "latest"})
    status, body = lab.api("PUT", f"/runbooks/{ALARM}", asked)
    if status != 200:
        return Ending(f"refused {status}", str(body.get("error", "")), str(body.get("message", "")))
    lab.events.put(ALARM_CHANGE, "aws.cloudwatch", detail, [ALARM_ARN], **fields)
    lab.run(lambda: bool(lab.states.executions), most_seconds=3_600)
    return ended(lab, *[execution.name for execution in lab.states.executions.values()])


def drilled(
    lab: FastLab,
    strategy: str,
    target: Json | None = None,
    during: Callable[[str], None] | None = None,
    **parts: Any,
) -> Ending:
    """A runbook whose own target is no business of drills, and a drill of it."""
    source = lab.region.add_volume(size_gib=8, snapshot_id=snapshot(lab))
    snapshot(
        lab, volume_id=source, encrypted=parts.pop("encrypted", False), kms_key_id=parts.pop("key", None)
    )
    runbook = request(lab, strategy, source={"volumeId": source}, **parts)
    lab.api("PUT", f"/runbooks/{ALARM}", runbook)
    isolated = target or {"instanceId": lab.region.add_instance(tags={"rewarm:drills": "true"})}
    return restored(lab, {"source": {"alarm": ALARM}, "target": isolated, "drill": {}}, during)


@path("drill")
def _drill(lab: FastLab) -> Ending:
    return drilled(lab, "warm-up-agent")


@path("several-volumes-of-an-image")
def _image(lab: FastLab) -> Ending:
    from local.aws.region import ImageDevice  # noqa: PLC0415

    devices = [ImageDevice(f"/dev/sd{letter}", snapshot(lab), 8) for letter in "fg"]
    image_id = lab.region.add_image(name="orders", devices=devices)
    return restored(lab, request(lab, "provisioned-rate", source={"imageId": image_id}))


@path("rate-refused")
def _rate_refused(lab: FastLab) -> Ending:
    rule = FaultRule(
        "CreateVolume", code="VolumeLimitExceeded", times=None, when={"VolumeInitializationRate": "*"}
    )
    lab.region.faults.add(rule)
    return restored(lab, request(lab, "provisioned-rate"))


@path("fast-restore-refused")
def _fast_restore_refused(lab: FastLab) -> Ending:
    lab.region.faults.add(
        FaultRule("fast-restore:enable", code="FastSnapshotRestoreLimitExceeded", times=None)
    )
    return restored(lab, request(lab, "fast-snapshot-restore"))


@path("cancelled-while-warming")
def _cancelled(lab: FastLab) -> Ending:
    def cancel(restore_id: str) -> None:
        in_state(lab, restore_id, "Poll Initialization", "Wait For Initialization")
        lab.api("DELETE", f"/restores/{restore_id}")

    # So much that the agent would go on reading long after the restore's end.
    much = lab.region.add_snapshot(size_gib=40, extents=((0, 70_000),))
    return restored(lab, request(lab, "warm-up-agent", source={"snapshotId": much}), cancel)


@path("cancelled-before-attaching")
def _cancelled_early(lab: FastLab) -> Ending:
    def cancel(restore_id: str) -> None:
        in_state(lab, restore_id, "Create Volume")
        lab.api("DELETE", f"/restores/{restore_id}")

    return restored(lab, request(lab, "fast-snapshot-restore"), cancel)


@path("device-taken-meanwhile")
def _device_taken(lab: FastLab) -> Ending:
    asked = request(lab, "provisioned-rate")
    asked["target"]["device"] = "/dev/sdm"

    def take(restore_id: str) -> None:
        in_state(lab, restore_id, "Wait For Volume", "Check Volume")
        instance_id = asked["target"]["instanceId"]
        lab.region.add_volume(size_gib=1, attach_to=instance_id, device="/dev/sdm", has_data=False)

    return restored(lab, asked, take)


@path("boost-cancelled")
def _boost_cancelled(lab: FastLab) -> Ending:
    asked = request(lab, "boosted-warm-up", volume={"throughputMibS": 125})
    asked["target"] = {"instanceId": lab.region.add_instance(instance_type=FAST_INSTANCE)}

    def cancel(restore_id: str) -> None:
        in_state(lab, restore_id, "Poll Initialization", "Wait For Initialization")
        lab.api("DELETE", f"/restores/{restore_id}")

    return restored(lab, asked, cancel)


@path("boost-stopped")
def _boost_stopped(lab: FastLab) -> Ending:
    asked = request(lab, "boosted-warm-up", volume={"throughputMibS": 125})
    asked["target"] = {"instanceId": lab.region.add_instance(instance_type=FAST_INSTANCE)}

    def stop(restore_id: str) -> None:
        in_state(lab, restore_id, "Poll Initialization", "Wait For Initialization")
        main = lab.execution(RESTORE, restore_id)
        assert main is not None
        lab.states.stop(main.arn)

    return restored(lab, asked, stop)


AWAITING = "Await Signal Of Approval"
TOKEN_SECONDS = 5.0
LATE_SECONDS = 600.0
"""After this the times of a plan do not hold any more."""


def awaiting(lab: FastLab, name: str, machine: str = RESTORE) -> bool:
    """Until the restore or fleet has left its token and waits for its approval; False where it never does."""

    def there() -> bool:
        main = lab.execution(machine, name)
        return main is not None and (main.state == AWAITING or main.status != "RUNNING")

    lab.run(there, most_seconds=LONGEST_SECONDS)
    lab.pass_time(TOKEN_SECONDS)
    main = lab.execution(machine, name)
    return main is not None and main.state == AWAITING


def dear(lab: FastLab) -> Json:
    """A request whose plan needs approval, whatever it costs."""
    asked = request(lab, "provisioned-rate")
    asked["objective"]["approveAboveUsd"] = 0
    return asked


@path("approved-late")
def _approved_late(lab: FastLab) -> Ending:
    """The plan is made again."""

    def approve(restore_id: str) -> None:
        awaiting(lab, restore_id)
        lab.pass_time(LATE_SECONDS)
        lab.api("POST", f"/restores/{restore_id}/approve")

    return restored(lab, dear(lab), approve)


@path("approved-at-once")
def _approved(lab: FastLab) -> Ending:
    def approve(restore_id: str) -> None:
        awaiting(lab, restore_id)
        lab.api("POST", f"/restores/{restore_id}/approve")

    return restored(lab, dear(lab), approve)


@path("approved-by-nobody")
def _not_approved(lab: FastLab) -> Ending:
    asked = dear(lab)
    asked["objective"]["readyWithinMinutes"] = 120
    return restored(lab, asked)


@path("cancelled-before-approval")
def _cancelled_before_approval(lab: FastLab) -> Ending:
    def cancel(restore_id: str) -> None:
        awaiting(lab, restore_id)
        lab.api("DELETE", f"/restores/{restore_id}")

    return restored(lab, dear(lab), cancel)


@path("stopped-before-approval")
def _stopped_before_approval(lab: FastLab) -> Ending:
    def stop(restore_id: str) -> None:
        awaiting(lab, restore_id)
        main = lab.execution(RESTORE, restore_id)
        assert main is not None
        lab.states.stop(main.arn)

    return restored(lab, dear(lab), stop)


@path("hot-set")
def _hot_set(lab: FastLab) -> Ending:
    """A restore reads first what has changed, and records what is read; a later one reads that first."""
    snapshot_of(lab, 11_900)
    lab.pass_time(60)
    source = {"snapshotId": snapshot_of(lab, 12_000)}
    asked = request(lab, "warm-up-agent", source=source, warmUp={"learn": {"minutes": 1}})
    first = restored(lab, asked)
    if first.kind != "ready":
        return first
    lab.pass_time(RECORDED_SECONDS)
    return restored(lab, asked)
