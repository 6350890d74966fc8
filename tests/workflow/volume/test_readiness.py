"""When a volume is ready, on the real state machines: cold blocks, a standstill, two days of loading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from tests.contract.repository import MACHINES
from tests.support.stack.endings import assert_failed, assert_kept, break_blocks
from tests.support.stack.restores import Execution, RestoreUser, request_for

Json = dict[str, Any]
EVENTS_OF = {"Task": 5, "Choice": 2, "Wait": 2, "Pass": 2, "Succeed": 2, "Fail": 1}
"""Entered and Exited; a Task is Scheduled, Started and Succeeded between them (botocore HistoryEventType)."""
SUBMITTED = 1
"""More where a Task waits for a token."""
VERY_COLD = "slow 0 2048 0.5"
MEASURED: Json = {"samples": 32, "maxP99Ms": 300}
"""Between half a second of a cold block and what a busy machine makes of a warm one."""


def events_on_aws(execution: Execution) -> int:
    """What AWS would have written of these states; the emulator writes fewer."""
    states = MACHINES["RestoreVolumeStateMachine"]["States"]
    events = {
        name: EVENTS_OF[state["Type"]] + (SUBMITTED if "TaskToken" in state.get("Resource", "") else 0)
        for name, state in states.items()
    }
    return 2 + sum(events[state] for state in execution.states)


def loading(user: RestoreUser, hours: float) -> dict[str, float]:
    """So slow a Region: loading in the background takes so many hours."""
    written_mib = sum(count for _, count in user.image.extents) / 2
    return {"background_mib_s": written_mib / (hours * 3_600)}


@pytest.mark.long
def test_blocks_that_stay_cold_are_warmed_up_again(
    user: RestoreUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS says completed and 100 %, and hardly anything is there: the measurement finds out."""
    request = request_for(user, "provisioned-rate") | {"verify": MEASURED}
    break_blocks(user, monkeypatch, VERY_COLD)
    monkeypatch.setattr(user.lab.machine, "set_initialized_fraction", lambda *_args: None)
    done = user.restore(request)
    volume = done.volumes[0]
    assert done.main.status == "SUCCEEDED", done.why
    assert volume.states.count("Choose Fallback") == volume.states.count("Dispatch Warmer") == 1
    assert (volume.output["warmUps"], volume.output["strategy"]) == (1, "provisioned-rate")
    assert volume.answer("Poll Initialization")["signals"]["agent"]["verdict"] == "complete"
    after = volume.answer("Verify Volume After")
    assert (after["verdict"], after["expected"]["limitedBy"]) == ("fast", "latency of gp3")
    counters = user.counters(volume.output["volumeId"])
    assert counters.fetched_blocks == counters.written_blocks
    measured = user.report(done.restore_id)["results"][0]
    assert measured["before"]["result"]["latencyMs"]["p50"] > measured["after"]["result"]["latencyMs"]["p99"]
    assert sum(one["count"] for one in measured["after"]["result"]["histogram"]) == MEASURED["samples"]


@pytest.mark.long
def test_what_stays_slow_fails_after_one_more_warm_up(user: RestoreUser) -> None:
    request = request_for(user, "warm-up-agent") | {"verify": {"samples": 16, "maxP99Ms": 0.01}}
    done = user.restore(request)
    said = assert_failed(user, done, "VolumeNotFastError", "16 reads of 4 KiB", "0.01 ms is allowed")
    assert "also after a second warm-up" in said
    assert done.volumes[0].states.count("Dispatch Warmer") == 2
    assert_kept(user, done)


@pytest.mark.long
def test_the_agent_takes_over_what_stands_still(user: RestoreUser) -> None:
    request = request_for(user, "provisioned-rate") | {
        "verify": {"samples": 0},
        "readiness": {"stalledAfterMinutes": 10},
    }
    user.region.faults.inject("initialization-stalls")
    done = user.restore(request)
    volume = done.volumes[0]
    assert done.main.status == "SUCCEEDED", done.why
    assert (volume.output["warmUps"], volume.states.count("Dispatch Warmer")) == (1, 1)
    counters = user.counters(volume.output["volumeId"])
    assert counters.fetched_blocks == counters.written_blocks


@pytest.mark.long
def test_two_days_in_the_background_write_less_than_5000_events(
    user: RestoreUser, volumes_take: Callable[..., None]
) -> None:
    """No event tells its end."""
    request = request_for(user, "background") | user.to_zone
    volumes_take(**loading(user, hours=48))
    user.region.faults.add(FaultRule("event:EBS Volume Notification", "drop", times=None))
    started = user.region.now()
    done = user.restore(request)
    lasted_hours = (user.region.now() - started) / 3_600
    assert done.main.status == "SUCCEEDED", done.why
    assert lasted_hours > 47
    counters = user.counters(done.volumes[0].output["volumeId"])
    assert counters.fetched_blocks == counters.written_blocks
    looks = done.volumes[0].states.count("Poll Initialization")
    events = events_on_aws(done.volumes[0])
    print(f"{lasted_hours:.1f} h in {looks} looks and {events} events")
    assert looks > 100
    assert events < 5_000
