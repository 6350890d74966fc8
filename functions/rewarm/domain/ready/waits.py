"""How long until the next check of a volume that is being loaded, and which event of AWS ends the wait early.

Waits are short near the end and long before. A check and its wait write up to 14 of an execution's 25,000
history events. AWS's events are best effort: lost, repeated, late or in any order. So an event only ends a
wait, and the step then asks AWS itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rewarm.domain.model import CommandStatus

AGENT_WAIT_SECONDS = (5, 60)
NEAR_END_SECONDS, NEAR_END_WAIT_SECONDS = 10, 2
"""This close to its end, the next look is when the agent should have finished, but no sooner than this."""
LONG_RUN_SECONDS = 3_600
LONG_RUN_WAIT_SECONDS = 300
LONG_RUN_FRACTION = 1 / 200
"""Where the agent's remaining time is unknown or out of date, the time spent bounds the number of looks."""
METRIC_WAIT_SECONDS = 30
STATUS_WAIT_SECONDS = (30, 900)
PLANNED_WAIT_SECONDS = 60
"""While the plan leaves as much: AWS's figures are older, and EC2 limits describe calls a second."""
LONG_STATUS_FRACTION = 1 / 200
LONGEST_STATUS_WAIT_SECONDS = 6 * 3_600
"""What has taken days may wait longer between two looks: two months must fit an execution's history."""
STATUS_LAG_SECONDS = 300
"""EBS user guide, "Monitor volume initialization": up to 5 minutes until the information is updated."""
SPENT_FRACTION = 1 / 10
"""Loading may go faster than anybody said: what has taken an hour is looked at within 6 minutes."""
LEAST_SPENT_FRACTION = 1 / 2_000
"""At the very end of two days, a minute and a half is as good as 30 seconds."""
LEAST_WAIT_CAP_SECONDS = 60
LEAST_LONG_FRACTION = 1 / 20_000
"""The last per cent of two months is half a day: not a look each minute."""
STANDING_FRACTION = 1 / 50
"""The remaining time that AWS names stands still with the volume: days of that must not fill the history."""

VOLUME_EVENT = "EBS Volume Notification"
FAST_RESTORE_EVENT = "EBS Fast Snapshot Restore State-change Notification"
COMMAND_EVENT = "EC2 Command Invocation Status-change Notification"
INITIALIZED = "initializeVolume"
"""EBS user guide, "EventBridge events for EBS": the sample event has a blank before it, its pattern none."""


def agent_wait_seconds(eta_seconds: int | None, spent_seconds: float = 0.0) -> int:
    """A quarter of what is left, 5 to 60 s; up to 300 s where hours are left or were spent.

    At the beginning and near the end the next look is due at once: seconds count there.
    """
    by_time_spent = min(LONG_RUN_WAIT_SECONDS, round(spent_seconds * LONG_RUN_FRACTION))
    return max(_by_agents_estimate(eta_seconds, spent_seconds), by_time_spent)


def _by_agents_estimate(eta_seconds: int | None, spent_seconds: float) -> int:
    low, high = AGENT_WAIT_SECONDS
    if eta_seconds is None:
        return NEAR_END_WAIT_SECONDS if spent_seconds < NEAR_END_SECONDS else low
    if eta_seconds <= NEAR_END_SECONDS:
        return max(NEAR_END_WAIT_SECONDS, eta_seconds)
    if eta_seconds > LONG_RUN_SECONDS:
        return max(high, min(LONG_RUN_WAIT_SECONDS, eta_seconds // 60))
    return max(low, min(high, eta_seconds // 4))


def metric_wait_seconds(patience_seconds: float, first_possible_seconds: float = 0.0) -> int:
    """Returns the seconds until the next datapoint may be there, at most what is left of the patience.

    No look is due while the first whole minute is not over.
    """
    return max(
        1, min(math.ceil(max(METRIC_WAIT_SECONDS, first_possible_seconds)), math.ceil(patience_seconds))
    )


def status_wait_seconds(
    *,
    aws_seconds_left: float | None,
    planned_seconds_left: float | None,
    progress_percent: int | None,
    spent_seconds: float,
    standing_seconds: float = 0.0,
) -> int:
    """30 s to 15 min, and later up to a two hundredth of the time spent.

    Half of what AWS, the progress or the plan leave, and a minute while the plan leaves one. At most a tenth
    of the time spent, and at least a fiftieth of the time without progress. AWS's figures are up to five
    minutes old, and a whole per cent of two days is half an hour.
    """
    low, high = STATUS_WAIT_SECONDS
    high = max(high, min(LONGEST_STATUS_WAIT_SECONDS, round(spent_seconds * LONG_STATUS_FRACTION)))
    cap = max(LEAST_WAIT_CAP_SECONDS, round(spent_seconds * LEAST_LONG_FRACTION))
    least = max(low, min(cap, round(spent_seconds * LEAST_SPENT_FRACTION)))
    least = max(least, min(high, round(standing_seconds * STANDING_FRACTION)))
    if planned_seconds_left is not None and planned_seconds_left >= PLANNED_WAIT_SECONDS:
        least = max(least, PLANNED_WAIT_SECONDS)
    chances = [spent_seconds * SPENT_FRACTION]
    if aws_seconds_left is not None:
        chances.append((aws_seconds_left - STATUS_LAG_SECONDS) / 2)
    if progress_percent:
        by_progress = spent_seconds * max(0, 99 - progress_percent) / (progress_percent + 1)
        chances.append((by_progress - STATUS_LAG_SECONDS) / 2)
    elif planned_seconds_left is not None:
        chances.append(max(planned_seconds_left / 2, spent_seconds * SPENT_FRACTION / 2))
    return max(least, min(high, round(min(chances))))


def volume_signal(volume_id: str) -> str:
    """The volume was initialized."""
    return f"volume#{volume_id}"


def command_signal(command_id: str) -> str:
    """The command has ended."""
    return f"command#{command_id}"


def fast_restore_signal(snapshot_id: str, availability_zone: str) -> str:
    """Fast snapshot restore of the snapshot has another state there."""
    return f"fsr#{snapshot_id}#{availability_zone}"


def cancel_signal(restore_id: str, index: int) -> str:
    """Somebody wants the restore to stop while this one of its volumes waits."""
    return f"cancel#{restore_id}#{index}"


def approval_signal(restore_id: str) -> str:
    """Somebody approved the restore, or wants it to stop, while it waits for an approval."""
    return f"approval#{restore_id}"


def signal_of(event: Mapping[str, Any]) -> str | None:
    """None for an event that nobody waits for, or that lacks what it should have."""
    reader = _READERS.get(str(event.get("detail-type")))
    detail = event.get("detail")
    return reader(event, detail) if reader is not None and isinstance(detail, Mapping) else None


def _volume(event: Mapping[str, Any], detail: Mapping[str, Any]) -> str | None:
    resources = event.get("resources")
    if str(detail.get("event", "")).strip() != INITIALIZED or not isinstance(resources, list):
        return None
    found = [str(arn).rpartition("/")[2] for arn in resources if "volume/" in str(arn)]
    return volume_signal(found[0]) if found else None


def _fast_restore(_event: Mapping[str, Any], detail: Mapping[str, Any]) -> str | None:
    snapshot_id = detail.get("snapshot-id")
    zone = detail.get("zone")
    return fast_restore_signal(str(snapshot_id), str(zone)) if snapshot_id and zone else None


def _command(_event: Mapping[str, Any], detail: Mapping[str, Any]) -> str | None:
    command_id = detail.get("command-id")
    status = str(detail.get("status", ""))
    ended = CommandStatus(status, status, None, "", "").finished
    return command_signal(str(command_id)) if command_id and ended else None


_READERS = {VOLUME_EVENT: _volume, FAST_RESTORE_EVENT: _fast_restore, COMMAND_EVENT: _command}
