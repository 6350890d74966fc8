"""Which adapter stands behind which port, and what time it is.

Handlers ask for an adapter once, at import, and keep it while they are warm.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import cache
from typing import Any

from rewarm.adapters import block_reads, clients
from rewarm.adapters.artifacts import S3Artifacts
from rewarm.adapters.block_pace import DynamoBlockPaces
from rewarm.adapters.block_reads import EbsBlockReader
from rewarm.adapters.changed_blocks import EbsBlockLists, EbsSnapshotBlocks
from rewarm.adapters.executions import (
    AwsInventory,
    DynamoWaiters,
    StepFunctionsExecutions,
    StepFunctionsFleets,
    StepFunctionsStackExecutions,
    StepFunctionsTasks,
)
from rewarm.adapters.fast_restores import Ec2FastSnapshotRestores
from rewarm.adapters.history import DynamoHistory
from rewarm.adapters.holds import DynamoHolds, DynamoPace
from rewarm.adapters.instances import Ec2Instances, SsmCommands
from rewarm.adapters.messages import Channel, ChatTopic, EventBus, MessageFanOut, NotificationTopic
from rewarm.adapters.packs import S3Packs
from rewarm.adapters.page_links import DynamoPageLinks
from rewarm.adapters.performance import (
    CloudTrailCalls,
    CloudWatchMetrics,
    DynamoPerformanceLog,
    Ec2VolumeModifications,
)
from rewarm.adapters.prices import AwsPrices
from rewarm.adapters.quotas import ServiceQuotas
from rewarm.adapters.restores import DynamoRestoreTable
from rewarm.adapters.slack import SlackWebhook
from rewarm.adapters.slack_bot import SlackBot, SlackPlace
from rewarm.adapters.slack_requests import SlackRequests
from rewarm.adapters.snapshot_blocks import THREADS
from rewarm.adapters.snapshots import (
    Ec2CalibrationSnapshots,
    Ec2EvidenceSnapshots,
    Ec2SnapshotCatalog,
    Ec2SnapshotCopies,
)
from rewarm.adapters.undo_logs import S3UndoLogs
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.observability import count
from rewarm.settings import Settings
from rewarm.steps.clean_up.clean_up import CleanUpPorts
from rewarm.steps.replace.device_look import LookPorts
from rewarm.steps.replace.put_back import PutBackPorts
from rewarm.steps.replace.started import StartedPorts
from rewarm.steps.select.admission import Keeper

settings = Settings()


def now() -> datetime:
    """Returns the time, for handlers that no state machine tells it.

    It is read by time.time: datetime.now cannot be moved where time runs faster than real time.
    """
    return datetime.fromtimestamp(time.time(), UTC)


def pause(seconds: float) -> None:
    """Waits, in the same time as `now`."""
    time.sleep(seconds)


@cache
def _client(service: str) -> Any:
    return clients.client(service)


def snapshots() -> Ec2SnapshotCatalog:
    """Port SnapshotCatalog."""
    return Ec2SnapshotCatalog(
        _client("ec2"), clients.block_list_client(THREADS), _client("kms"), _foreign_snapshots
    )


@cache
def _foreign_snapshots(region: str) -> Ec2SnapshotCatalog:
    blocks = clients.block_list_client(THREADS, region)
    return Ec2SnapshotCatalog(clients.client("ec2", region), blocks, clients.client("kms", region))


def snapshot_copies() -> Ec2SnapshotCopies:
    """Port SnapshotCopies."""
    return Ec2SnapshotCopies(_client("ec2"), clients.client_that_tries_once("ec2"))


def evidence_snapshots() -> Ec2EvidenceSnapshots:
    """Port EvidenceSnapshots."""
    return Ec2EvidenceSnapshots(_client("ec2"), clients.client_that_tries_once("ec2"))


def calibration_snapshots() -> Ec2CalibrationSnapshots:
    """Port CalibrationSnapshots."""
    return Ec2CalibrationSnapshots(_client("ec2"))


def fast_restores() -> Ec2FastSnapshotRestores:
    """Port FastSnapshotRestores."""
    return Ec2FastSnapshotRestores(_client("ec2"), _client("cloudwatch"))


def volumes() -> Ec2VolumeStore:
    """Port VolumeStore."""
    return Ec2VolumeStore(_client("ec2"))


def modifications() -> Ec2VolumeModifications:
    """Port VolumeModifications."""
    return Ec2VolumeModifications(_client("ec2"))


def instances() -> Ec2Instances:
    """Port Instances."""
    return Ec2Instances(_client("ec2"), _client("ssm"))


def instance_states() -> Ec2Instances:
    """Port InstanceStates."""
    return instances()


def root_volumes() -> Ec2Instances:
    """Port RootVolumes."""
    return instances()


def commands() -> SsmCommands:
    """Port Commands."""
    return SsmCommands(_client("ssm"), settings.warmer_documents)


def sending_commands() -> SsmCommands:
    """Port Commands, for those who send some."""
    return SsmCommands(
        _client("ssm"), settings.warmer_documents, sender=clients.client_that_tries_once("ssm")
    )


def benchmark_commands() -> SsmCommands:
    """Port Commands, for benchmarks."""
    return SsmCommands(_client("ssm"), settings.benchmark_documents)


def device_look() -> LookPorts:
    """The ports that a look at a device needs."""
    commands = SsmCommands(_client("ssm"), settings.device_use_documents)
    return LookPorts(instances(), commands, artifacts())


def put_back() -> PutBackPorts:
    """The ports that putting a replaced volume back needs."""
    return PutBackPorts(volumes(), device_look(), table())


def clean_up() -> CleanUpPorts:
    """The ports that clean-up needs."""
    return CleanUpPorts(
        volumes=volumes(),
        modifications=modifications(),
        commands=commands(),
        fast_restores=fast_restores(),
        copies=snapshot_copies(),
        table=table(),
        stack_name=settings.stack_name,
        put_back=put_back(),
        started=StartedPorts(instances(), instance_states(), table()),
    )


def snapshot_blocks() -> EbsSnapshotBlocks:
    """Port SnapshotBlocks."""
    return EbsSnapshotBlocks(clients.block_list_client(1))


@cache
def _blocks_client(region: str) -> Any:
    return clients.block_client(block_reads.THREADS, region)


def block_lists() -> EbsBlockLists:
    """Port BlockLists."""
    return EbsBlockLists(_blocks_client, lambda region: clients.client("service-quotas", region))


def block_reader() -> EbsBlockReader:
    """Port BlockReader."""
    paces = DynamoBlockPaces(_client("dynamodb"), settings.restores_table, time.time, pause)
    return EbsBlockReader(_blocks_client, paces, pause)


def packs() -> S3Packs:
    """Port PackStore."""
    return S3Packs(clients.s3_client(), settings.artifacts_bucket)


def undo_logs() -> S3UndoLogs:
    """Port UndoLogs."""
    return S3UndoLogs(clients.s3_client(), settings.artifacts_bucket)


def metrics() -> CloudWatchMetrics:
    """Port Metrics."""
    return CloudWatchMetrics(_client("cloudwatch"))


def prices() -> AwsPrices:
    """Port Prices."""
    return AwsPrices(clients.price_list_client(), settings.region, settings.price_overrides)


def quotas() -> ServiceQuotas:
    """Port Quotas."""
    return ServiceQuotas(_client("service-quotas"), _client("ec2"))


def artifacts() -> S3Artifacts:
    """Port Artifacts."""
    return S3Artifacts(clients.s3_client(), settings.artifacts_bucket)


def table() -> DynamoRestoreTable:
    """Port RestoreTable."""
    return DynamoRestoreTable(_client("dynamodb"), settings.restores_table)


def holds() -> DynamoHolds:
    """Port Holds."""
    return DynamoHolds(_client("dynamodb"), settings.restores_table)


def pace() -> DynamoPace:
    """Port Pace."""
    return DynamoPace(_client("dynamodb"), settings.restores_table, settings.describe_calls_per_second)


def rate_requests() -> DynamoPace:
    """Port Pace: CreateVolume requests of volumes that were refused the Region's rate before.

    EC2 takes five a second, and saves up 100 (EC2 developer guide, "Request throttling"). A fleet begins up
    to 4.4 volumes a second; 30 requests may come at once.
    """
    return DynamoPace(_client("dynamodb"), settings.restores_table, 0.6, name="rate", burst_seconds=50)


def keeper() -> Keeper:
    """Who holds devices, for steps of the state machine."""
    return Keeper(holds(), table(), settings.limits)


def watching_keeper() -> Keeper:
    """The same, for those who may ask Step Functions whose restore is over."""
    return Keeper(holds(), table(), settings.limits, stack_executions())


def waiters() -> DynamoWaiters:
    """Port Waiters."""
    return DynamoWaiters(_client("dynamodb"), settings.restores_table)


def tasks() -> StepFunctionsTasks:
    """Port Tasks."""
    return StepFunctionsTasks(_client("stepfunctions"))


def history() -> DynamoHistory:
    """Port History."""
    return DynamoHistory(_client("dynamodb"), settings.restores_table)


def executions() -> StepFunctionsExecutions:
    """Port Executions."""
    return StepFunctionsExecutions(_client("stepfunctions"), settings.restore_state_machine_arn)


def performance_changes() -> StepFunctionsExecutions:
    """Port Executions, of the state machine `change-performance`."""
    return StepFunctionsExecutions(_client("stepfunctions"), settings.change_performance_state_machine_arn)


def stack_executions() -> StepFunctionsStackExecutions:
    """Port StackExecutions."""
    return StepFunctionsStackExecutions(
        _client("stepfunctions"),
        settings.restore_state_machine_arn,
        settings.restore_volume_state_machine_arn,
    )


def fleets() -> StepFunctionsFleets:
    """Port FleetExecutions."""
    return StepFunctionsFleets(_client("stepfunctions"), settings.fleet_state_machine_arn)


def inventory() -> AwsInventory:
    """Port Inventory."""
    return AwsInventory(
        _client("ec2"),
        _client("stepfunctions"),
        _client("cloudformation"),
        table(),
        settings.restore_state_machine_arn,
    )


def performance_log() -> DynamoPerformanceLog:
    """Port PerformanceLog."""
    return DynamoPerformanceLog(_client("dynamodb"), settings.restores_table)


def trail() -> CloudTrailCalls:
    """Port CallTrail."""
    return CloudTrailCalls(_client("cloudtrail"))


def page_links() -> DynamoPageLinks:
    """Port PageLinks."""
    return DynamoPageLinks(_client("dynamodb"), settings.restores_table, settings.pages_url)


def slack_requests() -> SlackRequests | None:
    """What checks the clicks in Slack; None where there is no app."""
    arn = settings.slack_signing_secret_arn
    return SlackRequests(_client("secretsmanager"), arn) if arn else None


def message_refused() -> None:
    """Counts a message that a channel did not take, for the alarm."""
    count("MessagesRefused")


def messages() -> MessageFanOut:
    """Port Messages, with every channel that the stack has."""
    channels: list[Channel] = [EventBus(_client("events"), settings.event_bus_name)]
    if settings.slack_webhook_secret_arn:
        channels.append(SlackWebhook(_client("secretsmanager"), settings.slack_webhook_secret_arn))
    if settings.slack_bot_secret_arn and settings.slack_channel:
        place = SlackPlace(settings.slack_bot_secret_arn, settings.slack_channel, settings.slack_buttons)
        channels.append(SlackBot(_client("secretsmanager"), place, table()))
    if settings.notification_topic_arn:
        channels.append(NotificationTopic(_client("sns"), settings.notification_topic_arn))
    if settings.chat_topic_arn:
        channels.append(ChatTopic(_client("sns"), settings.chat_topic_arn))
    return MessageFanOut(channels, message_refused)
