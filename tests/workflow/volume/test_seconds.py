"""No second wasted: what a warm-up restore takes beyond AWS's own waits and the agent's reading.

In the fast lab's virtual time, where a function takes up to 0.4 s and each pause takes what it says. The
table is printed state by state (`pytest -s`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from local.aws.region import RegionSettings
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import Execution
from local.soak.trouble.paths.fleet_paths import PATHS

Json = dict[str, Any]
MOST_SECONDS = 20.0
MOST_STATES = 60
LOOPS = {
    "Wait For Volume": {"Check Volume", "Is Volume Available?"},
    "Wait For Attachment": {"Attach Volume", "Is Volume Attached?"},
    "Wait For Initialization": {"Poll Initialization", "Is Volume Initialized?"},
    "Wait For Measurement After": {"Verify Volume After", "Is Measured After?"},
    "Wait For Confirmation": {"Confirm Readiness", "Is Readiness Confirmed?"},
    "Await Signal Of Snapshot": {"Prepare Snapshot", "Is Snapshot Prepared?"},
    "Wait For Snapshot": {"Prepare Snapshot", "Is Snapshot Prepared?"},
    "Wait For Detachment": {"Replace Detachment", "Is Replaced Volume Out?"},
    "Wait For Release": {"Release", "Is Released?"},
}
"""A look that came too early: the wait, the look after it and the choice."""


@dataclass(frozen=True)
class Run:
    """A restore that has ended, and the volume's own execution."""

    main: Execution
    volume: Execution
    requested: float

    @property
    def ready_at(self) -> float:
        """When the volume was known to be at full speed."""
        return datetime.fromisoformat(self.volume.output["readyAt"]).timestamp()

    def stays(self) -> Iterator[tuple[str, float]]:
        """Each state until then, with its seconds; the volume's in place of the state that started them."""
        for execution in (self.main, self.volume):
            ends = [*execution.entered[1:], execution.stopped or 0.0]
            for state, since, until in zip(execution.visits, execution.entered, ends, strict=True):
                if state != "Restore Volume" and since < self.ready_at:
                    yield state, min(until, self.ready_at) - since

    def not_ours(self, settings: RegionSettings) -> dict[str, float]:
        """Seconds of AWS's own waits, and of the agent's reading by its own clock."""
        account = self.volume.output["initialization"]["signals"]["agent"]
        return {
            "AWS creates the volume": settings.volume.creation_seconds,
            "AWS attaches it": settings.volume.attach_seconds,
            "AWS delivers two commands": 2 * settings.command.delivery_seconds,
            "the agent reads": account["elapsedSeconds"],
        }


def restore(lab: FastLab, strategy: str, gib: int, **request: Json) -> Run:
    instance_id = lab.region.add_instance(instance_type="m5.large")
    snapshot_id = lab.region.add_snapshot(size_gib=2 * gib, extents=[(0, gib * 2_048)])
    requested = lab.scheduler.now
    restore_id = lab.start(
        {
            "source": {"snapshotId": snapshot_id},
            "target": {"instanceId": instance_id},
            "objective": {"strategy": strategy},
            **request,
        }
    )
    main = lab.execution("RestoreStateMachine", restore_id)
    assert main is not None
    assert lab.finish(main).status == "SUCCEEDED", main.cause
    volume = lab.execution("RestoreVolumeStateMachine", f"{restore_id}-0")
    assert volume is not None
    return Run(main, volume, requested)


def table(run: Run, settings: RegionSettings) -> tuple[str, float]:
    """The seconds by state as text, and what is left without AWS and the agent."""
    seconds: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for state, took in run.stays():
        seconds[state] += took
        times[state] += 1
    lines = [
        f"{state:28} {times[state]:2} x {seconds[state]:8.2f} s" for state in seconds if seconds[state] > 0
    ]
    whole, others = run.ready_at - run.requested, run.not_ours(settings)
    lines += [f"{'from trigger to full speed':33} {whole:8.2f} s"]
    lines += [f"{words:33} {-took:8.2f} s" for words, took in others.items()]
    left = whole - sum(others.values())
    lines += [f"{'overhead':33} {left:8.2f} s"]
    return "\n".join(lines), left


@pytest.mark.parametrize(
    ("strategy", "gib"), [("warm-up-agent", 1), ("warm-up-agent", 8), ("warm-up-agent", 64)]
)
def test_a_warm_up_takes_at_most_20_seconds_beyond_aws_and_the_agent(strategy: str, gib: int) -> None:
    settings = RegionSettings()
    with FastLab(gib, settings) as lab:
        text, overhead = table(restore(lab, strategy, gib), settings)
    print(f"\n{strategy}, {gib} GiB\n{text}")
    assert overhead <= MOST_SECONDS, text


def test_a_warm_up_enters_at_most_60_states_besides_looks_that_came_too_early() -> None:
    with FastLab(1) as lab:
        restore(lab, "warm-up-agent", 8)
    assert visits_of(lab)["Poll Initialization"] > 1
    enters_few_states(lab)


@pytest.mark.parametrize("way", ["alarm-with-runbook", "replace", "fast-snapshot-restore", "boosted-warm-up"])
def test_so_does_every_other_way(way: str) -> None:
    with FastLab(1) as lab:
        assert PATHS[way].play(lab).status == "ready"
        enters_few_states(lab)


def visits_of(lab: FastLab) -> Counter[str]:
    return Counter(state for execution in lab.states.executions.values() for state in execution.visits)


def enters_few_states(lab: FastLab) -> None:
    visits = visits_of(lab)
    too_early = sum((1 + len(look)) * visits[wait] for wait, look in LOOPS.items())
    assert sum(visits.values()) - too_early <= MOST_STATES, visits


@pytest.mark.parametrize("samples", [0, 16])
def test_volume_read_ops_is_waited_for_only_where_it_is_the_only_witness(samples: int) -> None:
    with FastLab(3) as lab:
        run = restore(lab, "warm-up-agent", 1, verify={"samples": samples})
        messages = [message["text"] for message in lab.slack]
    finished = datetime.fromisoformat(run.volume.output["initialization"]["agentFinishedAt"]).timestamp()
    waited = run.ready_at - finished
    later = [text for text in messages if text.startswith("VolumeReadOps confirms")]
    assert (waited > 60, len(later)) == ((True, 0) if samples == 0 else (False, 1)), (waited, messages)
