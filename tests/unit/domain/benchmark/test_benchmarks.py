"""Patterns, fio's output, ranks and limits."""

from __future__ import annotations

import json

import pytest

from rewarm.domain.benchmark import fio_output
from rewarm.domain.benchmark.benchmarks import ON_DEVICE, PATTERNS, PatternName, Provisioned, met_limit, ranks
from rewarm.domain.benchmark.fio_output import FioResult
from rewarm.domain.errors import BenchmarkFailedError
from rewarm.domain.model import InstanceEbsLimits
from tests.support.builders import VOLUME_ID
from tests.support.values.fio_outputs import account, run_text, side

MB_S = 1e6 / 1_048_576
T3_MICRO = InstanceEbsLimits(10.875 * MB_S, 260.625 * MB_S, 500, 11_800)
"""DescribeInstanceTypes of t3.micro."""


def result(read: float = 0, write: float = 0, **more: float) -> FioResult:
    block = int(more.pop("block_kib", 4))
    made = account(side(read, block_kib=block, **more), side(write, block_kib=block, **more))
    return fio_output.parse(json.dumps(made))


class TestPatterns:
    def test_the_published_commands_are_kept(self) -> None:
        assert PATTERNS[PatternName.CACHE].arguments() == [
            "--rw=randrw", "--bs=4k", "--ioengine=psync", "--rwmixread=70", "--size=100M", "--numjobs=16",
            "--group_reporting", "--time_based", "--runtime=60",
        ]  # fmt: skip
        assert PATTERNS[PatternName.UPLOAD].arguments() == [
            "--rw=write", "--bs=1024k", "--ioengine=psync", "--size=50M", "--numjobs=4", "--group_reporting",
            "--time_based", "--runtime=60",
        ]  # fmt: skip

    def test_init_reads_as_the_ebs_user_guide_says(self) -> None:
        flags = PATTERNS[PatternName.INIT].arguments()
        assert {"--rw=read", "--bs=1024k", "--iodepth=32", "--ioengine=libaio", "--direct=1"} <= set(flags)

    def test_nothing_that_writes_may_run_on_a_device(self) -> None:
        assert set(ON_DEVICE) == {PatternName.RANDOM_READ, PatternName.INIT}
        for name in ON_DEVICE:
            assert not PATTERNS[name].writes

    def test_the_runtime_can_be_chosen(self) -> None:
        pattern = PATTERNS[PatternName.RANDOM_READ]
        assert pattern.arguments(7)[-1] == "--runtime=7"
        assert pattern.limit_seconds(7) < pattern.limit_seconds()

    def test_scratch_space_is_that_of_all_jobs(self) -> None:
        assert PATTERNS[PatternName.CACHE].scratch_mib == 1_760


class TestFioOutput:
    def test_reads_figures_with_units(self) -> None:
        found = fio_output.parse(json.dumps(account(side(1_633, mean_ms=0.6, p99_ms=1.5))))
        assert found.write is None
        assert found.read is not None
        assert (found.read.iops, found.read.p50_ms, found.read.p99_ms) == (1_633, 0.6, 1.5)
        assert found.read.mib_s == pytest.approx(6.379, abs=0.001)
        assert (found.runtime_seconds, found.total_iops) == (60, 1_633)

    def test_notes_around_the_object_are_passed_over(self) -> None:
        text = f"fio: this is a note\n{json.dumps(account(side(5)))}\nfio: terminating on signal 15\n"
        assert fio_output.parse(text).total_iops == 5

    def test_too_few_requests_for_percentiles_say_the_slowest(self) -> None:
        few = side(0.1, p99_ms=90)
        del few["clat_ns"]["percentile"]
        found = fio_output.parse(json.dumps(account(few)))
        assert found.read is not None
        assert found.read.p99_ms == 180

    @pytest.mark.parametrize("version", ["fio-2.99", "fio-4.0", "", None])
    def test_other_versions_are_refused_by_name(self, version: str | None) -> None:
        told = account(side(5)) | {"fio version": version}
        with pytest.raises(BenchmarkFailedError, match="fio 3"):
            fio_output.parse(json.dumps(told))

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("[1]", "not JSON"),
            (json.dumps(account(side(5), error=22)), "error 22"),
            (json.dumps(account()), "nothing"),
            (json.dumps({**account(side(5)), "jobs": []}), "one job"),
            (json.dumps({**account(), "jobs": [{"read": {"total_ios": 5}, "write": {}}]}), "lacks a field"),
        ],
    )
    def test_what_cannot_be_used_is_said(self, text: str, why: str) -> None:
        with pytest.raises(BenchmarkFailedError, match=why):
            fio_output.parse(text)


class TestDocumentOutput:
    def test_runs_in_their_order_with_what_is_mounted(self) -> None:
        text = run_text("/data", "cache", account(side(5)), serial="vol0123456789abcdef0")
        text += run_text("/efs", "cache", None, status=75, note="there is no folder /efs")
        first, second = fio_output.runs(text)
        assert (first.target, first.pattern, first.file_system) == ("/data", "cache", "ext4")
        assert first.volume_id == "vol-0123456789abcdef0"
        assert first.result is not None
        assert first.problem is None
        assert (second.result, second.problem, second.volume_id) == (None, "there is no folder /efs", None)

    @pytest.mark.parametrize("serial", ["vol0fedcba9876543210", "", "vol", "0123456789abcdef0"])
    def test_a_run_on_another_volume_has_no_figures(self, serial: str) -> None:
        (other,) = fio_output.runs(run_text(VOLUME_ID, "random-read", account(side(5)), serial=serial))
        assert other.result is None
        assert other.problem is not None
        assert other.problem.startswith("it worked on ")
        assert other.problem.endswith(f", and not on {VOLUME_ID}")
        (its_own,) = fio_output.runs(run_text(VOLUME_ID, "random-read", account(side(5))))
        assert (its_own.volume_id, its_own.problem) == (VOLUME_ID, None)

    def test_why_a_run_on_a_volume_failed_is_said_whatever_its_number(self) -> None:
        text = run_text(VOLUME_ID, "random-read", None, status=75, serial="", note="there is no disk")
        assert fio_output.runs(text)[0].problem == "there is no disk"

    def test_a_run_that_was_ended_says_so(self) -> None:
        (one,) = fio_output.runs(run_text("/data", "init", None, status=124))
        assert one.problem == "fio did not end in time"

    def test_nothing_is_nothing(self) -> None:
        assert fio_output.runs("") == []

    def test_a_copy_has_two_times(self) -> None:
        text = '{"command":"copy","sizeBytes":32212254720,"firstSeconds":819.1,"secondSeconds":502.4}'
        found = fio_output.copied(text)
        assert found.first_seconds / found.second_seconds == pytest.approx(1.63, abs=0.01)

    @pytest.mark.parametrize("text", ["", "{}", '{"sizeBytes":1,"firstSeconds":0,"secondSeconds":1}'])
    def test_a_copy_without_times_is_refused(self, text: str) -> None:
        with pytest.raises(BenchmarkFailedError):
            fio_output.copied(text)


class TestComparison:
    def test_the_most_iops_are_first_and_equals_share(self) -> None:
        assert ranks([result(5), result(9), result(5)]) == [2, 1, 2]

    def test_gp3_met_its_iops_in_the_published_cache_run(self) -> None:
        """January 2026: 5,538 IOPS on a gp3 volume of 5,000 IOPS and 512 MB/s."""
        met = met_limit(PATTERNS[PatternName.CACHE], result(3_871, 1_667), Provisioned(5_000, 488), T3_MICRO)
        assert met.name == "volume-iops"

    def test_gp3_met_the_instances_throughput_in_the_published_upload(self) -> None:
        """253 writes of 1 MiB are about 1,012 I/Os: neither 5,000 IOPS nor 512 MB/s, but t3.micro's 260."""
        met = met_limit(
            PATTERNS[PatternName.UPLOAD],
            result(0, 253, block_kib=1024),
            Provisioned(5_000, 488),
            T3_MICRO,
        )
        assert met.name == "instance-throughput"
        assert met.share == pytest.approx(1.02, abs=0.01)

    def test_more_than_is_provisioned_came_from_a_cache(self) -> None:
        """January 2026: FSx for OpenZFS gave 29,423 IOPS where 5,000 were provisioned."""
        met = met_limit(PATTERNS[PatternName.CACHE], result(20_600, 8_823), Provisioned(5_000, 488), None)
        assert met.name == "cache"
        assert "29,423" in met.text

    def test_one_at_a_time_is_bound_by_its_depth(self) -> None:
        met = met_limit(PATTERNS[PatternName.RANDOM_READ], result(1_633), Provisioned(3_000, 125), T3_MICRO)
        assert met.name == "depth"
        assert "1 in flight, 0.60 ms each" in met.text

    def test_without_limits_none_is_named(self) -> None:
        met = met_limit(PATTERNS[PatternName.CACHE], result(100), Provisioned(), None)
        assert met.name == "unknown"
