"""What an event of AWS is about, so that whoever waits for that looks at once.

Events are best effort: lost, doubled, late or in any order. None of them is believed: each only ends a wait,
and the look that follows asks AWS itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarm.domain.model import CommandStatus

VOLUME_EVENT = "EBS Volume Notification"
FAST_RESTORE_EVENT = "EBS Fast Snapshot Restore State-change Notification"
COMMAND_EVENT = "EC2 Command Invocation Status-change Notification"
INITIALIZED = "initializeVolume"
"""EBS user guide, "EventBridge events for EBS": the sample event has a blank before it, its pattern none."""


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
    snapshot_id, zone = detail.get("snapshot-id"), detail.get("zone")
    return fast_restore_signal(str(snapshot_id), str(zone)) if snapshot_id and zone else None


def _command(_event: Mapping[str, Any], detail: Mapping[str, Any]) -> str | None:
    command_id, status = detail.get("command-id"), str(detail.get("status", ""))
    ended = CommandStatus(status, status, None, "", "").finished
    return command_signal(str(command_id)) if command_id and ended else None


_READERS = {VOLUME_EVENT: _volume, FAST_RESTORE_EVENT: _fast_restore, COMMAND_EVENT: _command}
