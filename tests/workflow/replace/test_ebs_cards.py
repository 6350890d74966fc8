"""An instance with two EBS cards, in the fast lab: which card volumes get, and what the plan counts with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from local.aws.region import InstanceType
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import ended
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.paths import restored

Json = dict[str, Any]
TWO_CARDS = InstanceType("g7.48xlarge", "x86_64", 2, 4_096, 3_200, 3_200, 12_000, 12_000, cards=2)
"""By name a type with two cards, and with little bandwidth: 200 MB/s (190.7 MiB/s) for each."""
ONE_CARD = InstanceType("g7.24xlarge", "x86_64", 2, 4_096, 3_200, 3_200, 12_000, 12_000)
BLOCKS = ((0, 16_384),)
"""8 GiB."""


def instance(lab: FastLab, kind: InstanceType = TWO_CARDS) -> str:
    lab.region.add_instance_type(kind)
    return lab.region.add_instance(instance_type=kind.name)


def request(lab: FastLab, instance_id: str, count: int = 1, **parts: Any) -> Json:
    snapshots = [lab.region.add_snapshot(size_gib=8, extents=BLOCKS) for _ in range(count)]
    return {
        "source": {"snapshotId": snapshots[0]}
        if count == 1
        else {"volumes": [{"snapshotId": one} for one in snapshots]},
        "target": {"instanceId": instance_id},
        "objective": {"strategy": "warm-up-agent"},
        "verify": {"samples": 16},
        **parts,
    }


def cards(lab: FastLab, instance_id: str) -> dict[str, int | None]:
    """By device, without the root volume's."""
    wanted = {"InstanceIds": [instance_id]}
    (found,) = lab.region.call("ec2", "DescribeInstances", wanted)["Reservations"][0]["Instances"]
    return {
        one["DeviceName"]: one["Ebs"].get("EbsCardIndex")
        for one in found["BlockDeviceMappings"]
        if one["DeviceName"] != found["RootDeviceName"]
    }


def planned(lab: FastLab, asked: Json) -> Json:
    status, answer = lab.api("POST", "/plans", asked)
    assert status == 200, answer
    return answer


def reading(answer: Json) -> list[float]:
    """Expected seconds of each volume."""
    return [plan["plan"]["phases"]["read"][0] for plan in answer["plans"]]


def test_two_volumes_get_a_card_each_and_the_plan_says_so_before() -> None:
    with FastLab(1) as lab:
        target = instance(lab)
        asked = request(lab, target, 2)
        answer = planned(lab, asked)
        assert [plan["volume"]["card"] for plan in answer["plans"]] == [1, 0], "the root volume is on card 0"
        assert [plan["facts"]["instanceLimits"]["card"] for plan in answer["plans"]] == [1, 0]
        assert any("1 volume on card 0 and 1 volume on card 1" in note for note in answer["summary"]["notes"])
        ending = restored(lab, asked)
        assert ending.kind == "ready"
        assert cards(lab, target) == {"/dev/sdf": 1, "/dev/sdg": 0}
        assert Auditor(lab).findings(ending) == []


def test_where_another_volume_fills_a_card_both_go_to_the_other_and_share_that() -> None:
    with FastLab(1) as lab:
        target = instance(lab)
        apart = reading(planned(lab, request(lab, target, 2)))
        lab.region.add_volume(
            size_gib=8, throughput_mib_s=500, attach_to=target, device="/dev/sdk", has_data=False
        )
        together = planned(lab, request(lab, target, 2))
        assert [plan["volume"]["card"] for plan in together["plans"]] == [1, 1]
        assert apart == pytest.approx([8_192 / 125] * 2, abs=0.1), "a card's 190 MiB/s are enough for one"
        assert reading(together) == pytest.approx([2 * 8_192 / (200e6 / 2**20)] * 2, abs=0.1)


def test_a_plan_counts_with_the_card_where_the_total_would_promise_more() -> None:
    slow = {"baseline_mbps": 1_600, "maximum_mbps": 1_600}
    with FastLab(1) as lab:
        by_card, by_total = (
            reading(planned(lab, request(lab, instance(lab, replace(kind, **slow)))))
            for kind in (TWO_CARDS, ONE_CARD)
        )
        assert by_card == pytest.approx([8_192 / (100e6 / 2**20)], abs=0.1)
        assert by_total == pytest.approx([8_192 / 125], abs=0.1)


def test_what_replaces_a_volume_is_on_its_card_though_the_other_has_more_room() -> None:
    with FastLab(1) as lab:
        target = instance(lab)
        lab.region.add_volume(size_gib=8, attach_to=target, device="/dev/sdf", card=1)
        place = {"instanceId": target, "device": "/dev/sdf", "mode": "replace"}
        ending = restored(lab, request(lab, target, target=place))
        assert ending.kind == "ready"
        assert cards(lab, target) == {"/dev/sdf": 1}


def test_a_replaced_volume_goes_back_to_its_card() -> None:
    with FastLab(1) as lab:
        target = instance(lab)
        old = lab.region.add_volume(size_gib=8, attach_to=target, device="/dev/sdf", card=1)
        place = {"instanceId": target, "device": "/dev/sdf", "mode": "replace"}
        restore_id = lab.start(request(lab, target, target=place, verify={"samples": 16, "maxP99Ms": 0.01}))
        ending = ended(lab, restore_id)
        lab.pass_time(2_700)
        assert ending.kind.startswith("failed VolumeNotFastError")
        assert cards(lab, target) == {"/dev/sdf": 1}
        assert lab.region._tables.volumes[old].state == "in-use"


def test_an_instance_with_one_card_is_attached_to_as_before() -> None:
    with FastLab(1) as lab:
        target = instance(lab, ONE_CARD)
        asked = request(lab, target, 2)
        answer = planned(lab, asked)
        assert [plan["volume"]["card"] for plan in answer["plans"]] == [None, None]
        assert not any("EBS card" in note for note in answer["summary"]["notes"])
        assert restored(lab, asked).kind == "ready"
        assert set(cards(lab, target).values()) == {None}
