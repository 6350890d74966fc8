"""docs/runbooks and docs/rules: the API takes each example, and each names its schema."""

from __future__ import annotations

import json

import jsonschema
import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.rules import parse_rule
from rewarm_cli.requests import read
from tests.support.tree import ROOT, files

EXAMPLES = files("*.yaml", below="docs/runbooks")
RULES = files("*.yaml", below="docs/rules")
SCHEMA = ROOT / "events" / "restore-request.schema.json"
RULE_SCHEMA = ROOT / "events" / "adoption-rule.schema.json"


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


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_the_api_takes_a_rule(path):
    rule = read(str(path))
    jsonschema.validate(rule, json.loads(RULE_SCHEMA.read_text(encoding="utf-8")))
    assert parse_rule(rule).mode == "observe", "an example that acts where it is put as it is"


@pytest.mark.parametrize("path", [*EXAMPLES, *RULES], ids=lambda path: path.stem)
def test_it_names_its_schema_and_its_own_file(path):
    head = path.read_text(encoding="utf-8").splitlines()
    schema = head[0].removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / schema).resolve() == (RULE_SCHEMA if path in RULES else SCHEMA)
    assert any(f"-f {path.relative_to(ROOT)}" in line for line in head)
