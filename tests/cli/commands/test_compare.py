"""`rewarm bench`: its options, what it shows, and a run of it on the embedded AWS."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rewarm.domain.benchmark import benchmarks
from rewarm_cli.bench import command
from rewarm_cli.bench.command import LEAST_SECONDS, MOST_SECONDS
from rewarm_cli.bench.picture import LABEL_CHARACTERS, draw
from rewarm_cli.bench.tables import COLUMNS, PATTERNS, by_pattern, row
from rewarm_cli.main import run as rewarm_run
from rewarm_cli.problems import DONE, FAILED, NOT_FOUND, USAGE
from tests.support.commands.stack_api import StackApi

if TYPE_CHECKING:
    from local.aws.host import Host

INSTANCE = "i-0123456789abcdef0"


def run(target: str, rank: int | None, **changes: Any) -> dict[str, Any]:
    side = {"iops": 3_871.0, "mibS": 15.1, "operations": 9, "meanMs": 4.1, "p50Ms": 4.228, "p99Ms": 6.587,
            "p99_9Ms": 11.2}  # fmt: skip
    found = {
        "target": target, "pattern": "cache", "rank": rank, "totalIops": 5_538.0, "totalMibS": 21.6,
        "read": side, "write": None, "provisionedIops": 5_000.0, "provisionedMibS": 488.0, "problem": None,
        "limit": {"name": "volume-iops", "share": 1.1, "text": "the volume's 5,000 IOPS: 5,538 were reached"},
    }  # fmt: skip
    return {**found, **changes}


@pytest.fixture
def measured(stack: StackApi) -> StackApi:
    """Benchmarks that are measured at once."""
    found = {"benchmarkId": "benchmark-1", "status": "completed", "runs": [run("/data", 1)], "copied": None}
    stack.answers["POST", "/benchmarks"] = 202, {"benchmarkId": "benchmark-1"}
    stack.answers["GET", "/benchmarks/benchmark-1"] = 200, found
    return stack


class TestOptions:
    def test_mounts_with_their_limits_and_volumes(self, rewarm: Any, measured: StackApi) -> None:
        words = ["--mount", "/data", "--mount", "/efs=5000,488", "--pattern", "cache", "--pattern", "upload"]
        shown = rewarm("bench", "--instance", INSTANCE, *words, "--seconds", "10", "--install-fio")
        assert shown.status == DONE
        assert "5,538" in shown.out
        assert measured.calls[0].body == {
            "instanceId": INSTANCE,
            "targets": [{"mount": "/data"}, {"mount": "/efs", "iops": 5_000, "throughputMibS": 488}],
            "patterns": ["cache", "upload"],
            "runtimeSeconds": 10,
            "installFio": True,
        }

    def test_a_copy_on_windows(self, rewarm: Any, measured: StackApi) -> None:
        copied = {
            "firstSeconds": 9.0,
            "firstMibS": 1.0,
            "secondSeconds": 3.0,
            "secondMibS": 3.0,
            "ratio": 3.0,
        }
        found = {"status": "completed", "runs": [], "copied": copied}
        measured.answers["GET", "/benchmarks/benchmark-1"] = 200, found
        shown = rewarm("bench", "--instance", INSTANCE, "--copy", "D:\\big.bin", "E:\\")
        assert (measured.calls[0].body or {})["copyFile"] == {"file": "D:\\big.bin", "toFolder": "E:\\"}
        assert shown.out == "First copy 9.0 s (1.0 MiB/s), second 3.0 s (3.0 MiB/s): 3.00 times as long\n"

    def test_nothing_measured_is_a_failure(self, rewarm: Any, measured: StackApi) -> None:
        gone = run("/gone", None, problem="there is no folder /gone")
        found = {"status": "completed", "runs": [gone], "copied": None}
        measured.answers["GET", "/benchmarks/benchmark-1"] = 200, found
        shown = rewarm("bench", "--instance", INSTANCE, "--mount", "/gone")
        assert shown.status == FAILED
        assert "there is no folder /gone" in shown.out

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (["--mount", "/data"], "Missing option '--instance'"),
            (["--instance", INSTANCE], "at least one of --mount"),
            (["--instance", INSTANCE, "--mount", "data"], "found 'data'; /folder or /folder=IOPS,MIB_S"),
            (
                ["--instance", INSTANCE, "--mount", "/data", "--pattern", "fast"],
                "found 'fast'; allowed are random-read",
            ),
            (
                ["--instance", INSTANCE, "--mount", "/data", "--seconds", "1"],
                "found '1'; a whole number from 5 to 3,600",
            ),
            (["--instance", INSTANCE, "--mount", "/a", "--copy", "D:\\a", "E:\\"], "--copy goes without"),
        ],
    )
    def test_what_is_wrong_is_named(
        self, rewarm: Any, stack: StackApi, arguments: list[str], why: str
    ) -> None:
        shown = rewarm("bench", *arguments)
        assert (shown.status, stack.calls) == (USAGE, [])
        assert why in " ".join(shown.err.split())

    def test_patterns_and_limits_are_those_of_the_functions(self) -> None:
        assert {name.value: pattern.text for name, pattern in benchmarks.PATTERNS.items()} == PATTERNS
        limits = (benchmarks.LEAST_RUNTIME_SECONDS, benchmarks.MOST_RUNTIME_SECONDS)
        assert limits == (LEAST_SECONDS, MOST_SECONDS)


class TestShown:
    def test_the_fastest_first_with_limits_beside(self) -> None:
        runs = [run("/efs", 2), run("/fsx", 1), run("/gone", None, problem="there is no folder /gone")]
        shown = by_pattern(runs)["cache"]
        assert [one["target"] for one in shown] == ["/fsx", "/efs", "/gone"]
        cells = dict(zip(COLUMNS, row(shown[0]), strict=True))
        assert cells["IOPS"] == "5,538"
        assert cells["read p50 / p99"] == "4.23 / 6.59 ms"
        assert cells["provisioned"] == "5,000 IOPS, 488 MiB/s"
        assert row({**shown[2], "totalIops": None})[-1] == "there is no folder /gone"

    def test_the_same_runs_are_the_same_picture(self, tmp_path: Path) -> None:
        runs = [run("/efs", 2), run("/fsx", 1)]
        assert draw(tmp_path / "a.svg", runs)
        assert draw(tmp_path / "b.svg", runs)
        text = (tmp_path / "a.svg").read_text(encoding="utf-8")
        assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
        assert "/fsx" in text
        assert "5,538 IOPS" in text

    def test_a_long_path_leaves_room_for_the_bars(self, tmp_path: Path) -> None:
        begin, end = "/srv/" + "deep/" * 80, "instances/i-0123456789abcdef0/mounts/"
        assert draw(tmp_path / "a.svg", [run(begin + end + "a", 1), run(begin + end + "b", 2)])
        text = (tmp_path / "a.svg").read_text(encoding="utf-8")
        shown = re.findall(r"/srv/deep/[^<]*", text)
        assert [one[-9:] for one in shown] == ["/mounts/a", "/mounts/b"]
        assert all(len(one) <= LABEL_CHARACTERS for one in shown)

    def test_nothing_measured_is_no_picture(self, tmp_path: Path) -> None:
        assert not draw(tmp_path / "a.svg", [run("/gone", None, problem="gone")])


@pytest.mark.slow
@pytest.mark.agent
class TestOnTheEmbeddedAws:
    @pytest.fixture(autouse=True)
    def lab_time(self, lab: Host, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(command.time, "sleep", lab.clock.sleep)

    def test_a_device_and_a_mount_side_by_side(
        self, lab: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from local.tools.measurements.published.bench import Bench  # noqa: PLC0415

        bench = Bench(lab)
        volume_id = bench.attached(None, Size=2)
        folder = bench.mounted(volume_id, make=True)
        arguments = ["bench", "--instance", bench.instance_id, "--region", lab.addresses.region]
        arguments += ["--mount", folder, "--volume", volume_id, "--pattern", "random-read", "--seconds", "5"]
        arguments += ["--picture", str(tmp_path / "picture.svg"), "--output", "json"]
        try:
            status = rewarm_run(arguments)
        finally:
            left = bench.command(f"ls -A {folder}")
            bench.unmount(folder)
            bench.remove(volume_id)
        told = capsys.readouterr()
        assert status == DONE, told.err
        found = json.loads(told.out)
        assert {one["rank"] for one in found["runs"]} == {1, 2}
        assert all(one["read"]["operations"] > 0 for one in found["runs"])
        device = next(one for one in found["runs"] if one["target"] == volume_id)
        assert (device["provisionedIops"], device["provisionedMibS"]) == (3_000, 125)
        assert (tmp_path / "picture.svg").exists()
        assert left.split() == ["lost+found"], "a scratch file stays behind"
        assert re.search(r"random-read: random reads of 4 KiB", told.err)

    def test_what_cannot_be_measured_is_a_failure(
        self, lab: Host, capsys: pytest.CaptureFixture[str]
    ) -> None:
        base = ["bench", "--region", lab.addresses.region, "--seconds", "5"]
        instance_id = lab.region.add_instance()
        assert rewarm_run([*base, "--instance", instance_id, "--mount", "/gone-away"]) == FAILED
        assert "there is no folder" in " ".join(capsys.readouterr().out.split())
        assert rewarm_run([*base, "--instance", INSTANCE, "--mount", "/data"]) == NOT_FOUND
        assert "does not exist" in capsys.readouterr().err
