"""Ways on which the next plan takes over, a volume takes another's place, or somebody stops the execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local import Json
from local.aws.region import FaultRule
from local.soak.lab.endings import LONGEST_SECONDS, RESTORE, VOLUME, Ending
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.paths import FAST_INSTANCE, PATHS, in_state, path, request, restored
from local.soak.trouble.paths.paths import snapshot as made_snapshot
from local.soak.trouble.volume_user import MOVE_SECONDS, use

__all__ = ["PATHS"]
NO_RATE = FaultRule(
    "CreateVolume", code="VolumeLimitExceeded", times=None, when={"VolumeInitializationRate": "*"}
)
AWAY_SECONDS = 300.0
REDRIVEN_SECONDS = 60.0
TWO_SWEEPS_SECONDS = 1_800.0
DEVICE = "/dev/sdm"
CHANGE = "ChangePerformanceStateMachine"


def stop(lab: FastLab, restore_id: str, machine: str = RESTORE) -> None:
    """StopExecution: no Catch sees it."""
    name = restore_id if machine == RESTORE else f"{restore_id}-0"
    found = lab.execution(machine, name)
    if found is not None:
        lab.states.stop(found.arn)


def stopped(lab: FastLab, *states: str, machine: str = RESTORE) -> Callable[[str], None]:
    """Somebody who stops the execution once its volume is in one of these states."""

    def halt(restore_id: str) -> None:
        in_state(lab, restore_id, *states)
        stop(lab, restore_id, machine)

    return halt


def replacing(lab: FastLab, strategy: str) -> Json:
    """A snapshot in the place of a volume that is attached."""
    asked = request(lab, strategy)
    instance_id = asked["target"]["instanceId"]
    lab.region.add_volume(size_gib=8, attach_to=instance_id, device=DEVICE)
    asked["target"] = {"instanceId": instance_id, "device": DEVICE, "mode": "replace"}
    return asked


@path("rate-refused-falls-back")
def _falls_back(lab: FastLab) -> Ending:
    lab.region.faults.add(NO_RATE)
    asked = request(lab, "auto", target={"availabilityZone": "us-east-1a"})
    asked["objective"]["readyWithinMinutes"] = 10
    return restored(lab, asked)


@path("agent-fails-falls-back")
def _agent_falls_back(lab: FastLab) -> Ending:
    lab.data_plane.troubles += [Trouble("killed"), Trouble("killed"), Trouble("killed"), Trouble("killed")]
    return restored(lab, request(lab, "auto"))


@path("instance-away-for-a-while")
def _away(lab: FastLab) -> Ending:
    def stop_and_start(instance_id: str, _volume_id: str) -> None:
        def start() -> None:
            lab.region.call("ec2", "StartInstances", {"InstanceIds": [instance_id]})

        lab.region.call("ec2", "StopInstances", {"InstanceIds": [instance_id]})
        lab.scheduler.after(AWAY_SECONDS, start)

    lab.data_plane.troubles.append(Trouble("call", call=stop_and_start))
    return restored(lab, request(lab, "warm-up-agent"))


@path("replace")
def _replace(lab: FastLab) -> Ending:
    return restored(lab, replacing(lab, "warm-up-agent"))


@path("replace-fails-before-attaching")
def _replace_fails(lab: FastLab) -> Ending:
    lab.region.faults.add(FaultRule("AttachVolume", code="IncorrectInstanceState", times=1))
    return restored(lab, replacing(lab, "warm-up-agent"))


@path("replace-stopped")
def _replace_stopped(lab: FastLab) -> Ending:
    return restored(
        lab, replacing(lab, "warm-up-agent"), stopped(lab, "Attach Volume", "Wait For Attachment")
    )


def whole_instance(lab: FastLab, strategy: str, **fields: Any) -> Json:
    """A stopped instance with a root volume and another one, and a snapshot of each with these fields."""
    instance_id = lab.region.add_instance(root_size_gib=0)
    for device in ("/dev/xvda", DEVICE):
        old = lab.region.add_volume(
            size_gib=8, attach_to=instance_id, device=device, delete_on_termination=device != DEVICE
        )
        made_snapshot(lab, volume_id=old, **fields)
    lab.region.call("ec2", "StopInstances", {"InstanceIds": [instance_id]})
    target = {"instanceId": instance_id, "mode": "replace", "start": True}
    return request(lab, strategy, source={"instanceId": instance_id}, target=target)


@path("whole-instance")
def _whole_instance(lab: FastLab) -> Ending:
    return restored(lab, whole_instance(lab, "warm-up-agent"))


@path("whole-instance-that-never-comes-up")
def _whole_instance_down(lab: FastLab) -> Ending:
    asked = whole_instance(lab, "provisioned-rate")
    lab.region.change_instance(asked["target"]["instanceId"], reachable=False, impaired="instance")
    return restored(lab, asked)


@path("whole-instance-stopped-while-booting")
def _whole_instance_stopped(lab: FastLab) -> Ending:
    return restored(lab, whole_instance(lab, "warm-up-agent"), stopped(lab, "Wait For Instance"))


def root_volume(lab: FastLab) -> Json:
    """A running instance whose root volume is to be replaced, and a snapshot of that."""
    instance_id = lab.region.add_instance(root_size_gib=0)
    root = lab.region.add_volume(size_gib=8, attach_to=instance_id, device="/dev/xvda")
    target = {"instanceId": instance_id, "device": "/dev/xvda", "mode": "replace", "reboot": True}
    key = lab.region.arn("key/11111111-2222-3333-4444-555555555555", "kms")
    source = {"snapshotId": made_snapshot(lab, volume_id=root, encrypted=True, kms_key_id=key)}
    return request(lab, "warm-up-agent", source=source, target=target)


@path("root-volume")
def _root_volume(lab: FastLab) -> Ending:
    return restored(lab, root_volume(lab))


@path("root-volume-stopped-while-swapped")
def _root_volume_stopped(lab: FastLab) -> Ending:
    return restored(lab, root_volume(lab), stopped(lab, "Wait For Root"))


@path("fast-restore-stopped")
def _fast_restore_stopped(lab: FastLab) -> Ending:
    return restored(
        lab,
        request(lab, "fast-snapshot-restore"),
        stopped(lab, "Await Signal Of Snapshot", "Wait For Snapshot"),
    )


@path("stopped-before-attaching")
def _stopped_early(lab: FastLab) -> Ending:
    return restored(lab, request(lab, "provisioned-rate"), stopped(lab, "Wait For Volume", "Check Volume"))


@path("volume-stopped-while-warming")
def _volume_stopped(lab: FastLab) -> Ending:
    asked = request(lab, "boosted-warm-up", volume={"throughputMibS": 125})
    asked["target"] = {"instanceId": lab.region.add_instance(instance_type=FAST_INSTANCE)}

    return restored(
        lab, asked, stopped(lab, "Poll Initialization", "Wait For Initialization", machine=VOLUME)
    )


@path("volume-stopped-once-it-is-fast")
def _fast_volume_stopped(lab: FastLab) -> Ending:
    """The restore is ready: only the execution of its volume has failed."""
    return restored(lab, request(lab, "provisioned-rate"), stopped(lab, "Announce Ready", machine=VOLUME))


@path("stopped-and-redriven")
def _redriven(lab: FastLab) -> Ending:
    """The sweeper has ended the restore; the redriven execution must not bring it back or tell it again."""

    def redrive(restore_id: str) -> None:
        stopped(lab, "Poll Initialization", "Wait For Initialization")(restore_id)
        lab.pass_time(REDRIVEN_SECONDS)
        found = lab.execution(RESTORE, restore_id)
        if found is not None and found.status == "ABORTED":
            lab.states.redrive(found.arn)

    return restored(lab, request(lab, "warm-up-agent"), redrive)


@path("kept-on-failure")
def _kept(lab: FastLab) -> Ending:
    asked = request(lab, "provisioned-rate", onFailure="keep")
    asked["target"]["device"] = DEVICE

    def take(restore_id: str) -> None:
        in_state(lab, restore_id, "Wait For Volume", "Check Volume")
        instance_id = asked["target"]["instanceId"]
        lab.region.add_volume(size_gib=1, attach_to=instance_id, device=DEVICE, has_data=False)

    return restored(lab, asked, take)


def _used(lab: FastLab, restore_id: str) -> None:
    """Somebody takes the volume, writes to it and gives it back."""
    using = lab.scheduler.start(use(lab, restore_id))
    lab.run(lambda: using.result.done, most_seconds=LONGEST_SECONDS)
    lab.pass_time(MOVE_SECONDS)


def to_zone(lab: FastLab, strategy: str, **parts: Any) -> Json:
    """Much data, so that somebody has the time to use the volume before it is ready."""
    much = lab.region.add_snapshot(size_gib=100, extents=((0, 180_000),))
    target = {"availabilityZone": "us-east-1a"}
    return request(lab, strategy, source={"snapshotId": much}, target=target, **parts)


@path("zone-only-used-and-cancelled")
def _used_and_cancelled(lab: FastLab) -> Ending:
    def use_and_cancel(restore_id: str) -> None:
        _used(lab, restore_id)
        lab.api("DELETE", f"/restores/{restore_id}")

    return restored(lab, to_zone(lab, "provisioned-rate"), use_and_cancel)


@path("zone-only-used-and-stopped")
def _used_and_stopped(lab: FastLab) -> Ending:
    def use_and_stop(restore_id: str) -> None:
        _used(lab, restore_id)
        stop(lab, restore_id)

    return restored(lab, to_zone(lab, "provisioned-rate"), use_and_stop)


@path("zone-only-used-and-stalled")
def _used_and_stalled(lab: FastLab) -> Ending:
    lab.region.faults.add(FaultRule("volume:initialization", "stall", times=None))
    asked = to_zone(lab, "auto")
    asked["objective"]["readyWithinMinutes"] = 60
    # Without this, three days of AWS's loading in the background would be watched.
    asked["readiness"] = {**asked.get("readiness", {}), "stalledAfterMinutes": 60}
    return restored(lab, asked, lambda restore_id: _used(lab, restore_id))


@path("snapshot-in-the-archive")
def _archived(lab: FastLab) -> Ending:
    source = {"snapshotId": made_snapshot(lab, storage_tier="archive")}
    return restored(lab, request(lab, "provisioned-rate", source=source))


@path("tagged-snapshot")
def _tagged(lab: FastLab) -> Ending:
    made_snapshot(lab, tags={"backup": "orders"})
    return restored(lab, request(lab, "auto", source={"tags": {"backup": "orders"}}))


@path("dry-run")
def _dry_run(lab: FastLab) -> Ending:
    return restored(lab, request(lab, "auto", dryRun=True))


def answer_lost(lab: FastLab, *, skip: int = 0, times: int = 1) -> None:
    """The command is sent, and its id comes to nobody."""
    rule = FaultRule(
        "SendCommand", effect="lost-answer", code="InternalServerError", status=500, times=times, skip=skip
    )
    lab.region.faults.add(rule)


def long_warm_up(lab: FastLab) -> Json:
    """The agent would go on reading long after the restore's end."""
    source = {"snapshotId": lab.region.add_snapshot(size_gib=40, extents=((0, 70_000),))}
    return request(lab, "warm-up-agent", source=source, verify={"samples": 0})


def once_sent(lab: FastLab, then: Callable[[str], object]) -> Callable[[str], None]:
    """Somebody who does something as soon as the warm-up was sent."""
    sent = "Dispatch Warmer", "ssm", "SendCommand"

    def act(restore_id: str) -> None:
        main = lab.execution(RESTORE, restore_id)

        def done() -> bool:
            return lab.calls[sent] > 0 or (main is not None and main.status != "RUNNING")

        lab.run(done, most_seconds=LONGEST_SECONDS)
        then(restore_id)

    return act


@path("answers-of-commands-lost")
def _unanswered(lab: FastLab) -> Ending:
    answer_lost(lab, times=3)
    return restored(lab, request(lab, "warm-up-agent"))


@path("cancelled-with-a-command-that-nobody-noted")
def _cancelled_unnoted(lab: FastLab) -> Ending:
    answer_lost(lab)
    asked = long_warm_up(lab)
    return restored(lab, asked, once_sent(lab, lambda one: lab.api("DELETE", f"/restores/{one}")))


@path("stopped-with-a-command-that-nobody-noted")
def _stopped_unnoted(lab: FastLab) -> Ending:
    answer_lost(lab)
    asked = long_warm_up(lab)

    def halt(restore_id: str) -> None:
        stop(lab, restore_id, VOLUME)
        stop(lab, restore_id)

    return restored(lab, asked, once_sent(lab, halt))


@path("report-out-of-reach")
def _unreported(lab: FastLab) -> Ending:
    """What the report needs is not in the bucket while it is to be written."""
    objects, taken = lab.buckets[lab.stack.buckets[0]], {}

    def take(restore_id: str) -> None:
        if in_state(lab, restore_id, "Announce Ready"):
            key = f"restores/{restore_id}/plans.json"
            taken[key] = objects.pop(key)

    ending = restored(lab, request(lab, "provisioned-rate"), take)
    objects.update(taken)
    lab.pass_time(TWO_SWEEPS_SECONDS)
    return ending


@path("performance-change")
def _performance_change(lab: FastLab) -> Ending:
    tags = {"rewarm:managed": "true"}
    volume_id = lab.region.add_volume(size_gib=8, attach_to=lab.region.add_instance(), tags=tags)
    status, body = lab.api("POST", f"/volumes/{volume_id}/performance", {"throughputMibS": 250})
    begun = lab.executions(CHANGE)
    if not begun:
        return Ending(f"refused {status}", str(body.get("error", "")), str(body.get("message", "")))
    ended = lab.finish(begun[0], most_seconds=LONGEST_SECONDS)
    if ended.status == "SUCCEEDED":
        return Ending("ready")
    return Ending("failed" if ended.status == "FAILED" else "stuck", ended.error, ended.cause)
