"""What can be wrong with the signals of a volume: metrics, DescribeVolumeStatus and events as they come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from local.aws.region import RegionSettings
from local.aws.region.settings import VolumeSettings as RegionVolumes
from rewarm.domain.model import InitializationStatus

Json = dict[str, Any]
ANOTHER_VOLUME = "vol-0fffffffffffffff0"
STALLS_SOON: Json = {"stalledAfterMinutes": 10}


def missing(_results: list[Json]) -> list[Json]:
    """CloudWatch knows the metrics and has no datapoint."""
    return []


def every_other_minute(results: list[Json]) -> list[Json]:
    """Half the datapoints never arrive."""
    return [one | {"Timestamps": one["Timestamps"][::2], "Values": one["Values"][::2]} for one in results]


def doubled(results: list[Json]) -> list[Json]:
    """Each datapoint comes on two pages."""
    return [one for one in results for _ in range(2)]


def summed_twice(results: list[Json]) -> list[Json]:
    """Each datapoint was published twice, so that its sum is the double."""
    return [one | {"Values": [2 * value for value in one["Values"]]} for one in results]


def reversed_order(results: list[Json]) -> list[Json]:
    """The newest first."""
    return [
        one | {"Timestamps": one["Timestamps"][::-1], "Values": one["Values"][::-1]} for one in results[::-1]
    ]


def with_another_volumes(results: list[Json]) -> list[Json]:
    """A busy volume's datapoints, under an id that nobody asked for, before and after ours."""
    times = results[0]["Timestamps"]
    other = {"Id": "other", "Timestamps": times, "Values": [9e6] * len(times), "StatusCode": "Complete"}
    return [other, *results, other]


def completed_at_75(told: InitializationStatus, *, warm: bool) -> InitializationStatus:
    """As in AWS's own example: the state is ahead of the progress."""
    return told if warm else replace(told, state="completed", progress_percent=75)


def progress_ahead(told: InitializationStatus, *, warm: bool) -> InitializationStatus:
    """100 % while it is still initializing."""
    return told if warm else replace(told, state="initializing", progress_percent=100)


def lost(_events: list[Json]) -> list[Json]:
    """EventBridge's best effort was not enough."""
    return []


def twice(events: list[Json]) -> list[Json]:
    """At least once."""
    return [event for event in events for _ in range(2)]


def of_another_volume(events: list[Json]) -> list[Json]:
    """Every second some other volume has been initialized."""
    return [initialized(ANOTHER_VOLUME), *events]


def region(**volume: Any) -> RegionSettings:
    """A Region whose volumes behave so; status is at most 15 seconds old unless said otherwise."""
    metric_delay = volume.pop("metric_delay_seconds", (0.0, 0.0))
    lag = volume.pop("status_lag_seconds", 15.0)
    return RegionSettings(
        metric_delay_seconds=metric_delay, volume=RegionVolumes(status_lag_seconds=lag, **volume)
    )


def initialized(volume_id: str) -> Json:
    """The event that a volume has been initialized, in the form of AWS's sample pattern."""
    return {
        "detail-type": "EBS Volume Notification",
        "detail": {"event": "initializeVolume", "result": "succeeded"},
        "resources": [f"arn:aws:ec2:us-east-1:123456789012:volume/{volume_id}"],
    }
