"""Looks at the restored volume itself: which blocks were really read, and whether every file is as it was."""

from __future__ import annotations

from dataclasses import replace

from local.aws.host import Host
from local.aws.machines.snapshot_image import Manifest, compare_files
from local.tools.run.recording import Proof


def counted(host: Host, volume_id: str, *, is_plain: bool) -> Proof:
    """What was done to the volume until now; taken before anybody reads its files."""
    counters = host.machine.counters(volume_id)
    return Proof(
        files=0,
        files_identical=0,
        written_blocks=counters.written_blocks,
        fetched_blocks=counters.fetched_blocks,
        read_blocks=None if is_plain else counters.read_blocks,
        read_ops=counters.read_ops,
        read_bytes=counters.read_bytes,
    )


def with_files(proof: Proof, host: Host, instance_id: str, volume_id: str, manifest: Manifest) -> Proof:
    """The proof with the comparison of every file, read on the instance."""
    with host.clock.busy():
        differences = compare_files(host.machine, instance_id, volume_id, manifest)
    of_source = [difference for difference in differences if not difference.endswith("not in the snapshot")]
    return replace(
        proof,
        files=len(manifest),
        files_identical=len(manifest) - len(of_source),
        differences=tuple(differences),
    )
