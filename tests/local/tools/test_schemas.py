"""events/: schemas and examples are generated, valid and up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from local.tools.schemas import (
    FLEET,
    INSTANCE_ID,
    REQUEST,
    border_schema,
    documents,
    input_examples,
    main,
    request_examples,
)
from rewarm.contracts.base import parsed
from rewarm.contracts.fleets import FleetRequest
from rewarm.contracts.parsing import SELECTORS, parse_restore_request
from rewarm.domain.errors import InvalidRequestError
from tests.support.values.step_events import step_events
from tests.support.wired import steps

EVENTS = Path(__file__).parents[3] / "events"
DOCUMENTS = documents()
REGISTRY = Registry().with_resources(
    (name, Resource.from_contents(document)) for name, document in DOCUMENTS.items() if "$schema" in document
)


def validator(name):
    schema = DOCUMENTS[f"{name}.schema.json"]
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=FormatChecker(), registry=REGISTRY)


class TestGeneratedEvents:
    @pytest.mark.parametrize("name", sorted(DOCUMENTS))
    def test_the_committed_file_is_what_the_code_says(self, name):
        committed = json.loads((EVENTS / name).read_text(encoding="utf-8"))
        assert committed == DOCUMENTS[name], "run `make schemas`"

    def test_no_committed_file_is_left_over(self):
        assert {path.name for path in EVENTS.iterdir() if path.is_file()} == set(DOCUMENTS)

    @pytest.mark.parametrize("name", sorted(request_examples()))
    def test_each_example_fits_its_schema(self, name):
        validator(name).validate(DOCUMENTS[f"{name}.json"])

    @pytest.mark.parametrize("event", step_events(), ids=lambda event: type(event).__name__)
    def test_each_event_fits_its_definition(self, event):
        schema = border_schema(type(event))
        Draft202012Validator(schema, format_checker=FormatChecker()).validate(event.to_json())

    def test_each_step_has_an_event_and_no_other_event_is_there(self):
        events = {next(iter(get_type_hints(one.step).values())) for one in steps().values()}
        assert {type(event) for event in step_events()} == events

    @pytest.mark.parametrize(
        "example", [*request_examples().values(), *step_events()], ids=lambda example: type(example).__name__
    )
    def test_each_example_is_read_back_unchanged(self, example):
        assert type(example).model_validate(example.to_json()) == example

    @pytest.mark.parametrize(
        "source",
        [{}, {"snapshotId": "snap-0123456789abcdef0", "imageId": "ami-0123456789abcdef0"}, {"colour": "red"}],
    )
    def test_the_schema_refuses_what_the_code_refuses(self, source):
        body = {**input_examples()["minimal-request"], "source": source}
        assert not validator("restore-request").is_valid(body)

    @pytest.mark.parametrize(
        "body",
        [
            {"source": {"tags": {"\t": "x"}}, "target": {"instanceId": INSTANCE_ID}},
            {"source": {"alarm": " "}},
            {**REQUEST, "volume": {"kmsKeyId": " "}},
            {**REQUEST, "volume": {"tags": {" ": "x"}}},
        ],
        ids=["tags of the source", "alarm", "key", "tags of the volume"],
    )
    def test_neither_schema_nor_code_takes_a_blank_name(self, body):
        with pytest.raises(InvalidRequestError):
            parse_restore_request(body)
        assert not validator("restore-request").is_valid(body)

    def test_neither_schema_nor_code_takes_a_fleet_with_a_blank_name(self):
        for source in (
            {"tags": {"snapshots": {"\t": "x"}}},
            {"tags": {"snapshots": {"a": "x"}, "volumeTag": "\t"}},
            {"recoveryPoint": {"arn": " "}},
        ):
            body = {**FLEET, "source": source}
            with pytest.raises(InvalidRequestError):
                parsed(FleetRequest, body)
            assert not validator("fleet-request").is_valid(body), source

    def test_the_schema_takes_a_minimal_request(self):
        body = input_examples()["minimal-request"]
        validator("restore-request").validate(body)
        validator("restore-request").validate(parse_restore_request(body).to_json())

    def test_the_schema_names_every_selector(self):
        source = DOCUMENTS["restore-request.schema.json"]["$defs"]["Source"]
        assert [branch["required"] for branch in source["oneOf"]] == [[name] for name in SELECTORS]

    def test_a_definition_of_the_restore_request_is_written_once(self):
        lent = DOCUMENTS["restore-request.schema.json"]["$defs"]
        for name in ("fleet-request", "plan-result"):
            assert not set(DOCUMENTS[f"{name}.schema.json"]["$defs"]) & {"RestoreRequest", *lent}

    def test_what_the_request_refuses_the_documents_that_refer_to_it_refuse(self):
        fleet = {**FLEET, "target": {"instanceId": "none"}}
        assert [error.json_path for error in validator("fleet-request").iter_errors(fleet)] == ["$.target"]
        plan = {"request": {**REQUEST, "source": {"colour": "red"}}}
        assert "$.request.source" in [error.json_path for error in validator("plan-result").iter_errors(plan)]

    def test_needs_a_folder(self, capsys):
        assert main([]) == 2
        assert "usage" in capsys.readouterr().err

    def test_writes_every_document(self, tmp_path):
        assert main([str(tmp_path / "events")]) == 0
        assert {path.name for path in (tmp_path / "events").iterdir()} == set(DOCUMENTS)
