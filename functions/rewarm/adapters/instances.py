"""EC2 instances, whether SSM reaches them, and Run Command of AWS Systems Manager."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.tags import tag_filters, tag_list, tags_of
from rewarm.adapters.volumes import in_batches
from rewarm.domain.errors import AgentUnreachableError, TargetNotFoundError
from rewarm.domain.model import (
    MIB,
    CommandStatus,
    Instance,
    InstanceEbsLimits,
    StatusChecks,
    WantedTags,
)
from rewarm.domain.ready.agent_output import SentCommand
from rewarm.domain.tags import has_tags
from rewarm.domain.units import iso
from rewarm.ports.instances import Parameters

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import (
        EbsCardInfoTypeDef,
        EbsOptimizedInfoTypeDef,
        FilterTypeDef,
        InstanceTypeDef,
    )
    from mypy_boto3_ssm.client import SSMClient
    from mypy_boto3_ssm.type_defs import InstanceInformationTypeDef

_MEGABYTE = 1_000_000
_COMMENT_LENGTH = 100
_SHORTEST_DELIVERY_SECONDS = 30
"""botocore SendCommandRequest: Comment up to 100 characters; TimeoutSeconds (of the delivery) from 30."""
_MOST_INFORMED = 50
"""botocore InstanceInformationStringFilter: up to 100 values; a page of the answer has 50 at most."""
_CLOCKS_AGREE = timedelta(minutes=1)
"""How far SSM's clock and ours may be apart."""
_NOTHING_TO_CANCEL_CODES = {"InvalidCommandId", "InvalidInstanceId", "DuplicateInstanceId"}


class Ec2Instances:
    """The ports Instances, InstanceStates and RootVolumes."""

    def __init__(self, ec2: EC2Client, ssm: SSMClient) -> None:
        self._ec2 = ec2
        self._ssm = ssm
        self._limits: dict[str, InstanceEbsLimits] = {}
        self._zones: list[str] | None = None

    def get(self, instance_id: str) -> Instance:
        with naming_errors():
            reservations = self._ec2.describe_instances(InstanceIds=[instance_id])["Reservations"]
        for reservation in reservations:
            for found in reservation.get("Instances", []):
                return _instance(found, self._information(instance_id))
        raise TargetNotFoundError(f"there is no instance {instance_id}")

    def existing(self, instance_ids: Sequence[str]) -> Iterator[Instance]:
        for batch in in_batches(instance_ids):
            yield from (
                _instance(found, {}) for found in self._pages({"Name": "instance-id", "Values": batch})
            )

    def reached(self, instance_ids: Sequence[str]) -> Iterator[Instance]:
        for batch in in_batches(instance_ids):
            known = dict(self._informed(batch))
            for found in self._pages({"Name": "instance-id", "Values": batch}):
                yield _instance(found, known.get(found["InstanceId"], {}))

    def with_tags(self, tags: WantedTags) -> Iterator[Instance]:
        running: FilterTypeDef = {"Name": "instance-state-name", "Values": ["running"]}
        found = (_instance(shown, {}) for shown in self._pages(*tag_filters(tags), running))
        yield from (instance for instance in found if has_tags(tags, instance.tags))

    def _pages(self, *filters: FilterTypeDef) -> Iterator[InstanceTypeDef]:
        pages = self._ec2.get_paginator("describe_instances")
        with naming_errors():
            for page in pages.paginate(Filters=list(filters), PaginationConfig={"PageSize": 1_000}):
                for reservation in page["Reservations"]:
                    yield from reservation.get("Instances", [])

    def _informed(self, instance_ids: Sequence[str]) -> Iterator[tuple[str, InstanceInformationTypeDef]]:
        """By instance, what Systems Manager knows of it."""
        pages = self._ssm.get_paginator("describe_instance_information")
        for start in range(0, len(instance_ids), _MOST_INFORMED):
            some = list(instance_ids[start : start + _MOST_INFORMED])
            with naming_errors():
                for page in pages.paginate(Filters=[{"Key": "InstanceIds", "Values": some}]):
                    yield from ((known["InstanceId"], known) for known in page["InstanceInformationList"])

    def is_online(self, instance_id: str) -> bool:
        return _is_online(self._information(instance_id))

    def availability_zones(self) -> list[str]:
        """Read once by each process, because a Region rarely gets a new zone."""
        if self._zones is None:
            with naming_errors():
                zones = self._ec2.describe_availability_zones()["AvailabilityZones"]
            self._zones = sorted(zone["ZoneName"] for zone in zones)
        return self._zones

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """DescribeInstanceTypes, once for each type: what a type can do does not change."""
        known = self._limits.get(instance_type)
        if known is None:
            known = self._limits[instance_type] = self._look_up(instance_type)
        return known

    def _look_up(self, instance_type: str) -> InstanceEbsLimits:
        with naming_errors():
            types = self._ec2.describe_instance_types(InstanceTypes=[instance_type])["InstanceTypes"]  # type: ignore[list-item]
        ebs = types[0].get("EbsInfo", {}) if types else {}
        whole = ebs.get("EbsOptimizedInfo", {})
        cards = ebs.get("EbsCards", [])
        nvme = ebs.get("NvmeSupport") != "unsupported"
        each = sorted(cards, key=lambda card: card.get("EbsCardIndex", 0)) if len(cards) > 1 else []
        return _limits(whole, nvme=nvme, cards=tuple(_limits(card, nvme=nvme) for card in each))

    def start(self, instance_id: str, tags: Mapping[str, str]) -> None:
        with naming_errors():
            self._ec2.create_tags(Resources=[instance_id], Tags=tag_list(tags))
            self._ec2.start_instances(InstanceIds=[instance_id])

    def stop(self, instance_id: str) -> None:
        with naming_errors():
            self._ec2.stop_instances(InstanceIds=[instance_id])

    def untag(self, instance_id: str, *keys: str) -> None:
        with suppress(TargetNotFoundError), naming_errors():
            self._ec2.delete_tags(Resources=[instance_id], Tags=[{"Key": key} for key in keys])

    def status_checks(self, instance_id: str) -> StatusChecks | None:
        with naming_errors():
            found = self._ec2.describe_instance_status(InstanceIds=[instance_id])["InstanceStatuses"]
        if not found:
            return None
        unknown = "not-applicable"
        return StatusChecks(
            found[0].get("SystemStatus", {}).get("Status", unknown),
            found[0].get("InstanceStatus", {}).get("Status", unknown),
            found[0].get("AttachedEbsStatus", {}).get("Status", unknown),
        )

    def begin_swap(self, instance_id: str, volume_id: str, *, client_token: str) -> str:
        with naming_errors():
            answer = self._ec2.create_replace_root_volume_task(
                InstanceId=instance_id, VolumeId=volume_id, ClientToken=client_token
            )
        return answer["ReplaceRootVolumeTask"]["ReplaceRootVolumeTaskId"]

    def swaps(self, instance_id: str) -> dict[str, str]:
        # Filter by instance: AWS documents no error for a task that EC2 does not show yet.
        pages = self._ec2.get_paginator("describe_replace_root_volume_tasks")
        with naming_errors():
            return {
                task["ReplaceRootVolumeTaskId"]: task["TaskState"]
                for page in pages.paginate(Filters=[{"Name": "instance-id", "Values": [instance_id]}])
                for task in page["ReplaceRootVolumeTasks"]
            }

    def _information(self, instance_id: str) -> InstanceInformationTypeDef:
        """What Systems Manager knows of the instance; empty if it knows nothing."""
        return dict(self._informed([instance_id])).get(instance_id, {})


def _instance(found: InstanceTypeDef, information: InstanceInformationTypeDef) -> Instance:
    return Instance(
        instance_id=found["InstanceId"],
        state=found["State"]["Name"],
        availability_zone=found["Placement"]["AvailabilityZone"],
        instance_type=found["InstanceType"],
        architecture=found.get("Architecture", "x86_64"),
        # EC2 sets Platform for Windows only (botocore Instance.Platform).
        platform=found.get("Platform", "linux").lower(),
        image_id=found.get("ImageId", ""),
        devices={
            mapping["DeviceName"]: mapping["Ebs"]["VolumeId"]
            for mapping in found.get("BlockDeviceMappings", [])
            if "VolumeId" in mapping.get("Ebs", {})
        },
        ssm_online=_is_online(information),
        root_device=found.get("RootDeviceName"),
        system=information.get("PlatformName"),
        heard_at=information.get("LastPingDateTime"),
        state_reason=found.get("StateReason", {}).get("Message"),
        tags=tags_of(found.get("Tags")),
        ending=frozenset(
            mapping["DeviceName"]
            for mapping in found.get("BlockDeviceMappings", [])
            if mapping.get("Ebs", {}).get("DeleteOnTermination")
        ),
    )


def _limits(
    found: EbsOptimizedInfoTypeDef | EbsCardInfoTypeDef,
    *,
    nvme: bool,
    cards: tuple[InstanceEbsLimits, ...] = (),
) -> InstanceEbsLimits:
    """Of an instance type, or of one of its EBS cards."""
    return InstanceEbsLimits(
        baseline_throughput_mib_s=_mib_s(found.get("BaselineThroughputInMBps")),
        maximum_throughput_mib_s=_mib_s(found.get("MaximumThroughputInMBps")),
        baseline_iops=found.get("BaselineIops"),
        maximum_iops=found.get("MaximumIops"),
        nvme=nvme,
        cards=cards,
    )


def _is_online(information: InstanceInformationTypeDef) -> bool:
    return information.get("PingStatus") == "Online"


def _mib_s(megabytes_per_second: float | None) -> float | None:
    """EC2 reports MB/s in powers of ten; volumes are rated in MiB/s."""
    return None if megabytes_per_second is None else megabytes_per_second * _MEGABYTE / MIB


class SsmSender:
    """What all commands have in common; `sender` is a client that tries once."""

    def __init__(self, ssm: SSMClient, sender: SSMClient) -> None:
        self._ssm = ssm
        self._sender = sender
        self._clock = time.time

    def time(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def cancel(self, command_id: str, instance_id: str) -> None:
        with naming_errors():
            try:
                self._ssm.cancel_command(CommandId=command_id, InstanceIds=[instance_id])
            except ClientError as error:
                if code_of(error) not in _NOTHING_TO_CANCEL_CODES:
                    raise

    def _send(
        self, document: str, instance_id: str, comment: str, timeout_seconds: int, **parameters: Any
    ) -> str:
        with naming_errors():
            answer = self._sender.send_command(
                DocumentName=document,
                InstanceIds=[instance_id],
                Comment=comment[:_COMMENT_LENGTH],
                TimeoutSeconds=max(_SHORTEST_DELIVERY_SECONDS, timeout_seconds),
                **parameters,
            )
        return answer["Command"]["CommandId"]

    def _find(self, document: str, comment: str, since: datetime) -> list[SentCommand]:
        """Not filtered by instance: SSM may list only commands that arrived there (botocore ListCommands)."""
        pages = self._ssm.get_paginator("list_commands").paginate(
            Filters=[
                {"key": "DocumentName", "value": document},
                {"key": "InvokedAfter", "value": iso((since - _CLOCKS_AGREE).replace(microsecond=0))},
            ]
        )
        with naming_errors():
            return [
                SentCommand(command["CommandId"], command["Status"])
                for page in pages
                for command in page["Commands"]
                if command.get("Comment") == comment[:_COMMENT_LENGTH]
            ]


class SsmCommands(SsmSender):
    """The port Commands."""

    def __init__(
        self, ssm: SSMClient, documents: Mapping[str, str], *, sender: SSMClient | None = None
    ) -> None:
        """`documents` by the platform of the instance."""
        super().__init__(ssm, sender or ssm)
        self._documents = documents

    def send(
        self, instance_id: str, parameters: Parameters, *, platform: str, comment: str, timeout_seconds: int
    ) -> str:
        document = self._documents.get(platform)
        if document is None:
            raise AgentUnreachableError(f"there is no SSM document for {platform} instances")
        values = {name: [value] for name, value in parameters.items()}
        return self._send(document, instance_id, comment, timeout_seconds, Parameters=values)

    def find(self, comment: str, *, platform: str, since: datetime) -> list[SentCommand]:
        document = self._documents.get(platform)
        return [] if document is None else self._find(document, comment, since)

    def status(self, command_id: str, instance_id: str) -> CommandStatus | None:
        with naming_errors():
            try:
                answer = self._ssm.get_command_invocation(CommandId=command_id, InstanceId=instance_id)
            except ClientError as error:
                if code_of(error) == "InvocationDoesNotExist":
                    return None
                raise
        return CommandStatus(
            status=answer["Status"],
            status_details=answer.get("StatusDetails", ""),
            exit_code=exit_code_of(answer.get("ResponseCode")),
            stdout=answer.get("StandardOutputContent", ""),
            stderr=answer.get("StandardErrorContent", ""),
            ended_at=_instant(answer.get("ExecutionEndDateTime")),
        )


def exit_code_of(response_code: int | None) -> int | None:
    """-1 means that the command has not finished (botocore GetCommandInvocationResult.ResponseCode)."""
    return None if response_code is None or response_code < 0 else response_code


def _instant(stamp: str | None) -> datetime | None:
    """SSM sends an empty text while the command runs (botocore GetCommandInvocationResult)."""
    if not stamp:
        return None
    try:
        instant = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
