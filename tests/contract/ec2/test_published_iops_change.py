"""How soon a change of IOPS shows: the published io2 measurement, on the modelled Region, under load.

16 KiB random writes, 64 jobs: 1,000 to 2,000 IOPS was called at 10:09:40 and was there in the next minute's
datapoint; 5,000 to 100 was called at 10:31:09 and was there within the minute too.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from local.aws.region import RegionSettings
from local.aws.region.settings import VolumeSettings
from local.aws.wire import client
from rewarm.adapters.performance import CloudTrailCalls, Ec2VolumeModifications
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.contracts.results import CheckPerformanceResult
from rewarm.domain.errors import ModificationPostponedError
from rewarm.domain.volume.performance import Activity, ModificationRule
from rewarm.steps.performance.change_performance import (
    ChangePerformanceEvent,
    ChangePerformancePorts,
    change_performance,
)
from rewarm.steps.performance.check_performance import (
    CheckPerformanceEvent,
    CheckPerformancePorts,
    check_performance,
)
from rewarm.steps.performance.routes import (
    PerformancePorts,
    StartPerformanceChangePorts,
    get_performance,
    start_performance_change,
)
from tests.local.aws.region.region_lab import Lab
from tests.support.builders import ALICE
from tests.support.fakes import FakeExecutions, FakeLog, FakeTable
from tests.support.wired import wired
from tests.support.worlds.performance import CHANGE_ID

Json = dict[str, object]
OVERRUN = 1.04
"""Published: 1,053 at 1,000; 2,016 at 2,000; 5,184 at 5,000."""
WITHIN = timedelta(minutes=1)


@dataclass
class LoadedVolume:
    """An io2 volume that 64 jobs write to, as fast as it lets them."""

    iops: int
    lab: Lab = field(
        default_factory=lambda: Lab(
            RegionSettings(metric_delay_seconds=(0.0, 0.0), volume=VolumeSettings(modifying_seconds=15.0))
        )
    )

    def __post_init__(self) -> None:
        self.lab.instance()
        tags = [{"ResourceType": "volume", "Tags": [{"Key": "rewarm:managed", "Value": "true"}]}]
        volume = self.lab.volume(Size=100, VolumeType="io2", Iops=self.iops, TagSpecifications=tags)
        self.volume_id = self.lab.attached(volume)
        ec2 = client(self.lab.region, "ec2")
        self.volumes, self.modifications = Ec2VolumeStore(ec2), Ec2VolumeModifications(ec2)
        self.trail = CloudTrailCalls(client(self.lab.region, "cloudtrail"))
        self.log, self.table, self.executions = FakeLog(), FakeTable(), FakeExecutions()

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.lab.clock.now(), UTC)

    def work(self, seconds: int) -> None:
        """So many seconds of writing."""
        volume = self.lab.plane.volumes[self.volume_id]
        for _ in range(seconds):
            done = int(volume.limits.iops * OVERRUN)
            counters = volume.counters
            volume.counters = replace(
                counters,
                write_ops=counters.write_ops + done,
                write_bytes=counters.write_bytes + done * 16_384,
            )
            self.lab.wait(1)

    def work_until(self, second: int) -> None:
        """Until so many seconds after a full minute, two minutes on at least."""
        self.work(120)
        self.work((second - self.now.second) % 60)

    def activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[Activity]:
        """The method `activity` of the port Metrics: what the Region published."""
        minutes: dict[datetime, dict[str, float]] = defaultdict(dict)
        for one in self.lab.metrics:
            if one["Dimensions"] == [{"Name": "VolumeId", "Value": volume_id}]:
                minutes[datetime.fromtimestamp(one["Timestamp"], UTC)][one["MetricName"]] = one["Value"]
        return [
            Activity(
                minute,
                found["VolumeReadOps"] + found["VolumeWriteOps"],
                found["VolumeReadBytes"] + found["VolumeWriteBytes"],
            )
            for minute, found in sorted(minutes.items())
            if since <= minute < until
        ]

    def ask(self, iops: int) -> Json:
        """POST /volumes/{volumeId}/performance; the execution's input."""
        start_performance_change(
            self.volume_id,
            {"iops": iops},
            change_id=f"{CHANGE_ID}-{iops}",
            by=ALICE,
            now=self.now,
            ports=wired(
                StartPerformanceChangePorts, self, stack_name="rewarm", rule=ModificationRule.FOUR_IN_24_H
            ),
        )
        return self.executions.started[f"{CHANGE_ID}-{iops}"]

    def change(self, iops: int) -> CheckPerformanceResult:
        """What the state machine does, with the load going on."""
        given = self.ask(iops)
        common = {"restoreId": CHANGE_ID, **{key: given[key] for key in ("volumeId", "original", "target")}}
        asked = {**common, "now": self.now, "acceptedAt": given["acceptedAt"]}
        begun = change_performance(
            ChangePerformanceEvent.model_validate(asked), wired(ChangePerformancePorts, self)
        )
        look = {**common, "sizeGib": given["sizeGib"], "startedAt": begun.started_at}
        result, wait = None, begun.wait_seconds
        while result is None or not result.finished:
            self.work(wait)
            result = check_performance(
                CheckPerformanceEvent.model_validate({**look, "now": self.now, "previous": result}),
                wired(CheckPerformancePorts, self, metrics=self),
            )
            wait = result.wait_seconds
        return result


@pytest.mark.parametrize(
    ("before", "after", "second", "rate_before", "rate"),
    [(1_000, 2_000, 40, 1_053.6, 2_016.2), (5_000, 100, 9, 5_183.9, 100)],
)
def test_a_change_of_iops_takes_effect_within_a_minute(
    before: int, after: int, second: int, rate_before: float, rate: float
) -> None:
    volume = LoadedVolume(before)
    volume.work_until(second)
    called = volume.now
    result = volume.change(after)
    assert (result.known_by, result.unit) == ("cloudwatch", "IOPS")
    assert result.took_effect_at is not None
    assert timedelta() < result.took_effect_at - called <= WITHIN
    assert result.rate == pytest.approx(rate, rel=0.05)
    assert max(one.ops / 60 for one in _before(volume, called)) == pytest.approx(rate_before, rel=0.05)
    assert (result.requested_from, result.requested_at - called) == ("ec2", timedelta())


def _before(volume: LoadedVolume, called: datetime) -> list[Activity]:
    minutes = volume.activity(volume.volume_id, since=called - timedelta(minutes=5), until=volume.now)
    return [one for one in minutes if one.minute + timedelta(minutes=1) <= called]


def test_cloudtrail_tells_later_when_it_was_requested() -> None:
    volume = LoadedVolume(1_000)
    volume.work_until(0)
    called = volume.now
    volume.change(2_000)
    volume.table.records[f"{CHANGE_ID}-2000"].update(volume.table.records[CHANGE_ID])
    volume.lab.wait(300)
    told = get_performance(
        volume.volume_id,
        now=volume.now,
        ports=wired(PerformancePorts, volume, rule=ModificationRule.FOUR_IN_24_H),
    )
    assert told["change"]["requestedFrom"] == "cloudtrail"
    assert told["change"]["requestedAt"] == called.isoformat(timespec="seconds").replace("+00:00", "Z")
    assert len(told["slots"]["startedWithin24Hours"]) == 1


def test_the_fifth_change_is_refused_though_others_made_the_first_four() -> None:
    volume = LoadedVolume(1_000)
    first = volume.now
    for iops in (1_100, 1_200, 1_300, 1_400):
        volume.lab.ec2("ModifyVolume", VolumeId=volume.volume_id, Iops=iops)
        volume.lab.wait(7_200)
    with pytest.raises(ModificationPostponedError, match="4 modifications within 24 hours") as caught:
        volume.ask(2_000)
    assert caught.value.retry_at is not None
    assert abs(caught.value.retry_at - (first + timedelta(hours=24))) < timedelta(seconds=1)
    volume.lab.wait((caught.value.retry_at - volume.now).total_seconds() + 1)
    assert volume.ask(2_000)["target"]
    volume.lab.ec2("ModifyVolume", VolumeId=volume.volume_id, Iops=2_000)
