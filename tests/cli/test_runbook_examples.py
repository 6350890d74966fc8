"""docs/runbooks: each example is a request that the API takes as a runbook, and names its schema."""

from __future__ import annotations

import json

import jsonschema
import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm_cli.requests import read
from tests.support.tree import ROOT, files

EXAMPLES = files("*.yaml", below="docs/runbooks")
SCHEMA = ROOT / "events" / "restore-request.schema.json"


def test_there_are_examples_for_the_usual_cases():
    assert {path.stem for path in EXAMPLES} == {
        "application", "database", "drilled", "whole-instance", "windows-file-server",
    }  # fmt: skip


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_api_takes_it(path):
    request = read(str(path))
    jsonschema.validate(request, json.loads(SCHEMA.read_text(encoding="utf-8")))
    parsed = parse_restore_request(request)
    assert not parsed.dry_run
    assert parsed.source.alarm is None
    assert parsed.source.snapshot_id is None, "a frozen snapshot as an example"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_names_its_schema_and_its_own_file(path):
    head = path.read_text(encoding="utf-8").splitlines()
    schema = head[0].removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / schema).resolve() == SCHEMA
    assert any(f"-f {path.relative_to(ROOT)}" in line for line in head)
