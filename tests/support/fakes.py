"""Working in-memory implementations of every port of rewarm.ports."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from rewarm.adapters.clients import READ_SECONDS
from rewarm.domain.blocks.rewind_facts import WrittenSince
from rewarm.domain.blocks.shards import ChangedBlock, ChangedPage
from rewarm.domain.errors import (
    DeviceInUseError,
    FastSnapshotRestoreUnavailableError,
    InitializationRateUnavailableError,
    ModificationPostponedError,
    RequestRefusedError,
    RestoreNotFoundError,
    ServiceUnavailableError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
    TargetNotFoundError,
    TargetNotUsableError,
    VolumeNotFoundError,
)
from rewarm.domain.model import (
    ArchiveRestore,
    Attachment,
    BinnedSnapshot,
    CommandDocument,
    CommandStatus,
    CopyOrder,
    Extent,
    FastSnapshotRestore,
    ImageVolume,
    InitializationStatus,
    Instance,
    InstanceEbsLimits,
    PriceBook,
    ReadActivity,
    Snapshot,
    StatusChecks,
    Volume,
    VolumeSettings,
    WantedTags,
)
from rewarm.domain.plan.facts import UnusedQuotas
from rewarm.domain.ready.agent_output import SentCommand
from rewarm.domain.tags import has_tags
from rewarm.domain.time.measured import Measured
from rewarm.domain.volume.extents import Runs
from rewarm.domain.volume.leftovers import ExecutionEnd, FastRestoreClaim
from rewarm.domain.volume.performance import BOOST_TAG, STACK_TAG, PerformanceSettings, VolumeModification
from rewarm.domain.volume.proof import evidence_description
from rewarm.domain.volume.replacing import REPLACED_STACK_TAG
from rewarm.ports.instances import HookCall
from rewarm.ports.messages import LinkedPage
from rewarm.ports.restores import OVER, RUNBOOK, VOLUME_COUNT, Listed, Standing

JsonObject = dict[str, Any]
CANCELLING = timedelta(seconds=20)


@dataclass
class FakeTaggedSnapshots:
    """Port TaggedSnapshots."""

    there: dict[str, Snapshot] = field(default_factory=dict)
    failure: Exception | None = None

    def of_stack(self, stack_name: str) -> list[Snapshot]:
        return [one for one in self.there.values() if one.tags.get("rewarm:stack") == stack_name]

    def delete(self, snapshot_id: str) -> None:
        if self.failure is not None:
            raise self.failure
        self.there.pop(snapshot_id, None)


@dataclass
class FakeSnapshots:
    """Port SnapshotCatalog."""

    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    images: dict[str, dict[str, str]] = field(default_factory=dict)
    image_volumes: dict[str, ImageVolume] = field(default_factory=dict)
    """By snapshot, what an image says of the volume beside it."""
    extents: dict[str, list[Extent]] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    binned: list[BinnedSnapshot] = field(default_factory=list)
    archive_restores: dict[str, ArchiveRestore] = field(default_factory=dict)
    key_problems: dict[str, str] = field(default_factory=dict)
    keys_asked: list[str] = field(default_factory=list)
    elsewhere: dict[str, FakeSnapshots] = field(default_factory=dict)

    def add(self, snapshot: Snapshot, extents: Iterable[Extent] = (Extent(0, 4),)) -> Snapshot:
        self.snapshots[snapshot.snapshot_id] = snapshot
        self.extents[snapshot.snapshot_id] = list(extents)
        return snapshot

    def in_region(self, region: str | None) -> FakeSnapshots:
        return self if region is None else self.elsewhere[region]

    def get(self, snapshot_id: str) -> Snapshot:
        if snapshot_id not in self.snapshots:
            raise SnapshotNotFoundError(f"there is no snapshot {snapshot_id}")
        return self.snapshots[snapshot_id]

    def in_recycle_bin(self, snapshot_id: str | None = None) -> list[BinnedSnapshot]:
        return [one for one in self.binned if snapshot_id in {None, one.snapshot_id}]

    def archive_restore(self, snapshot_id: str) -> ArchiveRestore | None:
        return self.archive_restores.get(snapshot_id)

    def key_problem(self, kms_key_id: str) -> str | None:
        self.keys_asked.append(kms_key_id)
        return self.key_problems.get(kms_key_id)

    def of_volume(self, volume_id: str, owner_id: str | None = None) -> list[Snapshot]:
        owner = owner_id or "123456789012"
        found = self.snapshots.values()
        return [one for one in found if (one.volume_id, one.owner_id) == (volume_id, owner)]

    def of_volumes(self, volume_ids: Sequence[str]) -> Iterator[Snapshot]:
        wanted = frozenset(volume_ids)
        return (one for one in self.snapshots.values() if one.volume_id in wanted)

    def restorable(self, snapshot_ids: Sequence[str]) -> Iterator[Snapshot]:
        return (self.snapshots[one] for one in snapshot_ids if one in self.snapshots)

    def with_tags(self, tags: WantedTags) -> Iterator[Snapshot]:
        return (one for one in self.snapshots.values() if has_tags(tags, one.tags))

    def of_image(self, image_id: str) -> dict[str, ImageVolume]:
        if image_id not in self.images:
            raise SnapshotNotFoundError(f"there is no image {image_id}")
        found = self.images[image_id]
        return {device: self.image_volumes.get(found[device], ImageVolume(found[device])) for device in found}

    def written_extents(self, snapshot_id: str, size_gib: int, full_size_bytes: int | None) -> Iterator[Runs]:
        found = self.get(snapshot_id)
        assert (size_gib, full_size_bytes) == (found.size_gib, found.full_size_bytes)
        self.listed.append(snapshot_id)
        return iter([Runs(self.extents[snapshot_id])])


@dataclass
class FakeEvidence:
    """Port EvidenceSnapshots."""

    made: dict[str, Snapshot] = field(default_factory=dict)
    lost_answers: int = 0

    def create(self, volume_id: str, tags: Mapping[str, str]) -> str:
        name = f"snap-{len(self.made) + 1:017x}"
        started_at = datetime(2026, 11, 21, 3, tzinfo=UTC) + timedelta(seconds=len(self.made))
        self.made[name] = Snapshot(
            name, "pending", None, "standard", volume_id, 100, None, started_at, None, encrypted=False,
            kms_key_id=None, owner_id="123456789012", progress_percent=0, tags=dict(tags),
            description=evidence_description(volume_id, tags),
        )  # fmt: skip
        if self.lost_answers:
            self.lost_answers -= 1
            raise ServiceUnavailableError("CreateSnapshot: no answer")
        return name

    def change(self, snapshot_id: str, **fields: Any) -> None:
        self.made[snapshot_id] = replace(self.made[snapshot_id], **fields)

    def of_restore(self, restore_id: str, index: int) -> list[Snapshot]:
        wanted = {"rewarm:restore-id": restore_id, "rewarm:volume-index": str(index)}
        return [one for one in self.made.values() if wanted.items() <= one.tags.items()]


@dataclass
class FakeSnapshotCopies:
    """Port SnapshotCopies."""

    made: dict[str, Snapshot] = field(default_factory=dict)
    orders: list[CopyOrder] = field(default_factory=list)
    hidden: bool = False
    """DescribeSnapshots does not show them yet."""
    failure: Exception | None = None
    refusal: Exception | None = None
    """What CopySnapshot alone answers."""

    def start(self, order: CopyOrder) -> str:
        if failure := self.failure or self.refusal:
            raise failure
        self.orders.append(order)
        name = f"snap-{len(self.orders):017x}"
        self.made[name] = Snapshot(
            name, "pending", None, "standard", None, 100, None, datetime(2026, 11, 21, 3, tzinfo=UTC), None,
            encrypted=False, kms_key_id=None, owner_id="123456789012", progress_percent=0,
            tags=dict(order.tags), description=order.description,
        )  # fmt: skip
        return name

    def change(self, snapshot_id: str, **fields: Any) -> None:
        self.made[snapshot_id] = replace(self.made[snapshot_id], **fields)

    def of_restore(self, restore_id: str, index: int) -> list[Snapshot]:
        if self.failure is not None:
            raise self.failure
        wanted = {"rewarm:restore-id": restore_id, "rewarm:volume-index": str(index)}
        return (
            [] if self.hidden else [one for one in self.made.values() if wanted.items() <= one.tags.items()]
        )

    def delete(self, snapshot_id: str) -> None:
        self.made.pop(snapshot_id, None)


@dataclass
class FakeFastRestores:
    """Port FastSnapshotRestores."""

    states: dict[tuple[str, str], FastSnapshotRestore] = field(default_factory=dict)
    enabled: list[tuple[str, str]] = field(default_factory=list)
    disabled: list[tuple[str, str]] = field(default_factory=list)
    quota: int = 5
    failure: Exception | None = None
    since: dict[tuple[str, str], datetime] = field(default_factory=dict)
    now: datetime = datetime(2026, 11, 21, 3, tzinfo=UTC)
    """EC2's clock."""
    before_enabling: Callable[[], None] = lambda: None
    """What others do between our look and our call."""

    def enabling_time(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        place = (snapshot_id, availability_zone)
        return self.since.get(place, datetime(2026, 1, 1, tzinfo=UTC)) if place in self.states else None

    def describe(
        self, snapshot_id: str, availability_zone: str, *, now: datetime
    ) -> FastSnapshotRestore | None:
        assert now.tzinfo is not None
        return self.states.get((snapshot_id, availability_zone))

    def of_places(
        self, places: Collection[tuple[str, str]], *, now: datetime
    ) -> dict[tuple[str, str], FastSnapshotRestore | None]:
        assert now.tzinfo is not None
        return {place: self.states.get(place) for place in places}

    def absent_at(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        return None if (snapshot_id, availability_zone) in self.states else self.now.replace(microsecond=0)

    def enable(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        if self.failure is not None:
            raise self.failure
        self.before_enabling()
        if len({snapshot for snapshot, _ in self.states} | {snapshot_id}) > self.quota:
            raise FastSnapshotRestoreUnavailableError("the quota of snapshots is used up")
        place = (snapshot_id, availability_zone)
        self.enabled.append(place)
        if place not in self.states:
            self.states[place], self.since[place] = FastSnapshotRestore("enabling"), self.now
        return self.enabling_time(*place)

    def enabled_places(self) -> list[tuple[str, str]]:
        return sorted(self.states)

    def disable(self, snapshot_id: str, availability_zone: str) -> None:
        if self.failure is not None:
            raise self.failure
        self.since.pop((snapshot_id, availability_zone), None)
        if self.states.pop((snapshot_id, availability_zone), None) is not None:
            self.disabled.append((snapshot_id, availability_zone))


@dataclass
class FakeVolumes:
    """Port VolumeStore; available, attached and detached at once, unless told otherwise."""

    now: datetime
    volumes: dict[str, Volume] = field(default_factory=dict)
    tokens: dict[str, tuple[object, str]] = field(default_factory=dict)
    statuses: dict[str, InitializationStatus] = field(default_factory=dict)
    rates: dict[str, int | None] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    new_state: str = "available"
    attaching_state: str = "attached"
    slow_detach: bool = False
    supplies_rates: bool = True
    failure: Exception | None = None
    codes: dict[str, list[str]] = field(default_factory=dict)
    cards: dict[str, int | None] = field(default_factory=dict)
    """What the last attachment of each volume named."""
    copied: dict[str, str] = field(default_factory=dict)
    """Source of each copy."""
    instances: FakeInstances | None = None
    """What volumes are attached to; None where a test does not care."""
    _numbers: Iterable[int] = field(default_factory=lambda: itertools.count(1))

    def create(
        self, snapshot_id: str, zone: str, settings: VolumeSettings, rate_mib_s: int | None, client_token: str
    ) -> str:
        asked = (snapshot_id, zone, settings, rate_mib_s)
        if (made := self._made(client_token, asked)) is not None:
            return made
        if rate_mib_s is not None and not self.supplies_rates:
            raise InitializationRateUnavailableError("the Region cannot supply the rate now")
        volume_id = f"vol-{next(iter(self._numbers)):017x}"
        self.tokens[client_token] = (asked, volume_id)
        self.rates[volume_id] = rate_mib_s
        self.volumes[volume_id] = Volume(
            volume_id, self.new_state, zone, settings, snapshot_id, False, (), self.now
        )
        return volume_id

    def _made(self, client_token: str, asked: tuple[object, ...]) -> str | None:
        """The volume that this token made before; EC2 refuses the token for anything else."""
        before, volume_id = self.tokens.get(client_token, (asked, None))
        if before != asked:
            raise RequestRefusedError("IdempotentParameterMismatch")
        if volume_id is None and self.failure is not None:
            raise self.failure
        return volume_id

    def copy(self, source_volume_id: str, settings: VolumeSettings, *, client_token: str) -> str:
        asked = (source_volume_id, settings)
        if (made := self._made(client_token, asked)) is not None:
            return made
        source = self.get(source_volume_id)
        assert settings.size_gib >= source.settings.size_gib
        volume_id = f"vol-{next(iter(self._numbers)):017x}"
        self.tokens[client_token] = (asked, volume_id)
        self.copied[volume_id] = source_volume_id
        self.volumes[volume_id] = Volume(
            volume_id, self.new_state, source.availability_zone, settings, None, None, (), self.now
        )
        return volume_id

    def change(self, volume_id: str, **changes: Any) -> None:
        self.volumes[volume_id] = replace(self.volumes[volume_id], **changes)

    def get(self, volume_id: str) -> Volume:
        if volume_id not in self.volumes:
            raise VolumeNotFoundError(f"there is no volume {volume_id}")
        return self.volumes[volume_id]

    def existing(self, volume_ids: Sequence[str]) -> Iterator[Volume]:
        return (self.volumes[one] for one in volume_ids if one in self.volumes)

    def with_tags(self, tags: WantedTags) -> Iterator[Volume]:
        return (one for one in self.volumes.values() if has_tags(tags, one.settings.tags))

    def of_snapshots(self, snapshot_ids: Sequence[str]) -> Iterator[Volume]:
        return (one for one in self.volumes.values() if one.snapshot_id in set(snapshot_ids))

    def created_by(self, restore_id: str) -> list[Volume]:
        return [
            one for one in self.volumes.values() if one.settings.tags.get("rewarm:restore-id") == restore_id
        ]

    def on_instances(self, instance_ids: Sequence[str]) -> Iterator[Volume]:
        for one in self.volumes.values():
            if any(attachment.instance_id in instance_ids for attachment in one.attachments):
                yield one

    def attach(self, volume_id: str, instance_id: str, device: str, card: int | None = None) -> None:
        """Refused as by EC2; None is what EC2 takes where the call names no card."""
        self._check_attachable(self.get(volume_id), instance_id, device)
        for other in self.volumes.values():
            if other.volume_id != volume_id and any(
                (one.instance_id, one.device) == (instance_id, device) for one in other.attachments
            ):
                raise DeviceInUseError(f"{device} holds {other.volume_id}")
        attachment = Attachment(instance_id, device, self.attaching_state, card=card or 0)
        self.cards[volume_id] = card
        others = self.get(volume_id).attachments
        self.change(volume_id, state="in-use", attachments=(*others, attachment))

    def _check_attachable(self, volume: Volume, instance_id: str, device: str) -> None:
        instance = self.instances.instances.get(instance_id) if self.instances else None
        if instance is not None and instance.state not in {"running", "stopped", "pending"}:
            raise TargetNotUsableError(f"IncorrectInstanceState: {instance_id} is {instance.state}")
        if instance is not None and device in instance.devices:
            raise DeviceInUseError(f"{device} is already in use")
        free = volume.state == "available" and not volume.attachments
        free = free or (volume.state == "in-use" and volume.settings.multi_attach)
        if not free or any(one.instance_id == instance_id for one in volume.attachments):
            raise RequestRefusedError(f"IncorrectState: {volume.volume_id} is {volume.state}")

    def detach(self, volume_id: str, instance_id: str) -> None:
        left = tuple(one for one in self.get(volume_id).attachments if one.instance_id != instance_id)
        if self.slow_detach:
            left = tuple(replace(one, state="detaching") for one in self.get(volume_id).attachments)
        self.change(volume_id, attachments=left, state="in-use" if left else "available")

    def delete(self, volume_id: str) -> None:
        if volume_id not in self.volumes:
            return
        if self.failure is not None:
            raise self.failure
        if self.volumes[volume_id].attachments:
            raise RequestRefusedError(f"VolumeInUse: {volume_id} is attached")
        del self.volumes[volume_id]
        self.deleted.append(volume_id)

    def tag(self, volume_id: str, tags: Mapping[str, str]) -> None:
        settings = self.get(volume_id).settings
        self.change(volume_id, settings=replace(settings, tags={**settings.tags, **tags}))

    def untag(self, volume_id: str, *keys: str) -> None:
        if volume_id in self.volumes:
            settings = self.get(volume_id).settings
            left = {name: value for name, value in settings.tags.items() if name not in keys}
            self.change(volume_id, settings=replace(settings, tags=left))

    def of_stack(self, stack_name: str) -> list[Volume]:
        return self._tagged(STACK_TAG, stack_name)

    def boosted(self, stack_name: str) -> list[Volume]:
        return [volume for volume in self.of_stack(stack_name) if BOOST_TAG in volume.settings.tags]

    def replaced(self, stack_name: str) -> list[Volume]:
        return self._tagged(REPLACED_STACK_TAG, stack_name)

    def product_codes(self, volume_id: str) -> list[str]:
        self.get(volume_id)
        return self.codes.get(volume_id, [])

    def set_delete_on_termination(self, instance_id: str, device: str, *, delete: bool) -> None:
        for volume in list(self.volumes.values()):
            changed = tuple(
                replace(attachment, delete_on_termination=delete)
                if (attachment.instance_id, attachment.device) == (instance_id, device)
                else attachment
                for attachment in volume.attachments
            )
            self.change(volume.volume_id, attachments=changed)

    def _tagged(self, key: str, value: str) -> list[Volume]:
        return [volume for volume in self.volumes.values() if volume.settings.tags.get(key) == value]

    def initialization_status(self, volume_id: str) -> InitializationStatus:
        self.get(volume_id)
        return self.statuses.get(volume_id, InitializationStatus(None, None, None, None))


@dataclass
class FakeModifications:
    """Port VolumeModifications; a change is `modifying` until a test says more."""

    volumes: FakeVolumes
    changes: dict[str, VolumeModification] = field(default_factory=dict)
    started: list[tuple[str, PerformanceSettings]] = field(default_factory=list)
    failure: Exception | None = None
    now: datetime | None = None
    """When a change starts."""

    def latest(self, volume_id: str) -> VolumeModification | None:
        self.volumes.get(volume_id)
        return self.changes.get(volume_id)

    def start(self, volume_id: str, target: PerformanceSettings) -> None:
        self.volumes.get(volume_id)
        if self.failure is not None:
            raise self.failure
        change = self.changes.get(volume_id)
        if change is not None and change.under_way:
            raise ModificationPostponedError(f"IncorrectModificationState: {change.state}")
        self.started.append((volume_id, target))
        self.changes[volume_id] = VolumeModification("modifying", target, started_at=self.now)

    def become(self, volume_id: str, state: str) -> None:
        """The change goes on; its settings are in force from `optimizing` on."""
        change = replace(self.changes[volume_id], state=state)
        self.changes[volume_id] = change
        if change.in_force:
            now = self.volumes.get(volume_id).settings
            told = replace(
                now,
                volume_type=change.target.volume_type,
                iops=change.target.iops,
                throughput_mib_s=change.target.throughput_mib_s,
            )
            self.volumes.change(volume_id, settings=told)


@dataclass
class FakeLog:
    """Port PerformanceLog."""

    started: dict[str, set[datetime]] = field(default_factory=dict)
    changes: dict[str, str] = field(default_factory=dict)

    def starts(self, volume_id: str) -> list[datetime]:
        return sorted(self.started.get(volume_id, set()))

    def note_start(self, volume_id: str, started_at: datetime) -> None:
        self.started.setdefault(volume_id, set()).add(started_at)

    def change_id(self, volume_id: str) -> str | None:
        return self.changes.get(volume_id)

    def begin(self, volume_id: str, change_id: str) -> None:
        self.changes[volume_id] = change_id


@dataclass
class FakeInstances:
    """Ports Instances, InstanceStates and RootVolumes.

    A started instance runs at once, and is silent until `hear`.
    """

    instances: dict[str, Instance] = field(default_factory=dict)
    zones: list[str] = field(default_factory=lambda: ["ap-northeast-1a", "ap-northeast-1c"])
    limits: InstanceEbsLimits = field(
        default_factory=lambda: InstanceEbsLimits(593.75, 593.75, 20_000, 20_000)
    )

    checks: StatusChecks = field(default_factory=lambda: StatusChecks("ok", "initializing", "ok"))
    failure: Exception | None = None
    """Of start and stop."""
    stops_slowly: bool = False
    starts: list[str] = field(default_factory=list)
    asked_swaps: list[tuple[str, str, str]] = field(default_factory=list)
    """(instance, volume, token) of each call."""
    swap: str = "succeeded"
    """The state of every task."""
    swap_failure: Exception | None = None
    begins_all_the_same: bool = False

    def add(self, instance: Instance) -> Instance:
        self.instances[instance.instance_id] = instance
        return instance

    def existing(self, instance_ids: Sequence[str]) -> Iterator[Instance]:
        return (self.instances[name] for name in instance_ids if name in self.instances)

    def reached(self, instance_ids: Sequence[str]) -> Iterator[Instance]:
        return self.existing(instance_ids)

    def with_tags(self, tags: WantedTags) -> Iterator[Instance]:
        return (one for one in self.instances.values() if has_tags(tags, one.tags))

    def is_online(self, instance_id: str) -> bool:
        return self.get(instance_id).ssm_online

    def begin_swap(self, instance_id: str, volume_id: str, *, client_token: str) -> str:
        if self.swap_failure is None or self.begins_all_the_same:
            self.asked_swaps.append((instance_id, volume_id, client_token))
        if self.swap_failure is not None:
            raise self.swap_failure
        return f"replacevol-{client_token}"

    def swaps(self, instance_id: str) -> dict[str, str]:
        return {f"replacevol-{token}": self.swap for _, _, token in self.asked_swaps}

    def hear(self, instance_id: str, at: datetime) -> None:
        """Systems Manager hears from it."""
        self._change(instance_id, ssm_online=True, heard_at=at)

    def start(self, instance_id: str, tags: Mapping[str, str]) -> None:
        found = self._change(instance_id, tags={**self.get(instance_id).tags, **tags})
        if self.failure is not None:
            raise self.failure
        if found.state == "stopped":
            self.starts.append(instance_id)
            self._change(instance_id, state="running")

    def stop(self, instance_id: str) -> None:
        if self.failure is not None:
            raise self.failure
        self._change(instance_id, state="stopping" if self.stops_slowly else "stopped")

    def untag(self, instance_id: str, *keys: str) -> None:
        tags = self.get(instance_id).tags
        self._change(instance_id, tags={name: value for name, value in tags.items() if name not in keys})

    def status_checks(self, instance_id: str) -> StatusChecks | None:
        return self.checks if self.get(instance_id).state == "running" else None

    def _change(self, instance_id: str, **changes: Any) -> Instance:
        return self.add(replace(self.instances[instance_id], **changes))

    def get(self, instance_id: str) -> Instance:
        if instance_id not in self.instances:
            raise TargetNotFoundError(f"there is no instance {instance_id}")
        return self.instances[instance_id]

    def availability_zones(self) -> list[str]:
        return list(self.zones)

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        assert instance_type
        return self.limits


@dataclass
class FakeDocuments:
    """Port CommandDocuments."""

    known: dict[str, list[CommandDocument]] = field(default_factory=dict)
    failure: Exception | None = None

    def add(self, name: str, **changes: Any) -> CommandDocument:
        """The next version, which becomes the default one, with the tag of the stack `rewarm`."""
        versions = self.known.setdefault(name, [])
        number = str(len(versions) + 1)
        values = {"kind": "Command", "version": number, "sha256": f"sha-{name}-{number}"}
        values |= {"platforms": frozenset({"Linux"}), "tags": {"rewarm:hooks": "rewarm"}}
        values["default_version"] = number
        made = CommandDocument(**{**values, **changes})
        versions.append(made)
        return made

    def find(self, name: str, version: str) -> CommandDocument | None:
        if self.failure is not None:
            raise self.failure
        versions = self.known.get(name, [])
        wanted = (
            versions[-1:] if version == "$DEFAULT" else [one for one in versions if one.version == version]
        )
        return next((replace(one, default_version=versions[-1].version) for one in wanted), None)


@dataclass
class FakeHooks:
    """Port Hooks; tests say what becomes of each command."""

    sent: list[tuple[str, HookCall]] = field(default_factory=list)
    """Instance, and what it is asked."""
    comments: list[str] = field(default_factory=list)
    outcomes: dict[str, CommandStatus] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    failure: Exception | None = None
    refusal: Exception | None = None
    """Of CancelCommand."""
    lost_answer: bool = False
    """The next command is sent, and its answer is lost."""
    is_hidden: bool = False
    """Run Command does not list any."""
    clock: datetime = datetime(2026, 11, 21, 3, tzinfo=UTC)

    def send(self, instance_id: str, call: HookCall, *, comment: str, timeout_seconds: int) -> str:
        assert len(comment) <= 100
        assert 30 <= timeout_seconds <= 2_592_000
        if self.failure is not None:
            raise self.failure
        self.sent.append((instance_id, call))
        self.comments.append(comment)
        if self.lost_answer:
            self.lost_answer = False
            raise ServiceUnavailableError("SendCommand: no answer")
        return f"command-{len(self.sent)}"

    def find(self, document: str, comment: str, *, since: datetime) -> list[SentCommand]:
        assert since <= self.clock
        found = [
            SentCommand(f"command-{number}", "InProgress")
            for number, ((_, call), said) in enumerate(zip(self.sent, self.comments, strict=True), start=1)
            if (call.document, said) == (document, comment)
        ]
        return [] if self.is_hidden else found[::-1]

    def time(self) -> datetime:
        return self.clock

    def outcome(self, command_id: str, instance_id: str) -> CommandStatus | None:
        assert instance_id
        return self.outcomes.get(command_id)

    def finish(self, command_id: str, status: str = "Success", **changes: Any) -> None:
        told = {"status_details": status, "exit_code": 0, "stdout": "", "stderr": "", **changes}
        self.outcomes[command_id] = CommandStatus(status, **told)

    def cancel(self, command_id: str, instance_id: str) -> None:
        assert instance_id
        if self.refusal is not None:
            raise self.refusal
        self.cancelled.append(command_id)


@dataclass
class FakeCommands:
    """Port Commands; tests set the status that SSM tells."""

    sent: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    statuses: dict[str, CommandStatus] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    failure: Exception | None = None
    comments: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    """Commands that SSM does not list yet."""
    cancelled_from: dict[str, datetime] = field(default_factory=dict)
    """CancelCommand only attempts to (botocore ssm): until then SSM lists the command as before."""
    clock: datetime = datetime(2026, 11, 21, 3, tzinfo=UTC)
    lost_answers: int = 0
    """How many commands are sent without an answer: the sender gives up after `READ_SECONDS`."""

    def send(
        self,
        instance_id: str,
        parameters: Mapping[str, str],
        *,
        platform: str,
        comment: str,
        timeout_seconds: int,
    ) -> str:
        assert platform in ("linux", "windows", "apply")
        assert len(comment) <= 100
        assert 30 <= timeout_seconds <= 2_592_000
        if self.failure is not None:
            raise self.failure
        command_id = f"command-{len(self.sent) + 1}"
        self.sent.append((command_id, instance_id, dict(parameters)))
        self.comments[command_id] = comment
        if self.lost_answers:
            self.lost_answers -= 1
            self.clock += timedelta(seconds=READ_SECONDS)
            raise ServiceUnavailableError("SendCommand: no answer")
        return command_id

    def find(self, comment: str, *, platform: str, since: datetime) -> list[SentCommand]:
        assert platform in ("linux", "windows", "apply")
        assert since <= self.clock
        if self.failure is not None:
            raise self.failure
        return [
            SentCommand(one, self._state(one))
            for one, name in reversed(self.comments.items())
            if name == comment and one not in self.hidden
        ]

    def _state(self, command_id: str) -> str:
        if command_id in self.cancelled and self.clock >= self.cancelled_from.get(command_id, self.clock):
            return "Cancelled"
        known = self.statuses.get(command_id)
        return known.status if known else "InProgress"

    def time(self) -> datetime:
        return self.clock

    def status(self, command_id: str, instance_id: str) -> CommandStatus | None:
        assert instance_id
        return self.statuses.get(command_id)

    def finish(self, command_id: str, *, stdout: object = None, **changes: Any) -> None:
        told = {"status": "Success", "status_details": "Success", "exit_code": 0, "stderr": "", **changes}
        text = stdout if isinstance(stdout, str) else json.dumps(stdout) if stdout is not None else ""
        self.statuses[command_id] = CommandStatus(stdout=text, **told)

    def cancel(self, command_id: str, instance_id: str) -> None:
        assert instance_id
        if self.failure is not None:
            raise self.failure
        self.cancelled.append(command_id)
        self.cancelled_from[command_id] = self.clock + CANCELLING


@dataclass
class FakeMetrics:
    """Port Metrics."""

    activity: list[ReadActivity] = field(default_factory=list)
    writes: dict[str, WrittenSince] = field(default_factory=dict)

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        assert volume_id
        return sorted(
            (one for one in self.activity if since <= one.minute < until), key=lambda one: one.minute
        )

    def written(self, volume_id: str, *, since: datetime, until: datetime) -> WrittenSince | None:
        assert since <= until
        return self.writes.get(volume_id)


@dataclass
class FakeBlocks:
    """Port SnapshotBlocks: by first and second snapshot the indices that differ, and those of zeros."""

    differing: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    zeros: frozenset[int] = frozenset()
    page: int = 10_000
    requests: int = 0

    def changed(
        self, first_snapshot_id: str, second_snapshot_id: str, *, start_block: int = 0
    ) -> Iterator[ChangedPage]:
        if (first_snapshot_id, second_snapshot_id) not in self.differing:
            raise SnapshotNotUsableError(f"{first_snapshot_id} and {second_snapshot_id} are unrelated")
        indices = [one for one in self.differing[first_snapshot_id, second_snapshot_id] if one >= start_block]
        for at in range(0, len(indices) or 1, self.page):
            self.requests += 1
            found = indices[at : at + self.page]
            blocks = [ChangedBlock(one, None if one in self.zeros else "first", "second") for one in found]
            yield ChangedPage(blocks, is_last=at + self.page >= len(indices))


@dataclass
class FakePrices:
    """Port Prices; figures of ap-northeast-1."""

    price_book: PriceBook
    transfer: Decimal | None = Decimal("0.02")

    def transfer_usd_per_gib(self, from_region: str, *, now: datetime) -> Decimal | None:
        assert from_region
        assert now.tzinfo is not None
        return self.transfer

    def book(self, *, now: datetime) -> PriceBook:
        assert now.tzinfo is not None
        return self.price_book


@dataclass
class FakeQuotas:
    """Port Quotas."""

    quotas: UnusedQuotas = field(default_factory=lambda: UnusedQuotas(5, 5_000, 5))

    def left(self, *, now: datetime) -> UnusedQuotas:
        assert now.tzinfo is not None
        return self.quotas


@dataclass
class FakeArtifacts:
    """Port Artifacts."""

    objects: dict[str, JsonObject] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    maps: dict[str, list[Extent]] = field(default_factory=dict)
    written_at: dict[str, datetime] = field(default_factory=dict)
    agents: dict[tuple[str, str], tuple[str, str]] = field(
        default_factory=lambda: {
            ("linux", "x86_64"): ("agent/warmer-linux-x86_64", "a" * 64),
            ("linux", "arm64"): ("agent/warmer-linux-arm64", "b" * 64),
            ("windows", "x86_64"): ("agent/warmer-windows-x86_64.exe", "c" * 64),
        }
    )

    def put_json(self, key: str, value: Any) -> None:
        self.objects[key] = json.loads(json.dumps(value))

    def put_page(self, key: str, html: str) -> None:
        self.pages[key] = html

    def get_json(self, key: str) -> JsonObject | None:
        return self.objects.get(key)

    def get_text(self, key: str, *, most_bytes: int) -> str | None:
        text = self.texts.get(key)
        if text is None and key in self.objects:
            text = json.dumps(self.objects[key])
        return text if text is not None and len(text) <= most_bytes else None

    def written(self, prefix: str, *, most: int) -> dict[str, datetime]:
        keys = sorted(key for key in self.written_at if key.startswith(prefix))
        return {key: self.written_at[key] for key in keys[:most]}

    def put_map(self, key: str, parts: Iterable[Runs]) -> int:
        self.maps[key] = [extent for part in parts for extent in part]
        return sum(extent.block_count for extent in self.maps[key])

    def agent(self, platform: str, architecture: str) -> tuple[str, str]:
        if (platform, architecture) not in self.agents:
            raise TargetNotUsableError(f"there is no agent for {platform} on {architecture}")
        return self.agents[platform, architecture]

    def download_url(self, key: str, *, expires_seconds: int) -> str:
        return f"https://artifacts.example/get/{key}?expires={expires_seconds}"

    def upload_url(self, key: str, *, expires_seconds: int, once: bool = False) -> str:
        return f"https://artifacts.example/{'put-once' if once else 'put'}/{key}?expires={expires_seconds}"


@dataclass
class _FastRestoreClaim:
    users: set[str] = field(default_factory=set)
    last_user: str | None = None
    asked_at: set[datetime] = field(default_factory=set)
    enabling_times: set[datetime] = field(default_factory=set)

    def told(self) -> FastRestoreClaim:
        return FastRestoreClaim(
            frozenset(self.users), self.last_user, frozenset(self.asked_at), frozenset(self.enabling_times)
        )


def _volume_of(name: str) -> int | None:
    concern = name.rstrip("0123456789")
    return None if concern in (name, "attached", "settled") else int(name.removeprefix(concern))


@dataclass
class FakeTable:
    """Port RestoreTable; to be looked at in one piece: there a volume's attribute ends with its index."""

    records: dict[str, JsonObject] = field(default_factory=dict)
    documents: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    """Runbooks and rules, with who wrote them and when."""
    credits_taken: dict[tuple[str, str], dict[str, datetime]] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)
    of_volumes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    claims: dict[tuple[str, str], _FastRestoreClaim] = field(default_factory=dict)
    messages: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    """Who has claimed each message, and until when."""
    now: datetime = datetime(2026, 11, 21, 3, tzinfo=UTC)

    def put_new(self, restore_id: str, record: JsonObject) -> bool:
        if restore_id in self.records:
            return False
        self.records[restore_id] = _copy(record)
        return True

    def put(self, restore_id: str, parts: JsonObject) -> None:
        """Attributes of the restore and of its volumes, for tests."""
        self.records.setdefault(restore_id, {}).update(_copy(parts))

    def get(self, restore_id: str) -> JsonObject | None:
        whole = self.records.get(restore_id)
        return whole and _copy({name: value for name, value in whole.items() if _volume_of(name) is None})

    def get_whole(self, restore_id: str) -> tuple[JsonObject | None, dict[int, JsonObject]]:
        own, record = self.get(restore_id), self.records.get(restore_id, {})
        counted = sorted({index for name in record if (index := _volume_of(name)) is not None})
        is_lost = own is not None and own.keys().isdisjoint({"request", VOLUME_COUNT})
        if counted and is_lost:
            own = {**(own or {}), VOLUME_COUNT: len(counted)}
        return own, {index: self.get_volume(restore_id, index) for index in counted}

    def lose(self, restore_id: str) -> None:
        """The restore's own item is gone, those of its volumes are there."""
        record = self.records[restore_id]
        self.records[restore_id] = {name: one for name, one in record.items() if _volume_of(name) is not None}

    def begin_creation(self, restore_id: str, index: int, attempt: int, creation: JsonObject) -> JsonObject:
        creations = self.get_volume(restore_id, index).get("creations", {})
        first = {**creation, "key": f"key of {restore_id}/{index}/{attempt}"}
        self.update_volume(restore_id, index, {"creations": {str(attempt): first, **creations}})
        return self.get_volume(restore_id, index)

    def standing(self, restore_id: str) -> Standing:
        record = self.records.get(restore_id, {})
        swept = record.get("cancelAsked") is False
        return Standing(self.is_cancelled(restore_id), record.get("status"), was_swept=swept)

    def get_each(self, restore_ids: Sequence[str], names: Sequence[str]) -> dict[str, JsonObject]:
        known = {one: self.records[one] for one in restore_ids if one in self.records}
        return {
            one: _copy({name: found[name] for name in names if name in found}) for one, found in known.items()
        }

    def note_volume(self, volume_id: str, restore_id: str) -> None:
        self.of_volumes[volume_id].add(restore_id)

    def restores_of(self, volume_id: str) -> list[Listed]:
        known = [(name, self.records.get(name, {})) for name in self.of_volumes[volume_id]]
        whole = [(name, record) for name, record in known if {"status", "startedAt"} <= record.keys()]
        return sorted((Listed(one["startedAt"], name, _copy(one)) for name, one in whole), reverse=True)

    def update(self, restore_id: str, changes: JsonObject) -> None:
        assert all(_volume_of(name) is None for name in changes), f"of a volume: {sorted(changes)}"
        self.records.setdefault(restore_id, {}).update(_copy(changes))

    def advance(self, restore_id: str, status: str) -> None:
        record = self.records.setdefault(restore_id, {})
        if not any(name in record for name in OVER):
            record["status"] = status

    def append_event(self, restore_id: str, event: JsonObject) -> None:
        self.records.setdefault(restore_id, {}).setdefault("events", []).append(_copy(event))

    def get_volume(self, restore_id: str, index: int) -> JsonObject:
        found = {
            name: one for name, one in self.records.get(restore_id, {}).items() if _volume_of(name) == index
        }
        return _copy({name.removesuffix(str(index)): one for name, one in found.items()})

    def update_volume(self, restore_id: str, index: int, changes: JsonObject) -> None:
        assert not any(name[-1].isdigit() for name in changes), f"with an index: {sorted(changes)}"
        named = {f"{name}{index}": value for name, value in changes.items()}
        self.records.setdefault(restore_id, {}).update(_copy(named))

    def append_volume_event(self, restore_id: str, index: int, event: JsonObject) -> None:
        self.records.setdefault(restore_id, {}).setdefault(f"events{index}", []).append(_copy(event))

    def request_cancel(
        self, restore_id: str, *, by: JsonObject | None = None, unless: Sequence[str] = ()
    ) -> bool:
        if restore_id not in self.records:
            raise RestoreNotFoundError(f"there is no restore {restore_id}")
        if unless and all(name in self.records[restore_id] for name in unless):
            return False
        self.records[restore_id] |= {"cancelRequested": True, **({"cancelledBy": by} if by else {})}
        return True

    def set_unless_cancelled(self, restore_id: str, name: str, value: Any) -> bool:
        record = self.records.setdefault(restore_id, {})
        if record.get("cancelRequested") and name not in record:
            return False
        record[name] = _copy({"value": value})["value"]
        return True

    def replace_value(self, restore_id: str, name: str, value: JsonObject, *, was: JsonObject | None) -> bool:
        record = self.records.setdefault(restore_id, {})
        if record.get("cancelRequested") or record.get(name) != was:
            return False
        record[name] = _copy(value)
        return True

    def is_cancelled(self, restore_id: str) -> bool:
        """For tests."""
        return bool(self.records.get(restore_id, {}).get("cancelRequested"))

    def claim_event(self, event_id: str, restore_id: str) -> str:
        return self.events.setdefault(event_id, restore_id)

    def claim_message(self, message: str, sender: str, *, seconds: int) -> bool:
        by, until = self.messages.get(message, (sender, self.now))
        if by != sender and until > self.now:
            return False
        self.messages[message] = sender, self.now + timedelta(seconds=seconds)
        return True

    def runbook(self, alarm_name: str) -> JsonObject | None:
        found = self.stored(RUNBOOK, alarm_name)
        return found and found["request"]

    def stored(self, kind: str, name: str) -> JsonObject | None:
        return self.documents.get((kind, name))

    def store(self, kind: str, name: str, request: JsonObject, *, trigger: JsonObject | None = None) -> None:
        at = f"2026-11-20T02:00:{len(self.documents):02}Z"
        self.documents[kind, name] = {"request": _copy(request), "trigger": trigger, "startedAt": at}

    def replace(
        self,
        kind: str,
        name: str,
        request: JsonObject,
        *,
        trigger: JsonObject | None = None,
        was: JsonObject | None,
    ) -> bool:
        if (self.documents.get((kind, name)) or {"request": None})["request"] != was:
            return False
        self.store(kind, name, request, trigger=trigger)
        return True

    def listed(
        self, status: str, *, since: str, until: str, after: tuple[str, str] | None, limit: int
    ) -> tuple[list[Listed], bool]:
        entries = [
            Listed(record["startedAt"], name, _copy(record))
            for name, record in self.records.items()
            if record.get("status") == status and "startedAt" in record
        ]
        entries += [
            Listed(found["startedAt"], name, _copy(found))
            for (kind, name), found in self.documents.items()
            if kind == status
        ]
        entries = [one for one in entries if since <= one.at <= until]
        entries = sorted((one for one in entries if after is None or one.place < after), reverse=True)
        return entries[:limit], len(entries) >= limit

    def discard(self, kind: str, name: str) -> bool:
        return self.documents.pop((kind, name), None) is not None

    def claim(self, snapshot_id: str, availability_zone: str) -> FastRestoreClaim | None:
        found = self.claims.get((snapshot_id, availability_zone))
        return None if found is None else found.told()

    def claim_fast_snapshot_restore(
        self,
        snapshot_id: str,
        zone: str,
        user: str,
        *,
        asked_at: datetime | None = None,
        enabling_time: datetime | None = None,
    ) -> None:
        claim = self.claims.setdefault((snapshot_id, zone), _FastRestoreClaim())
        claim.asked_at |= {asked_at} if asked_at else set()
        claim.enabling_times |= {enabling_time} if enabling_time else set()
        claim.users.add(user)
        claim.last_user = None

    def note_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, *, asked_at: datetime, enabling_time: datetime | None
    ) -> None:
        claim = self.claims[snapshot_id, availability_zone]
        claim.asked_at.discard(asked_at)
        claim.enabling_times |= {enabling_time} if enabling_time else set()

    def take_fast_snapshot_restore_credit(
        self,
        snapshot_id: str,
        availability_zone: str,
        user: str,
        *,
        credit_count: int,
        now: datetime,
        window: timedelta,
    ) -> bool:
        taken = self.credits_taken.setdefault((snapshot_id, availability_zone), {})
        recent = {name for name, at in taken.items() if at > now - window}
        if user not in recent and len(recent) >= credit_count:
            return False
        taken.setdefault(user, now)
        return True

    def release_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, user: str
    ) -> FastRestoreClaim | None:
        claim = self.claims.get((snapshot_id, availability_zone))
        if claim is None:
            return None
        if user in claim.users:
            claim.users.discard(user)
            claim.last_user = user
        last = not claim.users and claim.last_user == user and claim.told().may_be_on
        return claim.told() if last else None

    def forget_fast_snapshot_restore(self, snapshot_id: str, availability_zone: str, user: str) -> None:
        claim = self.claims.get((snapshot_id, availability_zone))
        if claim is not None and not claim.users and claim.last_user == user:
            del self.claims[snapshot_id, availability_zone]


@dataclass
class FakeHistory:
    """Port History."""

    kept: list[Measured] = field(default_factory=list)
    calibrated: JsonObject | None = None
    failure: Exception | None = None
    drilled: dict[str, list[JsonObject]] = field(default_factory=dict)
    leased: JsonObject = field(default_factory=dict)

    def leases(self) -> JsonObject:
        return _copy(self.leased)

    def keep_lease(self, calibration_id: str, lease: JsonObject) -> None:
        self.leased[calibration_id] = _copy(lease)

    def end_lease(self, calibration_id: str) -> None:
        self.leased.pop(calibration_id, None)

    def drills(self, runbook: str) -> list[JsonObject]:
        if self.failure is not None:
            raise self.failure
        return list(self.drilled.get(runbook, []))

    def add_drill(self, runbook: str, result: JsonObject) -> None:
        if self.failure is not None:
            raise self.failure
        others = [one for one in self.drilled.get(runbook, []) if one["restoreId"] != result["restoreId"]]
        self.drilled[runbook] = [*others, result]

    def records(self) -> list[Measured]:
        if self.failure is not None:
            raise self.failure
        return list(self.kept)

    def add(self, records: Sequence[Measured]) -> None:
        if self.failure is not None:
            raise self.failure
        self.kept.extend(records)

    def calibration(self) -> JsonObject | None:
        if self.failure is not None:
            raise self.failure
        return self.calibrated

    def keep_calibration(self, calibration: JsonObject) -> None:
        self.calibrated = calibration


@dataclass
class FakeMessages:
    """Port Messages."""

    sent: list[JsonObject] = field(default_factory=list)
    channels: list[str] = field(default_factory=lambda: ["slack", "email"])

    def send(self, message: JsonObject) -> list[str]:
        self.sent.append(_copy(message))
        return list(self.channels)


@dataclass
class FakePageLinks:
    """Port PageLinks."""

    made: dict[str, tuple[LinkedPage, datetime]] = field(default_factory=dict)
    failure: Exception | None = None

    def link(self, page: LinkedPage, *, until: datetime) -> str:
        if self.failure is not None:
            raise self.failure
        token = f"token-{len(self.made)}"
        self.made[token] = page, until
        return f"https://public.example/v1/pages/{token}"

    def page_of(self, token: str, *, now: datetime) -> LinkedPage | None:
        page, until = self.made.get(token, (None, now))
        return page if now < until else None

    def behind(self, url: str) -> LinkedPage:
        """The page that a link leads to."""
        return self.made[url.rpartition("/")[2]][0]


@dataclass
class FakeExecutions:
    """Port Executions."""

    started: dict[str, JsonObject] = field(default_factory=dict)
    failure: Exception | None = None

    def start(self, restore_id: str, execution_input: JsonObject) -> str:
        if self.failure is not None:
            raise self.failure
        if self.started.setdefault(restore_id, _copy(execution_input)) != execution_input:
            raise RequestRefusedError("ExecutionAlreadyExists")
        return f"arn:aws:states:ap-northeast-1:123456789012:execution:restore:{restore_id}"


@dataclass
class FakeVolumeExecutions:
    """Port VolumeExecutions; Step Functions knows those of which a test says how they ended."""

    ends: dict[tuple[str, int], ExecutionEnd] = field(default_factory=dict)

    def ending(self, restore_id: str, index: int) -> ExecutionEnd:
        return self.ends.get((restore_id, index), ExecutionEnd("GONE"))


@dataclass
class FakeFleets(FakeExecutions):
    """Port FleetExecutions; each execution runs until a test says how it ended."""

    ends: dict[str, ExecutionEnd] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)

    def arn_of(self, name: str) -> str:
        return f"arn:aws:states:ap-northeast-1:123456789012:execution:fleet:{name}"

    def ending(self, arn: str) -> ExecutionEnd:
        return self.ends.get(arn, ExecutionEnd("RUNNING"))

    def stop(self, arn: str, cause: str) -> None:
        self.stopped[arn] = cause


def tokyo_prices(as_of: datetime) -> PriceBook:
    """ap-northeast-1, as the price list and a published article give them."""
    return PriceBook(
        region="ap-northeast-1",
        as_of=as_of,
        source="shipped price book",
        fsr_usd_per_hour=Decimal("0.90"),
        rate_usd_per_gib_mib_s=Decimal("0.0000144"),
        list_blocks_usd_per_thousand=Decimal("0.0006"),
        get_blocks_usd_per_thousand=Decimal("0.003"),
        packs_usd_per_gib_month=Decimal("0.023"),
        functions_usd_per_gb_second=Decimal("0.0000133334"),
        functions_usd_per_million=Decimal("0.20"),
        transitions_usd_per_thousand=Decimal("0.025"),
        snapshot_usd_per_gib_month=Decimal("0.05"),
        storage_usd_per_gib_month={"gp3": Decimal("0.096")},
        iops_usd_per_month={"gp3": Decimal("0.006")},
        throughput_usd_per_mib_s_month={"gp3": Decimal("0.048")},
    )


def _copy(value: JsonObject) -> JsonObject:
    """As a table would keep it: JSON, cut off from what the caller goes on to do with it."""
    copied: JsonObject = json.loads(json.dumps(value))
    return copied
