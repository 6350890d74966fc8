"""docs/openapi.json says of each operation and field what it is, with examples that hold."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

from local.soak.audit.messages import undocumented
from local.tools.openapi import OPERATIONS, SAYS, document
from rewarm.contracts.events import Announcement
from tests.support.tree import ROOT

DOCUMENT = document()
SCHEMAS = DOCUMENT["components"]["schemas"]
METHODS = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]


def test_the_committed_document_is_what_the_code_says():
    committed = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    assert committed == DOCUMENT, "run `make schemas`"


def test_each_schema_has_one_name():
    titles = [schema["title"] for schema in SCHEMAS.values()]
    assert sorted(titles) == sorted(set(titles)) == sorted(SCHEMAS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_each_schema_and_each_field_has_a_description(name):
    schema = SCHEMAS[name]
    assert schema["description"]
    assert [field for field, says in schema.get("properties", {}).items() if not says["description"]] == []


def test_nothing_is_said_that_nobody_reads():
    assert set(SAYS["operations"]) == {operation.name for operation in OPERATIONS}
    assert set(SAYS["tags"]) == {tag for operation in METHODS for tag in operation["tags"]}
    answers = {model.__name__ for one in OPERATIONS for model in (one.answer, one.later) if model}
    assert set(SAYS["answers"]) == answers - {"PlanResult"}
    said = {
        (name, field["description"])
        for kind, schema in SCHEMAS.items()
        for own, field in schema.get("properties", {}).items()
        for name in (own, f"{kind}.{own}")
    }
    assert set(SAYS["fields"].items()) <= said


@pytest.mark.parametrize("operation", METHODS, ids=lambda operation: operation["operationId"])
def test_each_operation_has_a_description_a_tag_and_examples_that_hold(operation):
    assert operation["description"]
    assert len(operation["tags"]) == 1
    bodies = [operation["requestBody"]] if "requestBody" in operation else []
    answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    for content in (body["content"]["application/json"] for body in [*bodies, *answers]):
        whole = {**content["schema"], "components": DOCUMENT["components"]}
        Draft202012Validator(whole).validate(content["example"])


def test_each_announcement_is_an_event_of_the_document():
    """The message of a rule belongs to no state, so nothing announces it."""
    assert set(SAYS["events"]) == {*get_args(Announcement), "rule-report"}
    assert len(DOCUMENT["webhooks"]) == len(SAYS["events"])


def test_an_event_that_is_not_documented_is_found():
    detail = {"event": "ready", "restoreId": "restore-1"}
    (unknown, *wrong) = undocumented([{"detail-type": "Rewarm Restore Forgotten", "detail": detail}])
    assert unknown == "the detail type Rewarm Restore Forgotten is not documented"
    assert any("'nextSteps' is a required property" in one for one in wrong)
