"""One volume takes the place of another; whatever fails, the old one is back in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.support.stack.restores import Restore, RestoreUser, texts

Json = dict[str, Any]
DEVICE = "/dev/sdf"
TAG = "rewarm:replaced-by-restore"
HOME = "/var/lib/rewarm"
BY_ID = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol"
DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized.", "status": 403}


class Replacing:
    """A user with an instance that has a volume at DEVICE, and a snapshot of the same size."""

    def __init__(self, user: RestoreUser, *, delete_on_termination: bool = True) -> None:
        self.user = user
        self.instance = user.instance()
        self.kept_on_termination = not delete_on_termination
        self.old = user.region.add_volume(
            size_gib=1,
            snapshot_id=user.snapshot(),
            attach_to=self.instance,
            device=DEVICE,
            delete_on_termination=delete_on_termination,
        )
        self.snapshot = user.snapshot()
        user.mark()

    def request(self, strategy: str = "background", **changes: Any) -> Json:
        target = {"instanceId": self.instance, "device": DEVICE, "mode": "replace"}
        return {
            "source": {"snapshotId": self.snapshot},
            "target": {**target, **changes.pop("target", {})},
            "objective": {"strategy": strategy},
            "verify": {"samples": 0},
            **changes,
        }

    def run(self, script: str) -> None:
        """On the instance, as its owner does."""
        command: Any = self.user.lab.machine.run_command(self.instance, script, environment={})
        assert command.wait(300) == 0, command.output()

    def mount(self, volume_id: str, point: str = f"{HOME}/data") -> None:
        self.run(f"mkdir -p {point} && mount {BY_ID}{volume_id.removeprefix('vol-')} {point}")

    def place(self, volume_id: str) -> list[tuple[str, str, str, bool]]:
        return [
            (one["InstanceId"], one["Device"], one["State"], one["DeleteOnTermination"])
            for one in self.user.volume(volume_id)["Attachments"]
        ]

    @property
    def in_place(self) -> list[tuple[str, str, str, bool]]:
        return [(self.instance, DEVICE, "attached", not self.kept_on_termination)]

    def assert_back(self, done: Restore) -> str:
        """Everything is as it was, and the message says so."""
        assert done.main.status == "FAILED", done.why
        assert self.place(self.old) == self.in_place
        assert not [key for key in self.user.volume(self.old)["Tags"] if key.startswith("rewarm:")]
        return texts(self.user.messages(done.restore_id)[-1])

    def assert_out(self, restore_id: str) -> None:
        """The old volume is detached, and kept with its tag."""
        volume = self.user.volume(self.old)
        assert volume["State"] == "available"
        assert volume["Tags"][TAG] == restore_id


@pytest.fixture
def replacing(user: RestoreUser) -> Replacing:
    return Replacing(user)


def new_volume(user: RestoreUser, done: Restore) -> str:
    (volume_id,) = user.volumes_of(done.restore_id)
    return volume_id


# ------------------------------------------------------------------------------------------ it succeeds
def test_the_new_volume_is_in_the_place_and_the_old_one_kept(user: RestoreUser, replacing: Replacing) -> None:
    done = user.restore(replacing.request("warm-up-agent", verify={"maxP99Ms": 2_000}))
    assert done.main.status == "SUCCEEDED", done.why
    new = new_volume(user, done)
    assert replacing.place(new) == replacing.in_place
    replacing.assert_out(done.restore_id)
    counters = user.counters(new)
    assert counters.read_blocks == counters.written_blocks
    user.lab.client("ec2").attach_volume(
        VolumeId=replacing.old, InstanceId=replacing.instance, Device="/dev/sdg"
    )
    was, is_now = (user.checksum(replacing.instance, volume_id) for volume_id in (replacing.old, new))
    assert is_now == was
    text = texts(user.messages(done.restore_id)[-2])
    assert f"{new} has taken the place of {replacing.old}" in text
    assert f"Delete {replacing.old} when you no longer need it" in text
    (volume,) = done.record["volumes"]
    assert (volume["replaced"]["volumeId"], volume["replaced"]["state"]) == (replacing.old, "replaced")
    (plan,) = user.report(done.restore_id)["plans"]
    assert plan["volume"]["replaces"]["volumeId"] == replacing.old


@pytest.mark.long
def test_it_is_kept_on_termination_where_it_was_so(user: RestoreUser) -> None:
    replacing = Replacing(user, delete_on_termination=False)
    done = user.restore(replacing.request())
    assert done.main.status == "SUCCEEDED", done.why
    assert replacing.place(new_volume(user, done)) == replacing.in_place


@pytest.mark.long
def test_each_volume_of_an_instance_takes_its_own_place(user: RestoreUser, replacing: Replacing) -> None:
    second = user.region.add_volume(
        size_gib=1, snapshot_id=user.snapshot(), attach_to=replacing.instance, device="/dev/sdg"
    )
    user.snapshot(volume_id=replacing.old)
    user.snapshot(volume_id=second)
    request = replacing.request() | {
        "source": {"instanceId": replacing.instance, "devices": [DEVICE, "/dev/sdg"]},
        "target": {"instanceId": replacing.instance, "mode": "replace"},
    }
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    devices = sorted(replacing.place(one)[0][1] for one in user.volumes_of(done.restore_id))
    assert devices == [DEVICE, "/dev/sdg"]
    assert {user.volume(one)["State"] for one in (replacing.old, second)} == {"available"}


@pytest.mark.long
def test_the_old_volume_leaves_only_when_the_new_one_is_there(
    user: RestoreUser, replacing: Replacing
) -> None:
    done = user.restore(replacing.request())
    states = done.volumes[0].states
    assert states.index("Replace Check") < states.index("Create Volume")
    assert (
        states.index("Is Volume Available?")
        < states.index("Replace Detachment")
        < states.index("Attach Volume")
    )


def test_the_plan_says_which_volume_would_be_replaced(user: RestoreUser, replacing: Replacing) -> None:
    answer = user.call("POST", "/plans", replacing.request())
    assert answer.status == 200, answer
    assert answer.body["plans"][0]["volume"]["replaces"] == {
        "volumeId": replacing.old, "sizeGib": 1, "deleteOnTermination": True, "rootDevice": None,
        "usdPerMonth": "0.080000", "volumeType": "gp3",
    }  # fmt: skip
    assert any(f"{replacing.old} (1 GiB), now {DEVICE}" in note for note in answer.body["summary"]["notes"])
    assert replacing.place(replacing.old) == replacing.in_place


# ------------------------------------------------------------------------------------ it is not done
def root(replacing: Replacing) -> Json:
    return replacing.request(target={"device": "/dev/xvda"})


def nothing_there(replacing: Replacing) -> Json:
    return replacing.request(target={"device": "/dev/sdh"})


def no_device(replacing: Replacing) -> Json:
    return replacing.request(target={"device": None})


def unmount_alone(replacing: Replacing) -> Json:
    return replacing.request(target={"mode": "attach", "unmount": True})


@pytest.mark.parametrize(
    ("request_of", "status", "field", "words"),
    [
        (root, 422, "target.device", "target.reboot true"),
        (nothing_there, 400, "target.device", "nothing is attached at /dev/sdh"),
        (no_device, 400, "target.device", "is missing: target.mode replace needs the device"),
        (unmount_alone, 400, "target.unmount", "only goes with target.mode replace"),
    ],
)
def test_what_cannot_be_replaced_is_refused_at_once(
    user: RestoreUser,
    replacing: Replacing,
    request_of: Callable[[Replacing], Json],
    status: int,
    field: str,
    words: str,
) -> None:
    answer = user.call("POST", "/restores", request_of(replacing))
    assert (answer.status, answer.body["field"]) == (status, field), answer
    assert words in answer.body["message"]


def test_a_mounted_volume_is_refused_before_anything_is_made(user: RestoreUser, replacing: Replacing) -> None:
    replacing.mount(replacing.old)
    done = user.restore(replacing.request())
    text = replacing.assert_back(done)
    assert "VolumeInUseError" in done.volumes[0].error
    assert f"mounted at {HOME}/data" in text
    assert "target.unmount true" in text
    assert "Create Volume" not in done.volumes[0].states
    assert user.left() == {}
    replacing.run(f"umount {HOME}/data")


def test_it_is_unmounted_where_the_request_says_so(user: RestoreUser, replacing: Replacing) -> None:
    replacing.mount(replacing.old)
    done = user.restore(replacing.request(target={"unmount": True}))
    assert done.main.status == "SUCCEEDED", done.why
    replacing.assert_out(done.restore_id)
    text = "\n".join(texts(one) for one in user.messages(done.restore_id))
    assert f"It was mounted at {HOME}/data" in text


# --------------------------------------------------------------------------------- whatever fails
FAULTS = {
    "the check is denied": FaultRule("SendCommand", times=None, **DENIED),
    "the volume is not made": FaultRule("CreateVolume", times=None, **DENIED),
    "the volume never becomes available": FaultRule("volume:creation", "volume-error"),
    "the tags are denied": FaultRule("CreateTags", times=None, **DENIED),
    "the detachment is denied": FaultRule("DetachVolume", times=None, **DENIED),
    "the attachment is denied": FaultRule("AttachVolume", times=1, **DENIED),
    "DeleteOnTermination is denied": FaultRule("ModifyInstanceAttribute", times=1, **DENIED),
}


PLAYED_AT_ONCE = {"the check is denied", "the detachment is denied", "DeleteOnTermination is denied"}
"""Before the volume is made, before the old one leaves, and after it. `make test-long` plays all."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in PLAYED_AT_ONCE else [pytest.mark.long]) for name in FAULTS],
)
def test_the_old_volume_is_in_its_place_after_a_failure(
    user: RestoreUser, replacing: Replacing, name: str
) -> None:
    user.region.faults.add(FAULTS[name])
    done = user.restore(replacing.request())
    replacing.assert_back(done)
    assert user.volumes_of(done.restore_id) == []
    assert user.left() == {}


@pytest.mark.long
def test_what_was_announced_is_kept_beside_the_old_volume(user: RestoreUser, replacing: Replacing) -> None:
    request = replacing.request(verify={"samples": 16, "maxP99Ms": 0.01})
    done = user.restore(request)
    text = replacing.assert_back(done)
    new = new_volume(user, done)
    assert replacing.place(new) == []
    assert user.volume(new)["Tags"]["rewarm:failed"] == done.restore_id
    assert f"{replacing.old} is back in its place" in text
    assert new in text


@pytest.mark.long
def test_with_keep_the_new_volume_stays_in_the_place(user: RestoreUser, replacing: Replacing) -> None:
    request = replacing.request(verify={"samples": 16, "maxP99Ms": 0.01}, onFailure="keep")
    done = user.restore(request)
    assert done.main.status == "FAILED", done.why
    assert replacing.place(new_volume(user, done)) == replacing.in_place
    replacing.assert_out(done.restore_id)
    assert f"{replacing.old} is detached and kept" in texts(user.messages(done.restore_id)[-1])


@pytest.mark.parametrize(
    "operation", ["CreateTags", "DetachVolume", "AttachVolume", "ModifyInstanceAttribute"]
)
@pytest.mark.long
def test_a_lost_answer_changes_nothing(user: RestoreUser, replacing: Replacing, operation: str) -> None:
    """As where a function ends after the effect: botocore, or the state, does it again."""
    user.region.faults.add(FaultRule(operation, "lost-answer", code="InternalError", status=500, times=3))
    done = user.restore(replacing.request())
    assert done.main.status == "SUCCEEDED", done.why
    assert replacing.place(new_volume(user, done)) == replacing.in_place
    replacing.assert_out(done.restore_id)


@pytest.mark.parametrize("operation", ["DetachVolume", "AttachVolume"])
@pytest.mark.long
def test_throttling_on_the_way_back_is_waited_out(
    user: RestoreUser, replacing: Replacing, operation: str
) -> None:
    user.region.faults.add(FaultRule("AttachVolume", times=1, **DENIED))
    throttled = {"code": "RequestLimitExceeded", "message": "Request limit exceeded.", "status": 503}
    user.region.faults.add(FaultRule(operation, skip=1, times=8, **throttled))
    done = user.restore(replacing.request())
    replacing.assert_back(done)


@pytest.mark.long
def test_a_new_volume_that_is_mounted_stays_until_the_sweeper_may_take_it_out(
    user: RestoreUser, replacing: Replacing
) -> None:
    request = replacing.request(verify={"samples": 16, "maxP99Ms": 0.01})
    restore_id = user.start(request)
    user.wait_for_state(restore_id, "Poll Initialization")
    (new,) = user.volumes_of(restore_id)
    replacing.mount(new)
    done = user.finished(restore_id)
    assert done.main.status == "FAILED", done.why
    text = texts(user.messages(restore_id)[-1])
    assert f"{new} is at {DEVICE} on {replacing.instance}, mounted at {HOME}/data" in text
    assert replacing.place(new) == replacing.in_place
    replacing.run(f"umount {HOME}/data")
    user.lab.client("lambda").invoke(FunctionName=user.lab.outputs["SweepFunctionName"], Payload=b"{}")
    assert replacing.place(new) == []
    replacing.assert_back(done)


@pytest.mark.long
def test_a_restore_that_is_stopped_is_undone_by_the_sweeper(user: RestoreUser, replacing: Replacing) -> None:
    request = replacing.request(verify={"samples": 16})
    restore_id = user.start(request)
    user.wait_for_state(restore_id, "Attach Volume")
    states = user.lab.client("stepfunctions")
    for machine in ("RestoreStateMachineArn", "RestoreVolumeStateMachineArn"):
        arn = user.lab.outputs[machine]
        for one in states.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]:
            states.stop_execution(executionArn=one["executionArn"])
    for _ in range(3):
        user.lab.client("lambda").invoke(FunctionName=user.lab.outputs["SweepFunctionName"], Payload=b"{}")
        if replacing.place(replacing.old) == replacing.in_place:
            break
    assert replacing.place(replacing.old) == replacing.in_place


def test_a_cancelled_restore_puts_it_back(user: RestoreUser, replacing: Replacing) -> None:
    with user.lab.clock.busy():
        restore_id = user.start(replacing.request())
        user.wait_for_state(restore_id, "Replace Detachment")
        assert user.call("DELETE", f"/restores/{restore_id}").status == 202
    done = user.finished(restore_id)
    replacing.assert_back(done)
    assert done.record["status"] == "cancelled"
