"""Puts things into a Region that were there before anybody looked: snapshots, instances, volumes, images."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from local.aws.machines.dataplane import Extent
from local.aws.region.commands.instance_types import InstanceType
from local.aws.region.commands.parameters import Parameters
from local.aws.region.core import Core, new_id
from local.aws.region.resources import Attachment, Image, ImageDevice, Instance, Key, Snapshot, Volume
from local.aws.region.snapshots.block_lists import Stripes
from local.aws.region.tables import Tables
from local.aws.region.volumes.attachments import Attachments
from local.aws.region.volumes.volume_requests import key_arn
from local.aws.region.volumes.volume_types import choose
from local.aws.region.volumes.volumes import Volumes


@dataclasses.dataclass(frozen=True, kw_only=True)
class OldVolume:
    """A volume that was there before, as tests and labs ask for it."""

    size_gib: int
    zone: str | None = None
    """None for the Region's first Availability Zone."""
    volume_type: str = "gp3"
    iops: int | None = None
    throughput_mib_s: int | None = None
    snapshot_id: str | None = None
    initialized: bool = True
    attach_to: str | None = None
    """The instance that it is attached to."""
    device: str = "/dev/sdf"
    delete_on_termination: bool = False
    card: int | None = None


class Seeding:
    """The part of a Region's interface that AWS does not have."""

    _core: Core
    _tables: Tables
    _volumes: Volumes
    _attachments: Attachments
    _parameters: Parameters

    def add_snapshot(
        self,
        *,
        size_gib: int,
        extents: Iterable[Extent] = (),
        path: Path | None = None,
        snapshot_id: str | None = None,
        **fields: Any,
    ) -> str:
        """Put a snapshot into the Region.

        `extents` are its written blocks and `path` is the image file with their data; the other fields are
        those of `resources.Snapshot`.
        """
        fields.setdefault("owner_id", self._core.settings.account_id)
        fields.setdefault("start_time", self._core.now())
        if fields.get("state", "completed") == "completed":
            fields.setdefault("completion_time", fields["start_time"])
        if fields.get("storage_tier") == "archive":
            fields.setdefault("tiering_status", "archival-completed")
            fields.setdefault("archival_complete", fields["start_time"])
        written = extents if isinstance(extents, Stripes) else tuple(extents)
        one = Snapshot(snapshot_id or new_id("snap"), size_gib, written, path, **fields)
        with self._core.transaction():
            self._tables.snapshots[one.snapshot_id] = one
        return one.snapshot_id

    def change_snapshot(self, snapshot_id: str, **fields: Any) -> None:
        """Change fields of a snapshot, such as state="completed" and progress=100."""
        with self._core.transaction():
            one = self._tables.snapshot(snapshot_id)
            for name, value in fields.items():
                if not hasattr(one, name):
                    raise AttributeError(f"a snapshot has no field {name!r}")
                setattr(one, name, value)

    def delete_snapshot(self, snapshot_id: str, *, retention_days: float = 7) -> None:
        """Put a snapshot into the Recycle Bin, as a retention rule does with one that is deleted."""
        now = self._core.now()
        self.change_snapshot(
            snapshot_id, state="recoverable", bin_entered=now, bin_leaves=now + retention_days * 86_400
        )

    def put_key(self, key_id: str, **fields: Any) -> str:
        """Put a KMS key into the Region, or change it; the fields are those of `resources.Key`."""
        arn = key_arn(key_id, self._core)
        with self._core.transaction():
            self._tables.keys[arn] = Key(arn, **fields)
        return arn

    def add_instance(
        self,
        *,
        instance_id: str | None = None,
        zone: str | None = None,
        instance_type: str = "m5.large",
        image_id: str = "ami-0123456789abcdef0",
        root_size_gib: int = 8,
        **fields: Any,
    ) -> str:
        """Put a running instance into the Region; its root volume is known to the control plane only.

        `managed=False` is an instance without Systems Manager, `reachable=False` one whose agent is silent.
        """
        fields.setdefault("launch_time", self._core.now())
        one = Instance(
            instance_id or new_id("i"),
            zone or self._core.settings.zones[0],
            instance_type,
            image_id,
            **fields,
        )
        with self._core.transaction():
            self._tables.instances[one.instance_id] = one
            nvme = self._tables.has_nvme(one)
            self._core.later(lambda: self._core.dataplane.start_instance(one.instance_id, nvme=nvme))
        if root_size_gib:
            self.add_volume(
                size_gib=root_size_gib,
                zone=one.zone,
                attach_to=one.instance_id,
                device=one.root_device,
                has_data=False,
                delete_on_termination=True,
            )
        return one.instance_id

    def change_instance(self, instance_id: str, **fields: Any) -> None:
        """Change fields of an instance, such as reachable=False."""
        with self._core.transaction():
            one = self._tables.instance(instance_id)
            for name, value in fields.items():
                if not hasattr(one, name):
                    raise AttributeError(f"an instance has no field {name!r}")
                setattr(one, name, value)

    def add_volume(self, **wanted: Any) -> str:
        """Put a volume that already exists into the Region; with `attach_to`, on that instance at once.

        What is wanted are fields of OldVolume, and others of `resources.Volume`.
        """
        own = {field.name for field in dataclasses.fields(OldVolume)}
        old = OldVolume(**{name: value for name, value in wanted.items() if name in own})
        fields = {name: value for name, value in wanted.items() if name not in own}
        one = Volume(
            fields.pop("volume_id", None) or new_id("vol"),
            old.zone or self._core.settings.zones[0],
            choose(old.volume_type, old.size_gib, old.iops, old.throughput_mib_s),
            fields.pop("create_time", self._core.now()),
            **fields,
        )
        with self._core.transaction():
            one.snapshot = self._tables.snapshot(old.snapshot_id) if old.snapshot_id else None
            self._volumes.seed(one, initialized=old.initialized)
            if old.attach_to is not None:
                made: Attachment = self._attachments.attach(
                    one, self._tables.instance(old.attach_to), old.device, at_once=True, card=old.card
                )
                made.delete_on_termination = old.delete_on_termination
        return one.volume_id

    def add_image(
        self, *, name: str, devices: Iterable[ImageDevice], image_id: str | None = None, **fields: Any
    ) -> str:
        """Put an AMI into the Region."""
        fields.setdefault("owner_id", self._core.settings.account_id)
        fields.setdefault("creation_time", self._core.now())
        one = Image(image_id or new_id("ami"), name, tuple(devices), **fields)
        with self._core.transaction():
            self._tables.images[one.image_id] = one
        return one.image_id

    def add_launch_template(self, name: str, data: dict[str, Any]) -> None:
        """Put a launch template with one version into the Region; `data` as botocore's LaunchTemplateData."""
        with self._core.transaction():
            self._tables.launch_templates[name] = data

    def add_instance_type(self, one: InstanceType) -> None:
        """Add or replace an instance type."""
        with self._core.transaction():
            self._tables.instance_types[one.name] = one

    def add_parameter(self, name: str, value: str, kind: str = "String") -> None:
        """Put a parameter into Parameter Store."""
        with self._core.transaction():
            self._parameters.add(name, value, kind)
