"""Which adapter serves which port, and what time it is.

A function here has the name of a port or a setting, and returns it. `runtime` calls the functions whose ports
a step names. An adapter's module is imported when its port is made.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from rewarm import adapters
from rewarm.adapters import clients
from rewarm.observability import count
from rewarm.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rewarm.domain.parts import Parts
    from rewarm.domain.volume.holds import ConcurrencyLimits
    from rewarm.domain.volume.performance import ModificationRule
    from rewarm.ports import JsonObject
    from rewarm.ports.artifacts import Artifacts, UndoLogs
    from rewarm.ports.executions import (
        Executions,
        FleetExecutions,
        Inventory,
        StackExecutions,
        Tasks,
        VolumeExecutions,
        Waiters,
    )
    from rewarm.ports.instances import (
        CommandDocuments,
        Commands,
        Hooks,
        Instances,
        InstanceStates,
        RootVolumes,
    )
    from rewarm.ports.messages import Messages, PageLinks
    from rewarm.ports.prices import Prices, Quotas
    from rewarm.ports.restores import Adoptions, History, Holds, Pace, RestoreTable
    from rewarm.ports.snapshots import (
        BlockLists,
        BlockReader,
        EvidenceSnapshots,
        FastSnapshotRestores,
        PackStore,
        SnapshotBlocks,
        SnapshotCatalog,
        SnapshotCopies,
        TaggedSnapshots,
    )
    from rewarm.ports.volumes import CallTrail, Metrics, PerformanceLog, VolumeModifications, VolumeStore
    from rewarm.steps.record.restore import KnownRestore, LookAtWaysBack
    from rewarm.steps.select.admission import Keeper

settings = Settings()


def now() -> datetime:
    """Returns the time for handlers that get none from a state machine.

    It reads time.time, because datetime.now cannot be replaced where tests run faster than real time.
    """
    return datetime.fromtimestamp(time.time(), UTC)


def pause(seconds: float) -> None:
    """Waits by the same clock as `now`."""
    time.sleep(seconds)


def wait() -> Callable[[float], None]:
    return pause


@cache
def _client(service: str) -> Any:
    return clients.client(service)


def later_client(service: str) -> Any:
    """A client of a service that few users of the port call; it is made at its first call."""
    return clients.later(partial(_client, service))


_s3 = cache(clients.s3_client)
_price_list_client = cache(clients.price_list_client)


@cache
def _client_that_tries_once(service: str) -> Any:
    return clients.later(cache(partial(clients.client_that_tries_once, service)))


_quick_client = cache(clients.quick_client)
_quick_s3_client = cache(clients.quick_s3_client)


def alarm_accounts() -> Collection[str]:
    return settings.alarm_accounts


def bucket() -> str:
    return settings.artifacts_bucket


def cooldown() -> timedelta:
    return settings.alarm_cooldown


def most_in_stack() -> int:
    return settings.limits.in_stack


def parts() -> Parts:
    return settings.parts


def region() -> str:
    return settings.region


def rule() -> ModificationRule:
    return settings.modification_rule


def stack_name() -> str:
    return settings.stack_name


def undo_log_days() -> int:
    return settings.undo_log_days


def snapshots() -> SnapshotCatalog:
    ebs = clients.later(cache(lambda: clients.block_list_client(adapters.snapshot_blocks.THREADS)))
    return adapters.snapshots.Ec2SnapshotCatalog(_client("ec2"), ebs, later_client("kms"), _foreign_snapshots)


@cache
def _foreign_snapshots(region: str) -> SnapshotCatalog:
    lister = clients.block_list_client(adapters.snapshot_blocks.THREADS, region)
    ec2 = clients.client("ec2", region)
    kms = clients.client("kms", region)
    return adapters.snapshots.Ec2SnapshotCatalog(ec2, lister, kms)


def way_back() -> LookAtWaysBack:
    """Its ports are made when it looks, and so are their clients once they are needed."""

    def look(record: KnownRestore) -> KnownRestore:
        from rewarm.steps.record.way_back import WayBackPorts, looked

        ec2 = clients.later(partial(_quick_client, "ec2"))
        s3 = clients.later(_quick_s3_client)
        ports = WayBackPorts(
            snapshots=adapters.snapshots.Ec2SnapshotCatalog(ec2, later_client("ebs"), later_client("kms")),
            volumes=adapters.volumes.Ec2VolumeStore(ec2),
            artifacts=adapters.artifacts.S3Artifacts(s3, settings.artifacts_bucket, settings.agents),
        )
        return looked(record, ports)

    return look


def copies() -> SnapshotCopies:
    return adapters.snapshots.Ec2SnapshotCopies(_client("ec2"), _client_that_tries_once("ec2"))


def evidence() -> EvidenceSnapshots:
    return adapters.snapshots.Ec2EvidenceSnapshots(_client("ec2"), _client_that_tries_once("ec2"))


def tagged_snapshots() -> TaggedSnapshots:
    return adapters.snapshots.Ec2TaggedSnapshots(_client("ec2"))


def fast_restores() -> FastSnapshotRestores:
    return adapters.fast_restores.Ec2FastSnapshotRestores(_client("ec2"), later_client("cloudwatch"))


def volumes() -> VolumeStore:
    return adapters.volumes.Ec2VolumeStore(_client("ec2"))


def modifications() -> VolumeModifications:
    return adapters.performance.Ec2VolumeModifications(_client("ec2"))


def blocks() -> SnapshotBlocks:
    return adapters.changed_blocks.EbsSnapshotBlocks(clients.block_list_client(1))


@cache
def _blocks_client(region: str) -> Any:
    return clients.block_client(adapters.block_reads.THREADS, region)


def lists() -> BlockLists:
    return adapters.changed_blocks.EbsBlockLists(
        _blocks_client, lambda region: clients.client("service-quotas", region)
    )


def reader() -> BlockReader:
    paces = adapters.block_reads.DynamoBlockPaces(
        _client("dynamodb"), settings.restores_table, time.time, pause
    )
    return adapters.block_reads.EbsBlockReader(_blocks_client, paces, pause)


def packs() -> PackStore:
    return adapters.packs.S3Packs(_s3(), settings.artifacts_bucket)


def logs() -> UndoLogs:
    return adapters.packs.S3UndoLogs(_s3(), settings.artifacts_bucket)


def _instances() -> adapters.instances.Ec2Instances:
    return adapters.instances.Ec2Instances(_client("ec2"), later_client("ssm"))


instances: Callable[[], Instances] = _instances
states: Callable[[], InstanceStates] = _instances
roots: Callable[[], RootVolumes] = _instances


def commands() -> Commands:
    return _commands(settings.warmer_documents)


def agent_commands() -> Commands:
    """For steps that send commands, by a client that tries only once."""
    return _commands(settings.warmer_documents, sender=_client_that_tries_once("ssm"))


def report_commands() -> Commands:
    return adapters.instances.SsmCommands(later_client("ssm"), {})


def benchmark_commands() -> Commands:
    return _commands(settings.benchmark_documents)


def look_commands() -> Commands:
    return _commands(settings.device_use_documents)


def _commands(documents: dict[str, str], **sender: Any) -> adapters.instances.SsmCommands:
    return adapters.instances.SsmCommands(_client("ssm"), documents, **sender)


def documents() -> CommandDocuments:
    return adapters.hooks.SsmDocuments(later_client("ssm"))


def hooks() -> Hooks:
    return adapters.hooks.SsmHooks(_client("ssm"), _client_that_tries_once("ssm"))


def hook_document() -> str:
    return settings.hook_document


def metrics() -> Metrics:
    return adapters.performance.CloudWatchMetrics(_client("cloudwatch"))


def trail() -> CallTrail:
    return adapters.performance.CloudTrailCalls(_client("cloudtrail"))


def prices() -> Prices:
    return adapters.prices.AwsPrices(
        clients.later(_price_list_client), settings.region, settings.price_overrides
    )


def quotas() -> Quotas:
    return adapters.quotas.ServiceQuotas(later_client("service-quotas"), _client("ec2"))


def artifacts() -> Artifacts:
    return adapters.artifacts.S3Artifacts(_s3(), settings.artifacts_bucket, settings.agents)


def late_artifacts() -> Artifacts:
    return adapters.artifacts.S3Artifacts(clients.later(_s3), settings.artifacts_bucket, settings.agents)


announce_artifacts = late_artifacts  # few messages need the bucket
look_artifacts = late_artifacts  # few restores replace a volume and look at its device


def draw() -> Callable[[JsonObject], str | None]:
    from rewarm import restore_page

    return restore_page.drawn


def _table() -> adapters.restores.DynamoRestoreTable:
    return adapters.restores.DynamoRestoreTable(_client("dynamodb"), settings.restores_table)


table: Callable[[], RestoreTable] = _table


def history() -> History:
    return adapters.history.DynamoHistory(_client("dynamodb"), settings.restores_table)


def log() -> PerformanceLog:
    return adapters.performance.DynamoPerformanceLog(_client("dynamodb"), settings.restores_table)


def links() -> PageLinks:
    return adapters.page_links.DynamoPageLinks(
        _client("dynamodb"), settings.restores_table, settings.pages_url
    )


def waiters() -> Waiters:
    return adapters.executions.DynamoWaiters(_client("dynamodb"), settings.restores_table)


def holds() -> Holds:
    return adapters.holds.DynamoHolds(_client("dynamodb"), settings.restores_table)


def adoptions() -> Adoptions:
    return adapters.adoptions.DynamoAdoptions(_client("dynamodb"), settings.restores_table)


def limits() -> ConcurrencyLimits:
    return settings.limits


def pace() -> Pace:
    return _pace(settings.describe_calls_per_second)


def rate_requests() -> Pace:
    """CreateVolume requests of volumes that were refused the Region's rate before.

    EC2 takes five a second, and saves up 100 (EC2 developer guide, "Request throttling"). A fleet begins up
    to 4.4 volumes a second; 30 requests may come at once.
    """
    return _pace(0.6, name="rate", burst_seconds=50)


def _pace(per_second: float, **of: Any) -> adapters.holds.DynamoPace:
    return adapters.holds.DynamoPace(_client("dynamodb"), settings.restores_table, per_second, **of)


def keeper() -> Keeper:
    """Which restores hold devices, for steps of the state machine."""
    from rewarm.steps.select.admission import Keeper

    return Keeper(holds(), table(), settings.limits)


def tasks() -> Tasks:
    return adapters.executions.StepFunctionsTasks(_client("stepfunctions"))


def executions() -> Executions:
    return _executions(settings.restore_state_machine_arn)


def start_performance_change_executions() -> Executions:
    return _executions(settings.change_performance_state_machine_arn)


def _executions(machine_arn: str) -> adapters.executions.StepFunctionsExecutions:
    return adapters.executions.StepFunctionsExecutions(_client("stepfunctions"), machine_arn)


def witness() -> StackExecutions:
    return adapters.executions.StepFunctionsStackExecutions(
        _client("stepfunctions"),
        settings.restore_state_machine_arn,
        settings.restore_volume_state_machine_arn,
    )


def volume_executions() -> VolumeExecutions:
    return adapters.executions.StepFunctionsVolumes(
        _client("stepfunctions"), settings.restore_volume_state_machine_arn
    )


def fleets() -> FleetExecutions:
    return adapters.executions.StepFunctionsFleets(_client("stepfunctions"), settings.fleet_state_machine_arn)


def inventory() -> Inventory:
    return adapters.executions.AwsInventory(
        _client("ec2"),
        _client("stepfunctions"),
        later_client("cloudformation"),
        _table(),
        settings.restore_state_machine_arn,
    )


def messages(client: Callable[[str], Any] = _client) -> Messages:
    """Every channel that the stack has."""
    channels = adapters.messages
    there: list[adapters.messages.Channel] = [channels.EventBus(client("events"), settings.event_bus_name)]
    if settings.slack_webhook_secret_arn:
        there.append(adapters.slack.SlackWebhook(client("secretsmanager"), settings.slack_webhook_secret_arn))
    if settings.slack_bot_secret_arn and settings.slack_channel:
        place = adapters.slack_bot.SlackPlace(
            settings.slack_bot_secret_arn, settings.slack_channel, settings.slack_buttons
        )
        there.append(adapters.slack_bot.SlackBot(client("secretsmanager"), place, table()))
    if settings.notification_topic_arn:
        there.append(channels.NotificationTopic(client("sns"), settings.notification_topic_arn))
    if settings.chat_topic_arn:
        there.append(channels.ChatTopic(client("sns"), settings.chat_topic_arn))
    return channels.MessageFanOut(there, message_refused)


def message_refused() -> None:
    """Counts a message that a channel did not take, for the alarm."""
    count("MessagesRefused")


def slack_requests() -> adapters.slack_requests.SlackRequests | None:
    """What checks the clicks in Slack; None if there is no app."""
    arn = settings.slack_signing_secret_arn
    return adapters.slack_requests.SlackRequests(later_client("secretsmanager"), arn) if arn else None
