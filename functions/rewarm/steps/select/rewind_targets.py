"""Which volume goes back to a snapshot, or to what an undo log says, and whether it can.

Both are asked before a restore begins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from rewarm.contracts.request import RestoreRequest
from rewarm.domain.blocks.rewind_facts import MOST_REWOUND, instance_refusal, lineage_refusal, volume_refusal
from rewarm.domain.errors import InvalidRequestError, TargetNotUsableError
from rewarm.domain.model import Instance, InstanceEbsLimits, Volume
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Instances
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.record.bucket import has_agent, undo_head_key, undo_pack_attempt, undo_prefix
from rewarm.steps.select.sources import Chosen, named_snapshot

FIELD = "source.undoOf"
MOST_COUNTED = 10_000
"""The most packs of a log that are counted: 2.4 TiB."""


class RewindChecks(Protocol):
    """The ports for checks of the instance that has the volume."""

    @property
    def instances(self) -> Instances:
        """The instance's type and platform."""

    @property
    def artifacts(self) -> Artifacts:
        """The agents that there are."""


def named_volume(request: RestoreRequest, choice: Chosen) -> str | None:
    """The volume that goes back, if the request or an undo log names it; else the snapshot does."""
    return choice.volume_id or request.target.volume_id


class AskedRewind(Value):
    """The rewind of one volume; `others` are the request's volumes that are chosen already."""

    request: RestoreRequest
    choice: Chosen
    instance: Instance | None
    others: Collection[str | None]


class Rewound(NamedTuple):
    """A volume that goes back, and the device where it stays."""

    volume_id: str
    device: str


def going_back(going: AskedRewind, volumes: Mapping[str, Volume], ports: RewindChecks) -> Rewound | None:
    """The volume that goes back; None if nothing is rewound. Raises TargetNotUsableError and
    InvalidRequestError, with the field, for all that would be refused later.
    """
    request = going.request
    choice = going.choice
    instance = going.instance
    if request.target.mode != "rewind" or instance is None:
        return None
    volume = volumes.get(named_volume(request, choice) or choice.snapshot.volume_id or "")
    if volume is None:
        raise _gone(request, choice)
    device = _device(volume, instance.instance_id)
    if volume.volume_id in going.others:
        raise InvalidRequestError(
            f"two snapshots are of {volume.volume_id}, which can go back to one of them only",
            field="source.volumes",
        )
    _check(request, choice, volume, instance, ports)
    return Rewound(volume.volume_id, device)


def _device(volume: Volume, instance_id: str) -> str:
    found = next((place for place in volume.attachments if place.instance_id == instance_id), None)
    if found is None:
        elsewhere = ", ".join(place.instance_id for place in volume.attachments) or "no instance"
        raise TargetNotUsableError(
            f"found {instance_id}; {volume.volume_id} is attached to {elsewhere}", field="target.instanceId"
        )
    return found.device


def _check(
    request: RestoreRequest, choice: Chosen, volume: Volume, instance: Instance, ports: RewindChecks
) -> None:
    good = choice.snapshot
    is_named = named_volume(request, choice) is not None
    foreign = lineage_refusal(volume, good) if request.target.compare == "snapshots" else None
    if foreign is not None:
        raise TargetNotUsableError(
            f"found snapshots; {foreign}; allowed are device and auto", field="target.compare"
        )
    refusal = volume_refusal(volume, good, is_named=is_named) or refusal_on(
        volume, instance, ports.instances.ebs_limits(instance.instance_type), ports.artifacts
    )
    if refusal is not None:
        raise TargetNotUsableError(f"found rewind; {refusal}", field="target.mode")


def refusal_on(
    volume: Volume, instance: Instance, limits: InstanceEbsLimits, artifacts: Artifacts
) -> str | None:
    """Why the agent on the instance cannot write the volume; None if it can."""
    available = has_agent(instance.platform, instance.architecture, artifacts)
    return instance_refusal(volume, instance, limits, agent_available=available)


def _gone(request: RestoreRequest, choice: Chosen) -> TargetNotUsableError:
    if choice.volume_id is not None:
        return TargetNotUsableError(
            f"found {request.source.undo_of}; {choice.volume_id}, which its undo log is of, is gone",
            field="source.undoOf",
        )
    if request.target.volume_id is not None:
        return TargetNotUsableError(
            f"found {request.target.volume_id}; there is no such volume", field="target.volumeId"
        )
    return TargetNotUsableError(
        "found rewind, and the snapshot's volume is gone; allowed are attach and replace", field="target.mode"
    )


def sources_of_undo(restore_id: str, snapshots: SnapshotCatalog, artifacts: Artifacts) -> list[Chosen]:
    """Each volume of the restore that has an undo log, with the snapshot that it was put back to.

    Raises InvalidRequestError, and every error of the snapshots, with the field source.undoOf.
    """
    chosen = []
    for index in range(MOST_REWOUND):
        head = artifacts.get_json(undo_head_key(restore_id, index))
        found = None if head is None else _undone(restore_id, index, head, snapshots, artifacts)
        if found is not None:
            chosen.append(found)
    if not chosen:
        raise InvalidRequestError(
            f"found {restore_id}, which has no undo log: it never rewound a volume with one, or the log is "
            "deleted. A snapshot of the volume as it was undoes a rewind too: name it in source.snapshotId",
            field=FIELD,
        )
    return chosen


def _undone(
    restore_id: str, index: int, head: JsonObject, snapshots: SnapshotCatalog, artifacts: Artifacts
) -> Chosen | None:
    """The volume of one log, by the log's head; None if the rewind ended before it overwrote a block."""
    volume_id = str(head["volumeId"])
    completed = head.get("completedAt") is not None
    keys = artifacts.written(undo_prefix(restore_id, index), most=MOST_COUNTED)
    attempts = [attempt for key in keys if (attempt := undo_pack_attempt(key)) is not None]
    found = len(attempts)
    packs = int(head.get("packs") or 0)
    if completed and found < min(packs, MOST_COUNTED - 1):
        raise InvalidRequestError(
            f"found {restore_id}, whose undo log of {volume_id} has {found:,} of {packs:,} packs left: the "
            "others are deleted, so it cannot be undone any more",
            field=FIELD,
        )
    if not completed and not found:
        return None
    return Chosen(
        named_snapshot(snapshots, str(head["snapshotId"]), FIELD),
        _because(restore_id, head, tries=len(set(attempts))),
        volume_id=volume_id,
        undo_index=index,
        undo_packs=found,
        undo_blocks=head.get("blocks"),
        undo_alone=not completed or head.get("undoOf") is not None,
    )


def _because(restore_id: str, head: JsonObject, *, tries: int) -> str:
    """Why this snapshot was chosen; `tries` is how many agents have written to the log."""
    volume_id = head["volumeId"]
    because = f"{restore_id} has put {volume_id} back to it"
    if head.get("completedAt") is None:
        because = (
            f"{restore_id} began to put {volume_id} back to it and did not complete that; only the blocks "
            "that it has overwritten are written, and the others stay as they are"
        )
    elif head.get("undoOf"):
        because = (
            f"{restore_id} has undone {head['undoOf']} on {volume_id}; only the blocks that it has "
            "overwritten are written, and the others stay as they are"
        )
    if tries > 1:
        because += (
            "; its agent had to take the volume again, and each block becomes what it had before the first "
            "write to it, also where somebody has written in between"
        )
    return because
