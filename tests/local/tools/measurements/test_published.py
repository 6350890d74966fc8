"""The published figures: what holds, the page made of it, and the shape of a short real run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local.aws.machines.first_touch_process import FirstTouchSettings
from local.tools.measurements.options import parse
from local.tools.measurements.published.copies import CopyRow, readers
from local.tools.measurements.published.figures import FIGURES, rows
from local.tools.measurements.published.page import MOUNTS_PICTURE, PICTURE, Results, write
from local.tools.measurements.published.run import summary
from local.tools.measurements.published.states import WAY_MS, Scale, States, slowed
from tests.cli.commands.test_compare import run

if TYPE_CHECKING:
    from local.aws.host import Host

PUBLISHED = {figure.name: figure.iops for figure in FIGURES}
METHOD: dict[str, Any] = {
    "size_gib": 100, "dd_gib": 1, "slow_down": 5, "seconds": 20, "rate_mib_s": 300, "rate_seconds": 60,
    "rate_share": 0.42, "rate_gib": 8.3,
}  # fmt: skip


def results(**changes: Any) -> Results:
    values: dict[str, Any] = {
        "facts": "Measured on 2026-11-21: 2 cores.",
        "method": METHOD,
        "rows": rows(PUBLISHED),
        "dd_mib_s": 32.1,
        "copies": [CopyRow(readers()[0], 16.0, 8.0), CopyRow(readers()[1], 17.4, 1.0)],
        "mounts": [run("gp3 5,000 IOPS", 2), run("gp3 16,000 IOPS", 1)],
    }
    return Results(**{**values, **changes})


class TestFigures:
    def test_the_published_ratios(self) -> None:
        ratios = {row.figure.name: round(row.published_ratio, 4) for row in rows(PUBLISHED)}
        assert ratios == {
            "normal": 1.0, "restored": 0.0067, "dd": 0.861, "fsr": 0.8959, "rate-first": 0.5787,
            "rate-later": 0.9865, "day": 0.9902, "write-normal": 1.0, "write-restored": 0.9288,
        }  # fmt: skip

    @pytest.mark.parametrize(("iops", "holds"), [(705, False), (711, True), (1_180, True), (1_182, False)])
    def test_a_quarter_off_is_allowed(self, iops: float, *, holds: bool) -> None:
        found = {row.figure.name: row for row in rows({**PUBLISHED, "rate-first": iops})}
        assert found["rate-first"].holds is holds

    def test_a_machine_of_another_speed_changes_no_ratio(self) -> None:
        slower = rows({name: iops * 0.7 for name, iops in PUBLISHED.items()})
        assert all(abs(row.deviation) < 1e-9 for row in slower)

    def test_what_was_not_measured_is_left_out(self) -> None:
        assert [row.figure.name for row in rows({"normal": 5, "dd": 4})] == ["normal", "dd"]

    def test_the_published_copies(self) -> None:
        assert [round(reader.figure.ratio, 2) for reader in readers()] == [1.63, 17.35]

    def test_the_rates_data_is_loaded_within_its_run(self) -> None:
        scale = Scale(rate_mib_s=100, rate_seconds=50, rate_share=0.4, rate_lead_seconds=0.48)
        assert scale.rate_gib == 2.0


class TestSlowed:
    def test_the_published_counts_are_kept(self) -> None:
        found = slowed(FirstTouchSettings(), 5)
        assert found.mean_latency_ms == pytest.approx(455)
        assert 5e3 / (found.read_latency_ms + WAY_MS) == pytest.approx(1_633)
        assert 5e3 / (found.write_latency_ms + WAY_MS) == pytest.approx(2_979)
        assert slowed(FirstTouchSettings(), 1) == FirstTouchSettings()


class TestPage:
    def test_published_stands_beside_measured(self, tmp_path: Path) -> None:
        text = write(tmp_path, results()).read_text(encoding="utf-8")
        assert "| random reads, right after the restore | 11 | 11 | 0.0067 | 0.0067 | +0% | yes |" in text
        assert "measured 32.1 MiB/s" in text
        assert "| 30 GiB, gp3 60 GB (2023) | 1.63 |" in text
        assert "| 1 | gp3 16,000 IOPS | 5,538 |" in text
        assert (tmp_path / PICTURE).exists()
        assert (tmp_path / MOUNTS_PICTURE).exists()
        assert max(len(line) for line in text.splitlines() if not line.startswith(("|", "!"))) <= 120

    def test_the_same_results_are_the_same_bytes(self, tmp_path: Path) -> None:
        write(tmp_path / "a", results())
        write(tmp_path / "b", results())
        for name in ("measurements.md", PICTURE, MOUNTS_PICTURE):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    def test_what_is_off_is_told(self, tmp_path: Path) -> None:
        found = results(rows=rows({**PUBLISHED, "restored": 40}))
        assert not found.holds
        assert summary(found)["verdict"] == "does-not-hold"
        text = write(tmp_path, found).read_text(encoding="utf-8")
        assert "| 0.0245 | +264% | no |" in text

    def test_copies_and_mounts_are_shown_not_judged(self, tmp_path: Path) -> None:
        found = results(copies=[CopyRow(readers()[0], 90.0, 1.0)], mounts=[])
        assert found.holds
        assert "Mounts" not in write(tmp_path, found).read_text(encoding="utf-8")


class TestOptions:
    def test_one_or_both(self) -> None:
        assert [(parse(words).published, parse(words).estimates) for words in (
            [], ["--published"], ["--estimates"], ["--published", "--estimates"]
        )] == [(True, True), (True, False), (False, True), (True, True)]  # fmt: skip
        assert parse(["--seconds", "7"]).scale == replace(Scale(), seconds=7)


@pytest.mark.long
@pytest.mark.agent
class TestOnTheEmbeddedAws:
    def test_a_short_run_has_the_published_shape(self, lab: Host, tmp_path: Path) -> None:
        """Ratios only, with room: a busy machine slows warm reads and hardly the cold ones."""
        from local.tools.measurements.published.bench import Bench  # noqa: PLC0415

        scale = Scale(size_gib=20, seconds=5, rate_seconds=12, rate_mib_s=200)
        usual = lab.machine.settings
        states = States(Bench(lab), scale, tmp_path)
        iops = {one.name: one.iops for one in states.measure({"normal", "restored", "fsr", "rate"})}
        assert lab.machine.settings == usual
        normal = iops["normal"]
        assert iops["restored"] < 0.1 * normal
        for warm in ("day", "fsr", "rate-later"):
            assert iops[warm] > 10 * iops["restored"], warm
            assert iops[warm] > 0.4 * normal, warm
        assert 2 * iops["restored"] < iops["rate-first"] < 0.95 * iops["rate-later"]
