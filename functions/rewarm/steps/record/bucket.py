"""The keys of the bucket, each named here only, and presigned links to the page of a restore.

All that belongs to a restore lies below `restores/<restore id>/`, and what belongs to one of its volumes
below the volume's index there. Packs of blocks and their manifests, which S3 deletes after a day, lie below
`deltas/`. What a rewind has overwritten lies below `undo/`, and S3 deletes it when the stack's parameter
UndoLogDays says so: nothing else is needed to undo the rewind. The agent's binaries have keys of their own
(adapters/artifacts.py).
"""

from __future__ import annotations

import re
from contextlib import suppress

from rewarm.domain.errors import RestoreError
from rewarm.domain.model import DELTA_SECONDS, Instance
from rewarm.ports.artifacts import Artifacts

_UNDO_PACK = re.compile(r"undo/[^/]+/\d+/(\d+)/\d{6,}-\d{3,}")
ANSWER_SECONDS = 3_600
"""At most: a link ends earlier where the credentials of the function that signed it do (S3 user guide,
"Sharing objects with presigned URLs"). GET /restores/{id} answers a new one."""


def agent_parameters(instance: Instance, artifacts: Artifacts, *, expires_seconds: int) -> dict[str, str]:
    """Where a document downloads the agent for the instance. Raises TargetNotUsableError: there is none."""
    key, sha256 = artifacts.agent(instance.platform, instance.architecture)
    return {
        "agentUrl": artifacts.download_url(key, expires_seconds=expires_seconds),
        "agentSha256": sha256,
    }


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
    """What the execution of one volume answered."""
    return f"{_volume(restore_id, index)}/result.json"


def samples_key(restore_id: str, index: int) -> str:
    """The progress of a volume's initialization over time."""
    return f"{_volume(restore_id, index)}/samples.json"


def block_map_key(restore_id: str, index: int) -> str:
    """The block map: which blocks of the snapshot are written, as the agent reads it."""
    return f"{_volume(restore_id, index)}/blocks.map"


def first_map_key(restore_id: str, index: int) -> str:
    """The blocks that the request wants to be read first."""
    return f"{_volume(restore_id, index)}/first.map"


def progress_key(restore_id: str, index: int, *, warm_ups: int, restarts: int) -> str:
    """The agent's progress; unique per command, so that no command seems finished by an earlier one."""
    suffix = f"-{warm_ups}" if warm_ups or restarts else ""
    suffix += f"-{restarts}" if restarts else ""
    return f"{_volume(restore_id, index)}/progress{suffix}.json"


def report_keys(restore_id: str, index: int | None) -> tuple[str, str]:
    """Report and page of a restore, or of the volume with this index."""
    folder = _restore(restore_id) if index is None else _volume(restore_id, index)
    return f"{folder}/report.json", f"{folder}/report.html"


def fleet_request_key(fleet_id: str) -> str:
    """What POST /fleets was sent. A fleet's files lie where those of a restore with its id would."""
    return f"{_restore(fleet_id)}/fleet-request.json"


def fleet_volumes_key(fleet_id: str) -> str:
    """The volumes of the fleet, each with its restore."""
    return f"{_restore(fleet_id)}/fleet-volumes.json"


def fleet_items_key(fleet_id: str, run: int) -> str:
    """What the Distributed Map of this run reads."""
    return f"{_restore(fleet_id)}/run-{run}.json"


def fleet_plan_key(fleet_id: str, run: int) -> str:
    """The plan of all volumes of this run."""
    return f"{_restore(fleet_id)}/plan-{run}.json"


def fleet_results_prefix(fleet_id: str, run: int) -> str:
    """Where the Distributed Map of this run writes its results."""
    return f"{_restore(fleet_id)}/results-{run}"


def pack_key(snapshot_id: str, name: str) -> str:
    """A pack of blocks of a snapshot, which all volumes that become equal to it share."""
    return f"deltas/{snapshot_id}/{name}"


def part_key(restore_id: str, index: int, part: int) -> str:
    """A part of the manifest of a volume. Each names the next one by its key, before that is there."""
    return f"{_delta(restore_id, index)}/part-{part:06d}"


def parts_prefix(restore_id: str, index: int) -> str:
    """How the keys of all parts of a volume's manifest begin."""
    return f"{_delta(restore_id, index)}/part-"


def block_list_key(restore_id: str, index: int, first_part: int) -> str:
    """The blocks to copy, a shard a line."""
    return f"{_delta(restore_id, index)}/blocks-{first_part:06d}.jsonl"


def shard_failure_key(restore_id: str, index: int, part: int) -> str:
    """Why the shard of this part could not be copied when that was tried last."""
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
    """How the volume's last rewind ended: what it had then, and how often it had been written."""
    return f"rewound/{volume_id}.json"


UNDO_LOGS = "undo/"
"""How the keys of all undo logs begin."""


def undo_prefix(restore_id: str, index: int | None = None) -> str:
    """How the keys begin of what a restore has overwritten, or of what it has of one volume."""
    return f"{UNDO_LOGS}{restore_id}/" if index is None else f"{UNDO_LOGS}{restore_id}/{index}/"


def undo_head_key(restore_id: str, index: int) -> str:
    """What an undo log is: which volume it has blocks of. It is there before its first pack."""
    return f"{undo_prefix(restore_id, index)}log.json"


def undo_pack_key(restore_id: str, index: int, attempt: int, *, part: int, line: int) -> str:
    """Where the agent keeps what the blocks of a line of the manifest had before it writes them."""
    return f"{undo_prefix(restore_id, index)}{attempt}/{part:06d}-{line:03d}"


def undo_pack_attempt(key: str) -> int | None:
    """Of which attempt of the rewind a pack is, by its key; None where the key is not one of a pack."""
    found = _UNDO_PACK.fullmatch(key)
    return int(found[1]) if found else None


def undo_address(key: str, artifacts: Artifacts) -> str:
    """Where the agent puts such a pack: once, because S3 refuses to replace what is there."""
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
    """A link to a page that needs no AWS account; None where there is no page or it cannot be signed."""
    if not isinstance(key, str):
        return None
    with suppress(RestoreError):
        return artifacts.download_url(key, expires_seconds=seconds)
    return None


def _restore(restore_id: str) -> str:
    return f"restores/{restore_id}"


def _volume(restore_id: str, index: int) -> str:
    return f"{_restore(restore_id)}/{index}"
