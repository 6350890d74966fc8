"""The embedded AWS as this job uses it: what is put into it, and where the facts come from afterwards."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from local import ROOT, Json
from local.aws.clock import LabClock
from local.aws.host import Host
from local.aws.machines.dataplane import SnapshotImage
from local.aws.machines.snapshot_image import FileTree, Manifest, load_image, load_manifest, make_ext4_image
from local.tools.run.options import Options
from local.tools.run.recording import MinuteOfReads, SnapshotFacts
from rewarm.adapters.executions import execution_arn
from rewarm.domain.model import Strategy
from rewarm_cli.api import Api

IMAGES = ROOT / ".local" / "images"
ALARM = "rewarm-orders-database-volume-lost"
SOURCE_VOLUME = "vol-0a1b2c3d4e5f60718"
USUAL_INSTANCE, BOOSTABLE_INSTANCE = "m5.large", "m5.4xlarge"
"""The baseline of the first is below a gp3 volume's 125 MiB/s, so that no boost would do any good there."""
SNAPSHOT_AGE_SECONDS = 6 * 3_600
MINUTE_SECONDS = 60
PAGE_SECONDS = 30
Inventory = dict[str, list[str]]
"""Ids of what exists, by kind, as the Region's `inventory` gives them."""


@dataclass(frozen=True, slots=True)
class Source:
    """The snapshot's data, and what its files are."""

    image: SnapshotImage
    manifest: Manifest
    was_kept: bool
    """It was made by an earlier run, with the same options and so with the same bytes."""


def make_source(options: Options) -> Source:
    """A file system full of files, made once for each size, share and seed."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"{options.size_gib}-gib-{options.written_percent}-percent-seed-{options.seed}.img"
    was_kept = path.with_name(path.name + ".json").exists() and path.exists()
    if was_kept:
        image = load_image(path)
    else:
        share = options.written_percent / 100
        image = make_ext4_image(path, options.size_gib, FileTree(share=share, seed=options.seed))
    return Source(image, load_manifest(image), was_kept)


def facts_of(source: Source, snapshot_id: str) -> SnapshotFacts:
    """What people want to know of the snapshot."""
    written = sum(count for _, count in source.image.extents)
    return SnapshotFacts(
        snapshot_id=snapshot_id,
        size_gib=source.image.size_gib,
        written_blocks=written,
        files=len(source.manifest),
    )


class Lab:
    """One running embedded AWS with the stack, a snapshot and an instance in it. Implements watch.Sources."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._states = host.client("stepfunctions")
        self.api = Api(
            url=host.api_url,
            region=host.addresses.region,
            access_key_id=host.environment["AWS_ACCESS_KEY_ID"],
            secret_access_key=host.environment["AWS_SECRET_ACCESS_KEY"],
        )

    @property
    def clock(self) -> LabClock:
        """Lab time."""
        return self.host.clock

    def add_snapshot(self, source: Source) -> str:
        """The last snapshot of a volume that is lost."""
        return self.host.region.add_snapshot(
            size_gib=source.image.size_gib,
            extents=source.image.extents,
            path=source.image.path,
            volume_id=SOURCE_VOLUME,
            start_time=self.now() - SNAPSHOT_AGE_SECONDS,
            description="nightly backup of the orders database",
            tags={"Name": "orders-database"},
        )

    def add_source_volume(self, source: Source, snapshot_id: str) -> str:
        """The source volume, alive and whole: only such a volume can be cloned."""
        return self.host.region.add_volume(
            volume_id=SOURCE_VOLUME,
            size_gib=source.image.size_gib,
            snapshot_id=snapshot_id,
            tags={"Name": "orders-database"},
        )

    def add_instance(self, strategy: str = "auto") -> str:
        """The instance that waits for its volume; a boost needs one that is faster than the volume."""
        kind = BOOSTABLE_INSTANCE if strategy == Strategy.BOOSTED_WARM_UP else USUAL_INSTANCE
        return self.host.region.add_instance(instance_type=kind, tags={"Name": "orders-database"})

    def put_alarm_event(self) -> None:
        """What CloudWatch sends to EventBridge when an alarm goes off.

        AWS documentation, CloudWatch user guide, "Alarm events and EventBridge": detail of a state change.
        """
        stamp = datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")
        detail = {
            "alarmName": ALARM,
            "configuration": {"description": "The orders database has lost its volume.", "metrics": []},
            "previousState": {"reason": "The volume answers.", "timestamp": stamp, "value": "OK"},
            "state": {"reason": "Threshold Crossed: no reads.", "timestamp": stamp, "value": "ALARM"},
        }
        arn = self.host.region.arn(f"alarm:{ALARM}", "cloudwatch")
        self.host.emulator.put_event("CloudWatch Alarm State Change", "aws.cloudwatch", detail, [arn])

    def start_by_schedule(self, name: str, request: Json) -> str:
        """What EventBridge Scheduler does at a schedule's time, as with events/scheduled-drill.json."""
        at = datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        trigger = {"kind": "schedule", "scheduleName": name, "scheduledAt": at}
        answer = self._states.start_execution(
            stateMachineArn=self.host.outputs["RestoreStateMachineArn"],
            input=json.dumps({"request": request, "trigger": trigger}),
        )
        return str(answer["executionArn"].rpartition(":")[2])

    def execution_names(self) -> set[str]:
        """Names of all executions of the state machine restore; they are the ids of the restores."""
        return {execution["name"] for execution in self._executions("RestoreStateMachineArn")}

    def now(self) -> float:
        return self.host.clock.now()

    def execution(self, restore_id: str) -> Json:
        described: Json = self._states.describe_execution(
            executionArn=execution_arn(self.host.outputs["RestoreStateMachineArn"], restore_id)
        )
        return described

    def history(self, restore_id: str) -> list[Json]:
        return self._history(execution_arn(self.host.outputs["RestoreStateMachineArn"], restore_id))

    def volume_histories(self, restore_id: str) -> list[list[Json]]:
        found = {
            execution["name"]: execution["executionArn"]
            for execution in self._executions("RestoreVolumeStateMachineArn")
            if execution["name"].startswith(f"{restore_id}-")
        }
        return [self._history(found[name]) for name in sorted(found)]

    def restore(self, restore_id: str) -> Json:
        return self.api.expect(200, "GET", f"/restores/{restore_id}")

    def page(self, restore_id: str) -> str | None:
        """The page of a restore, by the link that GET /restores/{id} answers; None where there is none."""
        url = self.restore(restore_id).get("reportUrl")
        if url is None:
            return None
        with urllib.request.urlopen(url, timeout=PAGE_SECONDS) as answer:
            body: bytes = answer.read()
        return body.decode()

    def messages(self) -> Sequence[Json]:
        return self.host.slack.messages

    def reads_a_minute(self, volume_id: str, since: float) -> list[MinuteOfReads]:
        """CloudWatch's VolumeReadOps of a volume, one figure a minute (AWS/EBS, Sum)."""
        metric = {
            "Namespace": "AWS/EBS",
            "MetricName": "VolumeReadOps",
            "Dimensions": [{"Name": "VolumeId", "Value": volume_id}],
        }
        answer = self.host.client("cloudwatch").get_metric_data(
            MetricDataQueries=[
                {"Id": "ops", "MetricStat": {"Metric": metric, "Period": MINUTE_SECONDS, "Stat": "Sum"}}
            ],
            StartTime=datetime.fromtimestamp(since - MINUTE_SECONDS, UTC),
            EndTime=datetime.fromtimestamp(self.now() + MINUTE_SECONDS, UTC),
            ScanBy="TimestampAscending",
        )
        result = answer["MetricDataResults"][0]
        pairs = zip(result["Timestamps"], result["Values"], strict=True)
        return sorted(
            (MinuteOfReads(at=stamp.timestamp(), read_ops=value) for stamp, value in pairs),
            key=lambda minute: minute.at,
        )

    def _executions(self, output: str) -> Iterator[Json]:
        pages = self._states.get_paginator("list_executions").paginate(
            stateMachineArn=self.host.outputs[output]
        )
        return (execution for page in pages for execution in page["executions"])

    def _history(self, execution_arn: str) -> list[Json]:
        pages = self._states.get_paginator("get_execution_history").paginate(
            executionArn=execution_arn, PaginationConfig={"PageSize": 1_000}
        )
        return [event for page in pages for event in page["events"]]


def metered(before: Json, after: Json) -> tuple[str, list[Json]]:
    """What the Region's meter counted in between: the sum without storage, and every item.

    The volume's storage is what was ordered; what it takes to make it fast is Rewarm's.
    """
    known = {(item["resource"], item["kind"]): item["usd"] for item in before["items"]}
    parts = []
    for item in after["items"]:
        usd = item["usd"] - known.get((item["resource"], item["kind"]), 0.0)
        is_of_before = item["kind"] == "storage" and (item["resource"], item["kind"]) in known
        if usd > 0 and not is_of_before:
            is_new = (
                item["resource"],
                item["kind"],
            ) not in known  # else its note tells of earlier restores too
            parts.append({**item, "usd": f"{usd:.9f}", "note": item["note"] if is_new else ""})
    total = sum(float(part["usd"]) for part in parts if part["kind"] != "storage")
    return f"{total:.9f}", parts


def left_running(
    inventory: dict[str, list[str]], before: dict[str, list[str]], wanted: set[str]
) -> list[str]:
    """What exists now, did not before, and is none of the delivered volumes."""
    found = []
    for kind, things in inventory.items():
        if kind == "attachments":  # an attachment costs nothing, and goes with its volume
            continue
        found += [f"{kind}: {thing}" for thing in things if thing not in before[kind] and thing not in wanted]
    return found


MEASURED = {"maxP99Ms": 50}
"""A cold read takes about 90 ms here and a warm one 0.6 ms; between them, a busy machine must not decide."""


def request_of_runbook(options: Options, instance_id: str) -> Json:
    """What to restore when the alarm goes off: the newest snapshot of the lost volume, onto its instance."""
    return {
        "source": {"volumeId": SOURCE_VOLUME, "at": "latest"},
        "target": {"instanceId": instance_id},
        "objective": _objective(options, options.strategy),
        "volume": {"tags": {"Name": "orders-database"}},
        "verify": MEASURED,
    }


def request_by_post(options: Options, instance_id: str, snapshot_id: str) -> Json:
    """What a person asks for: this snapshot, fast by itself."""
    return {
        "source": {"snapshotId": snapshot_id},
        "target": {"instanceId": instance_id},
        "objective": _objective(options, "provisioned-rate"),
        "verify": MEASURED,
    }


def _objective(options: Options, strategy: str) -> Json:
    objective: dict[str, Any] = {"strategy": strategy, "readyWithinMinutes": options.deadline_minutes}
    if options.max_cost_usd is not None:
        objective["maxCostUsd"] = float(options.max_cost_usd)
    return objective
