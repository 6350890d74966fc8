"""Recording what is read of a volume, for later restores: `warmer observe` beside the warm-up.

No restore fails or waits for it. What becomes of it is in the volume's record.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.values import DispatchWarmerResult
from rewarm.domain.errors import RestoreError
from rewarm.steps.record.bucket import recording_key
from rewarm.steps.record.volume import KnownRecording, VolumeNotes
from rewarm.steps.warm.agent_command import AgentCommand, AgentPorts, AgentTarget, send

ENDING_SECONDS = 600
"""For the download of the agent, and its last upload."""


def observe(
    request: RestoreRequest, target: AgentTarget, now: datetime, ports: AgentPorts
) -> DispatchWarmerResult:
    """Sends the command once; a later call finds the first one. Notes an error before it raises it."""
    volume = target.volume
    learn = request.warm_up.learn
    seconds = 60 * learn.minutes if learn is not None else 0
    whose = volume.lineage or target.volume_id
    key = recording_key(whose, now, target.restore_id, volume.index, target.volume_id)
    has_map = volume.warm_because is None
    seconds_left = seconds + ENDING_SECONDS
    command = AgentCommand("observe", f"--seconds {seconds}", seconds_left, key, has_map=has_map)
    notes = VolumeNotes(ports.table, target.restore_id, volume.index)
    noted = notes.read().recording
    known = noted if noted.volume_id == target.volume_id else KnownRecording()
    command_id = known.command_id
    key = known.key or key
    if not known.key:
        # A retried state names the same object, to which the command uploads whose answer was lost.
        notes.note_recording(target.volume_id, key=key)
    try:
        command_id = command_id or send(command, target, ports)
    except RestoreError as error:
        with suppress(RestoreError):
            notes.note_recording(target.volume_id, problem=str(error))
        raise
    instance_id = volume.instance_id or ""
    notes.note_recording(target.volume_id, command_id=command_id, instance_id=instance_id, key=key)
    return DispatchWarmerResult(
        command_id=command_id, instance_id=instance_id, progress_key=key, started_at=now, read_ops_before=0
    )
