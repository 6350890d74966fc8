"""Instances that go away during a restore, and one that shows no volume ids, on the fast lab."""

from __future__ import annotations

from typing import Any

import pytest

from local.soak.lab.endings import RESTORE, VOLUME
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import Execution
from local.soak.trouble.machine_rows import ACTS

XEN = "c4.large"


def restored(lab: FastLab, strategy: str, instance_type: str = "m5.large", **parts: Any) -> Execution:
    """The execution of the only volume, ended."""
    instance_id = lab.region.add_instance(instance_type=instance_type)
    asked = {
        "source": {"snapshotId": lab.region.add_snapshot(size_gib=8, extents=((0, 1_000), (4_000, 1_000)))},
        "target": {"instanceId": instance_id},
        "objective": {"strategy": strategy},
        **parts,
    }
    main = lab.execution(RESTORE, lab.start(asked))
    assert main is not None
    lab.finish(main)
    volume = lab.execution(VOLUME, f"{main.name}-0")
    assert volume is not None
    return volume


def interfere(lab: FastLab, what: str) -> None:
    """Something befalls the instance half way through the warm-up."""
    act = ACTS[what]
    lab.data_plane.troubles.append(Trouble("call", call=lambda *names: act(lab, *names)))


def warm_up_commands(lab: FastLab) -> list[dict[str, Any]]:
    commands = lab.region.call("ssm", "ListCommands", {})["Commands"]
    return [one for one in reversed(commands) if one["Parameters"].get("action") == ["warm"]]


def test_a_reboot_continues_the_same_command() -> None:
    with FastLab(seed=1) as lab:
        interfere(lab, "instance rebooted")
        volume = restored(lab, "warm-up-agent")
        assert volume.status == "SUCCEEDED", volume.cause
        assert [one["Status"] for one in warm_up_commands(lab)] == ["Success"]
        assert volume.visits.count("Wait For Agent") == 0


@pytest.mark.parametrize(
    ("what", "words"),
    [("instance terminated", "is terminated"), ("instance stopped", "is stopped, for 1")],
)
def test_an_instance_that_does_not_come_back_is_named(what: str, words: str) -> None:
    with FastLab(seed=1) as lab:
        interfere(lab, what)
        volume = restored(lab, "warm-up-agent")
        assert (volume.status, volume.error) == ("FAILED", "AgentUnreachableError")
        assert words in volume.cause


def test_a_terminated_instance_is_the_reason_why_its_volume_is_detached() -> None:
    with FastLab(seed=1) as lab:

        def terminate() -> None:
            lab.region.call("ec2", "TerminateInstances", {"InstanceIds": sorted(lab.data_plane.instances)})

        lab.scheduler.after(120, terminate)
        volume = restored(lab, "background", verify={"samples": 0})
        assert (volume.status, volume.error) == ("FAILED", "VolumeFailedError")
        assert "meanwhile: the instance is terminated" in volume.cause


@pytest.mark.parametrize("strategy", ["auto", "provisioned-rate", "background"])
def test_a_xen_instance_gets_a_volume_at_full_speed_that_nobody_measures(strategy: str) -> None:
    with FastLab(seed=1) as lab:
        volume = restored(lab, strategy, XEN)
        assert volume.status == "SUCCEEDED", volume.cause
        assert volume.output["after"]["verdict"] == "unmeasured", volume.output["after"]
        assert lab.region.call("ssm", "ListCommands", {})["Commands"] == []


def test_a_xen_instance_is_refused_to_the_agent_and_to_replace() -> None:
    with FastLab(seed=1) as lab:
        instance_id = lab.region.add_instance(instance_type=XEN)
        snapshot_id = lab.region.add_snapshot(size_gib=8, extents=((0, 10),))
        body = {
            "source": {"snapshotId": snapshot_id},
            "target": {"instanceId": instance_id, "device": "/dev/xvda", "mode": "replace"},
        }
        status, answer = lab.api("POST", "/plans", body)
        assert (status, answer["field"]) == (422, "target.mode"), answer
        plan = {**body, "target": {"instanceId": instance_id}, "objective": {"strategy": "warm-up-agent"}}
        status, answer = lab.api("POST", "/plans", plan)
        assert status == 422, answer
        assert "has no NVMe" in answer["message"]
