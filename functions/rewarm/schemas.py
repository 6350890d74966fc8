"""Writes events/: the schemas and examples of requests and answers, and one schema of all steps' events.

Usage: `python -m rewarm.schemas events/`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from rewarm import contracts
from rewarm.contracts.base import Contract, StepEvent
from rewarm.contracts.benchmarks import BenchmarkResult
from rewarm.contracts.plans import PlanResult
from rewarm.examples import input_examples, request_examples

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class _WithoutFieldTitles(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of the fields' names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Returns false for every field."""
        return False


def border_schema(model: type[Contract], *, mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Returns the schema of one model; `serialization` is for answers, `validation` for requests."""
    return {"$schema": DRAFT, **model.model_json_schema(by_alias=True, mode=mode)}


def answers() -> dict[str, type[Contract]]:
    """Returns the models of what leaves the product, by the names of their schemas."""
    return {
        "plan-result": PlanResult,
        "benchmark-result": BenchmarkResult,
        "report-result": contracts.ReportResult,
    }


def step_models() -> list[type[Contract]]:
    """Returns the event and the result of every step, sorted by name."""
    models = {model for model in vars(contracts).values() if isinstance(model, type)}
    steps = {model for model in models if issubclass(model, StepEvent) or model.__name__.endswith("Result")}
    return sorted(steps - {*answers().values()}, key=lambda model: model.__name__)


def internal_schema() -> dict[str, Any]:
    """Returns one document whose `$defs` hold every event and result of a step, and what they share."""
    _, document = models_json_schema(
        [(model, "validation") for model in step_models()], schema_generator=_WithoutFieldTitles
    )
    return {"$schema": DRAFT, **document}


def documents() -> dict[str, dict[str, Any]]:
    """Returns everything that belongs into events/, by the names of the files."""
    files: dict[str, dict[str, Any]] = {"internal.schema.json": internal_schema()}
    for name, request in request_examples().items():
        files[f"{name}.schema.json"] = border_schema(type(request))
        files[f"{name}.json"] = request.to_json()
    for name, model in answers().items():
        files[f"{name}.schema.json"] = border_schema(model, mode="serialization")
    for name, value in input_examples().items():
        files[f"{name}.json"] = value
    return files


def write(folder: Path) -> list[Path]:
    """Writes every document into `folder`, which is made if it is missing. Returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, document in sorted(documents().items()):
        path = folder / name
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def main(arguments: list[str]) -> int:
    """Returns the exit status: 2 if no folder is named."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m rewarm.schemas FOLDER\n")
        return 2
    write(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
