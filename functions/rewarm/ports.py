"""What a step needs from the world; adapters/ implements it on AWS, tests/support/fakes.py in memory.

Every method may raise ThrottledError, ServiceUnavailableError, AccessDeniedError and RequestRefusedError;
further errors are named at the method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from rewarm.domain.model import (
    ArchiveRestore,
    BinnedSnapshot,
    CommandStatus,
    FastSnapshotRestore,
    InitializationStatus,
    Instance,
    InstanceEbsLimits,
    PriceBook,
    ReadActivity,
    Snapshot,
    Volume,
    VolumeSettings,
)
from rewarm.domain.plan.facts import UnusedQuotas
from rewarm.domain.ready.agent_output import SentCommand
from rewarm.domain.time.measured import Measured
from rewarm.domain.volume.extents import Runs
from rewarm.domain.volume.leftovers import FastRestoreClaim
from rewarm.domain.volume.performance import Performance, VolumeModification
from rewarm.ports_records import RestoreRecords

JsonObject = dict[str, Any]


class SnapshotCatalog(Protocol):
    """EC2 snapshots and images."""

    def get(self, snapshot_id: str) -> Snapshot:
        """Raises SnapshotNotFoundError; SnapshotNotUsableError where it is another account's, not shared."""

    def in_recycle_bin(self, snapshot_id: str | None = None) -> list[BinnedSnapshot]:
        """What the Recycle Bin holds, of this snapshot or of all; nothing where we may not look."""

    def archive_restore(self, snapshot_id: str) -> ArchiveRestore | None:
        """None where no RestoreSnapshotTier is at work."""

    def key_problem(self, kms_key_id: str) -> str | None:
        """Why no volume can be encrypted or decrypted with the KMS key now; None where one can."""

    def of_volume(self, volume_id: str) -> list[Snapshot]:
        """All snapshots of a volume that this account owns, in any state."""

    def with_tags(self, tags: Mapping[str, str]) -> list[Snapshot]:
        """All snapshots of this account that carry every one of the tags, in any state."""

    def of_image(self, image_id: str) -> dict[str, str]:
        """Device name to snapshot id of an AMI. Raises SnapshotNotFoundError."""

    def written_extents(self, snapshot_id: str, size_gib: int, full_size_bytes: int | None) -> Iterator[Runs]:
        """Written blocks, ascending, disjoint, merged, a part at a time. Raises SnapshotNotFoundError."""


class FastSnapshotRestores(Protocol):
    """Fast snapshot restore of a snapshot in an Availability Zone."""

    def describe(
        self, snapshot_id: str, availability_zone: str, *, now: datetime
    ) -> FastSnapshotRestore | None:
        """None where it was never enabled, or is disabled."""

    def enabling_time(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """When the one that is active now was enabled; None where none is."""

    def enable(self, snapshot_id: str, availability_zone: str) -> datetime | None:
        """Its enabling time, also an earlier one. Raises FastSnapshotRestoreUnavailableError."""

    def disable(self, snapshot_id: str, availability_zone: str) -> None:
        """Does nothing where it is not enabled."""


class VolumeStore(Protocol):
    """EBS volumes."""

    def create(
        self,
        snapshot_id: str,
        availability_zone: str,
        settings: VolumeSettings,
        *,
        initialization_rate_mib_s: int | None,
        client_token: str,
    ) -> str:
        """The volume's id; the same token gives the same volume.

        Raises InitializationRateUnavailableError, CapacityUnavailableError, QuotaExceededError,
        SnapshotNotFoundError.
        """

    def copy(self, source_volume_id: str, settings: VolumeSettings, *, client_token: str) -> str:
        """CopyVolumes; the copy's id. Raises VolumeCopyUnavailableError, CapacityUnavailableError, …"""

    def get(self, volume_id: str) -> Volume:
        """Raises VolumeNotFoundError."""

    def created_by(self, restore_id: str) -> list[Volume]:
        """Volumes that carry this restore's tag."""

    def attach(self, volume_id: str, instance_id: str, device: str) -> None:
        """Does nothing where it is attached so already. Raises DeviceInUseError, TargetNotUsableError."""

    def detach(self, volume_id: str, instance_id: str) -> None:
        """Does nothing where it is not attached there."""

    def delete(self, volume_id: str) -> None:
        """Does nothing where it is gone. Raises RequestRefusedError while it is attached."""

    def tag(self, volume_id: str, tags: Mapping[str, str]) -> None:
        """Raises VolumeNotFoundError."""

    def untag(self, volume_id: str, key: str) -> None:
        """Does nothing where the volume or the tag is gone."""

    def initialization_status(self, volume_id: str) -> InitializationStatus:
        """What EC2 says of the initialization, up to 5 minutes late. Raises VolumeNotFoundError."""


class VolumeModifications(Protocol):
    """Changes of volumes that live on."""

    def latest(self, volume_id: str) -> VolumeModification | None:
        """None where the volume was never changed. Raises VolumeNotFoundError."""

    def start(self, volume_id: str, target: Performance) -> None:
        """ModifyVolume, not idempotent. Raises ModificationPostponedError, VolumeNotFoundError."""


class Instances(Protocol):
    """EC2 instances and what SSM says of them."""

    def get(self, instance_id: str) -> Instance:
        """Raises TargetNotFoundError."""

    def availability_zones(self) -> list[str]:
        """Names of the Region's zones."""

    def ebs_limits(self, instance_type: str) -> InstanceEbsLimits:
        """DescribeInstanceTypes."""


class Commands(Protocol):
    """SSM Run Command with this stack's documents."""

    def send(
        self,
        instance_id: str,
        parameters: Mapping[str, str],
        *,
        platform: str,
        comment: str,
        timeout_seconds: int,
    ) -> str:
        """The command's id. Not idempotent (SendCommand has no token). Raises AgentUnreachableError."""

    def find(self, comment: str, *, platform: str, since: datetime) -> list[SentCommand]:
        """Commands with this comment, the newest first; one of the last seconds may be missing."""

    def time(self) -> datetime:
        """Now, for the note of a command that is about to be sent."""

    def status(self, command_id: str, instance_id: str) -> CommandStatus | None:
        """None while SSM does not know the invocation yet (normal right after `send`)."""

    def cancel(self, command_id: str, instance_id: str) -> None:
        """Does nothing where it has finished."""


class Metrics(Protocol):
    """CloudWatch AWS/EBS."""

    def read_activity(self, volume_id: str, *, since: datetime, until: datetime) -> list[ReadActivity]:
        """Per minute, oldest first; minutes without a datapoint are left out."""


class Prices(Protocol):
    """The price of things in this Region."""

    def book(self, *, now: datetime) -> PriceBook:
        """From the Price List where it answers, else the shipped book, overlaid by the user's own figures."""


class Quotas(Protocol):
    """Service Quotas, less what is in use."""

    def left(self, *, now: datetime) -> UnusedQuotas:
        """What the Region's quotas leave; AWS's defaults where no answer is to be had. Raises nothing."""


class Artifacts(Protocol):
    """The bucket with the agent's binaries, block maps, progress and reports."""

    def put_json(self, key: str, value: JsonObject) -> None:
        """Writes one JSON object."""

    def put_page(self, key: str, html: str) -> None:
        """Writes a page for browsers."""

    def get_json(self, key: str) -> JsonObject | None:
        """None where there is no such object, or it is not JSON (a progress line cut short)."""

    def get_text(self, key: str, *, most_bytes: int) -> str | None:
        """None where there is no such object, or a larger one."""

    def put_map(self, key: str, parts: Iterable[Runs]) -> int:
        """Writes a block map as the agent reads it, `start count` a line; returns how many blocks it has."""

    def agent(self, platform: str, architecture: str) -> tuple[str, str]:
        """(key, sha256) of the agent's binary. Raises TargetNotUsableError where there is none for it."""

    def download_url(self, key: str, *, expires_seconds: int) -> str:
        """A presigned GET; it ends with the credentials that sign it, whatever it says itself."""

    def upload_url(self, key: str, *, expires_seconds: int) -> str:
        """A presigned PUT."""


class RestoreTable(RestoreRecords, Protocol):
    """What we remember of restores, runbooks and alarm events, and who uses which FSR."""

    def claim_event(self, event_id: str, restore_id: str) -> str:
        """The id of the restore that owns this event: ours, or the one that came first."""

    def runbook(self, alarm_name: str) -> JsonObject | None:
        """The restore request for an alarm."""

    def put_runbook(self, alarm_name: str, request: JsonObject) -> None:
        """Writes or replaces it."""

    def delete_runbook(self, alarm_name: str) -> bool:
        """False where there was none."""

    def claim_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, user: str, *, asked_at: datetime | None
    ) -> None:
        """Notes that `user` (restore id and volume index) relies on it, and whether it enables it now."""

    def note_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, *, asked_at: datetime, enabling_time: datetime | None
    ) -> None:
        """What came of enabling it: EC2's time where it was our doing, else None."""

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
        """True where `user` may create a volume with one of the `credit_count` credits that CloudWatch shows.

        CloudWatch may not know yet of credits that others took within `window`; they are taken off. Asking
        again gives the same user the same credit.
        """

    def release_fast_snapshot_restore(
        self, snapshot_id: str, availability_zone: str, user: str
    ) -> FastRestoreClaim | None:
        """Where nobody relies on it any more: what shows that it is ours, to be disabled now, and again."""

    def forget_fast_snapshot_restore(self, snapshot_id: str, availability_zone: str, user: str) -> None:
        """It is disabled, as its last user was told to do."""


class History(Protocol):
    """What this account's finished restores measured."""

    def records(self) -> list[Measured]:
        """The latest ones of every strategy, oldest first."""

    def add(self, records: Sequence[Measured]) -> None:
        """Keeps them; the oldest ones of a strategy go when there are too many."""


class Messages(Protocol):
    """Everyone who listens."""

    def send(self, message: JsonObject) -> list[str]:
        """Sends domain.messages.Message as JSON, with `notify`; the names of the channels that took it."""


class Executions(Protocol):
    """The state machine `restore`."""

    def start(self, restore_id: str, execution_input: JsonObject) -> str:
        """The execution's ARN; the same id with the same input starts nothing new."""
