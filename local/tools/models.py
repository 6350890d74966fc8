"""Writes functions/rewarm/adapters/models: of botocore's models, the operations that the functions call.

A client of EC2 has 800 methods, of which the functions call some fifty. To read the models of all operations
of a cold start's clients, and to make their methods, took a sixth of the cold start. botocore's list of
endpoints is read with the first client. It has 300 services, of which ours stay.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore import xform_name
from botocore.loaders import Loader

from local import ROOT

Json = dict[str, Any]
MODELS = ROOT / "functions" / "rewarm" / "adapters" / "models"
SERVICES = (
    "cloudformation", "cloudtrail", "cloudwatch", "dynamodb", "ebs", "ec2", "events", "kms", "pricing", "s3",
    "secretsmanager", "service-quotas", "sns", "ssm", "stepfunctions",
)  # fmt: skip
"""Whose clients the functions make."""
_CALLED_BY_PACKAGES = {
    "create_multipart_upload", "upload_part", "complete_multipart_upload", "abort_multipart_upload",
    "head_bucket", "delete_item",
}  # fmt: skip
"""By boto3 for uploads, by botocore for a bucket in another Region, and by Powertools' idempotency."""


def texts() -> Iterator[tuple[Path, str]]:
    """Yields each file with its text, a line for each operation, shape, field and service."""
    loader, names, prefixes = Loader(), called(), set()
    for service in SERVICES:
        version = loader.determine_latest_version(service, "service-2")
        model = smaller(loader.load_service_model(service, "service-2", version), names)
        prefixes.add(model["metadata"]["endpointPrefix"])
        yield MODELS / service / version / "service-2.json", _text(model)
    yield MODELS / "endpoints.json", _text(fewer_endpoints(loader.load_data("endpoints"), prefixes))


def fewer_endpoints(endpoints: Json, prefixes: set[str]) -> Json:
    """All partitions and Regions, with the services of these prefixes."""
    partitions = []
    for partition in endpoints["partitions"]:
        services = {name: own for name, own in partition["services"].items() if name in prefixes}
        partitions.append({**partition, "services": services})
    return {**endpoints, "partitions": partitions}


def _text(model: Json) -> str:
    return re.sub(r'(?<=}),(?="[\w.-]+":{)', ",\n", json.dumps(model, separators=(",", ":"))) + "\n"


def called() -> set[str]:
    """Every attribute and every text in the adapters: a paginator and a signature name their operation."""
    names = set(_CALLED_BY_PACKAGES)
    for path in (ROOT / "functions" / "rewarm" / "adapters").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
    return names


def smaller(model: Json, names: set[str]) -> Json:
    """The operations of these names with the shapes that they need, and no documentation."""
    operations = {name: own for name, own in model["operations"].items() if xform_name(name) in names}
    wanted, shapes = list(_shapes_of(operations)), set()
    while wanted:
        shape = wanted.pop()
        if shape not in shapes:
            shapes.add(shape)
            wanted.extend(_shapes_of(model["shapes"][shape]))
    kept = {name: own for name, own in model["shapes"].items() if name in shapes}
    rest = {name: part for name, part in model.items() if name != "documentation"}
    return {**rest, "operations": _undocumented(operations), "shapes": _undocumented(kept)}


def _shapes_of(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for entry in part:
            yield from _shapes_of(entry)
    elif isinstance(part, dict):
        if isinstance(part.get("shape"), str):
            yield part["shape"]
        for entry in part.values():
            yield from _shapes_of(entry)


def _undocumented(part: Any) -> Any:
    if isinstance(part, list):
        return [_undocumented(entry) for entry in part]
    if not isinstance(part, dict):
        return part
    kept = {name: entry for name, entry in part.items() if name != "documentation" or isinstance(entry, dict)}
    return {name: _undocumented(entry) for name, entry in kept.items()}


if __name__ == "__main__":
    for file, text in texts():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
