"""`rewarm bench`: its options, what it shows, and a run of it on the embedded AWS."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rewarm_cli.bench.__main__ import MEASURED, NOT_MEASURED, main
from rewarm_cli.bench.options import parse
from rewarm_cli.bench.picture import LABEL_CHARACTERS, draw
from rewarm_cli.bench.stack import StackUnreachableError, api_of
from rewarm_cli.bench.tables import COLUMNS, by_pattern, row

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


class TestOptions:
    def test_mounts_with_their_limits_and_volumes(self) -> None:
        options = parse(
            ["--instance", INSTANCE, "--mount", "/data", "--mount", "/efs=5000,488", "--pattern", "cache",
             "--pattern", "upload", "--seconds", "10", "--install-fio"]
        )  # fmt: skip
        assert options.request == {
            "instanceId": INSTANCE,
            "targets": [{"mount": "/data"}, {"mount": "/efs", "iops": 5_000, "throughputMibS": 488}],
            "patterns": ["cache", "upload"],
            "runtimeSeconds": 10,
            "installFio": True,
        }

    def test_a_copy_on_windows(self) -> None:
        options = parse(["--instance", INSTANCE, "--copy", "D:\\big.bin", "E:\\"])
        assert options.request["copyFile"] == {"file": "D:\\big.bin", "toFolder": "E:\\"}

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (["--instance", "x", "--mount", "/data"], "an instance id is allowed"),
            (["--instance", INSTANCE], "at least one of --mount"),
            (["--instance", INSTANCE, "--mount", "data"], "found 'data'; /folder or /folder=IOPS,MIB_S"),
            (["--instance", INSTANCE, "--mount", "/data", "--pattern", "fast"], "invalid choice: 'fast'"),
            (["--instance", INSTANCE, "--mount", "/data", "--seconds", "1"], "from 5 to 3600 is allowed"),
            (["--instance", INSTANCE, "--volume", "vol-1"], "a volume id is allowed"),
            (["--instance", INSTANCE, "--mount", "/a", "--copy", "D:\\a", "E:\\"], "--copy goes without"),
        ],
    )
    def test_what_is_wrong_is_named(
        self, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            parse(arguments)
        assert why in " ".join(capsys.readouterr().err.split())


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


class TestStack:
    def test_without_credentials_it_says_so(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        with pytest.raises(StackUnreachableError, match="no AWS credentials"):
            api_of("rewarm", "http://127.0.0.1:9", "us-east-1")


@pytest.mark.slow
@pytest.mark.agent
class TestOnTheEmbeddedAws:
    def test_a_device_and_a_mount_side_by_side(
        self, lab: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from local.tools.measurements.published.bench import Bench  # noqa: PLC0415

        bench = Bench(lab)
        volume_id = bench.attached(None, Size=2)
        folder = bench.mounted(volume_id, make=True)
        arguments = [
            "--instance",
            bench.instance_id,
            "--api-url",
            lab.api_url,
            "--region",
            lab.addresses.region,
        ]
        arguments += ["--mount", folder, "--volume", volume_id, "--pattern", "random-read", "--seconds", "5"]
        arguments += ["--picture", str(tmp_path / "picture.svg"), "--json"]
        try:
            status = main(arguments, sleep=lab.clock.sleep)
        finally:
            left = bench.command(f"ls -A {folder}")
            bench.unmount(folder)
            bench.remove(volume_id)
        told = capsys.readouterr()
        assert status == MEASURED, told.err
        found = json.loads(told.out)
        assert {one["rank"] for one in found["runs"]} == {1, 2}
        assert all(one["read"]["operations"] > 0 for one in found["runs"])
        device = next(one for one in found["runs"] if one["target"] == volume_id)
        assert (device["provisionedIops"], device["provisionedMibS"]) == (3_000, 125)
        assert (tmp_path / "picture.svg").exists()
        assert left.split() == ["lost+found"], "a scratch file stays behind"
        assert re.search(r"random-read: random reads of 4 KiB", told.err)

    def test_what_cannot_be_measured_ends_with_status_1(
        self, lab: Host, capsys: pytest.CaptureFixture[str]
    ) -> None:
        instance_id = lab.region.add_instance()
        base = [
            "--instance",
            instance_id,
            "--api-url",
            lab.api_url,
            "--region",
            lab.addresses.region,
            "--mount",
        ]
        assert main([*base, "/gone-away", "--seconds", "5"], sleep=lab.clock.sleep) == NOT_MEASURED
        assert "there is no folder" in " ".join(capsys.readouterr().out.split())
        unknown = ["--instance", INSTANCE, "--api-url", lab.api_url, "--region", lab.addresses.region]
        assert main([*unknown, "--mount", "/data"]) == NOT_MEASURED
        assert "404" in capsys.readouterr().out
