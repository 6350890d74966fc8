"""EBS volumes on EC2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, in_our_words, message_of, naming_errors
from rewarm.adapters.tags import tag_filters, tag_list, tags_of
from rewarm.domain.errors import (
    AccessDeniedError,
    InitializationRateUnavailableError,
    RestoreError,
    ServiceUnavailableError,
    SnapshotNotFoundError,
    TargetNotFoundError,
    ThrottledError,
    VolumeNotFoundError,
)
from rewarm.domain.model import Attachment, InitializationStatus, Volume, VolumeSettings, WantedTags
from rewarm.domain.tags import has_tags
from rewarm.domain.volume.performance import BOOST_TAG, STACK_TAG
from rewarm.domain.volume.replacing import REPLACED_STACK_TAG

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ec2.type_defs import (
        FilterTypeDef,
        VolumeAttachmentTypeDef,
        VolumeStatusDetailsTypeDef,
        VolumeTypeDef,
    )

RESTORE_TAG = "rewarm:restore-id"
"""Whose volume it is; the steps set it at creation."""
_UNRELATED_TO_RATE = (
    ThrottledError,
    ServiceUnavailableError,
    AccessDeniedError,
    SnapshotNotFoundError,
    TargetNotFoundError,
)
_PAGE = 500
_MOST_FILTER_VALUES = 200
"""In one call, those of all its filters together (EC2 API reference, error code FilterLimitExceeded)."""
_EXISTING: FilterTypeDef = {"Name": "status", "Values": ["creating", "available", "in-use", "error"]}
_NOT_ATTACHED_CODES = {"IncorrectState", "InvalidAttachment.NotFound", "InvalidVolume.NotFound"}


class Ec2VolumeStore:
    """The port VolumeStore."""

    def __init__(self, ec2: EC2Client) -> None:
        self._ec2 = ec2

    def create(
        self,
        snapshot_id: str | None,
        zone: str,
        settings: VolumeSettings,
        rate_mib_s: int | None,
        client_token: str,
    ) -> str:
        request = _creation(snapshot_id, zone, settings)
        if rate_mib_s is not None:
            request["VolumeInitializationRate"] = rate_mib_s
        with _naming_rate_errors(rate_mib_s):
            return self._ec2.create_volume(**request, ClientToken=client_token)["VolumeId"]

    def copy(self, source_volume_id: str, settings: VolumeSettings, *, client_token: str) -> str:
        request = {"SourceVolumeId": source_volume_id, **_settings(settings)}
        with naming_errors():
            return self._ec2.copy_volumes(**request, ClientToken=client_token)["Volumes"][0]["VolumeId"]

    def get(self, volume_id: str) -> Volume:
        with naming_errors():
            found = self._ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
        if not found:
            raise VolumeNotFoundError(f"there is no volume {volume_id}")
        return _volume(found[0])

    def existing(self, volume_ids: Sequence[str]) -> Iterator[Volume]:
        for batch in in_batches(volume_ids):
            yield from self._pages({"Name": "volume-id", "Values": batch})

    def on_instances(self, instance_ids: Sequence[str]) -> Iterator[Volume]:
        for batch in in_batches(instance_ids):
            yield from self._pages({"Name": "attachment.instance-id", "Values": batch})

    def with_tags(self, tags: WantedTags) -> Iterator[Volume]:
        found = self._pages(*tag_filters(tags), _EXISTING)
        return (volume for volume in found if has_tags(tags, volume.settings.tags))

    def of_snapshots(self, snapshot_ids: Sequence[str]) -> Iterator[Volume]:
        for batch in in_batches(snapshot_ids):
            yield from self._pages({"Name": "snapshot-id", "Values": batch}, _EXISTING)

    def created_by(self, restore_id: str) -> list[Volume]:
        return self._matching(_with_tag(RESTORE_TAG, restore_id))

    def of_stack(self, stack_name: str) -> list[Volume]:
        return self._matching(_with_tag(STACK_TAG, stack_name), _EXISTING)

    def boosted(self, stack_name: str) -> list[Volume]:
        return self._matching(_with_tag(STACK_TAG, stack_name), {"Name": "tag-key", "Values": [BOOST_TAG]})

    def replaced(self, stack_name: str) -> list[Volume]:
        return self._matching(_with_tag(REPLACED_STACK_TAG, stack_name))

    def product_codes(self, volume_id: str) -> list[str]:
        with naming_errors():
            answer = self._ec2.describe_volume_attribute(VolumeId=volume_id, Attribute="productCodes")
        return [
            code.get("ProductCodeId", "")
            for code in answer.get("ProductCodes", [])
            if code.get("ProductCodeType") == "marketplace"
        ]

    def attach(self, volume_id: str, instance_id: str, device: str, card: int | None = None) -> None:
        on: dict[str, Any] = {} if card is None else {"EbsCardIndex": card}
        with naming_errors():
            try:
                self._ec2.attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device=device, **on)
            except ClientError:
                # There is no client token, so after a lost answer EC2 refuses botocore's retry.
                if not self._attached(volume_id, instance_id, device):
                    raise

    def detach(self, volume_id: str, instance_id: str) -> None:
        with naming_errors():
            try:
                self._ec2.detach_volume(VolumeId=volume_id, InstanceId=instance_id)
            except ClientError as error:
                if code_of(error) not in _NOT_ATTACHED_CODES or self._attached(volume_id, instance_id):
                    raise

    def delete(self, volume_id: str) -> None:
        with suppress(VolumeNotFoundError), naming_errors():
            self._ec2.delete_volume(VolumeId=volume_id)

    def tag(self, volume_id: str, tags: Mapping[str, str]) -> None:
        with naming_errors():
            self._ec2.create_tags(Resources=[volume_id], Tags=tag_list(tags))

    def untag(self, volume_id: str, *keys: str) -> None:
        with suppress(VolumeNotFoundError), naming_errors():
            self._ec2.delete_tags(Resources=[volume_id], Tags=[{"Key": key} for key in keys])

    def set_delete_on_termination(self, instance_id: str, device: str, *, delete: bool) -> None:
        with naming_errors():
            self._ec2.modify_instance_attribute(
                InstanceId=instance_id,
                BlockDeviceMappings=[{"DeviceName": device, "Ebs": {"DeleteOnTermination": delete}}],
            )

    def initialization_status(self, volume_id: str) -> InitializationStatus:
        with naming_errors():
            found = self._ec2.describe_volume_status(VolumeIds=[volume_id])["VolumeStatuses"]
        if not found:
            return InitializationStatus(None, None, None, None)
        details = found[0].get("InitializationStatusDetails", {})
        return InitializationStatus(
            state=_initialization_state(found[0].get("VolumeStatus", {}).get("Details", [])),
            initialization_type=details.get("InitializationType"),
            progress_percent=details.get("Progress"),
            eta_seconds=details.get("EstimatedTimeToCompleteInSeconds"),
        )

    def _matching(self, *filters: FilterTypeDef) -> list[Volume]:
        return list(self._pages(*filters))

    def _pages(self, *filters: FilterTypeDef) -> Iterator[Volume]:
        paginator = self._ec2.get_paginator("describe_volumes")
        with naming_errors():
            for page in paginator.paginate(Filters=list(filters), PaginationConfig={"PageSize": _PAGE}):
                yield from map(_volume, page["Volumes"])

    def _attached(self, volume_id: str, instance_id: str, device: str | None = None) -> bool:
        try:
            attachments = self.get(volume_id).attachments
        except VolumeNotFoundError:
            return False
        return any(
            attachment.instance_id == instance_id
            and attachment.state != "detached"
            and device in (None, attachment.device)
            for attachment in attachments
        )


def _with_tag(key: str, value: str) -> FilterTypeDef:
    return tag_filters({key: value})[0]


def _creation(snapshot_id: str | None, zone: str, settings: VolumeSettings) -> dict[str, Any]:
    """CreateVolume's parameters."""
    origin = {} if snapshot_id is None else {"SnapshotId": snapshot_id}
    return {**origin, "AvailabilityZone": zone, **_settings(settings)}


def _settings(settings: VolumeSettings) -> dict[str, Any]:
    """As CreateVolume and CopyVolumes take them; what AWS has a default for is left out."""
    request: dict[str, Any] = {
        "VolumeType": settings.volume_type,
        "Size": settings.size_gib,
        "TagSpecifications": [{"ResourceType": "volume", "Tags": tag_list(settings.tags)}],
    }
    if settings.iops is not None:
        request["Iops"] = settings.iops
    if settings.throughput_mib_s is not None:
        request["Throughput"] = settings.throughput_mib_s
    if settings.kms_key_id is not None:
        request |= {"Encrypted": True, "KmsKeyId": settings.kms_key_id}
    elif settings.encrypted:
        request["Encrypted"] = True
    if settings.multi_attach:
        request["MultiAttachEnabled"] = True
    return request


@contextmanager
def _naming_rate_errors(rate_mib_s: int | None) -> Iterator[None]:
    """Names the errors of CreateVolume.

    AWS says that the request fails if the Region cannot supply the rate, and gives no code. So every refusal
    that is not clearly about something else counts as that. If the rate was not the cause, the next plan gets
    the same refusal.
    """
    with naming_errors():
        try:
            yield
        except ClientError as error:
            named = in_our_words(error)
            if rate_mib_s is not None and not _is_unrelated_to_rate(error, named):
                raise InitializationRateUnavailableError(
                    f"an initialization rate of {rate_mib_s} MiB/s cannot be had: {named}"
                ) from error
            raise


def _is_unrelated_to_rate(error: ClientError, named: RestoreError) -> bool:
    code = code_of(error)
    message = message_of(error).lower().replace(" ", "")
    if "initializationrate" in message:
        return False
    about_request = code.startswith(("Invalid", "Missing", "Unknown", "Idempotent", "Unsupported", "MaxIOPS"))
    return isinstance(named, _UNRELATED_TO_RATE) or about_request


def _volume(found: VolumeTypeDef) -> Volume:
    """As DescribeVolumes shows it."""
    return Volume(
        volume_id=found["VolumeId"],
        state=found["State"],
        availability_zone=found["AvailabilityZone"],
        settings=VolumeSettings(
            volume_type=found.get("VolumeType", "standard"),
            size_gib=found["Size"],
            iops=found.get("Iops"),
            throughput_mib_s=found.get("Throughput"),
            kms_key_id=found.get("KmsKeyId"),
            multi_attach=found.get("MultiAttachEnabled", False),
            tags=tags_of(found.get("Tags")),
        ),
        snapshot_id=found.get("SnapshotId") or None,
        fast_restored=found.get("FastRestored"),
        attachments=tuple(_attachment(attachment) for attachment in found.get("Attachments", [])),
        created_at=found["CreateTime"],
        managed_by=found.get("Operator", {}).get("Principal"),
        source_volume_id=found.get("SourceVolumeId") or None,
    )


def _attachment(found: VolumeAttachmentTypeDef) -> Attachment:
    return Attachment(
        found.get("InstanceId", ""),
        found.get("Device", ""),
        found.get("State", ""),
        found.get("AttachTime"),
        delete_on_termination=found.get("DeleteOnTermination", False),
        card=found.get("EbsCardIndex", 0),
    )


def _initialization_state(details: list[VolumeStatusDetailsTypeDef]) -> str | None:
    for detail in details:
        if detail.get("Name") == "initialization-state":
            return detail.get("Status")
    return None


def in_batches(ids: Sequence[str]) -> Iterator[list[str]]:
    """The ids, as many at a time as a filter takes."""
    for start in range(0, len(ids), _MOST_FILTER_VALUES):
        yield list(ids[start : start + _MOST_FILTER_VALUES])
