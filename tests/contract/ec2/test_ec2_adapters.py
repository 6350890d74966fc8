"""Snapshots and volumes, against botocore's models of EC2."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rewarm.adapters.snapshots import Ec2TaggedSnapshots
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.domain import errors
from rewarm.domain.model import VolumeSettings
from tests.contract.answers import ApiError, Aws

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SNAPSHOT = "snap-0123456789abcdef0"
VOLUME = "vol-00000000000000001"
INSTANCE = "i-0123456789abcdef0"
ZONE = "us-east-1a"
PLACE = (SNAPSHOT, ZONE)
GP3 = VolumeSettings("gp3", 100, iops=4_000, throughput_mib_s=250, tags={"Name": "data"})


def volume(*attachments: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "VolumeId": VOLUME, "State": "available", "AvailabilityZone": ZONE, "VolumeType": "gp3", "Size": 100,
        "Iops": 4_000, "Throughput": 250, "SnapshotId": SNAPSHOT, "CreateTime": NOW,
        "Attachments": list(attachments), **changes,
    }  # fmt: skip


ATTACHED = {
    "InstanceId": INSTANCE, "Device": "/dev/sdf", "State": "attached", "VolumeId": VOLUME, "AttachTime": NOW,
}  # fmt: skip


class TestCreateVolume:
    def create(self, answer: Any, rate: int | None = None, settings: VolumeSettings = GP3) -> tuple[str, Aws]:
        ec2 = Aws("ec2").on("CreateVolume", answer)
        store = Ec2VolumeStore(ec2.client)
        return store.create(*PLACE, settings, rate_mib_s=rate, client_token="t" * 64), ec2

    def test_sends_what_was_decided_and_nothing_else(self) -> None:
        volume_id, ec2 = self.create({"VolumeId": VOLUME}, rate=200)
        assert volume_id == VOLUME
        assert ec2.params("CreateVolume") == [{
            "SnapshotId": SNAPSHOT, "AvailabilityZone": ZONE, "VolumeType": "gp3", "Size": 100, "Iops": 4_000,
            "Throughput": 250, "VolumeInitializationRate": 200, "ClientToken": "t" * 64,
            "TagSpecifications": [{"ResourceType": "volume", "Tags": [{"Key": "Name", "Value": "data"}]}],
        }]  # fmt: skip

    def test_a_key_means_encryption(self) -> None:
        settings = VolumeSettings(
            "io2", 8, iops=100, kms_key_id="alias/data", multi_attach=True, tags={"a": "b"}
        )
        _, ec2 = self.create({"VolumeId": VOLUME}, settings=settings)
        sent = ec2.params("CreateVolume")[0]
        assert (sent["Encrypted"], sent["KmsKeyId"], sent["MultiAttachEnabled"]) == (True, "alias/data", True)
        assert "Throughput" not in sent
        assert "VolumeInitializationRate" not in sent

    @pytest.mark.parametrize(
        ("code", "message", "error"),
        [
            ("VolumeLimitExceeded", "limit", errors.InitializationRateUnavailableError),
            ("InsufficientVolumeCapacity", "no capacity", errors.InitializationRateUnavailableError),
            ("SomethingNew", "what", errors.InitializationRateUnavailableError),
            ("InvalidParameterValue", "VolumeInitializationRate", errors.InitializationRateUnavailableError),
            ("InvalidParameterValue", "iops", errors.RequestRefusedError),
            ("MaxIOPSLimitExceeded", "iops", errors.QuotaExceededError),
            ("RequestLimitExceeded", "slow", errors.ThrottledError),
            ("Unavailable", "later", errors.ServiceUnavailableError),
            ("UnauthorizedOperation", "no", errors.AccessDeniedError),
            ("InvalidSnapshot.NotFound", "no", errors.SnapshotNotFoundError),
            ("InvalidZone.NotFound", "no", errors.TargetNotFoundError),
        ],
    )
    def test_with_a_rate_only_what_is_clearly_unrelated_keeps_its_name(
        self, code: str, message: str, error: type[Exception]
    ) -> None:
        with pytest.raises(error) as caught:
            self.create(ApiError(code, message), rate=100)
        assert type(caught.value) is error
        assert code in str(caught.value)

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("VolumeLimitExceeded", errors.QuotaExceededError),
            ("InsufficientVolumeCapacity", errors.CapacityUnavailableError),
            ("SomethingNew", errors.RequestRefusedError),
        ],
    )
    def test_without_a_rate_every_refusal_keeps_its_name(self, code: str, error: type[Exception]) -> None:
        with pytest.raises(error):
            self.create(ApiError(code))


class TestVolumes:
    def test_reads_every_field(self) -> None:
        told = volume(
            ATTACHED, State="in-use", FastRestored=True, Tags=[{"Key": "rewarm:stack", "Value": "s"}]
        )
        found = Ec2VolumeStore(Aws("ec2").on("DescribeVolumes", {"Volumes": [told]}).client).get(VOLUME)
        assert (found.fast_restored, found.settings.tags) == (True, {"rewarm:stack": "s"})
        attached = found.attachments[0]
        assert (attached.instance_id, attached.state, attached.since) == (INSTANCE, "attached", NOW)

    def test_unknown_is_not_false(self) -> None:
        found = Ec2VolumeStore(Aws("ec2").on("DescribeVolumes", {"Volumes": [volume()]}).client).get(VOLUME)
        assert found.fast_restored is None

    @pytest.mark.parametrize("answer", [{"Volumes": []}, ApiError("InvalidVolume.NotFound")])
    def test_a_missing_volume_has_its_own_error(self, answer: Any) -> None:
        with pytest.raises(errors.VolumeNotFoundError):
            Ec2VolumeStore(Aws("ec2").on("DescribeVolumes", answer).client).get(VOLUME)

    def test_finds_what_a_restore_made(self) -> None:
        ec2 = Aws("ec2").on("DescribeVolumes", {"Volumes": [volume()]})
        assert [one.volume_id for one in Ec2VolumeStore(ec2.client).created_by("restore-1")] == [VOLUME]
        filters = ec2.params("DescribeVolumes")[0]["Filters"]
        assert filters == [{"Name": "tag:rewarm:restore-id", "Values": ["restore-1"]}]

    def test_attaches_without_a_look(self) -> None:
        ec2 = Aws("ec2").on("AttachVolume", {"State": "attaching"})
        Ec2VolumeStore(ec2.client).attach(VOLUME, INSTANCE, "/dev/sdf")
        assert ec2.params("AttachVolume") == [
            {"VolumeId": VOLUME, "InstanceId": INSTANCE, "Device": "/dev/sdf"}
        ]

    def test_names_an_ebs_card_only_where_there_are_several(self) -> None:
        for card, named in ((0, {"EbsCardIndex": 0}), (1, {"EbsCardIndex": 1}), (None, {})):
            ec2 = Aws("ec2").on("AttachVolume", {"State": "attaching"})
            Ec2VolumeStore(ec2.client).attach(VOLUME, INSTANCE, "/dev/sdf", card)
            assert ec2.params("AttachVolume") == [
                {"VolumeId": VOLUME, "InstanceId": INSTANCE, "Device": "/dev/sdf", **named}
            ]

    def test_finds_what_instances_have_attached_with_the_card_of_each(self) -> None:
        shown = [volume(ATTACHED), volume({**ATTACHED, "EbsCardIndex": 1})]
        ec2 = Aws("ec2").on("DescribeVolumes", {"Volumes": shown})
        found = list(Ec2VolumeStore(ec2.client).on_instances([INSTANCE]))
        assert [one.attachments[0].card for one in found] == [0, 1]
        filters = ec2.params("DescribeVolumes")[0]["Filters"]
        assert filters == [{"Name": "attachment.instance-id", "Values": [INSTANCE]}]

    def test_an_attachment_whose_answer_got_lost_is_done(self) -> None:
        ec2 = Aws("ec2").on("AttachVolume", ApiError("VolumeInUse", f"{VOLUME} is already attached"))
        ec2.on("DescribeVolumes", {"Volumes": [volume(ATTACHED)]})
        Ec2VolumeStore(ec2.client).attach(VOLUME, INSTANCE, "/dev/sdf")

    @pytest.mark.parametrize(
        ("code", "message", "error"),
        [
            (
                "InvalidParameterValue",
                "Invalid value '/dev/sdf' for unixDevice. Attachment point /dev/sdf is already in use",
                errors.DeviceInUseError,
            ),
            ("InvalidVolume.ZoneMismatch", "zone", errors.TargetNotUsableError),
            ("AttachmentLimitExceeded", "full", errors.TargetNotUsableError),
            ("IncorrectState", "Instance 'i-1' is not 'running'.", errors.TargetNotUsableError),
            ("InvalidInstanceID.NotFound", "no", errors.TargetNotFoundError),
            ("VolumeInUse", "in use", errors.RequestRefusedError),
        ],
    )
    def test_says_why_it_cannot_attach(self, code: str, message: str, error: type[Exception]) -> None:
        ec2 = Aws("ec2").on("DescribeVolumes", {"Volumes": [volume()]})
        ec2.on("AttachVolume", ApiError(code, message))
        with pytest.raises(error):
            Ec2VolumeStore(ec2.client).attach(VOLUME, INSTANCE, "/dev/sdf")

    def test_detaching_what_is_not_attached_does_nothing(self) -> None:
        ec2 = Aws("ec2").on("DetachVolume", ApiError("IncorrectState"))
        Ec2VolumeStore(ec2.on("DescribeVolumes", {"Volumes": [volume()]}).client).detach(VOLUME, INSTANCE)
        ec2.on("DescribeVolumes", ApiError("InvalidVolume.NotFound"))
        Ec2VolumeStore(ec2.client).detach(VOLUME, INSTANCE)

    def test_detaching_that_is_refused_while_attached_fails(self) -> None:
        ec2 = Aws("ec2").on("DetachVolume", ApiError("IncorrectState"))
        with pytest.raises(errors.RequestRefusedError):
            Ec2VolumeStore(ec2.on("DescribeVolumes", {"Volumes": [volume(ATTACHED)]}).client).detach(
                VOLUME, INSTANCE
            )

    def test_deletes_once_and_not_while_attached(self) -> None:
        ec2 = Aws("ec2").on("DeleteVolume", {}, ApiError("InvalidVolume.NotFound"), ApiError("VolumeInUse"))
        store = Ec2VolumeStore(ec2.client)
        store.delete(VOLUME)
        store.delete(VOLUME)
        with pytest.raises(errors.RequestRefusedError, match="VolumeInUse"):
            store.delete(VOLUME)

    def test_tags(self) -> None:
        ec2 = Aws("ec2").on("CreateTags", {})
        Ec2VolumeStore(ec2.client).tag(VOLUME, {"rewarm:failed": "restore-1"})
        assert ec2.params("CreateTags")[0]["Tags"] == [{"Key": "rewarm:failed", "Value": "restore-1"}]

    def test_reads_the_initialization(self) -> None:
        told = {
            "VolumeStatus": {
                "Status": "ok",
                "Details": [
                    {"Name": "io-enabled", "Status": "passed"},
                    {"Name": "initialization-state", "Status": "initializing"},
                ],
            },
            "InitializationStatusDetails": {
                "InitializationType": "provisioned-rate", "Progress": 75, "EstimatedTimeToCompleteInSeconds":
                60,
            },
        }  # fmt: skip
        ec2 = Aws("ec2").on("DescribeVolumeStatus", {"VolumeStatuses": [told]}, {"VolumeStatuses": []})
        store = Ec2VolumeStore(ec2.client)
        found = store.initialization_status(VOLUME)
        assert (found.state, found.initialization_type) == ("initializing", "provisioned-rate")
        assert (found.progress_percent, found.eta_seconds) == (75, 60)
        assert store.initialization_status(VOLUME).state is None


class TestTaggedSnapshots:
    def test_they_are_found_by_their_tags_and_deleted_once(self) -> None:
        tags = [{"Key": "rewarm:stack", "Value": "rewarm"}, {"Key": "rewarm:calibration", "Value": "c-1"}]
        one = {"SnapshotId": SNAPSHOT, "Tags": tags, "State": "completed", "VolumeSize": 8, "StartTime": NOW}
        ec2 = (
            Aws("ec2")
            .on("DescribeSnapshots", {"Snapshots": [one]})
            .on("DeleteSnapshot", {}, ApiError("InvalidSnapshot.NotFound"))
        )
        port = Ec2TaggedSnapshots(ec2.client)
        (found,) = port.of_stack("rewarm")
        assert (found.snapshot_id, found.started_at) == (SNAPSHOT, NOW)
        assert found.tags == {"rewarm:stack": "rewarm", "rewarm:calibration": "c-1"}
        (asked,) = ec2.params("DescribeSnapshots")
        assert asked["Filters"] == [
            {"Name": "tag:rewarm:stack", "Values": ["rewarm"]},
            {"Name": "tag-key", "Values": ["rewarm:calibration", "rewarm:copy-of"]},
        ]
        port.delete(SNAPSHOT)
        port.delete(SNAPSHOT)
