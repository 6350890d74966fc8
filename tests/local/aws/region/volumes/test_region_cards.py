"""EBS cards: which one a volume is on, and what the volumes on it have together."""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import ApiError, InstanceType
from tests.local.aws.region.region_lab import INSTANCE, Lab

SMALL = InstanceType("x9.large", "x86_64", 2, 4_096, 3_200, 3_200, 12_000, 12_000, cards=2)
"""Each card has 200 MB/s (190.7 MiB/s) and 6,000 IOPS."""
CARD_MIB_S = 200_000_000 / 1_048_576


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.region.add_instance_type(SMALL)
    lab.instance(instance_type=SMALL.name)
    return lab


def attached(lab: Lab, device: str, throughput_mib_s: int = 125, **params: Any) -> str:
    volume = lab.volume(Size=10, VolumeType="gp3", Iops=3_000, Throughput=throughput_mib_s)
    lab.ec2("AttachVolume", VolumeId=volume, InstanceId=INSTANCE, Device=device, **params)
    lab.wait(2)
    return volume


def speeds(lab: Lab, *volumes: str) -> list[float]:
    return [lab.plane.volumes[volume].limits.throughput_mib_s for volume in volumes]


def test_the_type_shows_each_card_and_its_totals_count_both() -> None:
    shown = Lab().ec2("DescribeInstanceTypes", InstanceTypes=["m8gn.48xlarge", "m5.large"])["InstanceTypes"]
    two, one = (found["EbsInfo"] for found in shown)
    assert (two["MaximumEbsCards"], two["EbsOptimizedInfo"]["BaselineThroughputInMBps"]) == (2, 15_000)
    assert [card["EbsCardIndex"] for card in two["EbsCards"]] == [0, 1]
    assert {card["BaselineThroughputInMBps"] for card in two["EbsCards"]} == {7_500}
    assert {"MaximumEbsCards", "EbsCards"}.isdisjoint(one)


def test_a_volume_lands_on_card_0_unless_the_call_names_another(lab: Lab) -> None:
    volumes = [attached(lab, "/dev/sdf"), attached(lab, "/dev/sdg", EbsCardIndex=1)]
    assert [lab.shown(volume)["Attachments"][0]["EbsCardIndex"] for volume in volumes] == [0, 1]
    (instance,) = lab.ec2("DescribeInstances", InstanceIds=[INSTANCE])["Reservations"][0]["Instances"]
    cards = {one["DeviceName"]: one["Ebs"]["EbsCardIndex"] for one in instance["BlockDeviceMappings"]}
    assert (cards["/dev/sdf"], cards["/dev/sdg"]) == (0, 1)


@pytest.mark.parametrize(("kind", "card"), [(SMALL.name, 2), (SMALL.name, -1), ("m5.large", 1)])
def test_an_index_that_the_type_does_not_have_is_refused(kind: str, card: int) -> None:
    lab = Lab()
    lab.region.add_instance_type(SMALL)
    lab.instance(instance_type=kind)
    with pytest.raises(ApiError) as error:
        attached(lab, "/dev/sdf", EbsCardIndex=card)
    assert error.value.code == "InvalidParameterValue"


def test_with_one_card_nothing_is_shown_of_it() -> None:
    lab = Lab()
    lab.instance()
    volume = attached(lab, "/dev/sdf", EbsCardIndex=0)
    assert "EbsCardIndex" not in lab.shown(volume)["Attachments"][0]


def test_volumes_on_one_card_have_together_what_it_gives_and_no_more(lab: Lab) -> None:
    first = attached(lab, "/dev/sdf")
    assert speeds(lab, first) == [125]
    second = attached(lab, "/dev/sdg")
    assert speeds(lab, first, second) == pytest.approx([CARD_MIB_S / 2] * 2)
    third = attached(lab, "/dev/sdh", EbsCardIndex=1)
    assert speeds(lab, first, third) == pytest.approx([CARD_MIB_S / 2, 125]), "the other card is free"


def test_no_volume_is_faster_than_its_card_even_alone(lab: Lab) -> None:
    volume = attached(lab, "/dev/sdf", 500)
    assert speeds(lab, volume) == pytest.approx([CARD_MIB_S])


def test_who_leaves_or_changes_gives_the_others_more_or_less(lab: Lab) -> None:
    first, second = attached(lab, "/dev/sdf"), attached(lab, "/dev/sdg")
    lab.ec2("ModifyVolume", VolumeId=second, Throughput=375)
    lab.wait(30)
    assert speeds(lab, first, second) == pytest.approx([CARD_MIB_S / 4, CARD_MIB_S * 3 / 4])
    lab.ec2("DetachVolume", VolumeId=first)
    lab.wait(10)
    assert speeds(lab, first, second) == pytest.approx([125, CARD_MIB_S])
    lab.ec2("DetachVolume", VolumeId=second)
    lab.wait(10)
    assert speeds(lab, second) == [375]


def test_a_type_may_take_fewer_volumes_than_it_says() -> None:
    lab = Lab()
    lab.instance(instance_type="m8gn.48xlarge")
    said = lab.ec2("DescribeInstanceTypes", InstanceTypes=["m8gn.48xlarge"])["InstanceTypes"][0]["EbsInfo"]
    assert said["MaximumEbsAttachments"] == 128
    names = [f"/dev/xvd{first}{second}" for first in "bcd" for second in "abcdefghijklmnopqrstuvwxyz"]
    for name in names[:63]:
        lab.region.add_volume(size_gib=1, attach_to=INSTANCE, device=name, has_data=False)
    with pytest.raises(ApiError, match="allows 64 volumes"):
        attached(lab, names[63])
