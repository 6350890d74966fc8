"""AttachVolume and DetachVolume (botocore ec2; EC2 user guide, "Device names for volumes")."""

from __future__ import annotations

import re

from local import Json
from local.aws.machines.dataplane import DataPlaneError
from local.aws.region.core import Core, refuse_dry_run
from local.aws.region.errors import ApiError, invalid
from local.aws.region.operations import operation
from local.aws.region.resources import Attachment, Instance, Volume
from local.aws.region.tables import Tables
from local.aws.region.volumes.cards import Cards
from local.aws.region.volumes.volumes import describe_attachment

DEVICE_NAME = re.compile(r"(/dev/)?(sd[a-z]([1-9]|1[0-5])?|xvd[a-z]|xvd[a-c][a-z]|xvdd[a-x]|hd[a-z])")
MAX_MULTI_ATTACH = 16


class Attachments:
    """Volumes on instances."""

    def __init__(self, core: Core, tables: Tables, cards: Cards) -> None:
        self._core = core
        self._tables = tables
        self._cards = cards

    @operation("ec2", "AttachVolume")
    def attach_volume(self, params: Json) -> Json:
        """Attach an available volume to an instance of the same zone."""
        volume = self._tables.volume(params["VolumeId"])
        instance = self._tables.instance(params["InstanceId"])
        self._check(volume, instance, params["Device"])
        card = params.get("EbsCardIndex")
        self._cards.chosen(instance, card)
        refuse_dry_run(params)
        attachment = self.attach(volume, instance, params["Device"], card=card)
        return describe_attachment(volume, attachment)

    @operation("ec2", "DetachVolume")
    def detach_volume(self, params: Json) -> Json:
        """Take a volume from its instance."""
        volume = self._tables.volume(params["VolumeId"])
        attachment = self._attachment(volume, params)
        if attachment.state not in ("attached", "busy", "attaching"):
            raise ApiError("IncorrectState", f"The volume '{volume.volume_id}' is '{attachment.state}'")
        self._check_root(volume, attachment)
        refuse_dry_run(params)
        self.detach(volume, attachment)
        return describe_attachment(volume, attachment)

    def attach(
        self,
        volume: Volume,
        instance: Instance,
        device: str,
        *,
        at_once: bool = False,
        card: int | None = None,
    ) -> Attachment:
        """Make the attachment; the instance sees the volume before it becomes `attached`."""
        attachment = Attachment(
            instance.instance_id, device, self._core.now(), card=self._cards.chosen(instance, card)
        )
        volume.attachments[instance.instance_id] = attachment
        self._tables.attachment_changes += 1
        volume.state = "in-use"
        if at_once:
            attachment.state = "attached"
        if attachment.card is not None:
            self._cards.share(volume)
        if volume.has_data:
            self._core.later(lambda: self._join(volume, attachment))
        self._core.at(
            attachment.attach_time + self._core.settings.volume.attach_seconds,
            lambda _due: self._attached(attachment),
        )
        return attachment

    def detach(self, volume: Volume, attachment: Attachment) -> None:
        """End the attachment; it is `busy` while the instance still uses the volume, if need be for ever."""
        attachment.state = "detaching"
        self._core.later(lambda: self._part(volume, attachment))

    def _check(self, volume: Volume, instance: Instance, device: str) -> None:
        if instance.state not in ("running", "stopped", "pending"):
            raise ApiError(
                "IncorrectInstanceState", f"The instance '{instance.instance_id}' is '{instance.state}'"
            )
        if volume.state == "in-use" and not volume.performance.multi_attach:
            raise ApiError("VolumeInUse", f"{volume.volume_id} is already attached to an instance")
        if instance.instance_id in volume.attachments or len(volume.attachments) >= MAX_MULTI_ATTACH:
            raise ApiError("VolumeInUse", f"{volume.volume_id} is already attached to an instance")
        if volume.state not in ("available", "in-use"):
            raise ApiError("IncorrectState", f"Volume '{volume.volume_id}' is not 'available'.")
        if volume.product_codes and instance.state != "stopped":
            raise ApiError(
                "IncorrectInstanceState",
                f"Volume '{volume.volume_id}' has a Marketplace product code: it can be attached only to a "
                "stopped instance",
            )
        if volume.zone != instance.zone:
            raise ApiError(
                "InvalidVolume.ZoneMismatch",
                f"The volume '{volume.volume_id}' is not in the same availability zone as instance "
                f"'{instance.instance_id}'",
            )
        self._check_device(instance, device)

    def _check_root(self, volume: Volume, attachment: Attachment) -> None:
        """DetachVolume: the root device of an instance can't be detached while the instance is running."""
        instance = self._tables.instance(attachment.instance_id)
        if attachment.device == instance.root_device and instance.state not in ("stopped", "terminated"):
            raise ApiError(
                self._core.settings.volume.root_detach_error_code,
                f"Unable to detach root volume '{volume.volume_id}' from instance '{instance.instance_id}'",
            )

    def _check_device(self, instance: Instance, device: str) -> None:
        if not DEVICE_NAME.fullmatch(device):
            raise invalid(
                f"Value ({device}) for parameter device is invalid. {device} is not a valid EBS device name."
            )
        used = [
            attachment.device
            for volume in self._tables.volumes.values()
            for attachment in volume.attachments.values()
            if attachment.instance_id == instance.instance_id
        ]
        # The root device is free once its volume has left, which needs a stopped instance (DetachVolume).
        if device in used or (device == instance.root_device and instance.state != "stopped"):
            # The wording is known from public reports, not from AWS's documentation.
            raise invalid(
                f"Invalid value '{device}' for unixDevice. Attachment point {device} is already in use"
            )
        limit = self._tables.attachment_limit(instance.instance_type)
        if len(used) >= limit:
            raise ApiError(
                "AttachmentLimitExceeded",
                f"The instance type {instance.instance_type} allows {limit} volumes",
            )

    def _attachment(self, volume: Volume, params: Json) -> Attachment:
        if not volume.attachments:
            raise ApiError("IncorrectState", f"Volume '{volume.volume_id}' is in the 'available' state.")
        instance_id = params.get("InstanceId")
        if instance_id is None:
            if len(volume.attachments) > 1:
                raise ApiError(
                    "InvalidParameterCombination", "A multi-attached volume needs the parameter InstanceId"
                )
            instance_id = next(iter(volume.attachments))
        found = volume.attachments.get(instance_id)
        if found is None or params.get("Device") not in (None, found.device):
            raise ApiError(
                "InvalidAttachment.NotFound",
                f"The volume '{volume.volume_id}' has no such attachment to '{instance_id}'",
            )
        return found

    def _join(self, volume: Volume, attachment: Attachment) -> None:
        try:
            self._core.dataplane.attach_volume(volume.volume_id, attachment.instance_id, attachment.device)
        except DataPlaneError as error:
            with self._core.transaction():
                self._undo(volume, attachment)
                self._notify_failure(volume, str(error))
            raise ApiError("InternalError", f"The volume could not be attached: {error}", 500) from error

    def _notify_failure(self, volume: Volume, cause: str) -> None:
        """AWS documents attachVolume events for failures only."""
        detail = {"event": "attachVolume", "result": "failed", "cause": cause, "request-id": ""}
        self._core.emit("EBS Volume Notification", detail, [self._core.arn(f"volume/{volume.volume_id}")])

    def _attached(self, attachment: Attachment) -> None:
        if attachment.state == "attaching":
            attachment.state = "attached"

    def _part(self, volume: Volume, attachment: Attachment) -> None:
        try:
            if volume.has_data:
                self._core.dataplane.detach_volume(volume.volume_id, attachment.instance_id)
        except DataPlaneError:
            with self._core.transaction():
                attachment.state = "busy"
                again = self._core.now() + self._core.settings.volume.detach_seconds
                self._core.at(again, lambda _due: self._part_again(volume, attachment))
            return
        with self._core.transaction():
            due = self._core.now() + self._core.settings.volume.detach_seconds
            self._core.at(due, lambda _due: self._undo(volume, attachment))

    def _part_again(self, volume: Volume, attachment: Attachment) -> None:
        """EC2 continues the detachment once the file systems of the volume are unmounted."""
        if attachment.state == "busy":
            self._core.later(lambda: self._part(volume, attachment))

    def leave(self, volume: Volume, attachment: Attachment) -> None:
        """The volume is not on the instance any more."""
        attachment.state = "detached"
        volume.attachments.pop(attachment.instance_id, None)
        self._tables.attachment_changes += 1
        if attachment.card is not None:
            self._cards.share(volume, attachment)

    def _undo(self, volume: Volume, attachment: Attachment) -> None:
        self.leave(volume, attachment)
        if not volume.attachments and volume.state == "in-use":
            volume.state = "available"
