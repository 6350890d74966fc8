"""One example of each request, and of what else starts a restore; written to events/ beside the schemas."""

from __future__ import annotations

from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.benchmarks import BenchmarkRequest, BenchmarkTarget
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.performance import PerformanceRequest
from rewarm.domain.benchmark.benchmarks import PatternName

SNAPSHOT_ID = "snap-0123456789abcdef0"
INSTANCE_ID = "i-0123456789abcdef0"

REQUEST: JsonObject = {
    "source": {"volumeId": "vol-0fedcba9876543210", "at": "latest"},
    "target": {"instanceId": INSTANCE_ID},
    "objective": {"readyWithinMinutes": 30, "maxCostUsd": 1},
}
ALARM: JsonObject = {
    "version": "0",
    "id": "c4c1c1c9-6542-e61b-6ef0-8c4d36933a92",
    "detail-type": "CloudWatch Alarm State Change",
    "source": "aws.cloudwatch",
    "account": "123456789012",
    "time": "2026-11-21T03:00:00Z",
    "region": "ap-northeast-1",
    "resources": ["arn:aws:cloudwatch:ap-northeast-1:123456789012:alarm:database-volume-gone"],
    "detail": {
        "alarmName": "database-volume-gone",
        "configuration": {"description": "The database's volume does not answer", "metrics": []},
        "previousState": {"value": "OK", "timestamp": "2026-11-21T02:59:00.000+0000"},
        "state": {
            "value": "ALARM",
            "reason": "Threshold Crossed",
            "reasonData": "{}",
            "timestamp": "2026-11-21T03:00:00.000+0000",
        },
    },
}


def request_examples() -> dict[str, Contract]:
    """Returns a valid request of each kind; the schema beside it is that of its class."""
    return {
        "restore-request": parse_restore_request(REQUEST),
        "performance-request": PerformanceRequest(iops=2_000),
        "benchmark-request": BenchmarkRequest(
            instance_id=INSTANCE_ID,
            targets=[
                BenchmarkTarget(mount="/data"),
                BenchmarkTarget(mount="/efs", iops=5_000, throughput_mib_s=488),
            ],
            patterns=[PatternName.CACHE, PatternName.UPLOAD],
        ),
    }


def input_examples() -> dict[str, JsonObject]:
    """Returns what starts an execution of `restore`, by the names of the files."""
    return {
        "minimal-request": {"source": {"snapshotId": SNAPSHOT_ID}, "target": {"instanceId": INSTANCE_ID}},
        "cloudwatch-alarm": ALARM,
        "scheduled-drill": {
            "request": {**REQUEST, "onFailure": "clean-up", "notify": {"slack": True, "email": False}},
            # EventBridge Scheduler fills the time in; a run that it starts twice restores once.
            "trigger": {
                "kind": "schedule",
                "scheduleName": "monthly-drill",
                "scheduledAt": "<aws.scheduler.scheduled-time>",
            },
        },
    }
