"""The calibrations that people contributed, and the example beside their schema."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from local.tools.plan import offline
from local.tools.plan.options import Options
from rewarm.contracts.base import parsed
from rewarm.contracts.benchmarks import Calibration
from tests.support.tree import ROOT

FILES = [ROOT / "events" / "calibration.json", *sorted((ROOT / "docs" / "calibrations").glob("*.json"))]
IDS = re.compile(r"\b(vol|snap|i|fsr)-[0-9a-f]{8,}|arn:|\b\d{12}\b")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_calibration_fits_its_schema_and_names_nobody(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    schema = json.loads((ROOT / "events" / "calibration.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(content)
    parsed(Calibration, content)
    assert IDS.search(text) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_make_plan_uses_every_calibration(path: Path) -> None:
    options = Options(calibration=path, size_gib=100)
    assert offline.plan(options, datetime(2026, 11, 23, tzinfo=UTC)).plans
