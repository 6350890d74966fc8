"""The dashboard as it is deployed: dashboard.yaml as the JSON text that CloudWatch takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local import ROOT, Json, yaml_text

_NAMED = re.compile(r"\$\{(\w+)[.}]")


def included(root: Path = ROOT) -> dict[str, Json]:
    """What template.yaml includes among the properties of the dashboard, by its logical id.

    CloudFormation fills in the names between braces. What names a resource of a part that can be left out is
    filled in as a whole, where the stack has the part. A folder without a dashboard includes nothing.
    """
    path = root / "dashboard.yaml"
    if not path.is_file():
        return {}
    body = yaml_text.loaded(path.read_text(encoding="utf-8"))
    more: Json = {}
    conditions = yaml_text.conditions(root)
    for widget in body["widgets"]:
        for name in {"alarms", "metrics"} & set(widget["properties"]):
            widget["properties"][name] = list(_gathered(widget["properties"][name], conditions, more))
    text = re.sub(r',\s*"<(\w+)>"', r"${\1}", json.dumps(body, indent=1))
    return {"Dashboard": {"DashboardBody": {"Fn::Sub": [text, more]}}}


def _gathered(items: list[Any], conditions: dict[str, str], more: Json) -> Iterator[Any]:
    """The items that are always there, and then one mark for all with the same condition."""
    found: dict[str, list[str]] = {}
    for item in items:
        text = json.dumps(item)
        (condition,) = {conditions.get(name, "") for name in _NAMED.findall(text)} or {""}
        if condition:
            found.setdefault(condition, []).append(text)
        else:
            yield item
    for condition, texts in found.items():
        mark = f"More{len(more)}"
        more[mark] = {"Fn::If": [condition, {"Fn::Sub": "".join(f", {text}" for text in texts)}, ""]}
        yield f"<{mark}>"
