"""The ports of the step `rewind`."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.ports.snapshots import EvidenceSnapshots, PackStore, SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.rewind.undo_logs import UndoLogPorts
from rewarm.steps.warm.agent_command import AgentPorts


@dataclass(frozen=True, kw_only=True)
class RewindPorts(AgentPorts, UndoLogPorts):
    """The ports that rewind needs."""

    volumes: VolumeStore
    snapshots: SnapshotCatalog
    evidence: EvidenceSnapshots
    packs: PackStore
    look: LookPorts
    stack_name: str
