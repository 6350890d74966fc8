"""Copies and modifications of volumes: against botocore's models, and against the modelled Region."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region.faults import FaultRule
from local.aws.wire import client
from rewarm.adapters.performance import Ec2VolumeModifications
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.domain import errors
from rewarm.domain.model import VolumeSettings
from rewarm.domain.volume.performance import BOOST_TAG, PerformanceSettings, performance_of
from tests.contract.answers import ApiError, Aws
from tests.local.aws.region.region_lab import Lab

VOLUME, SOURCE = "vol-00000000000000001", "vol-0fedcba9876543210"
TARGET = PerformanceSettings("gp3", 3_000, 125)
SETTINGS = VolumeSettings("gp3", 100, iops=4_000, throughput_mib_s=250, tags={"Name": "data"})


class TestCopyVolumes:
    def copy(self, answer: Any, settings: VolumeSettings = SETTINGS) -> tuple[str, Aws]:
        ec2 = Aws("ec2").on("CopyVolumes", answer)
        return Ec2VolumeStore(ec2.client).copy(SOURCE, settings, client_token="t" * 64), ec2

    def test_sends_what_was_decided_and_nothing_else(self) -> None:
        volume_id, ec2 = self.copy({"Volumes": [{"VolumeId": VOLUME}]})
        assert volume_id == VOLUME
        assert ec2.params("CopyVolumes") == [{
            "SourceVolumeId": SOURCE, "VolumeType": "gp3", "Size": 100, "Iops": 4_000, "Throughput": 250,
            "ClientToken": "t" * 64,
            "TagSpecifications": [{"ResourceType": "volume", "Tags": [{"Key": "Name", "Value": "data"}]}],
        }]  # fmt: skip

    def test_a_key_means_encryption(self) -> None:
        _, ec2 = self.copy(
            {"Volumes": [{"VolumeId": VOLUME}]}, VolumeSettings("st1", 125, kms_key_id="alias/a")
        )
        sent = ec2.params("CopyVolumes")[0]
        assert (sent["Encrypted"], sent["KmsKeyId"]) == (True, "alias/a")
        assert sent.keys().isdisjoint({"Iops", "Throughput"})

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("CopyVolumesLimitExceeded", errors.VolumeCopyUnavailableError),
            ("InvalidVolume.NotFound", errors.VolumeCopyUnavailableError),
            ("IncorrectState", errors.VolumeCopyUnavailableError),
            ("IncorrectModificationState", errors.VolumeCopyUnavailableError),
            ("VolumeLimitExceeded", errors.QuotaExceededError),
            ("InsufficientVolumeCapacity", errors.CapacityUnavailableError),
            ("UnauthorizedOperation", errors.AccessDeniedError),
            ("RequestLimitExceeded", errors.ThrottledError),
        ],
    )
    def test_says_why_it_cannot_copy(self, code: str, error: type[Exception]) -> None:
        with pytest.raises(error, match=code) as caught:
            self.copy(ApiError(code))
        assert type(caught.value) is error


class TestModifications:
    def test_sends_the_target_and_no_more(self) -> None:
        ec2 = Aws("ec2").on("ModifyVolume", {"VolumeModification": {"ModificationState": "modifying"}})
        modifications = Ec2VolumeModifications(ec2.client)
        modifications.start(VOLUME, TARGET)
        modifications.start(VOLUME, PerformanceSettings("io2", 500))
        assert ec2.params("ModifyVolume") == [
            {"VolumeId": VOLUME, "VolumeType": "gp3", "Iops": 3_000, "Throughput": 125},
            {"VolumeId": VOLUME, "VolumeType": "io2", "Iops": 500},
        ]

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("IncorrectModificationState", errors.ModificationPostponedError),
            ("VolumeModificationRateExceeded", errors.ModificationPostponedError),
            ("InvalidVolume.NotFound", errors.VolumeNotFoundError),
            ("UnauthorizedOperation", errors.AccessDeniedError),
            ("InvalidParameterValue", errors.RequestRefusedError),
        ],
    )
    def test_says_why_it_cannot_modify(self, code: str, error: type[Exception]) -> None:
        modifications = Ec2VolumeModifications(Aws("ec2").on("ModifyVolume", ApiError(code)).client)
        with pytest.raises(error, match=code) as caught:
            modifications.start(VOLUME, TARGET)
        assert type(caught.value) is error

    @pytest.mark.parametrize(
        "answer", [{"VolumesModifications": []}, ApiError("InvalidVolumeModification.NotFound")]
    )
    def test_a_volume_that_was_never_modified(self, answer: Any) -> None:
        ec2 = Aws("ec2").on("DescribeVolumesModifications", answer)
        assert Ec2VolumeModifications(ec2.client).latest(VOLUME) is None

    def test_tells_why_a_modification_failed(self) -> None:
        told = {
            "ModificationState": "failed", "StatusMessage": "try again", "TargetVolumeType": "io2",
            "TargetIops": 500,
        }  # fmt: skip
        ec2 = Aws("ec2").on("DescribeVolumesModifications", {"VolumesModifications": [told]})
        found = Ec2VolumeModifications(ec2.client).latest(VOLUME)
        assert found is not None
        assert (found.state, found.message, found.target) == (
            "failed",
            "try again",
            PerformanceSettings("io2", 500),
        )
        assert (found.in_force, found.under_way) == (False, False)

    def test_an_unknown_volume_has_its_own_error(self) -> None:
        ec2 = Aws("ec2").on("DescribeVolumesModifications", ApiError("InvalidVolume.NotFound"))
        with pytest.raises(errors.VolumeNotFoundError):
            Ec2VolumeModifications(ec2.client).latest(VOLUME)


class TestTags:
    def test_takes_one_away_and_does_not_mind_that_the_volume_is_gone(self) -> None:
        ec2 = Aws("ec2").on("DeleteTags", {}, ApiError("InvalidVolume.NotFound"))
        store = Ec2VolumeStore(ec2.client)
        store.untag(VOLUME, BOOST_TAG)
        store.untag(VOLUME, BOOST_TAG)
        assert ec2.params("DeleteTags")[0] == {"Resources": [VOLUME], "Tags": [{"Key": BOOST_TAG}]}


class TestOnTheRegion:
    def test_a_copy_comes_to_full_speed(self) -> None:
        lab = Lab()
        store = Ec2VolumeStore(client(lab.region, "ec2"))
        source = lab.region.add_volume(size_gib=100, snapshot_id=lab.snapshot(size_gib=100, data_gib=64))
        token = "t" * 64
        copy = store.copy(source, SETTINGS, client_token=token)
        lab.wait(2)
        assert store.copy(source, SETTINGS, client_token=token) == copy
        found, status = store.get(copy), store.initialization_status(copy)
        assert (found.state, found.snapshot_id, performance_of(found.settings)) == (
            "available",
            None,
            PerformanceSettings("gp3", 4_000, 250),
        )
        assert (status.initialization_type, status.state) == ("volume-copy", "initializing")
        with pytest.raises(errors.VolumeCopyUnavailableError, match="being copied"):
            store.copy(source, SETTINGS, client_token="u" * 64)
        lab.wait(3_600)
        status = store.initialization_status(copy)
        assert (status.state, status.progress_percent) == ("completed", 100)

    def test_the_sixth_copy_is_refused_and_so_is_one_of_a_lost_volume(self) -> None:
        lab = Lab()
        store = Ec2VolumeStore(client(lab.region, "ec2"))
        sources = [lab.region.add_volume(size_gib=8, snapshot_id=lab.snapshot(data_gib=8)) for _ in range(6)]
        small = VolumeSettings("gp3", 8)
        for number, source in enumerate(sources[:5]):
            store.copy(source, small, client_token=f"copy-{number}")
        with pytest.raises(errors.VolumeCopyUnavailableError, match="CopyVolumesLimitExceeded"):
            store.copy(sources[5], small, client_token="copy-5")
        with pytest.raises(errors.VolumeCopyUnavailableError, match=r"InvalidVolume\.NotFound"):
            store.copy("vol-0000000000000dead", small, client_token="copy-6")

    def test_a_boost_is_lowered_once(self) -> None:
        lab = Lab()
        ec2 = client(lab.region, "ec2")
        modifications, store = Ec2VolumeModifications(ec2), Ec2VolumeStore(ec2)
        tags = [{"ResourceType": "volume", "Tags": [{"Key": BOOST_TAG, "Value": TARGET.as_text}]}]
        boosted = lab.volume(Size=100, VolumeType="gp3", Iops=4_000, Throughput=1_000, TagSpecifications=tags)
        assert modifications.latest(boosted) is None
        modifications.start(boosted, TARGET)
        change = modifications.latest(boosted)
        assert change is not None
        assert (change.state, change.target, change.under_way) == ("modifying", TARGET, True)
        with pytest.raises(errors.ModificationPostponedError):
            modifications.start(boosted, TARGET)
        lab.wait(30)
        change = modifications.latest(boosted)
        assert change is not None
        assert (change.state, change.in_force) == ("optimizing", True)
        assert TARGET.fits(store.get(boosted).settings)
        assert lab.plane.volumes[boosted].limits.throughput_mib_s == 125
        assert store.get(boosted).settings.tags == {BOOST_TAG: "gp3 iops=3000 throughputMibS=125"}
        store.untag(boosted, BOOST_TAG)
        assert store.get(boosted).settings.tags == {}

    def test_the_fifth_change_of_a_day_has_to_wait(self) -> None:
        lab = Lab()
        modifications = Ec2VolumeModifications(client(lab.region, "ec2"))
        volume = lab.volume(Size=10, VolumeType="gp3")
        for iops in (3_100, 3_200, 3_300, 3_400):
            modifications.start(volume, PerformanceSettings("gp3", iops, 125))
            lab.wait(3_600)
        with pytest.raises(errors.ModificationPostponedError, match="VolumeModificationRateExceeded"):
            modifications.start(volume, TARGET)

    def test_a_lost_answer_of_a_change_shows_as_a_change_under_way(self) -> None:
        lab = Lab()
        modifications = Ec2VolumeModifications(client(lab.region, "ec2"))
        volume = lab.volume(Size=10, VolumeType="gp3", Throughput=500)
        lab.region.faults.add(FaultRule("ModifyVolume", "lost-answer", status=500))
        with pytest.raises(errors.ServiceUnavailableError):
            modifications.start(volume, TARGET)
        change = modifications.latest(volume)
        assert change is not None
        assert (change.state, change.target) == ("modifying", TARGET)
