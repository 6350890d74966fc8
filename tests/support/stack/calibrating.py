"""A simulated Region with hidden parameters, in virtual time, and what a calibration finds in it."""

from __future__ import annotations

import io
import json
import math
import random
from dataclasses import dataclass
from typing import Any

import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from moto.core.request import normalize_request

from local.aws.clock import ManualClock
from local.aws.region import FastRestoreSettings, Region, RegionSettings, SnapshotSettings, VolumeSettings
from local.aws.region.settings import CommandSettings
from local.aws.wire.protocol import Protocol
from local.documents import contents
from local.soak.lab.instances.calibration import FirstTouchModel
from local.soak.lab.instances.data_plane import MemoryDataPlane
from local.soak.lab.scheduler import Future, Scheduler
from local.soak.lab.services import CloudWatch
from rewarm_cli.calibrate.cloud import Clients, Clock, Cloud, Where
from rewarm_cli.calibrate.measuring import Measured, Measuring

INSTANCE, ZONE, DOCUMENT, STACK = "i-0123456789abcdef0", "us-east-1a", "rewarm-calibration", "rewarm"
SIZE_GIB = 8
TOLD = {
    "calibration": None, "storedAt": None, "stack": STACK,
    "fsrUsdPerHour": "0.75", "rateUsdPerGibMibS": "0.000012", "storageUsdPerGibMonth": "0.08",
    "pricesAsOf": "2026-09-13T00:00:00Z", "leases": [],
}  # fmt: skip
"""What GET /calibration answers at first."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a calibration is to find."""

    create: float
    attach: float
    detach: float
    snapshot: float
    delivery: float
    metric: tuple[float, float]
    lag: float
    background: float
    advances: bool
    accuracy: float
    touch: FirstTouchModel
    enabling: float
    credits: str
    disabling: float

    @classmethod
    def drawn(cls, seed: int) -> Hidden:
        """By chance, from wide ranges."""
        draw = random.Random(seed)
        least = draw.uniform(20, 120)
        return cls(
            create=draw.uniform(1, 25),
            attach=draw.uniform(1, 15),
            detach=draw.uniform(1, 15),
            snapshot=draw.uniform(20, 300),
            delivery=draw.uniform(0.5, 8),
            metric=(least, least + draw.uniform(10, 120)),
            lag=draw.choice([60.0, 120.0, 180.0, 240.0, 300.0]),
            background=draw.uniform(0.8, 4),
            advances=draw.random() < 0.5,
            accuracy=draw.uniform(0.85, 1.05),
            touch=FirstTouchModel(
                mean_ms=draw.uniform(30, 200),
                sigma=draw.uniform(0.2, 0.7),
                warm_ms=draw.uniform(0.3, 1.2),
                concurrency=draw.randint(8, 80),
                unit_kib=draw.choice([256, 512, 1_024, 2_048]),
                read_ahead_kib=draw.choice([0, 2_048, 4_096]),
            ),
            enabling=draw.uniform(30, 200),
            credits=draw.choice(["enabling", "enabled"]),
            disabling=draw.uniform(10, 100),
        )

    @property
    def settings(self) -> RegionSettings:
        """Of the Region."""
        return RegionSettings(
            volume=VolumeSettings(
                creation_seconds=self.create,
                attach_seconds=self.attach,
                detach_seconds=self.detach,
                background_mib_s=self.background,
                reads_advance_initialization=self.advances,
                provisioned_rate_accuracy=self.accuracy,
                status_lag_seconds=self.lag,
            ),
            fast_restore=FastRestoreSettings(
                enabling_seconds=self.enabling,
                disabling_seconds=self.disabling,
                credits_start_at=self.credits,  # type: ignore[arg-type]
            ),
            snapshot=SnapshotSettings(creation_seconds=self.snapshot, creation_mib_s=math.inf),
            command=CommandSettings(delivery_seconds=self.delivery),
            metric_delay_seconds=self.metric,
        )

    @property
    def figures(self) -> dict[str, float]:
        """As a calibration names them."""
        touch = self.touch
        p90 = touch.mean_ms * 2.718281828 ** (1.2815516 * touch.sigma - touch.sigma**2 / 2)
        return {
            "createSeconds": self.create,
            "attachSeconds": self.attach,
            "detachSeconds": self.detach,
            "snapshotSeconds": self.snapshot,
            "deliverySeconds": self.delivery,
            "metricDelaySeconds": sum(self.metric) / 2,
            "statusLagSeconds": self.lag,
            "backgroundMibS": self.background,
            "rateDelivered": self.accuracy,
            "firstTouchMs": touch.mean_ms,
            "firstTouchP90Ms": p90,
            "warmReadMs": touch.warm_ms,
            "fetchConcurrency": float(touch.concurrency),
            "fetchUnitKib": float(touch.unit_kib),
            "readAheadKib": float(touch.read_ahead_kib),
            "fsrEnablingSeconds": self.enabling,
            "fsrOptimizingSeconds": 3_600 * SIZE_GIB / 1_024,
            "fsrDisablingSeconds": self.disabling,
        }

    @property
    def answers(self) -> dict[str, Any]:
        """Those that are no figures."""
        return {
            "readsAdvanceProgress": self.advances,
            "readWarmsBlock": self.touch.unit_kib >= 512,
            "fsrCreditsBegin": self.credits,
        }


class CalibrationLab:
    """One Region, one instance, and virtual time that passes only while a calibration sleeps."""

    def __init__(self, hidden: Hidden, seed: int = 0) -> None:
        self.scheduler = Scheduler(ManualClock(), random.Random(seed))
        self.cloudwatch = CloudWatch()
        self.data_plane = MemoryDataPlane(self.scheduler, _NoStore(), random.Random(seed + 1), self._nudge)
        self.data_plane.first_touch = hidden.touch
        self.region = Region(
            self.scheduler.clock, self.data_plane, hidden.settings, publish=self.cloudwatch.publish
        )
        self.region.add_instance(instance_id=INSTANCE, zone=ZONE)
        content = json.dumps(contents()["CalibrationDocument"])
        self.region.call(
            "ssm", "CreateDocument",
            {"Name": DOCUMENT, "Content": content, "DocumentType": "Command", "DocumentFormat": "JSON"},
        )  # fmt: skip
        clients = {name: self._client(name) for name in ("ec2", "ssm", "pricing")}
        self.clients = Clients(cloudwatch=self, **clients)
        self.clock = Clock(lambda: self.scheduler.now, self.pass_time)
        self.where = Where(INSTANCE, "m5.large", ZONE, "us-east-1", STACK, DOCUMENT)

    def cloud(self, name: str = "calibration-1") -> Cloud:
        """For one calibration."""
        return Cloud(self.clients, self.clock, self.where, name, lambda *_: None)

    def calibrate(self, *ways: str) -> Measured:
        """All that it finds; what it made is removed."""
        cloud, said = self.cloud(), []
        found = Measuring(cloud, SIZE_GIB, ways, said.append).run()
        assert cloud.remove_all(said.append) == []
        return found

    def get_metric_data(self, **params: Any) -> Any:
        """CloudWatch's, with whole seconds for times."""
        self.region.tick()
        times = {name: params[name].timestamp() for name in ("StartTime", "EndTime")}
        return self.cloudwatch.answer("GetMetricData", {**params, **times})

    def pass_time(self, seconds: float) -> None:
        """Let things happen."""
        over = Future()
        self.scheduler.after(seconds, over.settle)
        while not over.done:
            timers = self.region._core._timers
            due, other = (timers[0][0] if timers else None), self.scheduler.next_due()
            if due is not None and (other is None or due <= other):
                self.scheduler.clock.advance(max(0.0, due - self.scheduler.now))
                self.region.tick()
            else:
                self.scheduler.step()

    def _nudge(self) -> None:
        self.scheduler.at(self.scheduler.now, self.region.tick)

    def _client(self, service: str) -> Any:
        session = botocore.session.Session()
        session.set_credentials("local", "local")
        made = session.create_client(
            service, region_name="us-east-1", endpoint_url="http://127.0.0.1:1",
            config=Config(retries={"total_max_attempts": 1}),
        )  # fmt: skip
        protocol = Protocol(self.region)

        def answer(request: AWSPreparedRequest, **_kwargs: Any) -> AWSResponse:
            response = protocol.answer(normalize_request(request))
            headers: Any = dict(response.headers)
            return AWSResponse(request.url, response.status_code, headers, _Raw(response.get_data()))

        made.meta.events.register("before-send", answer)
        return made


class _Raw(io.BytesIO):
    def stream(self, **_options: Any) -> Any:
        yield self.read()


class _NoStore:
    def get(self, url: str) -> bytes | None:
        raise AssertionError(url)

    def put(self, url: str, body: bytes) -> None:
        raise AssertionError((url, body))
