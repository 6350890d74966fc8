"""A root volume is replaced while its instance lives: the new one is warm, then EC2 swaps it in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from local.soak.lab.endings import ended
from local.soak.lab.lab import FastLab
from rewarm.domain.volume.replacing import REPLACED_TAG
from tests.support.stack.restores import RestoreUser, texts

BESIDE = "/dev/sdf"


class Roots:
    """An instance with its root volume, and a snapshot of that."""

    def __init__(self, fast: FastLab) -> None:
        self.fast = fast
        self.instance_id = fast.region.add_instance()
        (mapped,) = self.machine()["BlockDeviceMappings"]
        self.old: str = mapped["Ebs"]["VolumeId"]
        self.device: str = mapped["DeviceName"]
        self.good = fast.region.add_snapshot(size_gib=8, extents=((0, 90),), volume_id=self.old)
        fast.pass_time(600)

    def asked(self, strategy: str = "auto", **target: Any) -> dict[str, Any]:
        place = {"instanceId": self.instance_id, "mode": "replace", "device": self.device, "reboot": True}
        given = {name: value for name, value in {**place, **target}.items() if value is not None}
        return {
            "source": {"snapshotId": self.good},
            "target": given,
            "objective": {"strategy": strategy},
        }

    def restore(self, strategy: str = "auto") -> str:
        """Begins, and returns the restore's id."""
        status, answer = self.fast.api("POST", "/restores", self.asked(strategy))
        assert status == 202, answer
        return str(answer["restoreId"])

    def record(self, restore_id: str) -> dict[str, Any]:
        return dict(self.fast.api("GET", f"/restores/{restore_id}")[1])

    def is_swapping(self, restore_id: str) -> bool:
        volumes = self.record(restore_id).get("volumes") or [{}]
        return (volumes[0].get("replaced") or {}).get("state") == "swapping"

    def texts(self) -> list[str]:
        return [texts(one) for one in self.fast.slack]

    def told(self, event: str) -> str:
        """The message of an event."""
        title = {"plan": "Restore started", "ready": "random reads take"}[event]
        return next(text for text in self.texts() if title in text)

    def machine(self) -> dict[str, Any]:
        asked = {"InstanceIds": [self.instance_id]}
        (found,) = self.fast.region.call("ec2", "DescribeInstances", asked)["Reservations"]
        (machine,) = found["Instances"]
        return dict(machine)

    def devices(self) -> dict[str, str]:
        """Volumes of the instance by device."""
        machine = self.machine()
        assert machine["State"]["Name"] == "running"
        return {one["DeviceName"]: one["Ebs"]["VolumeId"] for one in machine["BlockDeviceMappings"]}

    def volumes(self) -> dict[str, dict[str, str]]:
        """Tags of all volumes by id."""
        shown = self.fast.region.call("ec2", "DescribeVolumes", {})["Volumes"]
        shown = [one for one in shown if one["State"] != "deleting"]
        return {one["VolumeId"]: {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])} for one in shown}


@pytest.fixture
def roots() -> Iterator[Roots]:
    with FastLab(seed=4) as fast:
        yield Roots(fast)


@pytest.mark.parametrize("strategy", ["warm-up-agent", "provisioned-rate", "direct-write"])
def test_ec2_swaps_the_new_volume_in_at_full_speed(roots: Roots, strategy: str) -> None:
    restore_id = roots.restore(strategy)
    ending = ended(roots.fast, restore_id)
    assert ending.kind == "ready", ending
    (new,) = ending.ready
    assert roots.devices() == {roots.device: new}
    assert roots.volumes()[roots.old][REPLACED_TAG] == restore_id


def test_the_messages_and_the_answer_name_the_old_root_volume(roots: Roots) -> None:
    restore_id = roots.restore()
    assert ended(roots.fast, restore_id).kind == "ready"
    (volume,) = roots.record(restore_id)["volumes"]
    assert volume["replaced"]["volumeId"] == roots.old
    assert (volume["replaced"]["device"], volume["replaced"]["state"]) == (roots.device, "replaced")
    plan, ready = roots.told("plan"), roots.told("ready")
    assert f"{roots.instance_id} will reboot, with a new root volume." in plan.splitlines()
    assert f"{roots.instance_id} will reboot: {roots.old} (8 GiB) is its root volume" in plan
    assert "at full speed" in plan
    assert "slowly" not in plan
    assert f"has taken the place of {roots.old}, which is detached, kept" in ready
    assert "boot" in ready
    assert (
        f"create-replace-root-volume-task --instance-id {roots.instance_id} --volume-id {roots.old}" in ready
    )
    assert not any("is attached to" in text for text in roots.texts())


def test_nothing_of_the_instance_changes_until_the_volume_is_at_full_speed(roots: Roots) -> None:
    restore_id = roots.restore("warm-up-agent")
    roots.fast.run(lambda: BESIDE in roots.devices(), most_seconds=600)
    assert roots.devices()[roots.device] == roots.old
    assert ended(roots.fast, restore_id).kind == "ready"


def test_the_deletion_on_termination_stays_with_the_place(roots: Roots) -> None:
    asked = {
        "InstanceId": roots.instance_id,
        "BlockDeviceMappings": [{"DeviceName": roots.device, "Ebs": {"DeleteOnTermination": True}}],
    }
    roots.fast.region.call("ec2", "ModifyInstanceAttribute", asked)
    assert ended(roots.fast, roots.restore()).kind == "ready"
    (attachment,) = roots.machine()["BlockDeviceMappings"]
    assert attachment["Ebs"]["DeleteOnTermination"] is True


def test_where_ec2_fails_the_old_root_volume_stays_and_the_new_one_goes(roots: Roots) -> None:
    roots.fast.region.faults.add(FaultRule("root:replacement", effect="error"))
    ending = ended(roots.fast, roots.restore())
    assert (ending.status, ending.error) == ("failed", "VolumeFailedError"), ending
    assert f"{roots.old} is still the root volume of {roots.instance_id}" in ending.cause
    assert roots.devices() == {roots.device: roots.old}
    assert list(roots.volumes()) == [roots.old]


def test_where_ec2_leaves_no_root_volume_both_are_kept_and_the_way_out_is_named(roots: Roots) -> None:
    roots.fast.region.faults.add(FaultRule("root:replacement", effect="error", code="failed-detached"))
    ending = ended(roots.fast, roots.restore())
    assert (ending.status, ending.error) == ("failed", "VolumeFailedError"), ending
    (new,) = [one for one in roots.volumes() if one != roots.old]
    command = f"aws ec2 attach-volume --instance-id {roots.instance_id} --device {roots.device} --volume-id"
    assert all(words in ending.cause for words in (new, roots.old, command)), ending


def test_a_task_that_does_not_end_is_given_up_and_both_volumes_are_kept(roots: Roots) -> None:
    roots.fast.region.faults.add(FaultRule("root:replacement", effect="stall"))
    ending = ended(roots.fast, roots.restore())
    assert (ending.status, ending.error) == ("failed", "VolumeFailedError"), ending
    assert f"the root volume of {roots.instance_id} within 3" in ending.cause, ending
    assert len(roots.volumes()) == 2


def test_a_root_volume_that_changed_meanwhile_is_not_touched(roots: Roots) -> None:
    """Somebody else has swapped it: what they put there is not what the plan was about."""
    restore_id = roots.restore("warm-up-agent")
    roots.fast.run(lambda: BESIDE in roots.devices(), most_seconds=600)
    other = roots.fast.region.add_volume(size_gib=8)
    task = {"InstanceId": roots.instance_id, "VolumeId": other}
    roots.fast.region.call("ec2", "CreateReplaceRootVolumeTask", task)
    ending = ended(roots.fast, restore_id)
    assert ending.status == "failed", ending
    assert roots.devices() == {roots.device: other}
    assert set(roots.volumes()) == {roots.old, other}


def test_a_cancelled_restore_swaps_nothing(roots: Roots) -> None:
    restore_id = roots.restore("warm-up-agent")
    roots.fast.run(lambda: BESIDE in roots.devices(), most_seconds=600)
    assert roots.fast.api("DELETE", f"/restores/{restore_id}")[0] == 202
    assert ended(roots.fast, restore_id).error == "RestoreCancelledError"
    assert roots.devices() == {roots.device: roots.old}
    assert list(roots.volumes()) == [roots.old]


def test_once_ec2_is_asked_it_cannot_be_cancelled(roots: Roots) -> None:
    restore_id = roots.restore()
    roots.fast.run(lambda: roots.is_swapping(restore_id), most_seconds=3_600)
    status, answer = roots.fast.api("DELETE", f"/restores/{restore_id}")
    assert (status, "can be swapped in again" in answer["detail"]) == (409, True), answer
    assert ended(roots.fast, restore_id).kind == "ready"
    (new,) = [one for one in roots.volumes() if one != roots.old]
    assert roots.devices() == {roots.device: new}


def test_an_execution_that_is_stopped_while_ec2_swaps_loses_no_volume(roots: Roots) -> None:
    restore_id = roots.restore()
    roots.fast.run(lambda: roots.is_swapping(restore_id), most_seconds=3_600)
    for machine in ("RestoreVolumeStateMachine", "RestoreStateMachine"):
        for execution in roots.fast.executions(machine):
            roots.fast.states.stop(execution.arn)
    roots.fast.pass_time(7_200)
    (new,) = [one for one in roots.volumes() if one != roots.old]
    assert roots.devices() == {roots.device: new}


def test_two_restores_never_swap_one_root_volume(roots: Roots) -> None:
    restore_id = roots.restore("warm-up-agent")
    roots.fast.run(lambda: BESIDE in roots.devices(), most_seconds=600)
    status, answer = roots.fast.api("POST", "/restores", roots.asked("warm-up-agent", device=None))
    assert status == 409, answer
    assert f"{roots.device} on {roots.instance_id} is being restored to by {restore_id}" in answer["detail"]
    assert ended(roots.fast, restore_id).kind == "ready"


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        ({"reboot": None}, "target.device: /dev/xvda is the root device"),
        ({"reboot": None}, "what works is target.reboot true"),
        ({"device": BESIDE}, "target.device: nothing is attached at /dev/sdf"),
        ({"mode": "attach", "device": None}, "target.reboot: only goes with target.mode replace"),
        ({"unmount": True}, "target.unmount: does not go with target.reboot"),
        ({"start": True}, "target.start: does not go with target.reboot"),
    ],
)
def test_what_cannot_be_swapped_is_refused(roots: Roots, target: dict[str, Any], refusal: str) -> None:
    status, answer = roots.fast.api("POST", "/plans", roots.asked(**target))
    assert status in {400, 422}, answer
    assert refusal in answer["detail"], answer


def test_the_plan_counts_the_boot_and_says_that_it_is_used_at_the_end(roots: Roots) -> None:
    status, answer = roots.fast.api("POST", "/plans", roots.asked())
    assert status == 200, answer
    (volume,) = answer["plans"]
    assert volume["plan"]["phases"]["boot"][0] > 0
    assert volume["plan"]["usableSeconds"] == volume["plan"]["readyP50Seconds"]


def test_a_fleet_gives_many_instances_their_root_volumes_back(roots: Roots) -> None:
    machines = [roots, Roots(roots.fast), Roots(roots.fast)]
    items = [{"source": one.asked()["source"], "target": one.asked()["target"]} for one in machines]
    status, answer = roots.fast.api("POST", "/fleets", {"source": {"items": items}})
    assert status == 202, answer
    execution = roots.fast.execution("FleetStateMachine", answer["fleetId"])
    assert execution is not None
    roots.fast.finish(execution)
    assert roots.fast.api("GET", f"/fleets/{answer['fleetId']}")[1]["status"] == "ready"
    assert all(one.old not in one.devices().values() for one in machines)
    assert len(roots.volumes()) == 2 * len(machines)


def test_a_real_agent_reads_the_new_root_volume_on_a_real_machine(user: RestoreUser) -> None:
    instance = user.instance(root_size_gib=0)
    old = user.region.add_volume(
        size_gib=1,
        snapshot_id=user.snapshot(),
        attach_to=instance,
        device="/dev/xvda",
        delete_on_termination=True,
    )
    done = user.restore(
        {
            "source": {"snapshotId": user.snapshot(volume_id=old)},
            "target": {"instanceId": instance, "mode": "replace", "reboot": True},
            "objective": {"strategy": "warm-up-agent"},
        }
    )
    assert done.main.status == "SUCCEEDED", done.why
    (new,) = user.volumes_of(done.restore_id)
    (found,) = user.lab.client("ec2").describe_instances(InstanceIds=[instance])["Reservations"]
    (mapped,) = found["Instances"][0]["BlockDeviceMappings"]
    assert (mapped["DeviceName"], mapped["Ebs"]["VolumeId"]) == ("/dev/xvda", new)
    assert mapped["Ebs"]["DeleteOnTermination"]
    counters = user.counters(new)
    assert counters.read_blocks == counters.written_blocks > 0
    assert user.volume(old)["Tags"][REPLACED_TAG] == done.restore_id


@pytest.mark.parametrize("forced", [False, True])
def test_a_volume_without_a_boot_loader_is_swapped_in_only_by_name(user: RestoreUser, forced: bool) -> None:  # noqa: FBT001
    """Its source volume is gone, so only the agent can see that it has just a file system."""
    instance = user.instance()
    snapshot = user.snapshot()
    named = {"forceRoot": snapshot} if forced else {}
    done = user.restore(
        {
            "source": {"snapshotId": snapshot},
            "target": {"instanceId": instance, "mode": "replace", "reboot": True, **named},
            "objective": {"strategy": "warm-up-agent"},
        }
    )
    (found,) = user.lab.client("ec2").describe_instances(InstanceIds=[instance])["Reservations"]
    (mapped,) = found["Instances"][0]["BlockDeviceMappings"]
    if forced:
        assert done.main.status == "SUCCEEDED", done.why
        assert [mapped["Ebs"]["VolumeId"]] == user.volumes_of(done.restore_id)
    else:
        assert "would not boot from" in done.record["failure"]["cause"]
        assert user.volumes_of(done.restore_id) == []
        said = " ".join(texts(one) for one in user.messages(done.restore_id))
        assert f"name {snapshot} in target.forceRoot" in said
