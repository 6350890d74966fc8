"""A run as `make run` records it: one restore with the agent, one with a provisioned rate."""

from __future__ import annotations

from typing import Any

from local.tools.run.recording import (
    MinuteOfReads,
    ProgressSample,
    Proof,
    RestoreRecord,
    RunRecord,
    SetupStep,
    SlackMessage,
    SnapshotFacts,
    StateVisit,
)

START = 1_800_000_000.0
BLOCKS = 2048
BYTES = BLOCKS * 524_288

BEFORE = {
    "samples": 24,
    "iops": 11.2,
    "latencyMs": {"p50": 84.2, "p90": 151.0, "p99": 204.7, "max": 204.7, "mean": 89.1},
    "histogram": [
        {"upToMs": 64.0, "count": 5},
        {"upToMs": 128.0, "count": 15},
        {"upToMs": 256.0, "count": 4},
    ],
}
AFTER = {
    "samples": 64,
    "iops": 1583.0,
    "latencyMs": {"p50": 0.61, "p90": 0.7, "p99": 0.93, "max": 1.4, "mean": 0.63},
    "histogram": [{"upToMs": 0.5, "count": 2}, {"upToMs": 1.0, "count": 61}, {"upToMs": 2.0, "count": 1}],
}


def candidate(
    strategy: str, *, chosen: bool = False, feasible: bool = True, **numbers: Any
) -> dict[str, Any]:
    return {
        "strategy": strategy,
        "feasible": feasible,
        "chosen": chosen,
        "reason": numbers.pop("reason", "dearer than the chosen one"),
        "initializationRateMibS": numbers.pop("rate", None),
        "usableSeconds": numbers.get("usable", 10),
        "readyP50Seconds": numbers.get("p50", 30),
        "readyP90Seconds": numbers.get("p90", 60),
        "costUsd": numbers.get("usd", "0.000000"),
        "costArithmetic": "",
    }


def choose_strategy(strategy: str, *, rate: int | None = None, usd: str = "0.000001") -> dict[str, Any]:
    candidates = [
        candidate(
            "background", feasible=False, reason="ready in up to a day, after the deadline", p90=86_400
        ),
        candidate("warm-up-agent", reason="cheapest that meets the deadline", p90=95, usd="0.000001"),
        candidate("provisioned-rate", rate=100, p90=20, usd="0.0012"),
        candidate("fast-snapshot-restore", p50=500, p90=900, usd="0.75", reason="dearer, and later"),
    ]
    for one in candidates:
        one["chosen"] = one["strategy"] == strategy
    plan = {
        "strategy": strategy,
        "initializationRateMibS": rate,
        "usableSeconds": 10,
        "readyP50Seconds": 40,
        "readyP90Seconds": 95,
        "costUsd": usd,
        "costParts": [{"item": "ListSnapshotBlocks", "usd": usd, "arithmetic": "1 request x $0.0006/1,000"}],
        "why": "cheapest that meets the deadline",
        "deadlineMissed": False,
    }
    volume = {
        "index": 0,
        "snapshotId": "snap-0123456789abcdef0",
        "snapshotSizeGib": 2,
        "writtenBlocks": BLOCKS,
        "instanceId": "i-0123456789abcdef0",
        "availabilityZone": "us-east-1a",
    }
    summary = {
        "totalCostUsd": usd,
        "readyP90At": "2027-01-15T08:02:00Z",
        "deadlineMissed": False,
        "why": "cheapest that meets the deadline",
        "priceBookAsOf": "2026-11-01T00:00:00Z",
        "priceSource": "Price List",
    }
    return {
        "plans": [{"volume": volume, "plan": plan, "fallbacks": [], "candidates": candidates}],
        "summary": summary,
    }


def poll(percent: float, *, ready: bool = False, rate: float | None = 118.0) -> dict[str, Any]:
    return {
        "ready": ready,
        "waitSeconds": 5,
        "progressPercent": percent,
        "bytesDone": int(BYTES * percent / 100),
        "bytesTotal": BYTES,
        "mibPerSecond": rate,
        "etaSeconds": 4,
        "reasons": ["agent read every written block"] if ready else ["agent runs"],
    }


def verify(result: dict[str, Any]) -> dict[str, Any]:
    return {"finished": True, "waitSeconds": 1, "verdict": "fast", "result": result, "reason": "measured"}


def visit(state: str, start: float, seconds: float, payload: Any = None, **more: Any) -> StateVisit:
    return StateVisit(
        execution=more.pop("execution", "volume 0"),
        state=state,
        kind=more.pop("kind", "Task"),
        entered_at=START + start,
        left_at=START + start + seconds,
        payload=payload,
        **more,
    )


def report(strategy: str, actual_seconds: int) -> dict[str, Any]:
    volume = {"index": 0, "verdict": "ready", "strategy": strategy, "actualSeconds": actual_seconds - 11}
    return {
        "verdict": "ready",
        "volumes": [volume],
        "actualSeconds": actual_seconds,
        "slowestSeconds": actual_seconds - 11,
        "estimatedP90Seconds": 95,
    }


def slack(at: float, title: str, text: str) -> SlackMessage:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": title}},
        {"type": "section", "text": {"type": "mrkdwn", "text": text}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "*Extra cost*\n$0.000001"}]},
    ]
    return SlackMessage(at=START + at, body={"text": title, "blocks": blocks})


def agent_restore() -> RestoreRecord:
    return RestoreRecord(
        title="1. After an alarm",
        trigger="CloudWatch alarm rewarm-orders-volume-lost through EventBridge",
        restore_id="5f1c0a7e-0000-4000-8000-000000000001",
        request={"source": {"alarm": "rewarm-orders-volume-lost"}},
        started_at=START,
        ended_at=START + 204,
        status="SUCCEEDED",
        real_seconds=31.2,
        visits=[
            visit("Parse Request", 0, 0.3, execution="restore"),
            visit("Select Snapshot", 0.3, 0.6, execution="restore"),
            visit("Choose Strategy", 0.9, 0.4, choose_strategy("warm-up-agent"), execution="restore"),
            visit("Announce Plan", 1.3, 0.3, {"channels": ["slack", "sns"]}, execution="restore"),
            visit("Create Volume", 2, 0.4, {"volumeId": "vol-0123456789abcdef0", "clientToken": "t"}),
            visit("Check Volume", 2.4, 0.2, {"available": True, "state": "available"}),
            visit("Attach Volume", 4.6, 0.3, {"attached": True, "device": "/dev/sdf"}),
            visit("Announce Attached", 5, 0.3, {"channels": ["slack"]}),
            visit("Verify Volume Before", 5.3, 5.0, verify(BEFORE)),
            visit("Dispatch Warmer", 10.5, 0.5, {"commandId": "c-1", "instanceId": "i-0123456789abcdef0"}),
            visit("Poll Initialization", 11, 0.3, poll(0, rate=None)),
            visit("Wait For Initialization", 11.3, 5, kind="Wait"),
            visit("Poll Initialization", 16.3, 0.3, poll(56)),
            visit("Wait For Initialization", 16.6, 170, kind="Wait"),
            visit("Poll Initialization", 187, 0.3, poll(100, ready=True)),
            visit("Verify Volume After", 188, 2.0, verify(AFTER)),
            visit("Release", 191, 0.3, {"released": []}),
            visit("Announce Ready", 192, 0.3, {"channels": ["slack", "sns"]}),
            visit("Volume Ready", 193, 0.0, kind="Succeed"),
            visit("Report", 203, 0.4, report("warm-up-agent", 203), execution="restore"),
        ],
        samples=[
            ProgressSample(
                at=START + 12 + 2 * step,
                percent=min(100.0, 25.0 * step),
                words=f"{25 * step} %  {256 * step} MiB of 1 GiB  {90.0 + 10 * step} MiB/s",
            )
            for step in range(5)
        ],
        messages=[
            slack(
                1.5,
                "Restoring: snap-0123456789abcdef0",
                "*Usable* in about 10 s. <https://example.com|Report>",
            ),
            slack(
                192.2, "Ready: vol-0123456789abcdef0", "p99 fell from 205 ms to 0.93 ms &amp; stays there."
            ),
        ],
        read_ops=[
            MinuteOfReads(at=START - 20 + 60 * minute, read_ops=ops)
            for minute, ops in enumerate([4120, 0, 0])
        ],
        metered_usd="0.0000006",
        metered_parts=[
            {"resource": "ListSnapshotBlocks", "kind": "requests", "usd": 0.0000006, "note": "1 request"}
        ],
        proof=Proof(
            files=143,
            files_identical=143,
            written_blocks=BLOCKS,
            fetched_blocks=BLOCKS,
            read_blocks=BLOCKS,
            read_ops=4144,
        ),
    )


def rate_restore() -> RestoreRecord:
    return RestoreRecord(
        title="2. By POST /restores",
        trigger="POST /restores",
        restore_id="restore-00112233445566778",
        request={"source": {"snapshotId": "snap-0123456789abcdef0"}},
        started_at=START,
        ended_at=START + 330,
        status="SUCCEEDED",
        real_seconds=9.0,
        visits=[
            visit(
                "Choose Strategy",
                1,
                0.4,
                choose_strategy("provisioned-rate", rate=100, usd="0.0012"),
                execution="restore",
            ),
            visit("Create Volume", 2, 0.4, {"volumeId": "vol-0fedcba9876543210", "clientToken": "u"}),
            visit("Attach Volume", 4, 0.3, {"attached": True, "device": "/dev/sdg"}),
            visit("Poll Initialization", 6, 0.3, poll(0)),
            visit("Poll Initialization", 310, 0.3, poll(100, ready=True)),
            visit("Verify Volume After", 312, 2.0, verify(AFTER)),
            visit("Volume Ready", 320, 0.0, kind="Succeed"),
            visit("Report", 329, 0.4, report("provisioned-rate", 329), execution="restore"),
        ],
        metered_usd="0.0012",
        proof=Proof(
            files=143, files_identical=143, written_blocks=BLOCKS, fetched_blocks=BLOCKS, read_blocks=64
        ),
    )


def recorded_run() -> RunRecord:
    return RunRecord(
        snapshot=SnapshotFacts(
            snapshot_id="snap-0123456789abcdef0",
            size_gib=2,
            written_blocks=BLOCKS,
            files=143,
        ),
        setup=[SetupStep(what="Start the emulator", detail="http://127.0.0.1:4566", seconds=2.1)],
        restores=[agent_restore(), rate_restore()],
        delivered=["vol-0123456789abcdef0", "vol-0fedcba9876543210"],
        real_seconds=61.0,
    )
