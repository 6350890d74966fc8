"""What a calibration makes in the account, how it is tagged, and how everything is removed.

The stack keeps a lease with the ids of all that is made, so that the sweeper can end it if this program is
killed. Tags prove nothing, because anybody may set them: only what the lease or this program names is
removed.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from rewarm_cli.calibrate.figures import Seen

Json = dict[str, Any]

STACK_TAG, CALIBRATION_TAG, CREATION_TAG = "rewarm:stack", "rewarm:calibration", "rewarm:creation"
CLOCKS_APART = timedelta(minutes=1)
"""Between the stack's clock and EC2's."""
RENEW_SECONDS = 300.0
DEVICES = [f"/dev/sd{letter}" for letter in "pomnlkjihgf"]
POLL_SECONDS = 0.5
WRONG_SECONDS = 3.0
"""The header `Date` has whole seconds, and answers take time."""
REMOVAL_SECONDS = 300.0
SERVER_ERROR = 500
"""From this HTTP status on, the call may have been carried out."""
GONE = ("InvalidVolume.NotFound", "InvalidSnapshot.NotFound")


class CalibrationError(RuntimeError):
    """The calibration cannot continue; the message says why."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The AWS services that a calibration uses, with the user's credentials."""

    ec2: Any
    ssm: Any
    cloudwatch: Any
    pricing: Any


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, which tests may let pass faster."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


def clock_of(clients: Clients) -> Clock:
    """This machine's clock, corrected by EC2's if it is wrong, because the sweeper uses AWS's time."""
    answer = clients.ec2.describe_volumes(MaxResults=5)
    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    ahead = parsedate_to_datetime(date).timestamp() + 0.5 - time.time() if date else 0.0
    return Clock(lambda: time.time() + ahead) if abs(ahead) > WRONG_SECONDS else Clock()


@dataclass(frozen=True, slots=True)
class Where:
    """The instance that attaches and reads the volumes."""

    instance_id: str
    instance_type: str
    zone: str
    region: str
    stack: str
    document: str


@dataclass(slots=True)
class Cloud:
    """The account, for one calibration. `keep` tells the stack what is there to be removed."""

    clients: Clients
    clock: Clock
    where: Where
    calibration: str
    keep: Callable[[list[str], list[str]], object]
    volumes: list[str] = field(default_factory=list)
    snapshots: list[str] = field(default_factory=list)
    fast_restores: list[str] = field(default_factory=list)
    renewed: float = 0.0
    asked: Json = field(default_factory=dict)
    """The latest CreateVolume. The same token gives the same volume, so its id is never lost."""

    # ------------------------------------------------------------------------------------------ making
    def create_volume(self, **settings: Any) -> tuple[str, Seen, float]:
        """Makes a volume; returns it, how long it took to be available, and when it was."""
        began = self.clock.now()
        place = {"AvailabilityZone": self.where.zone, "VolumeType": "gp3"}
        tags = self.tags("volume")
        self.asked = {**place, **settings, "TagSpecifications": tags, "ClientToken": uuid.uuid4().hex}
        try:
            name = str(self.clients.ec2.create_volume(**self.asked)["VolumeId"])
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] < SERVER_ERROR:
                self.asked = {}
            raise
        self.volumes.append(name)
        self.asked = {}
        self.tell()
        seen = self.until(lambda: self._volume_state(name) == "available", began, f"{name} to be available")
        return name, seen, began + seen.middle

    def create_snapshot(self, volume_id: str) -> tuple[str, Seen]:
        """Makes a snapshot; returns it and how long it took to be completed."""
        began = self.clock.now()
        made = self.clients.ec2.create_snapshot(
            VolumeId=volume_id, TagSpecifications=self.tags("snapshot"), Description=self.description
        )
        name = str(made["SnapshotId"])
        self.snapshots.append(name)
        self.tell()
        return name, self.until(
            lambda: self._snapshot_state(name) == "completed",
            began,
            f"{name} to be completed",
            most=3_600,
            poll=2.0,
        )

    def attach(self, volume_id: str) -> Seen:
        """Attaches at the first free device name, and returns how long it took."""
        for device in DEVICES:
            began = self.clock.now()
            try:
                self.clients.ec2.attach_volume(
                    VolumeId=volume_id, InstanceId=self.where.instance_id, Device=device
                )
            except ClientError as error:
                if code_of(error) != "InvalidParameterValue" or device == DEVICES[-1]:
                    raise
                continue
            return self.until(
                lambda: self._attachment(volume_id) == "attached", began, f"{volume_id} to be attached"
            )
        raise AssertionError("a device was tried")

    def detach(self, volume_id: str) -> Seen:
        """Detaches, and returns how long it took until the volume was available."""
        began = self.clock.now()
        self.clients.ec2.detach_volume(VolumeId=volume_id, InstanceId=self.where.instance_id)
        return self.until(
            lambda: self._volume_state(volume_id) == "available", began, f"{volume_id} to be detached"
        )

    def delete_volume(self, volume_id: str) -> None:
        """Deletes it at once; EC2 shows it a little longer."""
        self.clients.ec2.delete_volume(VolumeId=volume_id)
        self.volumes.remove(volume_id)

    def enable_fast_restore(self, snapshot_id: str) -> str | None:
        """Begins to enable it; returns why EC2 refused, or None."""
        self.fast_restores.append(snapshot_id)
        answer = self.clients.ec2.enable_fast_snapshot_restores(
            AvailabilityZones=[self.where.zone], SourceSnapshotIds=[snapshot_id]
        )
        if answer.get("Successful"):
            return None
        self.fast_restores.remove(snapshot_id)
        errors = [refused["FastSnapshotRestoreStateErrors"][0]["Error"] for refused in answer["Unsuccessful"]]
        return str(errors[0]["Code"])

    def disable_fast_restore(self, snapshot_id: str) -> None:
        """Begins to disable it."""
        self.clients.ec2.disable_fast_snapshot_restores(
            AvailabilityZones=[self.where.zone], SourceSnapshotIds=[snapshot_id]
        )
        self.fast_restores.remove(snapshot_id)

    def run(self, volume_id: str, size_gib: int, action: str, plan: str) -> tuple[str, float]:
        """Runs the document; returns its output and when the command was sent. Raises CalibrationError."""
        sent = self.clock.now()
        command = self.clients.ssm.send_command(
            InstanceIds=[self.where.instance_id],
            DocumentName=self.where.document,
            Parameters={
                "volumeId": [volume_id],
                "sizeBytes": [str(size_gib << 30)],
                "action": [action],
                "plan": [plan],
            },
            Comment=self.calibration,
        )["Command"]["CommandId"]
        found: Json = {}

        def is_over() -> bool:
            found.update(self._invocation(command))
            return found.get("Status") not in (None, "Pending", "InProgress", "Delayed", "Cancelling")

        self.until(is_over, sent, f"the command on {self.where.instance_id}", most=1_900, poll=2.0)
        if found["Status"] != "Success":
            said = " ".join(str(found.get("StandardErrorContent", "")).split())
            raise CalibrationError(
                f"the command on {self.where.instance_id} ended as {found['Status']}: {said}"
            )
        return str(found["StandardOutputContent"]), sent

    # --------------------------------------------------------------------------------------- looking
    def initialization(self, volume_id: str) -> tuple[int | None, bool]:
        """EC2's Progress, and whether it shows the initialization as completed."""
        (status,) = self.clients.ec2.describe_volume_status(VolumeIds=[volume_id])["VolumeStatuses"]
        states = {detail["Name"]: detail["Status"] for detail in status["VolumeStatus"].get("Details", [])}
        progress = status.get("InitializationStatusDetails", {}).get("Progress")
        return progress, states.get("initialization-state") == "completed"

    def is_fast_restored(self, volume_id: str) -> bool:
        """Whether the volume was made with a credit."""
        return bool(self._volume(volume_id).get("FastRestored"))

    def fast_restore(self, snapshot_id: str) -> Json:
        """Its state and times; empty if there is none."""
        filters = [
            {"Name": "snapshot-id", "Values": [snapshot_id]},
            {"Name": "availability-zone", "Values": [self.where.zone]},
        ]
        found = self.clients.ec2.describe_fast_snapshot_restores(Filters=filters)["FastSnapshotRestores"]
        return dict(found[0]) if found else {}

    def read_minutes(self, volume_id: str, since: float) -> set[float]:
        """The beginnings of the minutes for which CloudWatch has VolumeReadOps."""
        metric = {
            "Namespace": "AWS/EBS",
            "MetricName": "VolumeReadOps",
            "Dimensions": [{"Name": "VolumeId", "Value": volume_id}],
        }
        asked = [{"Id": "reads", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}}]
        (answer,) = self.clients.cloudwatch.get_metric_data(
            MetricDataQueries=asked,
            StartTime=datetime.fromtimestamp(since // 60 * 60, UTC),
            EndTime=datetime.fromtimestamp(self.clock.now() + 60, UTC),
        )["MetricDataResults"]
        return {at.timestamp() if hasattr(at, "timestamp") else float(at) for at in answer["Timestamps"]}

    def until(
        self,
        is_so: Callable[[], bool],
        began: float,
        what: str,
        *,
        most: float = 600.0,
        poll: float = POLL_SECONDS,
    ) -> Seen:
        """Polls, and returns the bounds of the duration. Raises CalibrationError after `most` seconds."""
        last_no = 0.0
        while True:
            asked = self.clock.now() - began
            self.renew()
            if is_so():
                return Seen(last_no, self.clock.now() - began)
            if asked > most:
                raise CalibrationError(f"waited {most:.0f} s for {what}")
            last_no = asked
            self.clock.sleep(poll)

    def renew(self) -> None:
        """Tells the stack from time to time that this calibration lives."""
        if self.clock.now() - self.renewed >= RENEW_SECONDS:
            self.tell()

    def tell(self) -> None:
        """Tells the stack what there is to be removed."""
        self.renewed = self.clock.now()
        self.keep(self.volumes, self.snapshots)

    @property
    def description(self) -> str:
        """Of its snapshots. Only the call that makes a snapshot sets it, so it proves what a tag does not."""
        return f"rewarm calibrate: {self.calibration}"

    def _volume(self, volume_id: str) -> Json:
        (found,) = self.clients.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
        return dict(found)

    def _volume_state(self, volume_id: str) -> str:
        state = str(self._volume(volume_id)["State"])
        if state == "error":
            raise CalibrationError(
                f"{volume_id} is in error, and EC2 does not say why: the key of encrypted volumes may be out "
                "of reach (on the embedded AWS the disk may be full; .local/run.log has the reason)"
            )
        return state

    def _attachment(self, volume_id: str) -> str | None:
        return next((str(attachment["State"]) for attachment in self._volume(volume_id)["Attachments"]), None)

    def _snapshot_state(self, snapshot_id: str) -> str:
        (found,) = self.clients.ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"]
        if found["State"] == "error":
            raise CalibrationError(f"{snapshot_id} failed: {found.get('StateMessage', '')}")
        return str(found["State"])

    def _invocation(self, command_id: str) -> Json:
        try:
            return dict(
                self.clients.ssm.get_command_invocation(
                    CommandId=command_id, InstanceId=self.where.instance_id
                )
            )
        except ClientError as error:
            if code_of(error) != "InvocationDoesNotExist":
                raise
            return {}

    def tags(self, kind: str) -> list[Json]:
        """TagSpecifications for what is made now."""
        tags = {
            STACK_TAG: self.where.stack,
            CALIBRATION_TAG: self.calibration,
            CREATION_TAG: self.calibration,
            "Name": "rewarm calibrate",
        }
        return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}]

    # ------------------------------------------------------------------------------------------ removing
    def remove_all(self, say: Callable[[str], None]) -> list[str]:
        """Removes what this calibration made, and returns what could not be removed."""
        volumes = [*self.volumes, *self._asked_for()]
        described = {
            leftover.name
            for leftover in leftovers(self.clients, self.where.stack)
            if leftover.description == self.description
        }
        left = remove(self.clients, self.clock, volumes, sorted({*self.snapshots, *described}), say)
        self.volumes, self.snapshots, self.fast_restores = [], [], []
        return left

    def _asked_for(self) -> list[str]:
        """The volume whose call was interrupted. EC2 answers the same token with the same volume."""
        if not self.asked:
            return []
        try:
            name = str(self.clients.ec2.create_volume(**self.asked)["VolumeId"])
        except (BotoCoreError, ClientError):
            return []  # whatever there is has the tags, and the sweeper names it
        return [] if name in self.volumes else [name]


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something with the tags of a calibration; whether one made it a lease says, or the description."""

    name: str
    calibration: str
    made_at: datetime
    description: str = ""

    def is_of(self, leases: list[Json]) -> bool:
        """Whether a lease names it, and it was made since that began."""
        return any(
            self.name in (*lease["volumeIds"], *lease["snapshotIds"])
            and self.made_at >= datetime.fromisoformat(lease["startedAt"]) - CLOCKS_APART
            for lease in leases
        )


def leftovers(clients: Clients, stack: str) -> list[Leftover]:
    """What has the tags of calibrations of this stack, whoever has set them."""
    filters = [
        {"Name": f"tag:{STACK_TAG}", "Values": [stack]},
        {"Name": "tag-key", "Values": [CALIBRATION_TAG]},
    ]
    volumes = clients.ec2.describe_volumes(Filters=filters)["Volumes"]
    snapshots = clients.ec2.describe_snapshots(OwnerIds=["self"], Filters=filters)["Snapshots"]
    found = [
        (volume["VolumeId"], volume) for volume in volumes if volume["State"] not in ("deleting", "deleted")
    ]
    found += [(snapshot["SnapshotId"], snapshot) for snapshot in snapshots]
    return [_leftover(name, described) for name, described in found]


def _leftover(name: str, one: Json) -> Leftover:
    tags = {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])}
    made_at = one["CreateTime"] if "CreateTime" in one else one["StartTime"]
    return Leftover(str(name), tags[CALIBRATION_TAG], made_at, one.get("Description", ""))


def remove(
    clients: Clients, clock: Clock, volumes: list[str], snapshots: list[str], say: Callable[[str], None]
) -> list[str]:
    """Removes volumes, snapshots and their fast snapshot restores; returns what is left."""
    for snapshot_id, zone in _fast_restores(clients, snapshots):
        say(f"disabling fast snapshot restore of {snapshot_id}")
        place = {"AvailabilityZones": [zone], "SourceSnapshotIds": [snapshot_id]}
        _tried(clients.ec2.disable_fast_snapshot_restores, **place)
    left = [name for name in volumes if not _gone_volume(clients, clock, name, say)]
    for name in snapshots:
        say(f"deleting {name}")
        if not _tried(clients.ec2.delete_snapshot, SnapshotId=name):
            left.append(name)
    return left


def _fast_restores(clients: Clients, snapshots: list[str]) -> Iterator[tuple[str, str]]:
    if not snapshots:
        return
    filters = [{"Name": "snapshot-id", "Values": snapshots}]
    try:
        found = clients.ec2.describe_fast_snapshot_restores(Filters=filters)["FastSnapshotRestores"]
    except (BotoCoreError, ClientError):
        return  # Deleting the snapshot ends its fast snapshot restore, too.
    for restore in found:
        if restore["State"] in ("enabling", "optimizing", "enabled"):
            yield str(restore["SnapshotId"]), str(restore["AvailabilityZone"])


def _gone_volume(clients: Clients, clock: Clock, name: str, say: Callable[[str], None]) -> bool:
    say(f"deleting {name}")
    _tried(clients.ec2.detach_volume, VolumeId=name)
    until = clock.now() + REMOVAL_SECONDS
    while not _tried(clients.ec2.delete_volume, VolumeId=name):
        if clock.now() > until:
            return False
        clock.sleep(2.0)
    return True


def _tried(call: Callable[..., object], **params: Any) -> bool:
    """Makes the call; returns whether its effect is there."""
    try:
        call(**params)
    except ClientError as error:
        return code_of(error) in GONE
    except BotoCoreError:
        return False
    return True


def code_of(error: ClientError) -> str:
    """EC2's error code."""
    return str(error.response.get("Error", {}).get("Code", ""))
