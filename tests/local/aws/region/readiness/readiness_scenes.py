"""A volume that is loaded on the simulated Region, looked at by the real step through the real adapters.

Lab time moves second by second. A scene says what happens (an agent, an application) and what is wrong with
the signals; `follow` plays Step Functions: look, wait as told or until an event, look again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from local.aws.region import RegionSettings
from local.aws.wire.inprocess import client
from rewarm.adapters.instances import Ec2Instances, SsmCommands
from rewarm.adapters.performance import CloudWatchMetrics
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.contracts.events import PollInitializationEvent
from rewarm.contracts.results import PollInitializationResult
from rewarm.domain.errors import RestoreError
from rewarm.domain.model import BLOCK_BYTES, GIB, InitializationStatus, Strategy
from rewarm.domain.ready.waits import command_signal, signal_of, volume_signal
from rewarm.steps.warm.poll_initialization import PollInitializationPorts, poll_initialization
from tests.local.aws.machines.fake_dataplane import FakeDataPlane
from tests.local.aws.region.readiness.readiness_faults import initialized
from tests.local.aws.region.region_lab import INSTANCE, Lab
from tests.support.builders import assignment, dispatch, plan, request, warm_result
from tests.support.fakes import FakeArtifacts, FakeTable
from tests.support.wired import wired

Json = dict[str, Any]
PROGRESS_KEY = "restores/scene/0/progress.json"
BLOCKS_A_SECOND = 16
APPLICATION_OPS = 40
WARM_READ_SECONDS = 0.0007
BOUND_SECONDS = 90
LONGEST_SECONDS = 6 * 3_600


@dataclass(frozen=True)
class Scene:
    """One row of the table."""

    name: str
    strategy: Strategy = Strategy.WARM_UP_AGENT
    data_gib: int = 1
    region: RegionSettings = field(default_factory=RegionSettings)
    metrics: Callable[[list[Json]], list[Json]] = list
    """The results of GetMetricData as they come."""
    status: Callable[..., InitializationStatus] = lambda told, **_warm: told
    """DescribeVolumeStatus as it comes; `warm` says whether the volume is."""
    events: Callable[[list[Json]], list[Json]] = list
    """What EventBridge makes of the events of one second."""
    false_alarms: bool = False
    """Every 20 seconds an event says that the volume has been initialized."""
    application: bool = False
    neighbour: bool = False
    silent: bool = False
    agent_share: float = 1.0
    """The share after which the agent stands still."""
    agent_verdict: str = "complete"
    lag_seconds: int = 0
    """How much later than the truth AWS itself says it."""
    planned_seconds: int = 300
    readiness: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What came of a scene; seconds since the first look."""

    ready_seconds: float | None
    warm_seconds: float | None
    failure: str
    looks: int

    @property
    def late_seconds(self) -> float | None:
        """From the truth to the verdict; below 0 is too early."""
        if self.ready_seconds is None:
            return None
        return self.ready_seconds - self.warm_seconds if self.warm_seconds is not None else -1.0


def follow(scene: Scene) -> Outcome:
    """Look until the step says ready or gives up."""
    stage = _Stage(scene)
    previous: PollInitializationResult | None = None
    looks = 0
    while stage.seconds < LONGEST_SECONDS:
        looks += 1
        try:
            previous = stage.look(previous)
        except RestoreError as error:
            return Outcome(None, stage.warm_seconds, type(error).__name__, looks)
        if previous.ready:
            return Outcome(stage.seconds, stage.warm_seconds, "", looks)
        stage.wait(previous.wait_seconds)
    return Outcome(None, stage.warm_seconds, "never", looks)


class _Stage:
    """The Region, the volume, and everybody who reads it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.lab = Lab(scene.region, FakeDataPlane(lambda _script: None))
        self.lab.instance()
        rate = {"VolumeInitializationRate": 100} if scene.strategy is Strategy.PROVISIONED_RATE else {}
        snapshot_id = self.lab.snapshot(size_gib=32, data_gib=scene.data_gib)
        self.volume_id = self.lab.attached(self.lab.volume(SnapshotId=snapshot_id, **rate))
        self.neighbour_id = self.lab.attached(self.lab.volume(Size=1), "/dev/sdg")
        self.plane_volume = self.lab.plane.volumes[self.volume_id]
        self.blocks = scene.data_gib * GIB // BLOCK_BYTES
        self.started = self.lab.clock.now()
        self.warm_seconds: float | None = None
        self.artifacts, self.table = FakeArtifacts(), FakeTable()
        self.command_id = self._send() if scene.strategy.reads_with_agent else None
        self._heard = len(self.lab.events)
        region = self.lab.region
        self.volumes = _Statuses(Ec2VolumeStore(client(region, "ec2")), self)
        self.commands = SsmCommands(client(region, "ssm"), {})
        self.instances = Ec2Instances(client(region, "ec2"), client(region, "ssm"))
        self.metrics = CloudWatchMetrics(_Published(self))  # type: ignore[arg-type]

    @property
    def seconds(self) -> float:
        return self.lab.clock.now() - self.started

    @property
    def warm(self) -> bool:
        return self.plane_volume.fetched >= self.blocks

    def look(self, previous: PollInitializationResult | None) -> PollInitializationResult:
        started_at = datetime.fromtimestamp(self.started, UTC)
        sent = dispatch(command_id=self.command_id or "", instance_id=INSTANCE, progress_key=PROGRESS_KEY)
        event = PollInitializationEvent(
            restore_id="scene",
            now=datetime.fromtimestamp(self.lab.clock.now(), UTC),
            request=request(readiness=self.scene.readiness),
            volume=assignment(
                data_bytes=self.scene.data_gib * GIB, written_blocks=self.blocks, instance_id=INSTANCE
            ),
            volume_id=self.volume_id,
            plan=plan(
                self.scene.strategy,
                ready_p50_seconds=self.scene.planned_seconds,
                ready_p90_seconds=2 * self.scene.planned_seconds,
            ),
            started_at=started_at,
            dispatch=sent.model_copy(update={"started_at": started_at}) if self.command_id else None,
            previous=previous,
        )
        ports: Any = {"volumes": self.volumes, "commands": self.commands, "metrics": self.metrics}
        return poll_initialization(event, wired(PollInitializationPorts, self, **ports))

    def wait(self, seconds: int) -> None:
        """As told, or until an event that is about this volume or its command."""
        wanted = {volume_signal(self.volume_id), command_signal(self.command_id or "none")}
        for _ in range(seconds):
            self._second()
            if any(signal_of(event) in wanted for event in self._events()):
                return

    def _second(self) -> None:
        self._agent()
        if self.scene.application:
            self._read(self.volume_id, APPLICATION_OPS)
        if self.scene.neighbour:
            self._read(self.neighbour_id, 50 * APPLICATION_OPS)
        self.lab.wait(1)
        if self.warm and self.warm_seconds is None:
            self.warm_seconds = self.seconds

    def _events(self) -> list[Json]:
        new, self._heard = self.lab.events[self._heard :], len(self.lab.events)
        told = [
            {"detail-type": kind, "source": source, "detail": detail, "resources": resources}
            for kind, source, detail, resources in new
        ]
        if self.scene.false_alarms and round(self.seconds) % 20 == 0:
            told.insert(0, initialized(self.volume_id))
        return self.scene.events(told)

    def _send(self) -> str:
        answer = self.lab.ssm(
            "SendCommand",
            DocumentName="AWS-RunShellScript",
            InstanceIds=[INSTANCE],
            Parameters={"commands": ["warm"]},
        )
        return str(answer["Command"]["CommandId"])

    def _agent(self) -> None:
        """Reads its blocks, tells it every five seconds, and ends with its account."""
        if not self.lab.plane.commands or self.lab.plane.commands[-1].code is not None:
            return
        left = int(self.scene.agent_share * self.blocks) - self.plane_volume.counters.read_blocks
        self.lab.plane.read_blocks(self.volume_id, min(left, BLOCKS_A_SECOND), seconds=0.9)
        done = self.plane_volume.counters.read_blocks * BLOCK_BYTES
        total = self.blocks * BLOCK_BYTES
        rate = BLOCKS_A_SECOND * BLOCK_BYTES
        account = {"bytesDone": done, "bytesTotal": total, "etaSeconds": (total - done) // rate}
        if not self.scene.silent and round(self.seconds) % 5 == 0:
            self.artifacts.objects[PROGRESS_KEY] = {"event": "progress", **account}
        if done == total:
            result = warm_result(**account, volumeId=self.volume_id, verdict=self.scene.agent_verdict)
            code = 0 if self.scene.agent_verdict == "complete" else 1
            self.lab.plane.commands[-1].end(code, json.dumps(result))

    def _read(self, volume_id: str, ops: int) -> None:
        """Reads of blocks that are local already."""
        volume = self.lab.plane.volumes[volume_id]
        before = volume.counters
        volume.counters = replace(
            before,
            read_ops=before.read_ops + ops,
            read_bytes=before.read_bytes + ops * 4_096,
            read_seconds=before.read_seconds + ops * WARM_READ_SECONDS,
        )


class _Statuses:
    """The port VolumeStore, with the scene's DescribeVolumeStatus."""

    def __init__(self, volumes: Ec2VolumeStore, stage: _Stage) -> None:
        self._volumes, self._stage = volumes, stage
        self.get = volumes.get

    def initialization_status(self, volume_id: str) -> InitializationStatus:
        told = self._volumes.initialization_status(volume_id)
        return self._stage.scene.status(told, warm=self._stage.warm)


class _Published:
    """GetMetricData over what the Region has published, as the scene distorts it."""

    def __init__(self, stage: _Stage) -> None:
        self._stage = stage

    def get_paginator(self, operation: str) -> _Published:
        assert operation == "get_metric_data"
        return self

    def paginate(self, **asked: Any) -> Iterator[Json]:
        assert asked["ScanBy"] == "TimestampAscending"
        start, end = asked["StartTime"], asked["EndTime"]
        results = [self._answer(query, start, end) for query in asked["MetricDataQueries"]]
        for result in self._stage.scene.metrics(results):
            yield {"MetricDataResults": [result]}

    def _answer(self, query: Json, start: datetime, end: datetime) -> Json:
        metric = query["MetricStat"]["Metric"]
        found = [
            (datetime.fromtimestamp(one["Timestamp"], UTC), one["Value"])
            for one in self._stage.lab.metrics
            if (one["MetricName"], one["Dimensions"]) == (metric["MetricName"], metric["Dimensions"])
        ]
        kept = [(minute, value) for minute, value in found if start <= minute < end]
        minutes, values = [minute for minute, _ in kept], [value for _, value in kept]
        return {"Id": query["Id"], "Timestamps": minutes, "Values": values, "StatusCode": "Complete"}
