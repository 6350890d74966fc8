"""A stack's API on this machine, as `rewarm` meets it: routes, problem details, pages, long polls."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from local.aws.front import signatures
from local.aws.front.addresses import Place
from local.aws.front.listener import HttpRequest
from local.aws.front.signatures import AccessKey, SignatureError
from tests.support.loopback import Loopback, QuietHandler

Json = dict[str, Any]
MOST_WAIT_SECONDS = 20.0
_RATED = {
    "strategy": "provisioned-rate", "initializationRateMibS": 100, "readyP90At": "2026-11-22T10:40:00Z",
    "costUsd": "0.25",
}  # fmt: skip
FLEET_PLAN: Json = {
    "restoreCount": 3,
    "volumeCount": 4,
    "volumes": [
        _RATED,
        {**_RATED, "readyP90At": "2026-11-22T10:50:00Z"},
        {**_RATED, "strategy": "background", "costUsd": "0"},
    ],
    "unplanned": [{"volumeCount": 1, "reason": "EC2 shows no snap-9"}],
    "summary": {
        "why": "3 volumes: 2 x provisioned-rate, 1 x background.",
        "readyP90At": "2026-11-22T10:50:00Z",
        "deadlineMissed": True,
        "totalCostUsd": "0.5",
        "notes": ["Prices more than 90 days old."],
    },
}
"""What POST /fleets/plans answers."""


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    body: Json | None
    headers: dict[str, str]


class RefusedError(Exception):
    """An answer with problem details (RFC 9457)."""

    def __init__(self, status: int, name: str, detail: str, *errors: Json, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.body = {"type": "about:blank", "title": name, "status": status, "detail": detail, "error": name,
                     "errors": list(errors), **more}  # fmt: skip


@dataclass
class StackApi:
    """Restores and runbooks in memory; `before` may refuse any call, `answers` overrides a route."""

    restores: dict[str, Json] = field(default_factory=dict)
    runbooks: dict[str, Json] = field(default_factory=dict)
    rules: dict[str, Json] = field(default_factory=dict)
    fleets: dict[str, Json] = field(default_factory=dict)
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    leases: list[Json] = field(default_factory=list)
    """Of calibrations; `now` is the time of this side's clock."""
    now: Callable[[], float] = time.time
    calls: list[Call] = field(default_factory=list)
    before: Callable[[Call], None] = lambda _call: None
    changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, record: Json) -> None:
        """Store a restore's record; who waits for its news gets them."""
        with self.changed:
            known = self.restores.get(record["restoreId"], {"version": "0"})
            self.restores[record["restoreId"]] = {**record, "version": str(int(known["version"]) + 1)}
            self.changed.notify_all()

    def answer(self, call: Call) -> tuple[int, Any]:
        """Status and body of the answer."""
        self.calls.append(call)
        self.before(call)
        if (call.method, call.path) in self.answers:
            return self.answers[call.method, call.path]
        kind, _, name = call.path.removeprefix("/").partition("/")
        route = getattr(self, f"_{call.method.lower()}_{kind}", None)
        if route is None:
            raise RefusedError(404, "RouteNotFoundError", f"there is no {call.method} {call.path}")
        return route(call, unquote(name))

    def _put_calibrations(self, call: Call, name: str) -> tuple[int, Json]:
        before = next((one for one in self.leases if one["calibrationId"] == name), None)
        times = {"startedAt": self._stamp(0) if before is None else before["startedAt"]}
        lease = {"calibrationId": name, **(call.body or {}), **times, "expiresAt": self._stamp(1_200)}
        self.leases[:] = [lease, *(one for one in self.leases if one is not before)]
        return 200, lease

    def _stamp(self, seconds: float) -> str:
        return datetime.fromtimestamp(self.now() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _get_restores(self, call: Call, name: str) -> tuple[int, Json]:
        if not name:
            about = call.query.get("volumeId", "")
            found = [one for one in reversed(self.restores.values()) if about in json.dumps(one)]
            return 200, self._page("restores", found, call)
        if name not in self.restores:
            raise RefusedError(404, "RestoreNotFoundError", f"there is no restore {name}")
        with self.changed:
            if "version" in call.query:
                seconds = min(float(call.query["wait"]), MOST_WAIT_SECONDS)
                known = call.query["version"]
                self.changed.wait_for(lambda: self.restores[name]["version"] != known, seconds)
            return 200, self.restores[name]

    def _post_restores(self, call: Call, name: str) -> tuple[int, Json]:
        if name.endswith("/approve"):
            return self._approve(call, name.removesuffix("/approve"))
        restore_id = f"restore-{len(self.restores) + 1}"
        self.put({"restoreId": restore_id, "status": "accepted", "request": call.body, "volumes": []})
        return 202, {"restoreId": restore_id, "status": "accepted"}

    def _approve(self, call: Call, name: str) -> tuple[int, Json]:
        record = self.restores[name]
        approval = record.get("approval") or {}
        if not approval or call.query.get("askedAt") != approval["askedAt"]:
            raise RefusedError(409, "NotAwaitingApprovalError", f"{name} does not wait for an approval")
        approval = {**approval, "approvedAt": "2026-11-22T10:02:00Z", "by": "alice"}
        self.put({**record, "approval": approval})
        return 202, {"restoreId": name, "status": record["status"], "approval": approval}

    def _delete_restores(self, _call: Call, name: str) -> tuple[int, Json]:
        record = self.restores[name]
        if record["status"] in {"ready", "failed", "cancelled"}:
            raise RefusedError(409, "RestoreEndedError", f"{name} has ended: it is {record['status']}")
        self.put({**record, "status": "cancelled"})
        return 202, {"restoreId": name, "status": record["status"], "cancelRequested": True}

    def _post_fleets(self, call: Call, name: str) -> tuple[int, Json]:
        if name == "plans":
            return 200, FLEET_PLAN
        fleet_id = name.removesuffix("/redrive") or f"fleet-{len(self.fleets) + 1}"
        run = self.fleets.get(fleet_id, {"run": 0})["run"] + 1
        progress = {"volumeCount": 2, "counts": {"waiting": 2}, "eta": None, "slowest": [], "failed": []}
        self.fleets[fleet_id] = {
            "fleetId": fleet_id, "status": "accepted", "startedAt": "2026-11-22T10:00:00Z",
            "finishedAt": None, "run": run, "restoreCount": 1, "progress": progress, "failure": None,
            "reportUrl": None, "volumeCount": 2, "request": call.body,
        }  # fmt: skip
        return 202, {"fleetId": fleet_id, "status": "accepted", "run": run}

    def _get_fleets(self, call: Call, name: str) -> tuple[int, Json]:
        if not name:
            return 200, self._page("fleets", list(reversed(self.fleets.values())), call)
        if name not in self.fleets:
            raise RefusedError(404, "FleetNotFoundError", f"there is no fleet {name}")
        return 200, self.fleets[name]

    def _delete_fleets(self, _call: Call, name: str) -> tuple[int, Json]:
        self.fleets[name]["status"] = "cancelled"
        return 202, {"fleetId": name, "status": "restoring", "cancelRequested": True}

    def _get_runbooks(self, call: Call, name: str) -> tuple[int, Json]:
        if name:
            if name not in self.runbooks:
                raise RefusedError(404, "RunbookNotFoundError", f"the alarm {name} has no runbook")
            return 200, {"alarmName": name, "request": self.runbooks[name], "drills": []}
        found = [{"alarmName": alarm, "updatedAt": "2026-11-22T10:00:00Z", "runbook": runbook}
                 for alarm, runbook in self.runbooks.items()]  # fmt: skip
        return 200, self._page("runbooks", found, call)

    def _put_runbooks(self, call: Call, name: str) -> tuple[int, Json]:
        self._compare(call, self.runbooks.get(name), call.body or {})
        self.runbooks[name] = call.body or {}
        return 200, {"alarmName": name, "request": call.body}

    def _compare(self, call: Call, stored: Json | None, wanted: Json) -> None:
        """Refuses to replace what the caller has not seen."""
        version = hashlib.sha256(json.dumps(stored).encode()).hexdigest()[:16]
        if stored not in (None, wanted) and call.query.get("replaces") not in (None, version):
            both = {"stored": stored, "wanted": wanted, "version": version}
            raise RefusedError(409, "AlreadyStoredError", "another one is stored already", **both)

    def _delete_runbooks(self, _call: Call, name: str) -> tuple[int, Json]:
        del self.runbooks[name]
        return 200, {"alarmName": name, "deleted": True}

    def _get_rules(self, call: Call, name: str) -> tuple[int, Json]:
        if name and name not in self.rules:
            raise RefusedError(404, "RuleNotFoundError", f"there is no rule {name}")
        if name:
            return 200, {"name": name, "rule": self.rules[name], "updatedAt": "2026-11-22T10:00:00Z"}
        found = [{"name": name, "updatedAt": "2026-11-22T10:00:00Z", "rule": rule}
                 for name, rule in self.rules.items()]  # fmt: skip
        return 200, self._page("rules", found, call)

    def _put_rules(self, call: Call, name: str) -> tuple[int, Json]:
        rule = {"mode": "observe", **(call.body or {})}
        self._compare(call, self.rules.get(name), rule)
        self.rules[name] = rule
        return self._get_rules(call, name)

    def _delete_rules(self, _call: Call, name: str) -> tuple[int, Json]:
        del self.rules[name]
        return 200, {"name": name, "deleted": True}

    def _page(self, name: str, found: list[Json], call: Call) -> Json:
        begin = int(call.query.get("nextToken", 0))
        end = begin + int(call.query.get("limit", 100))
        chosen = [item for item in found if call.query.get("status") in {None, item.get("status")}]
        return {name: chosen[begin:end], "nextToken": str(end) if end < len(chosen) else None}


KEY_ID, SECRET = "123456789012", "test"
"""The access key with which the tests' commands sign."""


def check_signature(sent: BaseHTTPRequestHandler, body: bytes) -> None:
    """Refuses what AWS would: it decodes path and query, and encodes them again in its way.

    A page of a restore is for everybody who has its link. Of other keys than the usual one nobody knows the
    secret here.
    """
    path, _, query = sent.path.partition("?")
    headers = tuple((name.lower(), value) for name, value in sent.headers.items())
    request = HttpRequest(sent.command, path, query, headers, body)
    scope = request.header("authorization").partition("Credential=")[2].split("/")
    if scope[0] != KEY_ID:
        return
    place = Place("execute-api", scope[2], api_id="api")
    token = request.header("x-amz-security-token")
    try:
        signatures.check(request, place, lambda name: AccessKey(name, SECRET, name, token), datetime.now(UTC))
    except SignatureError as error:
        raise RefusedError(403, "INVALID_SIGNATURE", f"{error.fault.name}: {error}") from error


class Served(Loopback):
    """The API at an address on loopback."""

    def __init__(self, api: StackApi) -> None:
        class Handler(QuietHandler):
            def answer(self) -> None:
                asked = urlsplit(self.path)
                body = self.body()
                call = Call(
                    method=self.command,
                    path=asked.path.removeprefix("/v1"),
                    query={name: values[0] for name, values in parse_qs(asked.query).items()},
                    body=json.loads(body) if body else None,
                    headers={name.lower(): value for name, value in self.headers.items()},
                )
                try:
                    check_signature(self, body)
                    status, content = api.answer(call)
                    kind = "application/json"
                except RefusedError as refusal:
                    status, content, kind = refusal.status, refusal.body, "application/problem+json"
                sent = content.encode() if isinstance(content, str) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                if status in {429, 503}:
                    self.send_header("Retry-After", "150")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_POST = do_PUT = do_DELETE = answer

        super().__init__(Handler, "/v1")
