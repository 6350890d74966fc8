"""Signals that lie, through the real state machine: test_readiness_table.py has the whole table.

Each restore must become ready, with every block there when it is measured. After the truth it must not have
waited more than 90 s, and AWS's own delay of five minutes, where only AWS can tell. The time in which
functions work is not counted, because it depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pytest

from local.aws.machines.dataplane import VolumeCounters
from local.aws.region.faults import FaultRule
from tests.contract.repository import MACHINES
from tests.support.stack.restores import PATIENT, Restore, RestoreUser, request_for

Json = dict[str, Any]
Prepare = Callable[[RestoreUser, pytest.MonkeyPatch], None]
BOUND_SECONDS = 90.0
STATUS_LAG_SECONDS = 300.0
APPLICATION_OPS_A_SECOND = 40
WARM_READ_SECONDS = 0.0007
VOLUME_EVENT = "event:EBS Volume Notification"


def metrics_late(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    core = user.region._core
    monkeypatch.setattr(core, "settings", replace(core.settings, metric_delay_seconds=(180.0, 180.0)))


def metrics_missing(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user.region._metrics, "publish_due", lambda: None)


def published(user: RestoreUser) -> Callable[[str, list[Json]], None]:
    """Where the Region's metrics go."""
    publish = user.region._metrics._publish
    assert publish is not None
    return publish


def metrics_twice(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = published(user)
    monkeypatch.setattr(user.region._metrics, "_publish", lambda space, data: publish(space, data + data))


def metrics_of_another_volume(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = published(user)

    def publish_both(space: str, data: list[Json]) -> None:
        busy = [
            one | {"Dimensions": [{"Name": "VolumeId", "Value": "vol-0fffffffffffffff0"}]} for one in data
        ]
        publish(space, [*data, *(one | {"Value": 9e6} for one in busy)])

    monkeypatch.setattr(user.region._metrics, "_publish", publish_both)


def agent_silent(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    run = user.lab.machine.run_command

    def run_silently(instance_id: str, script: str, **kwargs: Any) -> Any:
        return run(instance_id, script.replace("/progress.json", "/elsewhere.json"), **kwargs)

    monkeypatch.setattr(user.lab.machine, "run_command", run_silently)


def application_reads(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steadily, as its counters show it; its reads are of blocks that are there."""
    counters, began = user.lab.machine.counters, user.region.now()

    def with_application(volume_id: str) -> VolumeCounters:
        told = counters(volume_id)
        ops = round(APPLICATION_OPS_A_SECOND * (user.region.now() - began))
        return replace(
            told, read_ops=told.read_ops + ops, read_seconds=told.read_seconds + ops * WARM_READ_SECONDS
        )

    monkeypatch.setattr(user.lab.machine, "counters", with_application)


def completed_at_75(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    initializations = user.region._initializations
    describe = initializations.describe

    def ahead(volume: Any, now: float) -> tuple[Json | None, Json | None]:
        detail, status = describe(volume, now)
        if detail is not None and status is not None and detail["Status"] != "completed":
            detail, status = detail | {"Status": "completed"}, status | {"Progress": 75}
        return detail, status

    monkeypatch.setattr(initializations, "describe", ahead)


def events_lost(user: RestoreUser, _monkeypatch: pytest.MonkeyPatch) -> None:
    user.region.faults.add(FaultRule(VOLUME_EVENT, "drop", times=None))


def events_doubled(user: RestoreUser, _monkeypatch: pytest.MonkeyPatch) -> None:
    user.region.faults.add(FaultRule(VOLUME_EVENT, "duplicate", times=None))


def events_early(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the status is asked for, an event says that the volume has been initialized."""
    initializations = user.region._initializations
    describe = initializations.describe

    def with_event(volume: Any, now: float) -> Any:
        user.lab.emulator.put_event(
            "EBS Volume Notification",
            "aws.ec2",
            {"event": "initializeVolume", "result": "succeeded"},
            [user.region.arn(f"volume/{volume.volume_id}")],
        )
        return describe(volume, now)

    monkeypatch.setattr(initializations, "describe", with_event)


@dataclass(frozen=True)
class Row:
    """A strategy with one thing wrong."""

    name: str
    strategy: str
    prepare: Prepare


ROWS = [
    Row("metrics late by 3 minutes", "warm-up-agent", metrics_late),
    Row("no metrics", "warm-up-agent", metrics_missing),
    Row("metrics twice", "warm-up-agent", metrics_twice),
    Row("metrics of another volume", "warm-up-agent", metrics_of_another_volume),
    Row("agent silent", "warm-up-agent", agent_silent),
    Row("an application reads all the time", "warm-up-agent", application_reads),
    Row("completed with progress 75", "background", completed_at_75),
    Row("events lost", "background", events_lost),
    Row("events doubled", "background", events_doubled),
    Row("events out of order, before the time", "background", events_early),
]
ALWAYS = "agent silent"
"""The row that `make test` plays; all of them in `make test-long`."""


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=[] if row.name == ALWAYS else [pytest.mark.long], id=row.name) for row in ROWS],
)
def test_ready_when_it_is_and_not_before(
    user: RestoreUser, monkeypatch: pytest.MonkeyPatch, row: Row
) -> None:
    request = request_for(user, row.strategy) | {"verify": {**PATIENT, "samples": 16}}
    truths = watch_truth(user, monkeypatch)
    row.prepare(user, monkeypatch)
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    volume_id = done.volumes[0].output["volumeId"]
    said, truth = said_at(done), truth_of(user, done, volume_id)
    lag = 0.0 if row.strategy == "warm-up-agent" else STATUS_LAG_SECONDS
    assert truths[volume_id] is True, "said before every block was there"
    assert said >= truth
    assert waited_between(done, truth, said) <= BOUND_SECONDS + lag


def waited_between(done: Restore, begin: float, end: float) -> float:
    """Seconds that the volume's execution spent in states that only wait."""
    states = MACHINES["RestoreVolumeStateMachine"]["States"]
    waits = {
        name
        for name, state in states.items()
        if state["Type"] == "Wait" or "waitFor" in state.get("Resource", "")
    }
    return sum(
        max(0.0, min(visit.left_at or end, end) - max(visit.entered_at, begin))
        for visit in done.volumes[0].visits
        if visit.state in waits
    )


def said_at(done: Restore) -> float:
    """The end of the look that called it ready, which learns in its midst what is true."""
    looks = [visit for visit in done.volumes[0].visits if visit.state == "Poll Initialization"]
    left_at = looks[-1].left_at
    assert left_at is not None
    return left_at


def truth_of(user: RestoreUser, done: Restore, volume_id: str) -> float:
    """The end of the agent's command, or of EBS's loading."""
    dispatch = done.volumes[0].output["dispatch"]
    if dispatch is None:
        loading = user.region._tables.volumes[volume_id].initialization
        assert loading is not None
        assert loading.completed is not None
        return loading.completed
    command = user.lab.client("ssm").get_command_invocation(
        CommandId=dispatch["commandId"], InstanceId=dispatch["instanceId"]
    )
    return datetime.fromisoformat(command["ExecutionEndDateTime"]).timestamp()


def watch_truth(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """By volume: whether every block was there when the measurement after the initialization was sent."""
    found: dict[str, bool] = {}
    run, counters = user.lab.machine.run_command, user.lab.machine.counters

    def run_watched(instance_id: str, script: str, **kwargs: Any) -> Any:
        for volume_id in user.region._tables.volumes:
            if volume_id in script:
                told = counters(volume_id)
                found[volume_id] = told.fetched_blocks == told.written_blocks
        return run(instance_id, script, **kwargs)

    monkeypatch.setattr(user.lab.machine, "run_command", run_watched)
    return found
