"""One valid event of each step."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from local.tools.schemas import ALARM, INSTANCE_ID, REQUEST, SNAPSHOT_ID
from rewarm.contracts.base import Contract, JsonObject
from rewarm.contracts.copying import ListBlocksEvent
from rewarm.contracts.events import (
    AnnounceEvent,
    AttachVolumeEvent,
    PollInitializationEvent,
    PrepareSnapshotEvent,
    ReplaceEvent,
    ReportEvent,
    VerifyVolumeEvent,
)
from rewarm.contracts.fleets import ReportFleetEvent
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.results import CheckPerformanceResult
from rewarm.contracts.rewinding import RewindEvent
from rewarm.contracts.values import (
    ApprovalQuestion,
    DispatchWarmerResult,
    Failure,
    NewVolume,
    Plan,
    ReplacedVolume,
    Trigger,
    VolumeAssignment,
)
from rewarm.domain.model import GIB, Strategy
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.snapshots import PassedOverSnapshot
from rewarm.domain.volume.performance import PerformanceSettings
from rewarm.steps.blocks.copy_shard import CopyShardEvent
from rewarm.steps.blocks.join_parts import JoinPartsEvent
from rewarm.steps.clean_up.clean_up import CleanUpEvent
from rewarm.steps.fleet.prepare_fleet import PrepareFleetEvent
from rewarm.steps.performance.change_performance import ChangePerformanceEvent
from rewarm.steps.performance.check_performance import CheckPerformanceEvent
from rewarm.steps.plan.choose_fallback import ChooseFallbackEvent
from rewarm.steps.plan.choose_strategy import ChooseStrategyEvent
from rewarm.steps.plan.load_plan import LoadPlanEvent
from rewarm.steps.report.keep_result import KeepResultEvent
from rewarm.steps.request.check_approval import CheckApprovalEvent
from rewarm.steps.request.parse_request import ParseRequestEvent
from rewarm.steps.select.release_target import ReleaseTargetEvent
from rewarm.steps.select.select_snapshot import SelectSnapshotEvent
from rewarm.steps.verify.confirm_readiness import ConfirmReadinessEvent
from rewarm.steps.volume.boost_volume import BoostVolumeEvent
from rewarm.steps.volume.check_volume import CheckVolumeEvent
from rewarm.steps.volume.create_volume import CreateVolumeEvent
from rewarm.steps.volume.release import ReleaseEvent
from rewarm.steps.volume.run_hook import RunHookEvent
from rewarm.steps.volume.start_instance import StartInstanceEvent
from rewarm.steps.warm.await_signal import AwaitSignalEvent
from rewarm.steps.warm.dispatch_warmer import DispatchWarmerEvent

RESTORE_ID = "restore-0123456789abcdef"
TASK_TOKEN = "AQCEAAAAKgAAAAMAAAAAAAAAAc8"
CHANGE_ID = "performance-0123456789abcdef"
STARTED = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 3, 5, tzinfo=UTC)
DEADLINE = datetime(2026, 11, 21, 3, 30, tzinfo=UTC)
VOLUME_ID = "vol-0123456789abcdef0"
COMMON: dict[str, Any] = {"restore_id": RESTORE_ID, "now": NOW}
REPLACING: JsonObject = {
    "source": {"volumeId": "vol-0fedcba9876543210"},
    "target": {"instanceId": INSTANCE_ID, "device": "/dev/sdf", "mode": "replace"},
}


def _assignment() -> VolumeAssignment:
    return VolumeAssignment(
        index=0,
        snapshot_id=SNAPSHOT_ID,
        snapshot_started_at=datetime(2026, 11, 20, 18, 0, tzinfo=UTC),
        source_volume_id="vol-0fedcba9876543210",
        snapshot_size_gib=100,
        data_bytes=40 * GIB,
        data_bytes_from="fullSnapshotSize",
        written_blocks=81_920,
        map_key=f"restores/{RESTORE_ID}/0/blocks.map",
        availability_zone="ap-northeast-1a",
        instance_id=INSTANCE_ID,
        instance_type="m7g.large",
        platform="linux",
        architecture="arm64",
        agent_available=True,
        device="/dev/sdf",
        volume=NewVolume(volume_type="gp3", size_gib=100, iops=3_000, throughput_mib_s=125),
        passed_over=[
            PassedOverSnapshot(snapshot_id="snap-0aaaaaaaaaaaaaaaa", reason="it is pending (37 % done)")
        ],
    )


def _plan(strategy: Strategy = Strategy.WARM_UP_AGENT) -> Plan:
    part = CostPart(
        item="ListSnapshotBlocks requests", usd=Decimal("0.000005"), arithmetic="9 requests x $0.0006 / 1,000"
    )
    return Plan(
        strategy=strategy,
        usable_seconds=15,
        ready_p50_seconds=478,
        ready_p90_seconds=838,
        cost_usd=part.usd,
        cost_parts=[part],
        why=f"{strategy} is the cheapest that meets the deadline, and the fastest at that price.",
    )


def _dispatch() -> DispatchWarmerResult:
    return DispatchWarmerResult(
        command_id="11111111-2222-3333-4444-555555555555",
        instance_id=INSTANCE_ID,
        progress_key=f"restores/{RESTORE_ID}/0/progress.json",
        started_at=STARTED,
        read_ops_before=0.0,
    )


def _question() -> ApprovalQuestion:
    reason = "The plan costs $3.20; above $1.00 it needs approval (objective.approveAboveUsd)."
    return ApprovalQuestion(asked_at=NOW, until=DEADLINE, usd=Decimal("3.20"), reason=reason)


def _failed_result() -> JsonObject:
    return {
        "verdict": "failed",
        "index": 0,
        "snapshotId": SNAPSHOT_ID,
        "error": "States.TaskFailed",
        "cause": '{"Status":"FAILED","Error":"VolumeNotFastError","Cause":"{\\"errorMessage\\":\\"'
        'p99 91 ms; at most 20 ms is allowed\\"}"}',
    }


def _restore_events(request: RestoreRequest) -> list[Contract]:
    """Returns those of the state machine `restore`."""
    return [
        ParseRequestEvent(**COMMON, started_at=STARTED, input=ALARM),
        SelectSnapshotEvent(**COMMON, request=request),
        ChooseStrategyEvent(
            **COMMON, request=request, deadline_at=DEADLINE, volumes_key=f"restores/{RESTORE_ID}/volumes.json"
        ),
        CheckApprovalEvent(**COMMON, question=_question()),
        LoadPlanEvent(**COMMON, index=0),
        KeepResultEvent(**COMMON, result=_failed_result()),
        AnnounceEvent(
            **COMMON,
            event="failed",
            request=request,
            details={
                "failure": {"state": "Select Snapshot", "error": "SnapshotNotFoundError", "cause": "{}"},
                "results": [],
            },
        ),
        ReleaseTargetEvent(**COMMON),
        ConfirmReadinessEvent(**COMMON, request=request, results=[_failed_result()]),
        ReportEvent(
            **COMMON,
            started_at=STARTED,
            deadline_at=DEADLINE,
            request=request,
            trigger=Trigger(kind="alarm", alarm_name="rewarm-orders-database", event_id=ALARM["id"]),
            plans_key=f"restores/{RESTORE_ID}/plans.json",
            results=[
                {
                    "index": 0,
                    "verdict": "failed",
                    "snapshotId": SNAPSHOT_ID,
                    "error": "States.TaskFailed",
                    "resultKey": f"restores/{RESTORE_ID}/0/result.json",
                }
            ],
        ),
    ]


def _volume_events(request: RestoreRequest) -> list[Contract]:
    """Returns those of the state machine `restore-volume`."""
    volume, plan = _assignment(), _plan()
    one: dict[str, Any] = {**COMMON, "volume": volume, "volume_id": VOLUME_ID}
    fast = _plan(Strategy.FAST_SNAPSHOT_RESTORE)
    replaced = ReplacedVolume(volume_id="vol-0fedcba9876543210", size_gib=100)
    rewound = volume.model_copy(update={"rewinds": VOLUME_ID})
    return [
        PrepareSnapshotEvent(**COMMON, volume=volume, plan=fast),
        CreateVolumeEvent(**COMMON, request=request, volume=volume, plan=plan, attempt=0),
        CheckVolumeEvent(**COMMON, volume=volume, volume_id=VOLUME_ID, plan=plan),
        ReplaceEvent(
            **COMMON,
            request=parse_restore_request(REPLACING),
            volume=volume.model_copy(update={"replaces": replaced}),
            volume_id=VOLUME_ID,
            phase="detach",
        ),
        RewindEvent(**COMMON, request=request, volume=rewound, plan=plan),
        AttachVolumeEvent(**one, request=request),
        StartInstanceEvent(**COMMON, volume=volume, phase="start"),
        RunHookEvent(**one, request=request),
        BoostVolumeEvent(**COMMON, volume=volume, plan=plan),
        DispatchWarmerEvent(**one, request=request),
        VerifyVolumeEvent(**one, request=request, phase="after"),
        PollInitializationEvent(
            **one, request=request, plan=plan, started_at=STARTED, deadline_at=DEADLINE, dispatch=_dispatch()
        ),
        AwaitSignalEvent(**one, task_token=TASK_TOKEN, wait_seconds=900),
        ReleaseEvent(**COMMON, volume=volume),
        ChooseFallbackEvent(
            **one,
            request=request,
            plan=plan,
            fallbacks=[],
            tried=[],
            failure=Failure(state="Dispatch Warmer", error="AgentUnreachableError", cause="no"),
            attached_announced=True,
            warm_ups=0,
            agent_lost=False,
            began_at=NOW,
            spent_usd=Decimal(0),
        ),
        CleanUpEvent(**one, request=request, dispatch=_dispatch(), attached_announced=True),
    ]


def _performance_events() -> list[Contract]:
    """Returns those of the state machine `change-performance`."""
    original = PerformanceSettings(volume_type="io2", iops=1_000)
    target = PerformanceSettings(volume_type="io2", iops=2_000)
    one: dict[str, Any] = {
        "restore_id": CHANGE_ID,
        "now": NOW,
        "volume_id": VOLUME_ID,
        "original": original,
        "target": target,
    }
    look = CheckPerformanceResult(
        finished=False, wait_seconds=10, state="modifying", requested_at=STARTED, requested_from="ec2"
    )
    return [
        ChangePerformanceEvent(**one, accepted_at=STARTED),
        CheckPerformanceEvent(**one, size_gib=100, started_at=STARTED, previous=look),
    ]


DELTA: dict[str, Any] = {
    "snapshotId": "snap-0123456789abcdef0",
    "volumeId": "vol-0123456789abcdef0",
    "volumeBytes": 1_073_741_824,
    "index": 0,
    "region": None,
    "against": "snap-0123456789abcdef1",
    "without": [],
    "firstPart": 0,
    "goesOn": False,
    "samples": 8,
}
LISTED: dict[str, Any] = {
    "bucket": "artifacts",
    "itemsKey": "deltas/restore-1/0/blocks-000000.jsonl",
    "resultsPrefix": "deltas/restore-1/0/results-000000",
    "maxConcurrency": 10,
    "rates": {"snapshotPerSecond": 1_000, "accountPerSecond": 5_000},
    "shards": 1,
    "nextPart": 2,
    "blocks": 2,
    "zeros": 1,
    "blocksTotal": 2,
    "samples": 0,
    "listCalls": 1,
}


def _copying_events() -> list[Contract]:
    copying = {"restore_id": "restore-1", "now": NOW, "delta": DELTA}
    shard = {"part": 0, "samples": False, "blocks": [(7, "token")]}
    return [
        ListBlocksEvent.model_validate(copying),
        CopyShardEvent.model_validate({**copying, "listed": LISTED, "shard": shard}),
        JoinPartsEvent.model_validate(
            {**copying, "listed": LISTED, "started_at": STARTED, "failure": None, "redriven": False}
        ),
    ]


FLEET: dict[str, Any] = {"restore_id": "fleet-0123456789abcdef", "now": NOW}


def step_events() -> list[Contract]:
    """Returns a valid event of each step of every state machine."""
    request = parse_restore_request(REQUEST)
    return [
        *_restore_events(request),
        *_volume_events(request),
        *_performance_events(),
        PrepareFleetEvent(**FLEET, run=1, started_at=STARTED),
        ReportFleetEvent(**FLEET, run=1, started_at=STARTED),
        *_copying_events(),
    ]
