"""One EBS Region: every part put together behind `call`, with what a host needs to seed, drive and audit it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from local.clock import Clock
from local.dataplane import DataPlane, Extent
from local.region.attachments import Attachments
from local.region.audit import Audit
from local.region.block_index import BlockIndex
from local.region.command_reads import CommandReads
from local.region.commands import Commands
from local.region.core import Core, EventSink, Json, new_id, tidy
from local.region.documents import Documents
from local.region.errors import ApiError
from local.region.fast_restore import FastRestores
from local.region.faults import Faults
from local.region.initialization import Initializations
from local.region.instance_types import InstanceType
from local.region.instances import Instances
from local.region.invocations import OutputSink
from local.region.metrics import Metrics, Publish
from local.region.modifications import Modifications
from local.region.operations import collect
from local.region.parameters import Parameters
from local.region.prices import Prices
from local.region.quotas import Quotas
from local.region.resources import Attachment, Image, ImageDevice, Instance, Snapshot, Volume
from local.region.settings import RegionSettings
from local.region.snapshots import Snapshots
from local.region.tables import Tables
from local.region.tags import Tags
from local.region.throttling import Throttle
from local.region.volume_status import VolumeStatus
from local.region.volume_types import choose
from local.region.volumes import Volumes


class Region:
    """The control plane. All times are lab time; everything that takes time happens outside its lock.

    `on_event(detail_type, source, detail, resources)` gets the events AWS sends, `publish(namespace, metric_data)` the
    AWS/EBS metrics as PutMetricData entries, `output` the whole output of commands that name a bucket or log group.
    """

    def __init__(
        self,
        clock: Clock,
        dataplane: DataPlane,
        settings: RegionSettings | None = None,
        *,
        on_event: EventSink | None = None,
        publish: Publish | None = None,
        output: OutputSink | None = None,
    ) -> None:
        self.settings = settings or RegionSettings()
        self.faults = Faults()
        self._core = core = Core(clock, dataplane, self.settings, on_event)
        core.event_copies = self._event_copies
        self._tables = tables = Tables()
        self.throttle = Throttle(clock, enabled=self.settings.throttling)
        self._initializations = Initializations(core, tables, self.faults)
        fast_restores = FastRestores(core, tables, self.faults)
        self._volumes = Volumes(core, tables, fast_restores, self._initializations, self.faults)
        self._attachments = Attachments(core, tables)
        self._commands = Commands(core, tables, documents := Documents(core), self.faults, output)
        self._parameters = Parameters(core)
        self._metrics = Metrics(core, tables, fast_restores, publish)
        block_index, prices = BlockIndex(core, tables), Prices(core)
        self._audit = Audit(core, tables, self._commands, block_index, prices)
        self.operations = collect(
            [
                self._volumes,
                self._attachments,
                self._commands,
                self._parameters,
                fast_restores,
                documents,
                block_index,
                prices,
                Snapshots(core, tables),
                Modifications(core, tables),
                Tags(core, tables),
                Quotas(core),
                Instances(core, tables, self._volumes, self._attachments),
                CommandReads(core, tables, self._commands),
                VolumeStatus(core, tables, self._initializations),
            ]
        )

    def call(self, service: str, operation: str, params: Json | None = None) -> Json:
        """Answer one operation in botocore's shapes, or raise ApiError."""
        params = params or {}
        handler = self.operations.get((service, operation))
        if handler is None:
            raise ApiError("InvalidAction", f"{service} {operation} is not modelled by this Region")
        self.throttle.take(service, operation, narrowed=_narrowed(params))
        fault = self.faults.take(operation, params)
        if fault is not None and fault.effect == "error":
            raise fault.error()
        self._settle()
        with self._core.transaction():
            answer = handler(params)
        if fault is not None:
            raise fault.error()
        return tidy(answer)  # type: ignore[no-any-return]

    def now(self) -> float:
        """Lab time."""
        return self._core.now()

    def tick(self) -> None:
        """Do what is due, look after commands, hand progress to the data plane, publish metrics. Call it often."""
        self._settle()
        self._metrics.publish_due()

    def inventory(self) -> dict[str, list[str]]:
        """What exists and costs money: volumes, attachments, fastRestores, commands."""
        self._settle()
        return self._audit.inventory()

    def money(self) -> Json:
        """USD accrued so far: {"items": [{"resource", "kind", "usd", "note"}], "totalUsd"}."""
        self._settle()
        return self._audit.money()

    def add_snapshot(
        self,
        *,
        size_gib: int,
        extents: Iterable[Extent] = (),
        path: Path | None = None,
        snapshot_id: str | None = None,
        **fields: Any,
    ) -> str:
        """Put a snapshot into the Region. `extents` are its written blocks, `path` the image file with their data;
        the other fields are those of `resources.Snapshot`."""
        fields.setdefault("owner_id", self.settings.account_id)
        fields.setdefault("start_time", self._core.now())
        if fields.get("state", "completed") == "completed":
            fields.setdefault("completion_time", fields["start_time"])
        if fields.get("storage_tier") == "archive":
            fields.setdefault("tiering_status", "archival-completed")
            fields.setdefault("archival_complete", fields["start_time"])
        one = Snapshot(snapshot_id or new_id("snap"), size_gib, tuple(extents), path, **fields)
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
        """Put a running instance into the Region, with a root volume that only the control plane knows.

        `managed=False` is an instance without Systems Manager; `reachable=False` one whose agent does not answer.
        """
        fields.setdefault("launch_time", self._core.now())
        one = Instance(
            instance_id or new_id("i"), zone or self.settings.zones[0], instance_type, image_id, **fields
        )
        with self._core.transaction():
            self._tables.instances[one.instance_id] = one
            self._core.later(lambda: self._core.dataplane.start_instance(one.instance_id))
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

    def add_volume(
        self,
        *,
        size_gib: int,
        zone: str | None = None,
        volume_type: str = "gp3",
        iops: int | None = None,
        throughput_mib_s: int | None = None,
        snapshot_id: str | None = None,
        initialized: bool = True,
        attach_to: str | None = None,
        device: str = "/dev/sdf",
        has_data: bool = True,
        delete_on_termination: bool = False,
        **fields: Any,
    ) -> str:
        """Put a volume that already exists into the Region; with `attach_to`, on that instance at once."""
        performance = choose(volume_type, size_gib, iops, throughput_mib_s)
        one = Volume(
            fields.pop("volume_id", None) or new_id("vol"),
            zone or self.settings.zones[0],
            performance,
            fields.pop("create_time", self._core.now()),
            has_data=has_data,
            **fields,
        )
        with self._core.transaction():
            one.snapshot = self._tables.snapshot(snapshot_id) if snapshot_id else None
            self._volumes.seed(one, initialized=initialized)
            if attach_to is not None:
                made: Attachment = self._attachments.attach(
                    one, self._tables.instance(attach_to), device, at_once=True
                )
                made.delete_on_termination = delete_on_termination
        return one.volume_id

    def add_image(
        self, *, name: str, devices: Iterable[ImageDevice], image_id: str | None = None, **fields: Any
    ) -> str:
        """Put an AMI into the Region."""
        fields.setdefault("owner_id", self.settings.account_id)
        fields.setdefault("creation_time", self._core.now())
        one = Image(image_id or new_id("ami"), name, tuple(devices), **fields)
        with self._core.transaction():
            self._tables.images[one.image_id] = one
        return one.image_id

    def add_instance_type(self, one: InstanceType) -> None:
        """Add or replace an instance type."""
        with self._core.transaction():
            self._tables.instance_types[one.name] = one

    def add_parameter(self, name: str, value: str, kind: str = "String") -> None:
        """Put a parameter into Parameter Store."""
        with self._core.transaction():
            self._parameters.add(name, value, kind)

    def close(self) -> None:
        """End every running command and give lab time back; the data plane is closed by its owner."""
        with self._core.transaction():
            for one in self._commands.running():
                if one.handle is not None:
                    self._core.later(one.handle.cancel)
                one.busy.close()

    def _settle(self) -> None:
        self._core.settle()
        self._commands.poll()
        self._initializations.advance()

    def _event_copies(self, detail_type: str) -> int:
        rule = self.faults.take(f"event:{detail_type}", effects=("drop", "duplicate"))
        if rule is None:
            return 1
        return 0 if rule.effect == "drop" else 2


def _narrowed(params: Json) -> bool:
    return any(name in params for name in ("Filters", "MaxResults")) or any(
        name.endswith("Ids") for name in params
    )
