"""What a cold start imports: each handler in a process of its own, which none of the others has warmed up."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from local.tools.bench.checks.imports import environment, handlers
from tests.support.tree import ROOT

ONLY_FOR = {
    "matplotlib": (), "numpy": (), "jinja2": (), "rewarm.charts": (), "rewarm.page": (), "moto": (),
    "rewarm.restore_page": ("report", "report_fleet", "sweep"),
    "rewarm.steps.report.report": ("report", "sweep"),
    "aws_lambda_powertools.event_handler": ("api",),
    "aws_lambda_powertools.utilities.idempotency": ("api",),
}  # fmt: skip
"""Modules that take long to import or are of no use, and the handlers that need them at once."""
MADE_LATER = {"cloudformation", "kms", "pricing", "service-quotas"}
"""Services that few cold starts ask, by botocore's names: their clients are made at their first call."""
MOST_IMPORTED = {
    "sweep": 122, "prepare_fleet": 103, "choose_strategy": 97, "clean_up": 79, "rewind": 75, "announce": 66,
    "select_snapshot": 75, "create_volume": 48, "check_approval": 45, "load_plan": 42,
    "report": 74, "release_target": 30, "public": 25, "api": 22, "rules": 44,
}  # fmt: skip
"""Function -> modules of this project that its cold start imports, packages not counted."""
MOST_OF_OTHERS = 67
EACH = """
import gc, importlib, json, os, sys
import aws_lambda_powertools, boto3, botocore.client, pydantic
boto3.client("ec2"), boto3.client("dynamodb")
gc.freeze()
collections = []
gc.callbacks.append(lambda phase, found: collections.append(found["generation"]))
for name in json.loads(sys.argv[1]):
    if (child := os.fork()) == 0:
        collections.clear()
        getattr(importlib.import_module("rewarm.runtime"), name)
        objects = gc.get_objects()
        clients = [one for one in objects if issubclass(type(one), botocore.client.BaseClient)]
        services = sorted({client.meta.service_model.service_name for client in clients})
        types = [one for one in objects if isinstance(one, type)]
        models = [one for one in types if issubclass(one, pydantic.BaseModel) and one.model_fields]
        built = sorted(one.__name__ for one in models if one.__pydantic_complete__)
        found = {"collections": len(collections), "modules": sorted(sys.modules), "services": services}
        print(json.dumps({"handler": name, "built": built, **found}))
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""


@pytest.fixture(scope="module")
def imported():
    """Handler -> what its import did."""
    said = subprocess.run(
        [sys.executable, "-c", EACH, json.dumps(handlers())],
        cwd=ROOT,
        env={**environment(), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    found = [json.loads(line) for line in said.stdout.splitlines()]
    return {one["handler"]: one for one in found}


def test_no_handler_imports_what_it_does_not_need_at_once(imported):
    extra = {
        (handler, module)
        for handler, one in imported.items()
        for module in set(one["modules"]) & set(ONLY_FOR)
        if handler not in ONLY_FOR[module]
    }
    assert extra == set()


def test_nothing_is_collected_while_a_handler_is_imported(imported):
    """Nothing could be: what an import makes stays."""
    assert {handler: one["collections"] for handler, one in imported.items() if one["collections"]} == {}


def test_no_contract_is_built_while_a_handler_is_imported(imported):
    """A default that is an instance would: pydantic makes a validator for it."""
    assert {handler: one["built"] for handler, one in imported.items() if one["built"]} == {}


def test_clients_of_services_that_few_cold_starts_ask_are_made_later(imported):
    made = {handler: MADE_LATER & set(one["services"]) for handler, one in imported.items()}
    assert {handler: services for handler, services in made.items() if services} == {}


def test_a_handler_imports_few_modules(imported):
    for handler, one in imported.items():
        paths = [ROOT / "functions" / f"{name.replace('.', '/')}.py" for name in one["modules"]]
        own = sum(path.is_file() for path in paths)
        most = MOST_IMPORTED.get(handler, MOST_OF_OTHERS)
        assert own <= most, f"{handler} imports {own} modules, and at most {most} are allowed"
        assert handler not in MOST_IMPORTED or most <= own + 5, f"{handler} imports {own}; lower the limit"
