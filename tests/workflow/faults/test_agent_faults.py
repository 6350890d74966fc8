"""Faults of the agent and of its instance, with the real agent: ready, or failed for the right reason.

An interrupted warm-up goes on from where it was: the volume counts what is read, and a block that is read
twice costs the time of a cold read again on AWS.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from local.aws.machines.dataplane import BLOCK_BYTES
from local.aws.region.commands import invocations
from rewarm.adapters.artifacts import AGENTS_PREFIX
from tests.support.stack.endings import assert_failed, assert_kept
from tests.support.stack.instances_way import InstancesWay
from tests.support.stack.restores import Restore, RestoreUser, request_for, texts

Json = dict[str, Any]
SLOW_MIB_S = 8
"""Slow enough to come in between; 60 MiB take some seconds."""
MOST_READ_TWICE = 32
"""Blocks, for each interruption: what was in flight, and where file systems keep their own structures, which
is read again to know what to read first."""
KILL_AGENT = r"""
for process in /proc/[0-9]*; do
  if tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q '/warmer warm /dev/'; then
    kill -KILL "${process#/proc/}"
  fi
done
"""
KILL_ALL = r"""
for process in /proc/[0-9]*; do
  id="${process#/proc/}"
  if [ "$id" != 1 ] && [ "$id" != $$ ]; then kill -KILL "$id" 2>/dev/null; fi
done
:
"""
"""All but the instance's first process and this one."""
STATES = "/var/lib/rewarm/state"


def warming(user: RestoreUser, *, strategy: str = "warm-up-agent", **changes: Any) -> tuple[str, str]:
    """A restore whose agent has read a part; the ids of restore and volume."""
    request = request_for(user, strategy) | {
        "verify": {"samples": 0}, "warmUp": {"maxMibPerSecond": SLOW_MIB_S}, **changes,
    }  # fmt: skip
    restore_id = user.start(request)
    return restore_id, volume_half_read(user, restore_id)


def volume_half_read(user: RestoreUser, restore_id: str) -> str:
    user.wait_for_state(restore_id, "Poll Initialization")
    (volume_id,) = user.volumes_of(restore_id)
    user.wait_until(
        lambda: user.counters(volume_id).read_blocks >= 16, lambda: f"the agent does not read {volume_id}"
    )
    return volume_id


def instance_of(user: RestoreUser, volume_id: str) -> str:
    return str(user.volume(volume_id)["Attachments"][0]["InstanceId"])


def on_instance(user: RestoreUser, instance_id: str, script: str) -> str:
    """What an administrator does there; the output."""
    command = user.lab.machine.run_command(instance_id, script, environment={})
    user.wait_until(lambda: command.poll() is not None, lambda: f"{instance_id} still runs {script}")
    assert command.poll() == 0, command.output()
    return command.output()[0]


def runs(user: RestoreUser, restore_id: str) -> bool:
    return user.lab.emulator.history(user.arn(0, restore_id))[0] == "RUNNING"


def commands_of(user: RestoreUser, volume_id: str) -> list[Json]:
    """The warm-up commands, the first one first."""
    found = user.lab.client("ssm").list_commands()["Commands"]
    warm = [one for one in found if one["Parameters"].get("volumeId") == [volume_id]]
    return [one for one in reversed(warm) if one["Parameters"]["action"] == ["warm"]]


def assert_read_once(user: RestoreUser, done: Restore, *, interruptions: int = 1) -> None:
    """Ready with everything read, and hardly a block read twice; nothing of it stays on the instance."""
    assert done.main.status == "SUCCEEDED", done.why
    volume_id = str(done.volumes[0].output["volumeId"])
    counters = user.counters(volume_id)
    assert counters.fetched_blocks == counters.written_blocks
    twice = counters.read_bytes / BLOCK_BYTES - counters.written_blocks
    print(f"{twice:.1f} of {counters.written_blocks} blocks read twice")
    assert twice <= (interruptions + 1) * MOST_READ_TWICE < counters.written_blocks
    agent = done.volumes[0].answer("Poll Initialization")["signals"]["agent"]
    assert agent["verdict"] == "complete"
    instance_id = instance_of(user, volume_id)
    assert user.left() == {"volumes": [volume_id], "attachments": [f"{volume_id}:{instance_id}"]}
    assert on_instance(user, instance_id, f"ls -A {STATES}") == ""


def assert_kept_detached(user: RestoreUser, done: Restore) -> None:
    """It was announced, so it stays, without its instance."""
    (volume_id,) = user.volumes_of(done.restore_id)
    assert user.volume(volume_id)["Tags"]["rewarm:failed"] == done.restore_id
    assert user.volume(volume_id)["Attachments"] == []
    assert user.left() == {"volumes": [volume_id]}
    assert f"Left behind: volume {volume_id}" in texts(user.messages(done.restore_id)[-1])


# --------------------------------------------------------------------------------------------- interrupted
def test_an_agent_that_is_killed_goes_on(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user)
    on_instance(user, instance_of(user, volume_id), KILL_AGENT)
    done = user.finished(restore_id)
    assert_read_once(user, done)
    assert len(commands_of(user, volume_id)) == 1, "`warmer run` starts it again"
    assert done.volumes[0].answer("Poll Initialization")["signals"]["agent"]["bytesResumed"] > 0


@pytest.mark.long
def test_a_command_that_is_killed_whole_is_sent_again(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user)
    on_instance(user, instance_of(user, volume_id), KILL_ALL)
    done = user.finished(restore_id)
    assert_read_once(user, done)
    assert [one["Status"] for one in commands_of(user, volume_id)] == ["Failed", "Success"]
    assert done.volumes[0].states.count("Wait For Agent") == 1


def test_an_instance_that_restarts_goes_on(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user)
    user.lab.client("ec2").reboot_instances(InstanceIds=[instance_of(user, volume_id)])
    done = user.finished(restore_id)
    assert_read_once(user, done)
    assert [one["Status"] for one in commands_of(user, volume_id)] == ["Success"], (
        "run again by the SSM agent"
    )
    assert done.volumes[0].states.count("Wait For Agent") == 0


@pytest.mark.long
def test_a_restart_after_which_the_ssm_agent_does_not_run_it_again_is_noticed_by_its_silence(
    user: RestoreUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS documents no end for such a command; here it is in progress until somebody cancels it."""
    commands = user.region._commands
    restore_id, volume_id = warming(user, readiness={"stalledAfterMinutes": 10})
    monkeypatch.setattr(invocations, "MOST_RUNS", 0)
    (sent,) = commands_of(user, volume_id)
    (unheard,) = commands.known[sent["CommandId"]].invocations
    user.lab.client("ec2").reboot_instances(InstanceIds=[instance_of(user, volume_id)])
    done = user.finished(restore_id)
    assert_read_once(user, done)
    assert [one["Status"] for one in commands_of(user, volume_id)] == ["Cancelling", "Success"]
    assert not unheard.over
    assert done.volumes[0].output["warmUps"] == 1


@pytest.mark.long
def test_a_device_with_another_name_after_a_restart_is_found(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user)
    instance_id = instance_of(user, volume_id)
    names = f"readlink -f /dev/disk/by-id/*{volume_id.replace('-', '')}"
    before = on_instance(user, instance_id, names)
    user.lab.client("ec2").reboot_instances(InstanceIds=[instance_id])
    user.lab.machine.rename_device(volume_id, instance_id)
    done = user.finished(restore_id)
    assert on_instance(user, instance_id, names) != before
    assert_read_once(user, done)


@pytest.mark.long
def test_an_instance_that_is_stopped_and_started_goes_on(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user)
    instance_id, ec2 = instance_of(user, volume_id), user.lab.client("ec2")
    ec2.stop_instances(InstanceIds=[instance_id])
    ec2.start_instances(InstanceIds=[instance_id])
    assert_read_once(user, user.finished(restore_id))


@pytest.mark.long
def test_an_agent_that_is_killed_time_and_again_fails(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user, warmUp={"maxMibPerSecond": 2})
    instance_id = instance_of(user, volume_id)
    while runs(user, restore_id):
        on_instance(user, instance_id, KILL_ALL)
        time.sleep(0.2)
    done = user.finished(restore_id)
    assert_failed(user, done, "AgentFailedError", "was interrupted 6 times")
    assert len(commands_of(user, volume_id)) == 6
    assert_kept(user, done)


# ------------------------------------------------------------------------------------------------ gone
@pytest.mark.long
def test_an_instance_that_stays_stopped_fails(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user)
    instance_id = instance_of(user, volume_id)
    user.lab.client("ec2").stop_instances(InstanceIds=[instance_id])
    done = user.finished(restore_id)
    assert_failed(user, done, "AgentUnreachableError", f"{instance_id} is stopped, for 1")
    assert_kept(user, done)


@pytest.mark.long
def test_another_plan_takes_over_where_the_instance_stays_stopped(user: RestoreUser) -> None:
    """The volume was announced, so it stays; what loads it in place is all that is left."""
    restore_id, volume_id = warming(user, strategy="auto")
    user.lab.client("ec2").stop_instances(InstanceIds=[instance_of(user, volume_id)])
    done = user.finished(restore_id)
    assert done.main.status == "SUCCEEDED", done.why
    assert done.volumes[0].output["strategy"] == "background"
    counters = user.counters(volume_id)
    assert counters.fetched_blocks == counters.written_blocks
    assert user.left()["volumes"] == [volume_id]


@pytest.mark.long
def test_an_instance_that_is_terminated_fails(user: RestoreUser) -> None:
    restore_id, volume_id = warming(user)
    instance_id = instance_of(user, volume_id)
    user.lab.client("ec2").terminate_instances(InstanceIds=[instance_id])
    done = user.finished(restore_id)
    assert_failed(user, done, "AgentUnreachableError", f"{instance_id} is terminated")
    assert_kept_detached(user, done)


# ------------------------------------------------------------------------------------------------ disk
@pytest.mark.long
@pytest.mark.parametrize("options", ["size=4k", "size=4k,ro"])
def test_a_disk_that_takes_no_state_stops_nothing(user: RestoreUser, options: str) -> None:
    request = request_for(user, "warm-up-agent") | {"verify": {"samples": 0}}
    instance_id = request["target"]["instanceId"]
    on_instance(user, instance_id, f"mount -t tmpfs -o {options} full /var/lib/rewarm")
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    (command,) = commands_of(user, str(done.volumes[0].output["volumeId"]))
    said = user.lab.client("ssm").get_command_invocation(
        CommandId=command["CommandId"], InstanceId=instance_id
    )["StandardErrorContent"]
    assert "warmer: the warm-up goes on without a state: " in said
    assert "so it runs from where it was downloaded: " in said
    reason = "Read-only file system" if options.endswith("ro") else "No space left on device"
    assert said.count(reason) == 2
    counters = user.counters(str(done.volumes[0].output["volumeId"]))
    assert counters.fetched_blocks == counters.written_blocks


# --------------------------------------------------------------------------------------------- network
@pytest.fixture
def way(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> InstancesWay:
    """Every command's way to S3."""
    made = InstancesWay(user.lab.front)
    monkeypatch.setattr(user.lab.front, "answer", made.answer)
    return made


def test_s3_that_is_back_in_time_is_waited_for(user: RestoreUser, way: InstancesWay) -> None:
    way.cut = {"GET"}
    restore_id = user.start(request_for(user, "warm-up-agent") | {"verify": {"samples": 0}})
    user.wait_for_state(restore_id, "Wait For Agent")
    way.cut = set()
    done = user.finished(restore_id)
    assert_read_once(user, done, interruptions=0)
    sent = commands_of(user, str(done.volumes[0].output["volumeId"]))
    assert [one["Status"] for one in sent][-2:] == ["Failed", "Success"]
    assert "GET" in way.refused


@pytest.mark.long
def test_s3_that_stays_away_fails(user: RestoreUser, way: InstancesWay) -> None:
    way.cut = {"GET", "PUT"}
    done = user.restore(request_for(user, "warm-up-agent") | {"verify": {"samples": 0}})
    assert_failed(
        user, done, "AgentFailedError", "was interrupted 6 times", "could not download the warm-up agent"
    )
    assert_kept(user, done)


@pytest.mark.long
def test_progress_that_reaches_nobody_stops_nothing(user: RestoreUser, way: InstancesWay) -> None:
    """The result comes with the command's output as well."""
    way.cut = {"PUT"}
    done = user.restore(request_for(user, "warm-up-agent") | {"verify": {"samples": 0}})
    assert_read_once(user, done, interruptions=0)
    assert way.refused
    assert "PUT" not in way.carried


# ---------------------------------------------------------------------------------------------- binary
@pytest.fixture
def another_binary(user: RestoreUser) -> Iterator[None]:
    """The bucket has something else under the agent's name, with the checksum of the agent."""
    s3, bucket = user.lab.client("s3"), user.lab.outputs["ArtifactsBucket"]
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix=AGENTS_PREFIX)["Contents"]]
    binaries = {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}
    assert binaries
    for key, content in binaries.items():
        s3.put_object(Bucket=bucket, Key=key, Body=content[:-1] + b"x")
    yield
    for key, content in binaries.items():
        s3.put_object(Bucket=bucket, Key=key, Body=content)


@pytest.mark.long
def test_another_binary_is_never_run(user: RestoreUser, another_binary: None) -> None:
    assert another_binary is None
    done = user.restore(request_for(user, "warm-up-agent") | {"verify": {"samples": 0}})
    assert_failed(user, done, "AgentFailedError", "exit status 65", "checksum is not")
    (command,) = commands_of(user, assert_kept(user, done))
    assert command["Status"] == "Failed"
