"""The keys of the bucket, each named here only, and presigned links to the page of a restore.

All that belongs to a restore lies below `restores/<restore id>/`, and what belongs to one of its volumes
below the volume's index there. Packs of blocks and their manifests, which S3 deletes after a day, lie below
`deltas/`. What a rewind has overwritten lies below `undo/`, where S3 deletes it as the stack's parameter
UndoLogDays says. To undo the rewind, nothing else is needed. Which blocks applications read lies below
`recordings/`, by lineage. The keys of the agent's binaries are in adapters/artifacts.py.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime

from rewarm.domain.errors import RestoreError, TargetNotUsableError
from rewarm.domain.model import DELTA_SECONDS, VOLUME_ID, Instance
from rewarm.ports.artifacts import Artifacts

_UNDO_OBJECT = re.compile(r"undo/([^/]+)/(\d+)/.+")
RECORDINGS = "recordings/"
_RECORDING = re.compile(rf"{RECORDINGS}([^/]+)/(\d{{10}})-([^/]+?)-(\d+)(?:-({VOLUME_ID}))?")
_LATEST = 9_999_999_999
"""Seconds since 1970. A recording's key has the seconds left until then, so S3 lists the newest first."""
_UNDO_PACK = re.compile(r"undo/[^/]+/\d+/(\d+)/\d{6,}-\d{3,}")
ANSWER_SECONDS = 3_600
"""The longest life of a link, which ends with the credentials of the function that signed it (S3 user guide,
"Sharing objects with presigned URLs"). GET /restores/{id} returns a new one."""


def agent_parameters(instance: Instance, artifacts: Artifacts, *, expires_seconds: int) -> dict[str, str]:
    """Where a document downloads the agent for the instance. Raises TargetNotUsableError if there is none."""
    key, sha256 = artifacts.agent(instance.platform, instance.architecture)
    return {"agentUrl": artifacts.download_url(key, expires_seconds=expires_seconds), "agentSha256": sha256}


def has_agent(platform: str, architecture: str, artifacts: Artifacts) -> bool:
    """Whether there is an agent for such an instance."""
    try:
        artifacts.agent(platform, architecture)
    except TargetNotUsableError:
        return False
    return True


def volumes_key(restore_id: str) -> str:
    """The volumes to be made, as `Select Snapshot` chose them."""
    return f"{_restore(restore_id)}/volumes.json"


def plans_key(restore_id: str) -> str:
    """The plans of all volumes."""
    return f"{_restore(restore_id)}/plans.json"


def plan_key(restore_id: str, index: int) -> str:
    """The plan of one volume."""
    return f"{_volume(restore_id, index)}/plan.json"


def result_key(restore_id: str, index: int) -> str:
    """The result of one volume's execution."""
    return f"{_volume(restore_id, index)}/result.json"


def samples_key(restore_id: str, index: int) -> str:
    """The progress of a volume's initialization over time."""
    return f"{_volume(restore_id, index)}/samples.json"


def block_map_key(restore_id: str, index: int) -> str:
    """The block map: which blocks of the snapshot are written, as the agent reads it."""
    return f"{_volume(restore_id, index)}/blocks.map"


def first_map_key(restore_id: str, index: int) -> str:
    """The blocks to read first: those that the request names, and then the hot set."""
    return f"{_volume(restore_id, index)}/first.map"


def recordings_prefix(lineage: str) -> str:
    """Where the recordings of a lineage are (domain/volume/hot.py)."""
    return f"{RECORDINGS}{lineage}/"


def recording_key(lineage: str, at: datetime, restore_id: str, index: int, volume_id: str) -> str:
    """Where the agent uploads what an application reads of a volume from then on."""
    began = f"{_LATEST - int(at.timestamp()):010d}"
    return f"{recordings_prefix(lineage)}{began}-{restore_id}-{index}-{volume_id}"


def recording_of(key: str) -> tuple[str, datetime, str, int, str | None] | None:
    """The lineage, start, restore, volume index and volume of a recording, from its key.

    Keys of recordings that are older than this naming have no volume.
    """
    found = _RECORDING.fullmatch(key)
    if found is None:
        return None
    began = datetime.fromtimestamp(_LATEST - int(found[2]), UTC)
    return found[1], began, found[3], int(found[4]), found[5]


def progress_key(restore_id: str, index: int, *, warm_ups: int, restarts: int) -> str:
    """The agent's progress; unique per command, so that no command seems finished by an earlier one."""
    suffix = f"-{warm_ups}" if warm_ups or restarts else ""
    suffix += f"-{restarts}" if restarts else ""
    return f"{_volume(restore_id, index)}/progress{suffix}.json"


def report_keys(restore_id: str, index: int | None) -> tuple[str, str]:
    """Report and page of a restore, or of the volume with this index."""
    folder = _restore(restore_id) if index is None else _volume(restore_id, index)
    return f"{folder}/report.json", f"{folder}/report.html"


def sent_key(restore_id: str) -> str:
    """How a restore ended whose failure was announced: the table may be put back to an earlier time."""
    return f"{_restore(restore_id)}/report.sent"


def fleet_request_key(fleet_id: str) -> str:
    """What POST /fleets was sent. A fleet's files lie where those of a restore with its id would."""
    return f"{_restore(fleet_id)}/fleet-request.json"


def fleet_volumes_key(fleet_id: str) -> str:
    """The volumes of the fleet, each with its restore."""
    return f"{_restore(fleet_id)}/fleet-volumes.json"


def fleet_items_key(fleet_id: str, run: int) -> str:
    """What the Distributed Map of this run reads."""
    return f"{_restore(fleet_id)}/run-{run}.json"


REFUSED = "refused"
"""Why no strategy fits, for a plan that was only to be shown."""


def fleet_plan_key(fleet_id: str, run: int) -> str:
    """The plan of all volumes of this run."""
    return f"{_restore(fleet_id)}/plan-{run}.json"


def fleet_results_prefix(fleet_id: str, run: int) -> str:
    """Where the Distributed Map of this run writes its results."""
    return f"{_restore(fleet_id)}/results-{run}"


def pack_key(snapshot_id: str, name: str) -> str:
    """A pack of a snapshot's blocks, shared by all volumes that become equal to the snapshot."""
    return f"deltas/{snapshot_id}/{name}"


def part_key(restore_id: str, index: int, part: int) -> str:
    """A part of a volume's manifest. Each part names the next one's key before that part is written."""
    return f"{_delta(restore_id, index)}/part-{part:06d}"


def parts_prefix(restore_id: str, index: int) -> str:
    """How the keys of all parts of a volume's manifest begin."""
    return f"{_delta(restore_id, index)}/part-"


def block_list_key(restore_id: str, index: int, first_part: int) -> str:
    """The blocks to copy, a shard a line."""
    return f"{_delta(restore_id, index)}/blocks-{first_part:06d}.jsonl"


def shard_failure_key(restore_id: str, index: int, part: int) -> str:
    """Why the shard of this part could not be copied at the last try."""
    return f"{_delta(restore_id, index)}/failed-{part:06d}.json"


def copy_results_prefix(restore_id: str, index: int, first_part: int) -> str:
    """Where the Distributed Map says what became of the shards."""
    return f"{_delta(restore_id, index)}/results-{first_part:06d}"


def delta_address(key: str, artifacts: Artifacts) -> str:
    """Where the agent downloads a pack or a part."""
    return artifacts.download_url(key, expires_seconds=DELTA_SECONDS)


def log_part_key(restore_id: str, index: int, part: int) -> str:
    """A pack with some blocks of a pack of an undo log, for this part of a manifest."""
    return f"{_delta(restore_id, index)}/log-{part:06d}"


def rewound_key(volume_id: str) -> str:
    """What the latest rewind of a volume has left, for the next one."""
    return f"rewound/{volume_id}.json"


UNDO_LOGS = "undo/"
"""How the keys of all undo logs begin."""


def undo_prefix(restore_id: str, index: int | None = None) -> str:
    """The prefix of the keys of what a restore has overwritten, on all its volumes or on one."""
    return f"undo/{restore_id}/" if index is None else f"undo/{restore_id}/{index}/"


def undo_head_key(restore_id: str, index: int) -> str:
    """The head of an undo log, written before its first pack: which volume the log has blocks of."""
    return f"{undo_prefix(restore_id, index)}log.json"


def undo_pack_key(restore_id: str, index: int, attempt: int, *, part: int, line: int) -> str:
    """Where the agent keeps the old blocks of a manifest line before it overwrites them."""
    return f"{undo_prefix(restore_id, index)}{attempt}/{part:06d}-{line:03d}"


def undo_log_of(key: str) -> tuple[str, int] | None:
    """The restore and the index of its volume that an object of an undo log belongs to, by its key."""
    found = _UNDO_OBJECT.fullmatch(key)
    return (found[1], int(found[2])) if found else None


def undo_pack_attempt(key: str) -> int | None:
    """The attempt of the rewind that wrote a pack, by the pack's key; None for any other key."""
    found = _UNDO_PACK.fullmatch(key)
    return int(found[1]) if found else None


def undo_address(key: str, artifacts: Artifacts) -> str:
    """Where the agent uploads such a pack, only once: S3 refuses to replace an object."""
    return artifacts.upload_url(key, expires_seconds=DELTA_SECONDS, once=True)


def _delta(restore_id: str, index: int) -> str:
    return f"deltas/{restore_id}/{index}"


def benchmark_key(benchmark_id: str) -> str:
    """What a benchmark was asked for, and the command that it was started with."""
    return f"benchmarks/{benchmark_id}/started.json"


def benchmark_output_key(benchmark_id: str) -> str:
    """Where the instance puts what fio printed."""
    return f"benchmarks/{benchmark_id}/output.txt"


def page_url(key: object, artifacts: Artifacts, *, seconds: int) -> str | None:
    """A link that opens a page without an AWS account; None if there is no page or signing fails."""
    if not isinstance(key, str):
        return None
    with suppress(RestoreError):
        return artifacts.download_url(key, expires_seconds=seconds)
    return None


def _restore(restore_id: str) -> str:
    return f"restores/{restore_id}"


def _volume(restore_id: str, index: int) -> str:
    return f"{_restore(restore_id)}/{index}"
