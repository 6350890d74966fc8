"""Lets the stack's own function Select Snapshot list a snapshot, and watches what that takes."""

from __future__ import annotations

import io
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from botocore.config import Config

from local.aws.host import Host
from local.aws.region import RegionSettings
from local.aws.region.snapshots.block_lists import block_count
from local.tools.scale.patterns import BLOCKS_PER_GIB, PATTERNS, lines, same_lines

INVOKE_SECONDS = 900
"""Lambda's longest time limit, and this function's."""


class ScaleError(RuntimeError):
    """The function failed, or did not do what it is there for."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What one listing took."""

    pattern: str
    size_gib: int
    written_blocks: int
    seconds: float
    requests: int
    peak_mib: float
    """Highest resident memory of the function's process, Python and libraries included."""
    map_mib: float


def measure_alone(pattern: str, size_gib: int, state_dir: Path) -> Listing:
    """Start the embedded AWS, list one snapshot, end it."""
    with Host(state_dir, region_settings=RegionSettings(throttling=True)) as host:
        host.deploy()
        return list_blocks(host, pattern, size_gib)


def list_blocks(host: Host, pattern: str, size_gib: int) -> Listing:
    """Seed, invoke, compare the map with what was seeded."""
    extents = PATTERNS[pattern].extents(size_gib * BLOCKS_PER_GIB)
    snapshot_id = host.region.add_snapshot(size_gib=size_gib, extents=extents)
    before = host.region.list_requests
    begun = time.monotonic()
    volume = _select(host, snapshot_id, f"scale-{pattern}")
    seconds = time.monotonic() - begun
    written = block_count(extents)
    if volume["writtenBlocks"] != written:
        raise ScaleError(f"{pattern}: found {volume['writtenBlocks']} blocks, {written} are written")
    size = _check_map(host, volume["mapKey"], pattern, size_gib)
    return Listing(
        pattern=pattern,
        size_gib=size_gib,
        written_blocks=written,
        seconds=round(seconds, 2),
        requests=host.region.list_requests - before,
        peak_mib=round(_peak_mib(host, "SelectSnapshotFunction"), 1),
        map_mib=round(size / (1 << 20), 2),
    )


def as_json(listings: list[Listing]) -> dict[str, Any]:
    """For programs."""
    return {"listings": [asdict(listing) for listing in listings]}


def _select(host: Host, snapshot_id: str, restore_id: str) -> dict[str, Any]:
    # An invocation of a minute must not be given up, and never sent twice.
    once = Config(read_timeout=INVOKE_SECONDS, retries={"total_max_attempts": 1})
    event = {
        "restoreId": restore_id,
        "now": "2026-11-21T03:00:00Z",
        "request": {
            "source": {"snapshotId": snapshot_id},
            "target": {"availabilityZone": host.region.settings.zones[0]},
        },
    }
    answer = host.client("lambda", once).invoke(
        FunctionName=_function(host, "SelectSnapshotFunction"), Payload=json.dumps(event)
    )
    payload = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise ScaleError(f"Select Snapshot failed: {payload.get('errorType')}: {payload.get('errorMessage')}")
    found: dict[str, Any] = payload["volumes"][0]
    return found


def _function(host: Host, logical_id: str) -> str:
    resources = host.client("cloudformation").describe_stack_resources(StackName="rewarm")["StackResources"]
    return next(
        str(resource["PhysicalResourceId"])
        for resource in resources
        if resource["LogicalResourceId"] == logical_id
    )


def _check_map(host: Host, key: str, pattern: str, size_gib: int) -> int:
    found = host.client("s3").get_object(Bucket=host.outputs["ArtifactsBucket"], Key=key)
    text = io.TextIOWrapper(io.BufferedReader(found["Body"]), encoding="ascii")
    if not same_lines(lines(PATTERNS[pattern].extents(size_gib * BLOCKS_PER_GIB)), iter(text)):
        raise ScaleError(f"{pattern}: the map is not what was seeded")
    return int(found["ContentLength"])


def _peak_mib(host: Host, logical_id: str) -> float:
    """VmHWM of the function's process, which stays for the next invocation (proc(5))."""
    process = host.emulator.process_of(_function(host, logical_id))
    if process is None:
        raise ScaleError(f"the process of {logical_id} has gone")
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
