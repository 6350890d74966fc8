"""docs/strategies.md, plan.md, rewind.md and pictures are what the rules say, and name every prior."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import fields

import pytest

from local import ROOT
from local.tools.plan import crossovers, curves, docs, rewind_tables, tables
from rewarm.domain.time.timings import PRIORS, Quantiles

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def made():
    """The pages and pictures by name."""
    return docs.documents(DOCS)


def test_the_committed_files_are_what_the_rules_say(made):
    committed = {name: (DOCS / name).read_text(encoding="utf-8") for name in made}
    assert [name for name in made if committed[name] != made[name]] == [], "run `make strategies-docs`"


def test_every_picture_is_shown_and_well_formed(made):
    page = made[docs.PAGE] + made[docs.TRANSCRIPT_PAGE]
    drawn = set(made) - {docs.PAGE, docs.TRANSCRIPT_PAGE, docs.REWIND_PAGE}
    for name in drawn:
        assert f"({name})" in page
        assert ET.fromstring(made[name].encode()).tag.endswith("}svg")
    assert set(re.findall(r"\((strategies-[a-z0-9-]+\.svg)\)", page)) == drawn


def test_every_table_is_in_the_page(made):
    assert set(re.findall(r"<!-- table (\S+) -->", made[docs.PAGE])) == set(tables.all_tables())
    of_rewinds = re.findall(r"<!-- table (\S+) -->", made[docs.REWIND_PAGE])
    assert set(of_rewinds) == set(rewind_tables.all_tables())


def test_every_prior_says_where_it_comes_from():
    names = {field.name for field in fields(PRIORS) if isinstance(getattr(PRIORS, field.name), Quantiles)}
    assert set(tables.PRIORS_FROM) == names


def test_writes_where_it_is_told(tmp_path, made, monkeypatch):
    drawn = {name: content for name, content in made.items() if name.endswith(".svg")}
    monkeypatch.setattr(docs, "pictures", lambda: drawn)
    (tmp_path / docs.PAGE).write_text("<!-- table several -->\nold\n<!-- end -->\n")
    (tmp_path / docs.TRANSCRIPT_PAGE).write_text("<!-- table plan -->\nold\n<!-- end -->\n")
    (tmp_path / docs.REWIND_PAGE).write_text("<!-- table rewind-sizes -->\nold\n<!-- end -->\n")
    written = docs.write(tmp_path)
    assert {path.name for path in written} == set(made)
    assert "12 volumes" in (tmp_path / docs.PAGE).read_text()


class TestCrossovers:
    def test_from_so_many_volumes_on_fast_snapshot_restore_is_cheaper(self):
        # 100 GiB at 100 MiB/s: 0.12 a volume; an hour of fast snapshot restore: 0.75. 6 x 0.12 = 0.72.
        assert crossovers.volumes_until_cheaper(100, "rate 100") == 7
        # At 300 MiB/s: 0.36 a volume. 2 x 0.36 = 0.72.
        assert crossovers.volumes_until_cheaper(100, "rate 300") == 3
        assert crossovers.volumes_until_cheaper(30, "rate 100") is None

    def test_the_curves_are_the_rules_numbers(self):
        picture = crossovers.by_volumes(100)
        time, price = curves.draw(picture).axes
        (fsr,) = [line for line in price.lines if line.get_gid() == "usd-fast-snapshot-restore"]
        assert list(fsr.get_xdata()) == list(crossovers.VOLUMES)
        expected = [crossovers.ways(100, number)["fast-snapshot-restore"] for number in crossovers.VOLUMES]
        assert list(fsr.get_ydata()) == [one.usd for one in expected]
        (late,) = [line for line in time.lines if line.get_gid() == "seconds-fast-snapshot-restore"]
        assert list(late.get_ydata()) == [one.p90_seconds for one in expected]
