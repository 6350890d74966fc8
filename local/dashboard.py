"""The dashboard as it is deployed: dashboard.yaml as the JSON text that CloudWatch takes."""

from __future__ import annotations

import json
from pathlib import Path

from local import ROOT, Json, yaml_text


def included(root: Path = ROOT) -> dict[str, Json]:
    """What template.yaml includes among the properties of the dashboard, by its logical id.

    CloudFormation fills in the names between braces. A folder without a dashboard includes nothing.
    """
    path = root / "dashboard.yaml"
    if not path.is_file():
        return {}
    body = yaml_text.loaded(path.read_text(encoding="utf-8"))
    return {"Dashboard": {"DashboardBody": {"Fn::Sub": json.dumps(body, indent=1)}}}
