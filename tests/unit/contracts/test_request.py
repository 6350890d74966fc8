"""What a request may say, and what people are told where it says something else."""

from __future__ import annotations

import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import Strategy
from tests.support.builders import INSTANCE_ID, SNAPSHOT_ID, TO_INSTANCE, TO_ZONE

SNAPSHOT = {"snapshotId": SNAPSHOT_ID}
FIRST = {"startBlock": 8, "blockCount": 2}


def refusal(body):
    with pytest.raises(InvalidRequestError) as refused:
        parse_restore_request(body)
    return refused.value.field, str(refused.value)


class TestAccepted:
    def test_the_normalised_request_is_read_back_unchanged(self):
        request = parse_restore_request(TO_INSTANCE)
        assert parse_restore_request(request.to_json()) == request

    @pytest.mark.parametrize(
        "source",
        [
            SNAPSHOT,
            {"volumeId": "vol-12345678"},
            {"volumeId": "vol-0123456789abcdef0", "at": "2026-11-20T03:00:00+09:00"},
            {"tags": {"app": "shop"}},
            {"instanceId": INSTANCE_ID, "devices": ["/dev/sdf"]},
            {"imageId": "ami-0123456789abcdef0"},
            {"volumes": [{"snapshotId": "snap-0123456789abcdef0", "volume": {"volumeType": "io2"}}]},
            {"alarm": "database volume is gone"},
        ],
    )
    def test_every_kind_of_source(self, source):
        assert parse_restore_request({**TO_ZONE, "source": source})

    @pytest.mark.parametrize("strategy", [one for one in Strategy if one.makes_volume])
    def test_every_strategy(self, strategy):
        request = parse_restore_request({**TO_ZONE, "objective": {"strategy": str(strategy)}})
        assert request.objective.strategy == strategy

    def test_what_to_warm_up_in_which_order_and_how_hard(self):
        # Any order, and a block twice: as `warmer warm --first` takes them.
        extents = [FIRST, {"startBlock": 0, "blockCount": 9}]
        asked = {"scope": "whole", "first": extents, "politeLatencyMs": 2.5, "maxMibPerSecond": 80}
        told = parse_restore_request({**TO_INSTANCE, "warmUp": asked}).to_json()["warmUp"]
        assert told == {**asked, "depth": "auto", "hot": "auto", "order": None, "learn": None}

    def test_reads_are_recorded_where_it_is_asked_for(self):
        told = parse_restore_request({**TO_INSTANCE, "warmUp": {"learn": {}, "hot": "off"}}).to_json()
        assert (told["warmUp"]["learn"], told["warmUp"]["hot"]) == ({"minutes": 30}, "off")

    def test_the_written_blocks_are_warmed_up_in_the_agents_own_order(self):
        told = parse_restore_request(TO_INSTANCE).to_json()["warmUp"]
        assert (told["scope"], told["first"], told["politeLatencyMs"]) == ("written", [], None)

    def test_money_survives_the_way_through_json(self):
        request = parse_restore_request({**TO_ZONE, "objective": {"maxCostUsd": 0.1}})
        assert request.to_json()["objective"]["maxCostUsd"] == "0.1"

    def test_a_volume_without_a_time_means_the_latest(self):
        assert (
            parse_restore_request({**TO_ZONE, "source": {"volumeId": "vol-12345678"}}).source.at == "latest"
        )


class TestRefused:
    @pytest.mark.parametrize(
        ("part", "field", "words"),
        [
            ({"colour": 1}, "colour", "unknown field; allowed are source, target, volume, objective"),
            ({"warmUp": {"touch": True}}, "warmUp.touch", "unknown field; allowed are scope, first, hot"),
            ({"warmUp": {"scope": "all"}}, "warmUp.scope", "allowed is 'written', 'used' or 'whole'"),
            (
                {"warmUp": {"politeLatencyMs": 0.5}},
                "warmUp.politeLatencyMs",
                "found 0.5; allowed is at least 1",
            ),
            ({"warmUp": {"politeLatencyMs": "5"}}, "warmUp.politeLatencyMs", "allowed is a number"),
            (
                {"warmUp": {"learn": {"minutes": 361}}},
                "warmUp.learn.minutes",
                "found 361; allowed is at most 360",
            ),
            ({"warmUp": {"first": {}}}, "warmUp.first", "found {}; allowed is a list"),
            ({"warmUp": {"first": ["/var/lib"]}}, "warmUp.first.0", "allowed is a JSON object"),
            (
                {"warmUp": {"first": [FIRST, {"startBlock": 0, "blockCount": 0}]}},
                "warmUp.first.1.blockCount",
                "found 0; allowed is at least 1",
            ),
            (
                {"warmUp": {"first": [{**FIRST, "path": "/"}]}},
                "warmUp.first.0.path",
                "unknown field; allowed are startBlock, blockCount",
            ),
            (
                {"warmUp": {"first": [FIRST] * 1_001}},
                "warmUp.first",
                "allowed is a number of entries up to 1000",
            ),
            ({"source": {}}, "source", "found none; exactly one of snapshotId, volumeId, tags"),
            ({"source": {**SNAPSHOT, "alarm": "x"}}, "source", "found snapshotId and alarm; exactly one"),
            (
                {"source": {"snapshotId": "snap-1"}},
                "source.snapshotId",
                'found "snap-1"; allowed is an id such as',
            ),
            ({"source": {**SNAPSHOT, "at": "latest"}}, "source.at", "only goes with source.volumeId"),
            (
                {"source": {**SNAPSHOT, "devices": ["/dev/sdf"]}},
                "source.devices",
                "only goes with source.instanceId",
            ),
            (
                {"source": {"volumeId": "vol-12345678", "at": "noon"}},
                "source.at",
                "found \"noon\"; allowed is 'latest'",
            ),
            (
                {"source": {"volumeId": "vol-12345678", "at": "2026-11-20T03:00:00"}},
                "source.at",
                "with its zone",
            ),
            ({"target": {}}, "target", "found neither; exactly one of instanceId, availabilityZone"),
            (
                {"target": {"instanceId": INSTANCE_ID, "availabilityZone": "us-east-1a"}},
                "target",
                "found both",
            ),
            ({"target": {"availabilityZone": "Tokyo"}}, "target.availabilityZone", "such as ap-northeast-1a"),
            ({"source": {"region": "mars-1"}}, "source.region", "allowed is a Region such as eu-central-1"),
            ({"source": {"ownerId": "me"}}, "source.ownerId", "allowed is an account's id of 12 digits"),
            (
                {"target": {"availabilityZone": "us-east-1a", "device": "/dev/sdf"}},
                "target.device",
                "only goes with",
            ),
            (
                {"target": {"instanceId": INSTANCE_ID, "mode": "swap"}},
                "target.mode",
                "allowed is 'attach', 'replace' or 'rewind'",
            ),
            (
                {"target": {"instanceId": INSTANCE_ID, "unmount": True}},
                "target.unmount",
                "only goes with target.mode replace",
            ),
            (
                {"target": {"availabilityZone": "ap-northeast-1a", "start": True}},
                "target.start",
                "only goes with target.instanceId",
            ),
            (
                {"target": {"instanceId": INSTANCE_ID, "start": True}},
                "target.start",
                "only goes with target.mode replace",
            ),
            (
                {"target": {"instanceId": INSTANCE_ID, "mode": "replace", "start": True, "unmount": True}},
                "target.unmount",
                "does not go with target.start",
            ),
            (
                {
                    "target": {
                        "instanceId": INSTANCE_ID,
                        "mode": "replace",
                        "start": True,
                        "bringOnline": True,
                    }
                },
                "target.bringOnline",
                "does not go with target.start",
            ),
            (
                {
                    "target": {"instanceId": INSTANCE_ID, "mode": "replace", "start": True},
                    "onFailure": "keep",
                },
                "onFailure",
                "with target.start allowed is clean-up",
            ),
            (
                {"target": {"availabilityZone": "ap-northeast-1a", "unmount": False}},
                "target.unmount",
                "only goes with target.instanceId",
            ),
            (
                {"target": {"availabilityZone": "ap-northeast-1a", "bringOnline": True}},
                "target.bringOnline",
                "only goes with target.instanceId",
            ),
            (
                {"target": {"instanceId": INSTANCE_ID, "mountPath": "E:"}},
                "target.mountPath",
                "only goes with target.bringOnline true",
            ),
            (
                {"objective": {"readyWithinMinutes": 0}},
                "objective.readyWithinMinutes",
                "found 0; allowed is at least 1",
            ),
            (
                {"objective": {"readyWithinMinutes": "30"}},
                "objective.readyWithinMinutes",
                "allowed is a whole number",
            ),
            (
                {"objective": {"readyWithinMinutes": True}},
                "objective.readyWithinMinutes",
                "allowed is a whole number",
            ),
            ({"objective": {"maxCostUsd": -1}}, "objective.maxCostUsd", "found -1; allowed is at least 0"),
            ({"objective": {"maxCostUsd": "NaN"}}, "objective.maxCostUsd", 'found "NaN"'),
            (
                {"objective": {"approveAboveUsd": -0.01}},
                "objective.approveAboveUsd",
                "found -0.01; allowed is at least 0",
            ),
            (
                {"objective": {"approveAboveUsd": "much"}},
                "objective.approveAboveUsd",
                'found "much"; allowed is a number',
            ),
            (
                {"objective": {"approveReplace": 1}},
                "objective.approveReplace",
                "found 1; allowed is true or false",
            ),
            (
                {"objective": {"strategy": "magic"}},
                "objective.strategy",
                "'auto', 'background', 'warm-up-agent'",
            ),
            ({"objective": {"strict": "yes"}}, "objective.strict", "allowed is true or false"),
            ({"verify": {"samples": 10_001}}, "verify.samples", "found 10001; allowed is at most 10000"),
            ({"verify": {"maxP99Ms": 0}}, "verify.maxP99Ms", "found 0; allowed is at least 0.001"),
            ({"warmUp": {"depth": 0}}, "warmUp.depth", "found 0; allowed is 'auto' or at least 1"),
            ({"volume": {"volumeType": "gp1"}}, "volume.volumeType", "allowed is 'gp3', 'gp2'"),
            ({"volume": {"multiAttach": True, "volumeType": "gp3"}}, "volume.multiAttach", "io1 and io2 can"),
            ({"volume": {"tags": {"rewarm:x": "y"}}}, "volume.tags", "'rewarm:x' is reserved"),
            ({"volume": 5}, "volume", "found 5; allowed is a JSON object"),
            ({"source": {"tags": {}}}, "source.tags", "found {}; allowed is a number of entries from 1"),
            (
                {"source": {"volumeId": "vol-12345678", "at": "noon"}},
                "source.at",
                "allowed is 'latest' or a time with its zone, such as 2026-11-20T03:00:00Z",
            ),
            (
                {"source": {"alarm": ""}},
                "source.alarm",
                'found ""; allowed is a number of characters from 1',
            ),
            (
                {"objective": {"maxCostUsd": "Infinity"}},
                "objective.maxCostUsd",
                'found "Infinity"; allowed is a number',
            ),
            ({"onFailure": "panic"}, "onFailure", "allowed is 'clean-up' or 'keep'"),
        ],
    )
    def test_names_the_field_what_was_found_and_what_is_allowed(self, part, field, words):
        found, message = refusal({**TO_INSTANCE, **part})
        assert found == field
        assert message.startswith(f"{field}: ")
        assert words in message

    @pytest.mark.parametrize(
        ("volume", "field"),
        [
            ({}, "source.volumes.0"),
            ({"snapshotId": "snap-1"}, "source.volumes.0.snapshotId"),
            ({"snapshotId": "snap-0123456789abcdef0", "at": "latest"}, "source.volumes.0.at"),
            ({"snapshotId": "snap-0123456789abcdef0", "device": "/dev/sdf"}, "source.volumes.0.device"),
            ({"snapshotId": "snap-0123456789abcdef0", "volume": {"iops": 1}}, "source.volumes.0.volume.iops"),
        ],
    )
    def test_names_the_place_in_a_list_of_volumes(self, volume, field):
        with pytest.raises(InvalidRequestError) as caught:
            parse_restore_request({**TO_ZONE, "source": {"volumes": [volume]}})
        assert caught.value.field == field

    def test_names_every_fault_at_once(self):
        _, message = refusal({**TO_ZONE, "dryRun": 1, "objective": {"readyWithinMinutes": 0}})
        assert "objective.readyWithinMinutes" in message
        assert "dryRun" in message

    def test_does_not_repeat_a_book_that_somebody_sent(self):
        _, message = refusal({**TO_ZONE, "onFailure": "x" * 100_000})
        assert len(message) < 500

    def test_does_not_repeat_a_long_name_of_a_field(self):
        field, message = refusal({**TO_ZONE, "x" * 100_000: 1})
        assert len(field) < 200
        assert len(message) < 500

    @pytest.mark.parametrize("body", [None, 5, "snap", []])
    def test_needs_a_json_object(self, body):
        assert refusal(body)[0] == "request"

    def test_says_what_is_missing(self):
        assert refusal({}) == ("source", "source: is missing")
        assert refusal({"source": TO_ZONE["source"]}) == ("target", "target: is missing")
