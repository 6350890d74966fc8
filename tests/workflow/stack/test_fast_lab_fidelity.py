"""The fast lab beside the embedded AWS: the same restore visits the same states and answers alike."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import FaultRule
from local.soak.lab.endings import RESTORE, VOLUME
from local.soak.lab.lab import FastLab
from local.soak.lab.states.machines import Machine
from tests.support.stack.restores import PATIENT

LOOPS = {
    "Wait For Volume",
    "Wait For Attachment",
    "Wait For Measurement Before",
    "Wait For Initialization",
    "Wait For Measurement After",
    "Wait For Snapshot",
    "Await Signal",
    "Await Signal Of Snapshot",
    "Wait For Release",
}
"""How often, and whether, something is waited for depends on how long it takes."""
REFUSED_RATE = FaultRule(
    "CreateVolume", code="VolumeLimitExceeded", times=None, when={"VolumeInitializationRate": "*"}
)


def asked(strategy: str, snapshot_id: str, instance_id: str) -> dict[str, Any]:
    return {
        "source": {"snapshotId": snapshot_id},
        "target": {"instanceId": instance_id},
        "objective": {"strategy": strategy},
        "verify": PATIENT,
    }


def order(visits: list[str], machine: Machine) -> list[str]:
    """The states in the order of their first entry; the embedded AWS keeps no history of those in a Map."""
    known = machine.definition["States"]
    return [state for state in dict.fromkeys(visits) if state in known and state not in LOOPS]


def told(report: dict[str, Any]) -> Any:
    """The verdicts and the members of a report; its figures are those of two different machines."""
    volumes = [(one["verdict"], one["strategy"], one.get("error", "")) for one in report["volumes"]]
    return report["verdict"], sorted(report), volumes


def in_the_fast_lab(strategy: str, image, faults: tuple[FaultRule, ...]):
    with FastLab(seed=1) as lab:
        lab.region.faults.add(*faults)
        snapshot_id = lab.region.add_snapshot(size_gib=image.size_gib, extents=image.extents)
        restore_id = lab.start(asked(strategy, snapshot_id, lab.region.add_instance()))
        main = lab.execution(RESTORE, restore_id)
        lab.finish(main)
        return main, lab.execution(VOLUME, f"{restore_id}-0")


@pytest.mark.parametrize(
    ("strategy", "faults"),
    [
        pytest.param("provisioned-rate", (), marks=pytest.mark.long),
        ("warm-up-agent", ()),
        ("fast-snapshot-restore", ()),
        ("provisioned-rate", (REFUSED_RATE,)),
    ],
    ids=["provisioned-rate", "warm-up-agent", "fast-snapshot-restore", "refused"],
)
def test_both_go_the_same_way(user, image, strategy, faults):
    main, volume = in_the_fast_lab(strategy, image, faults)
    user.region.faults.add(*faults)
    restore = user.restore(asked(strategy, user.snapshot(), user.instance()))

    assert main.status == restore.main.status, restore.why
    for ours, theirs in ((main, restore.main), (volume, restore.volumes[0])):
        assert order(ours.visits, ours.machine) == order(theirs.states, ours.machine)
    assert (main.error, volume.error) == (restore.main.error, restore.volumes[0].error)
    if main.status == "SUCCEEDED":
        assert told(main.output) == told(restore.main.output)
    known = main.machine.definition["States"]
    answers = {state: sorted(answer) for state, answer in main.answers if state in known}
    assert answers == {state: sorted(restore.main.answer(state)) for state in answers}
