"""What to type while the embedded AWS stays up: every route of the API, as a script for a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping

from local import ROOT, Json
from local.tools.run.lab import ALARM
from local.tools.run.recording import RunRecord
from rewarm_cli.api import SERVICE

_AWSCURL = f"""\
awscurl() {{
  curl --silent --show-error --aws-sigv4 "aws:amz:$AWS_REGION:{SERVICE}" \\
    --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" -H content-type:application/json "$@"
  echo
}}
id_of() {{ sed -n "s/.*\\"$1\\": *\\"\\([^\\"]*\\)\\".*/\\1/p"; }}"""
"""The same calls as docs/operations.md has for a stack on AWS."""


def script(run: RunRecord, environment: Mapping[str, str], api_url: str) -> str:
    """Lines to paste in another shell (curl 7.88 or newer); the settings come first, then the calls."""
    exports = [f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items())]
    return "\n".join(
        [*exports, f"API_URL={shlex.quote(api_url)}", _AWSCURL, *_calls(run, environment["AWS_REGION"])]
    )


def _calls(run: RunRecord, region: str) -> Iterator[str]:
    first, request = run.restores[0], {**run.restores[-1].request, "dryRun": False}
    yield "\n# All restores, and the first one"
    yield _call("GET", "/restores")
    yield _call("GET", f"/restores/{first.restore_id}")
    yield "# A plan only, then the same restore, which asks before it begins; its approval and its cancel"
    yield _call("POST", "/plans", request)
    asking = {**request, "objective": {**request.get("objective", {}), "approveAboveUsd": 0}}
    yield _call_for_id("restoreId", "/restores", asking)
    yield _call("GET", "/restores/$id")
    yield _call("POST", "/restores/$id/approve")
    yield _call("DELETE", "/restores/$id")
    yield "# What rewinds have overwritten, and the end of one such log"
    yield _call("GET", "/undo-logs")
    yield _call("DELETE", f"/undo-logs/{first.restore_id}")
    yield "# All fleets; the plan of one, the fleet itself, its cancel, and then what is not ready once more"
    yield _call("GET", "/fleets")
    fleet = {"source": {"items": [{"source": request["source"]}]}, "target": request["target"]}
    yield _call("POST", "/fleets/plans", fleet)
    yield _call_for_id("fleetId", "/fleets", fleet)
    yield _call("GET", "/fleets/$id")
    yield _call("DELETE", "/fleets/$id")
    yield _call("POST", "/fleets/$id/redrive")
    for volume_id in run.delivered[:1]:
        yield "# The restored volume's performance, and fio on it"
        yield _call("GET", f"/volumes/{volume_id}/performance")
        yield _call("POST", f"/volumes/{volume_id}/performance", {"throughputMibS": 250})
        benchmark = {"instanceId": request["target"]["instanceId"], "targets": [{"volumeId": volume_id}]}
        yield _call_for_id("benchmarkId", "/benchmarks", benchmark)
        yield _call("GET", "/benchmarks/$id")
    yield "# What estimates rest on, and a calibration that changes it"
    yield _call("GET", "/calibration")
    calibration = json.loads((ROOT / "events" / "calibration.json").read_text(encoding="utf-8"))
    yield _call("PUT", "/calibration", {**calibration, "region": region})
    yield _call("PUT", "/calibrations/calibration-0123456789abcdef", {"volumeIds": [], "snapshotIds": []})
    yield "# All runbooks, and the alarm's"
    yield _call("GET", "/runbooks")
    yield _call("GET", f"/runbooks/{ALARM}")
    yield _call("PUT", f"/runbooks/{ALARM}", first.request)
    yield _call("DELETE", f"/runbooks/{ALARM}")


def _call(method: str, path: str, body: Json | None = None) -> str:
    words = ["awscurl", *([] if method == "GET" else ["-X", method]), f'"$API_URL{path}"']
    return " ".join([*words, *([] if body is None else ["-d", shlex.quote(json.dumps(body))])])


def _call_for_id(name: str, path: str, body: Json) -> str:
    """Keeps the id of what it starts as $id for the calls after it."""
    return f'id=$({_call("POST", path, body)} | id_of {name}); echo "$id"'
