"""What a cold start imports: each handler in a process of its own, which none of the others has warmed up.

What most of them have in common, contracts and rules, is imported before that, and looked at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from local.tools.bench.imports import environment, handlers
from tests.support.tree import ROOT

ONLY_FOR = {
    "matplotlib": (), "numpy": (), "jinja2": (), "rewarm.charts": (), "rewarm.page": (), "rewarm.schemas": (),
    "rewarm.openapi": (), "moto": (),
    "rewarm.restore_page": ("report", "report_fleet", "sweep", "public"),
    "rewarm.steps.report.report": ("report", "sweep"),
    "aws_lambda_powertools.event_handler": ("api",),
    "aws_lambda_powertools.utilities.idempotency": ("api",),
}  # fmt: skip
"""Modules that take long to import or are of no use, and the handlers that need them at once."""
EACH = """
import gc, importlib, json, os, pathlib, sys
import aws_lambda_powertools, boto3, pydantic, rewarm
boto3.client("ec2"), boto3.client("dynamodb")
folder = pathlib.Path(rewarm.__file__).parent
common = [*folder.glob("contracts/[!_]*.py"), *folder.glob("domain/*/[!_]*.py")]
for module in common:
    importlib.import_module(f"rewarm.{'.'.join(module.relative_to(folder).with_suffix('').parts)}")
collections = []
gc.callbacks.append(lambda phase, found: collections.append(found["generation"]))
for name in json.loads(sys.argv[1]):
    if (child := os.fork()) == 0:
        collections.clear()
        getattr(importlib.import_module("rewarm.runtime"), name)
        print(json.dumps({"handler": name, "collections": len(collections), "modules": sorted(sys.modules)}))
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
