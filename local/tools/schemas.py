"""Writes events/: the schemas and examples of requests and answers.

Usage: `python -m local.tools.schemas events/`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core.core_schema import DataclassSchema, NullableSchema, TupleSchema

from rewarm.contracts.answers import PerformanceRequest
from rewarm.contracts.base import Contract, JsonObject, parsed
from rewarm.contracts.benchmarks import (
    BenchmarkRequest,
    BenchmarkResult,
    BenchmarkTarget,
    Calibration,
    MeasuredFigure,
)
from rewarm.contracts.fleets import FleetRequest
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.plans import PlanResult
from rewarm.contracts.results import ReportResult
from rewarm.contracts.rules import parse_rule
from rewarm.domain.benchmark.benchmarks import PatternName
from rewarm.domain.time.calibration import FigureName

DRAFT = "https://json-schema.org/draft/2020-12/schema"
OF_EVERY_TYPE = {"enum", "const", "not", "anyOf", "oneOf", "allOf", "if", "$ref"}
"""Keywords that a null does not satisfy by being none of their types."""
SNAPSHOT_ID = "snap-0123456789abcdef0"
INSTANCE_ID = "i-0123456789abcdef0"

REQUEST: JsonObject = {
    "source": {"volumeId": "vol-0fedcba9876543210", "at": "latest"},
    "target": {"instanceId": INSTANCE_ID},
    "objective": {"readyWithinMinutes": 30, "maxCostUsd": 1},
}
FLEET: JsonObject = {
    "source": {
        "items": [
            {"source": {"volumeId": "vol-0fedcba9876543210"}, "target": {"instanceId": INSTANCE_ID}},
            {"source": {"snapshotId": SNAPSHOT_ID}},
        ]
    },
    "target": {"instanceId": INSTANCE_ID},
    "objective": {"readyWithinMinutes": 60},
}
RULE: JsonObject = {
    "match": {"volumeTags": {"ebs.csi.aws.com/cluster": "true"}, "sizeGibFrom": 20},
    "mode": "act",
    "objective": {"readyWithinMinutes": 60},
    "limits": {"maxUsdPerDay": 2, "maxAtOnce": 100},
}
ALARM: JsonObject = {
    "version": "0",
    "id": "c4c1c1c9-6542-e61b-6ef0-8c4d36933a92",
    "detail-type": "CloudWatch Alarm State Change",
    "source": "aws.cloudwatch",
    "account": "123456789012",
    "time": "2026-11-21T03:00:00Z",
    "region": "ap-northeast-1",
    "resources": ["arn:aws:cloudwatch:ap-northeast-1:123456789012:alarm:rewarm-orders-database"],
    "detail": {
        "alarmName": "rewarm-orders-database",
        "configuration": {"description": "The database's volume does not answer", "metrics": []},
        "previousState": {"value": "OK", "timestamp": "2026-11-21T02:59:00.000+0000"},
        "state": {
            "value": "ALARM",
            "reason": "Threshold Crossed",
            "reasonData": "{}",
            "timestamp": "2026-11-21T03:00:00.000+0000",
        },
    },
}


def request_examples() -> dict[str, Contract]:
    """Returns a valid request of each kind; the schema beside it is that of its class."""
    return {
        "restore-request": parse_restore_request(REQUEST),
        "performance-request": PerformanceRequest(iops=2_000),
        "fleet-request": parsed(FleetRequest, FLEET),
        "adoption-rule": parse_rule(RULE),
        "benchmark-request": BenchmarkRequest(
            instance_id=INSTANCE_ID,
            targets=[
                BenchmarkTarget(mount="/data"),
                BenchmarkTarget(mount="/efs", iops=5_000, throughput_mib_s=488),
            ],
            patterns=[PatternName.CACHE, PatternName.UPLOAD],
        ),
        "calibration": Calibration(
            measured_on="2026-11-23",
            region="ap-northeast-1",
            instance_type="m7g.large",
            volume_type="gp3",
            size_gib=4,
            figures={FigureName.CREATE: MeasuredFigure(value=2.1, low=1.6, high=2.6, observations=3)},
            reads_advance_progress=True,
        ),
    }


def input_examples() -> dict[str, JsonObject]:
    """Returns what starts an execution of `restore`, by the names of the files."""
    return {
        "minimal-request": {"source": {"snapshotId": SNAPSHOT_ID}, "target": {"instanceId": INSTANCE_ID}},
        "cloudwatch-alarm": ALARM,
        "scheduled-drill": {
            "request": {"source": {"alarm": "rewarm-orders-database"}, "drill": {}},
            # EventBridge Scheduler fills in the time. A run that it starts twice restores once.
            "trigger": {
                "kind": "schedule",
                "scheduleName": "monthly-drill",
                "scheduledAt": "<aws.scheduler.scheduled-time>",
            },
        },
    }


class WithoutFieldTitles(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of the fields' names; a domain's value is closed too.

    A pair of one type is a list of two: generators of clients make nothing of `prefixItems`.
    """

    def tuple_schema(self, schema: TupleSchema) -> JsonSchemaValue:
        """Returns the schema of a tuple."""
        made = super().tuple_schema(schema)
        items = made.get("prefixItems", [])
        if items and all(item == items[0] for item in items):
            made = {**made, "items": items[0]}
            del made["prefixItems"]
        return made

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        """Returns one schema with two types where its other keywords say nothing of null."""
        made = super().nullable_schema(schema)
        inner, *others = made.get("anyOf", [{}])
        is_plain = isinstance(inner.get("type"), str) and inner.keys().isdisjoint(OF_EVERY_TYPE)
        is_pair = others == [{"type": "null"}]
        return {**inner, "type": [inner["type"], "null"]} if is_pair and is_plain else made

    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        """Returns the schema of a domain's value, which the config of its contract closes."""
        return {**super().dataclass_schema(schema), "additionalProperties": False}

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Returns false for every field."""
        return False


def border_schema(model: type[Contract], *, mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Returns the schema of one model; `serialization` is for answers, `validation` for requests."""
    schema = model.model_json_schema(
        mode=mode, schema_generator=WithoutFieldTitles, union_format="primitive_type_array"
    )
    return {"$schema": DRAFT, **schema}


def answers() -> dict[str, type[Contract]]:
    """Returns the models of what leaves the product, by the names of their schemas."""
    return {
        "plan-result": PlanResult,
        "benchmark-result": BenchmarkResult,
        "report-result": ReportResult,
    }


def documents() -> dict[str, dict[str, Any]]:
    """Returns everything that belongs into events/, by the names of the files."""
    files: dict[str, dict[str, Any]] = {}
    for name, request in request_examples().items():
        files[f"{name}.schema.json"] = border_schema(type(request))
        files[f"{name}.json"] = request.to_json()
    for name, model in answers().items():
        files[f"{name}.schema.json"] = border_schema(model, mode="serialization")
    for name, value in input_examples().items():
        files[f"{name}.json"] = value
    for name in ("fleet-request", "plan-result"):
        _refer(files[f"{name}.schema.json"], "restore-request", files)
    return files


def _refer(schema: JsonObject, name: str, files: dict[str, dict[str, Any]]) -> None:
    """Refers to the definitions of `name` instead of repeating them, and drops what is then unused."""
    other = files[f"{name}.schema.json"]
    same = [one for one, known in other["$defs"].items() if schema["$defs"].get(one) == known]
    places = {other["title"]: "", **{one: f"#/$defs/{one}" for one in same}}
    text = json.dumps(schema)
    for one, place in places.items():
        text = text.replace(f'"#/$defs/{one}"', f'"{name}.schema.json{place}"')
    schema.update(json.loads(text))
    while unused := [one for one in schema["$defs"] if f'"#/$defs/{one}"' not in json.dumps(schema)]:
        for one in unused:
            del schema["$defs"][one]


def write(folder: Path) -> list[Path]:
    """Writes every document into `folder`, which is made if it is missing. Returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, document in sorted(documents().items()):
        path = folder / name
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def main(arguments: list[str], name: str = "schemas", write: Callable[[Path], object] = write) -> int:
    """Returns the exit status: 2 if no folder is named. `write` puts the files of the tool `name` there."""
    if len(arguments) != 1:
        sys.stderr.write(f"usage: python -m local.tools.{name} FOLDER\n")
        return 2
    write(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
