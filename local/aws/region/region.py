"""One EBS Region: its parts behind `call`, and what a host needs to seed, drive and audit it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from local import Json
from local.aws.clock import Clock
from local.aws.machines.dataplane import DataPlane
from local.aws.region.account.catalogue import Catalogue
from local.aws.region.account.metrics import Metrics, Publish
from local.aws.region.account.policies import SnapshotPolicies
from local.aws.region.account.prices import Prices
from local.aws.region.account.quotas import Quotas
from local.aws.region.account.restore_jobs import RestoreJobs
from local.aws.region.account.tags import Tags
from local.aws.region.account.trail import Trail
from local.aws.region.audit import Audit
from local.aws.region.commands.command_reads import CommandReads
from local.aws.region.commands.commands import Commands
from local.aws.region.commands.documents import Documents
from local.aws.region.commands.instances import Instances
from local.aws.region.commands.invocations import OutputSink
from local.aws.region.commands.launches import Launches
from local.aws.region.commands.parameters import Parameters
from local.aws.region.commands.root_replacements import RootReplacements
from local.aws.region.core import Core, EventSink, tidy
from local.aws.region.errors import ApiError, invalid, snapshot_not_found
from local.aws.region.faults import Faults
from local.aws.region.operations import UNLOCKED, collect
from local.aws.region.resources import Snapshot
from local.aws.region.seeding import Seeding
from local.aws.region.settings import RegionSettings
from local.aws.region.snapshots.block_index import BlockIndex
from local.aws.region.snapshots.block_reads import BlockReads, Pause
from local.aws.region.snapshots.fast_restore import FastRestores
from local.aws.region.snapshots.keys import Keys
from local.aws.region.snapshots.recycle_bin import RecycleBin, is_binned
from local.aws.region.snapshots.snapshot_copies import SnapshotCopies
from local.aws.region.snapshots.snapshot_making import SnapshotMaking
from local.aws.region.snapshots.snapshots import Snapshots
from local.aws.region.tables import Tables
from local.aws.region.throttling import Throttle
from local.aws.region.volumes.attachments import Attachments
from local.aws.region.volumes.attributes import Attributes
from local.aws.region.volumes.cards import Cards
from local.aws.region.volumes.initialization import Initializations
from local.aws.region.volumes.modifications import Modifications
from local.aws.region.volumes.volume_copies import VolumeCopies
from local.aws.region.volumes.volume_status import VolumeStatus
from local.aws.region.volumes.volumes import Volumes


class Region(Seeding):
    """The control plane. All times are lab time; everything that takes time happens outside its lock.

    `on_event(detail_type, source, detail, resources)` gets the events AWS sends, `publish(namespace, data)`
    the AWS/EBS metrics as PutMetricData entries, `output` the whole output of commands that name a bucket or
    a log group.
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
        self.pause: Pause = lambda _seconds: None
        """Lets the caller of an operation wait for so much lab time; for the host to set."""
        self._core = core = Core(clock, dataplane, self.settings, on_event)
        core.event_copies = self._event_copies
        self._tables = tables = Tables()
        self.throttle = Throttle(clock, self.settings)
        self._initializations = Initializations(core, tables, self.faults)
        fast_restores = FastRestores(core, tables, self.faults)
        self._fast_restores = fast_restores
        self._volumes = Volumes(core, tables, fast_restores, self._initializations, self.faults)
        self._cards = Cards(core, tables)
        self._attachments = Attachments(core, tables, self._cards)
        documents = self._documents = Documents(core)
        self._commands = Commands(core, tables, documents, self.faults, output)
        self._parameters = Parameters(core)
        self.restore_jobs = RestoreJobs(core)
        self._metrics = Metrics(core, tables, fast_restores, publish)
        self._block_index, prices = BlockIndex(core, tables), Prices(core)
        pause: Pause = lambda seconds: self.pause(seconds)  # noqa: E731, PLW0108 (set later)
        self._block_reads = BlockReads(core, tables, self.faults, pause)
        self._audit = Audit(core, tables, self._commands, self._direct_requests, prices)
        parts = [fast_restores, documents, self._block_index, self._block_reads, prices, *self._other_parts()]
        self.neighbours: dict[str, Region] = {}
        """Other Regions of the account, which share clock and data plane."""
        parts.append(SnapshotCopies(core, tables, self.neighbours))
        self.operations = collect(parts)

    def neighbour(self, region: str) -> Region:
        """Another Region, made where it is not there."""
        if region not in self.neighbours:
            settings = replace(self.settings, region=region)
            made = Region(self._core.clock, self._core.dataplane, settings)
            made.pause, self.neighbours[region] = self.pause, made
        return self.neighbours[region]

    def snapshot_to_copy(self, snapshot_id: str) -> Snapshot:
        """For CopySnapshot in another Region. Raises ApiError."""
        one = self._tables.snapshot(snapshot_id)
        mine = one.owner_id == self.settings.account_id
        if not (mine or one.shared_with_me or one.public) or is_binned(one):
            raise snapshot_not_found(snapshot_id)
        if one.state != "completed" or one.storage_tier == "archive":
            raise ApiError("IncorrectState", f"The snapshot '{snapshot_id}' is not completed")
        if one.is_local:
            raise invalid(f"The snapshot '{snapshot_id}' is in {one.outpost_arn or one.availability_zone}")
        return one

    def _other_parts(self) -> list[object]:
        """The parts that nothing but AWS's operations reach, and those already at hand."""
        core, tables = self._core, self._tables
        return [
            self._volumes,
            self._attachments,
            Attributes(core, tables),
            self._commands,
            self._parameters,
            Snapshots(core, tables),
            SnapshotMaking(core, tables, self._fast_restores, self.faults),
            RecycleBin(core, tables),
            Keys(core, tables),
            trail := Trail(core),
            Modifications(core, tables, self.faults, trail, self._cards),
            VolumeCopies(core, tables, self._volumes),
            Tags(core, tables),
            Quotas(core),
            SnapshotPolicies(),
            self.restore_jobs,
            instances := Instances(core, tables, self._volumes, self._attachments),
            Launches(core, tables, self._volumes, self._attachments, instances),
            RootReplacements(core, tables, self._volumes, self._attachments, instances, self.faults),
            Catalogue(core, tables),
            CommandReads(core, tables, self._commands),
            VolumeStatus(core, tables, self._initializations),
        ]

    def call(self, service: str, operation: str, params: Json | None = None) -> Json:
        """Answer one operation in botocore's shapes, or raise ApiError."""
        params = params or {}
        handler = self.operations.get((service, operation))
        if handler is None:
            raise ApiError("InvalidAction", f"{service} {operation} is not modelled by this Region")
        self.throttle.take(service, operation, params)
        fault = self.faults.take(operation, params, effects=("error", "lost-answer"))
        if fault is not None and fault.effect == "error":
            raise fault.error()
        self._settle()
        with nullcontext() if (service, operation) in UNLOCKED else self._core.transaction():
            answer = handler(params)
        if fault is not None:
            raise fault.error()
        return tidy(answer)  # type: ignore[no-any-return]

    def now(self) -> float:
        """Lab time."""
        return self._core.now()

    def arn(self, resource: str, service: str = "ec2") -> str:
        """The ARN of a resource such as `volume/vol-…` in this Region and account."""
        return self._core.arn(resource, service)

    def tick(self) -> None:
        """Do what is due, look after commands, pass on progress, publish metrics. Call it often."""
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

    def _direct_requests(self) -> dict[str, int]:
        """Requests of the EBS direct APIs that were answered, by operation."""
        return {"ListSnapshotBlocks": self._block_index.requests, **self._block_reads.requests}

    @property
    def list_requests(self) -> int:
        """Requests of ListSnapshotBlocks that were answered."""
        return self._block_index.requests

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
