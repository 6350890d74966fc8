"""The REST API, with API Gateway's own events, steps on fakes and idempotency on DynamoDB."""

from __future__ import annotations

import ast
import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, quote
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from local.tools.openapi import document
from rewarm.domain import errors
from rewarm.steps.request import routes
from tests.support.builders import (
    INSTANCE_ID,
    RESTORE_ID,
    SNAPSHOT_ID,
    TO_INSTANCE,
    TO_ZONE,
    VOLUME_ID,
    World,
)
from tests.support.tree import ROOT
from tests.support.wired import use
from tests.unit.handlers.conftest import Context

Json = dict[str, Any]
FUNCTIONS = Path(__file__).parents[4] / "functions"
PORTS = (
    "snapshots", "instances", "volumes", "artifacts", "fast_restores", "prices", "quotas", "table",
    "executions",
)  # fmt: skip
DOCUMENT = document()
LEGAL_NAMES = [
    f"rewarm-{rest}"
    for rest in [
        "a#b",
        'say "it"',
        "really?",
        "a\\b",
        "a`b",
        "a—b",
        "🔥",
        "a/b",
        "a//b/",
        "100%",
        "a%41",
        " ",
        "ß",
    ]
]
ROUTES = [
    (re.sub(r"\{\w+\}", ".+" if "alarmName" in path else "[^/]+", path), path) for path in DOCUMENT["paths"]
]


class Api:
    """A client of the handler."""

    def __init__(self, module: ModuleType, world: World, context: Context) -> None:
        self.module, self.world, self.context = module, world, context

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Json]:
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        answer = self.module.lambda_handler(event(method, path, text, headers), self.context)
        body = json.loads(answer["body"])
        check(method, path, answer["statusCode"], answer["multiValueHeaders"]["Content-Type"], body)
        return answer["statusCode"], body


def check(method: str, path: str, status: int, content_type: list[str], body: Json) -> None:
    """Whether docs/openapi.json has this answer."""
    assert content_type == ["application/problem+json" if status >= 400 else "application/json"]
    name = next((name for pattern, name in ROUTES if re.fullmatch(pattern, path.partition("?")[0])), None)
    operation = DOCUMENT["paths"].get(name, {}).get(method.lower())
    if operation is None:
        assert status in (404, 405)
        schema = {"$ref": "#/components/schemas/Problem"}
    else:
        (media,) = (operation["responses"][str(status)]["content"][kind] for kind in content_type)
        schema = media["schema"]
    validator(schema["$ref"]).validate(body)
    if status >= 400:
        assert (body["status"], body["detail"]) == (status, body["message"])
        assert body["field"] == (body["errors"][0]["field"] if body["errors"] else None)


@cache
def validator(reference: str) -> Draft202012Validator:
    whole = {"$ref": reference, "components": DOCUMENT["components"]}
    return Draft202012Validator(whole, format_checker=FormatChecker())


CALLER = "arn:aws:sts::123456789012:assumed-role/Operator/alice"


def event(method: str, path: str, body: str | None, headers: dict[str, str]) -> Json:
    """A REST API's proxy event (API Gateway developer guide, "Lambda proxy integrations")."""
    path, _, query = path.partition("?")
    asked = parse_qs(query, keep_blank_values=True)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {
        "resource": path, "path": path, "httpMethod": method,
        "headers": {"Content-Type": "application/json", **named},
        "multiValueHeaders": {name: [value] for name, value in named.items()},
        "queryStringParameters": {name: values[-1] for name, values in asked.items()} or None,
        "multiValueQueryStringParameters": asked or None, "pathParameters": None,
        "stageVariables": None, "body": body, "isBase64Encoded": False,
        "requestContext": {
            "accountId": "123456789012", "apiId": "api", "httpMethod": method, "path": f"/v1{path}",
            "stage": "v1",
            "requestId": "request", "extendedRequestId": "JKJaXmPLvHcESHA=",
            "resourcePath": re.sub("(?<=^/restores/)[^/]+", "{restoreId}", path),
            "identity": {"sourceIp": "192.0.2.1", "userArn": CALLER},
        },
    }  # fmt: skip


@pytest.fixture
def api(warm: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context) -> Api:
    module, world = warm("api"), World()
    ports = {port: getattr(world, port) for port in PORTS}
    use(monkeypatch, module, **ports, keeper=world.keeper(per_instance=2))
    return Api(module, world, context)


VOLUME_PERFORMANCE = "/volumes/vol-0123456789abcdef0/performance"
BODY_ROUTES = [
    ("POST", "/restores"), ("POST", "/plans"), ("POST", "/benchmarks"), ("POST", VOLUME_PERFORMANCE),
    ("PUT", "/runbooks/rewarm-orders"), ("PUT", "/calibration"),
]  # fmt: skip


class TestBody:
    @pytest.mark.parametrize(("method", "path"), BODY_ROUTES)
    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (None, "is empty; send a JSON object"), ("", "is empty; send a JSON object"),
            (" \n", "is empty; send a JSON object"), ("{", "is not JSON: "), ("{'a': 1}", "is not JSON: "),
            ("[]", "found []; allowed is a JSON object"), ("null", "found null; allowed is a JSON object"),
            ('"text"', 'found "text"; allowed is a JSON object'),
            ("[" * 100_000, "is nested too deeply"),
        ],
    )  # fmt: skip
    def test_a_body_that_is_no_object_has_its_reason(
        self, api: Api, method: str, path: str, body: str | None, reason: str
    ) -> None:
        status, answer = api.call(method, path, body)
        assert status == 400
        assert (answer["error"], answer["field"]) == ("InvalidRequestError", "request")
        assert answer["message"].startswith(f"request: {reason}")

    @pytest.mark.parametrize(
        ("route", "body", "field"),
        [
            (0, {"source": 'a "snapshot"', "target": {}}, "source"),
            (1, {"source": [], "target": {}}, "source"),
            (2, {"instanceId": INSTANCE_ID, "targets": 3, "patterns": ["upload"]}, "targets"),
            (3, {"iops": 4_000, "notify": "me"}, "notify"), (4, {**TO_ZONE, "target": "here"}, "target"),
        ],
    )  # fmt: skip
    def test_a_field_of_another_type_is_named(self, api: Api, route: int, body: Json, field: str) -> None:
        status, answer = api.call(*BODY_ROUTES[route], body)
        assert (status, answer["error"], answer["field"]) == (400, "InvalidRequestError", field)


class TestStart:
    def test_accepts_and_starts(self, api: Api) -> None:
        status, body = api.call("POST", "/restores", TO_INSTANCE)
        assert status == 202
        assert body["restoreId"].startswith("restore-")
        assert len(body["restoreId"]) == len("restore-") + 16
        assert api.world.table.get(body["restoreId"])
        assert body["links"]["self"] == f"/restores/{body['restoreId']}"

    def test_a_device_that_another_restore_has_is_a_conflict_that_names_it(self, api: Api) -> None:
        to_device = {**TO_INSTANCE, "target": {**TO_INSTANCE["target"], "device": "/dev/sdf"}}
        _, first = api.call("POST", "/restores", to_device)
        status, answer = api.call("POST", "/restores", to_device)
        assert (status, answer["error"], answer["field"]) == (409, "TargetBusyError", "target.device")
        assert answer["heldBy"] == first["restoreId"]
        assert first["restoreId"] in answer["message"]
        assert len(api.world.executions.started) == 1

    def test_too_many_on_an_instance_are_told_to_come_later(self, api: Api) -> None:
        running = [api.call("POST", "/restores", TO_INSTANCE)[1]["restoreId"] for _ in range(2)]
        answer = api.module.lambda_handler(
            event("POST", "/restores", json.dumps(TO_INSTANCE), {}), api.context
        )
        body = json.loads(answer["body"])
        assert (answer["statusCode"], body["error"]) == (429, "TooManyRestoresError")
        assert sorted(body["running"]) == sorted(running)
        assert answer["multiValueHeaders"]["Retry-After"] == ["60"]

    def test_a_body_in_base64_is_a_body(self, api: Api) -> None:
        told = event("POST", "/restores", base64.b64encode(json.dumps(TO_ZONE).encode()).decode(), {})
        told["isBase64Encoded"] = True
        assert api.module.lambda_handler(told, api.context)["statusCode"] == 202

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ("not json", "request"), ("[]", "request"), ("", "request"), (None, "request"),
            ({"source": {}, "target": {"instanceId": INSTANCE_ID}}, "source"),
            ({**TO_INSTANCE, "sauce": 1}, "sauce"),
            ({**TO_INSTANCE, "objective": {"readyWithinMinutes": 0}}, "objective.readyWithinMinutes"),
            ({**TO_INSTANCE, "objective": {"maxCostUsd": "1e999999"}}, "objective.maxCostUsd"),
            ({**TO_INSTANCE, "verify": {"maxP99Ms": 1e-300}}, "verify.maxP99Ms"),
        ],
    )  # fmt: skip
    def test_a_bad_request_names_the_field(self, api: Api, body: Any, field: str) -> None:
        status, answer = api.call("POST", "/restores", body)
        assert (status, answer["error"], answer["field"]) == (400, "InvalidRequestError", field)
        assert answer["message"]

    def test_a_snapshot_that_is_not_there(self, api: Api) -> None:
        missing = {**TO_INSTANCE, "source": {"snapshotId": "snap-00000000000000000"}}
        status, answer = api.call("POST", "/restores", missing)
        assert (status, answer["error"]) == (404, "SnapshotNotFoundError")

    def test_an_unmodelled_failure_is_a_failure(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: Any, **__: Any) -> Json:
            raise KeyError("bug")

        monkeypatch.setattr(routes, "start_restore", broken)
        with pytest.raises(KeyError):
            api.call("POST", "/restores", TO_INSTANCE)


class TestIdempotency:
    def test_the_same_key_and_request_start_one_restore(self, api: Api) -> None:
        first = api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k1")
        second = api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k1")
        assert first == second
        assert first[0] == 202
        other = api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k2")
        assert other[1]["restoreId"] != first[1]["restoreId"]

    @pytest.mark.parametrize("key", ["", " "])
    def test_an_empty_key_is_refused(self, api: Api, key: str) -> None:
        status, answer = api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key=key)
        assert (status, answer["field"]) == (400, "Idempotency-Key")

    def test_the_key_is_found_however_it_is_written(self, api: Api) -> None:
        first = api.call("POST", "/restores", TO_INSTANCE, **{"idempotency-key": "k1"})
        second = api.call("POST", "/restores", TO_INSTANCE, **{"IDEMPOTENCY-KEY": "k1"})
        assert first == second

    def test_another_request_with_the_same_key_is_refused(self, api: Api) -> None:
        api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k1")
        status, answer = api.call("POST", "/restores", TO_ZONE, Idempotency_Key="k1")
        assert (status, answer["error"]) == (409, "IdempotencyConflictError")
        assert answer["field"] == "Idempotency-Key"

    def test_a_refused_request_may_be_sent_again(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        real = routes.start_restore

        def throttled(*_: Any, **__: Any) -> Json:
            raise errors.ThrottledError("slow down")

        monkeypatch.setattr(routes, "start_restore", throttled)
        assert api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k1")[0] == 429
        monkeypatch.setattr(routes, "start_restore", real)
        assert api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k1")[0] == 202

    @pytest.mark.parametrize(
        ("headers", "words"),
        [
            ({"Idempotency_Key": "k1"}, "send it again with the same Idempotency-Key"),
            ({}, "look at GET /restores before you send it again"),
        ],
    )
    def test_a_start_that_may_have_taken_effect_says_how_to_send_it_again(
        self, api: Api, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], words: str
    ) -> None:
        def unanswered(*_: Any, **__: Any) -> Json:
            raise errors.ServiceUnavailableError("no answer from AWS")

        monkeypatch.setattr(routes, "start_restore", unanswered)
        status, answer = api.call("POST", "/restores", TO_INSTANCE, **headers)
        assert status == 503
        assert words in answer["message"]

    def test_a_lost_answer_starts_nothing_twice(self, api: Api, fresh: Callable[[str], ModuleType]) -> None:
        call = {"key": "k1", "body": TO_INSTANCE}
        seen: list[str] = []
        original = api.module._started
        api.module._started = lambda body, restore_id: seen.append(restore_id) or original(body, restore_id)
        for _ in range(2):
            api.module._started_once.__wrapped__(call=call)
        assert len(set(seen)) == 1
        del fresh


class TestLists:
    def start(self, api: Api, many: int) -> list[str]:
        """Restores of an alarm each, the newest first."""
        names = []
        for number in range(many):
            names.append(f"restore-{number:02}")
            trigger = {"kind": "alarm", "alarmName": f"rewarm-{number}"}
            record = {
                "status": "ready" if number % 2 else "failed",
                "startedAt": f"2026-11-21T03:{number:02}:00Z",
            }
            api.world.table.put_new(names[-1], {**record, "trigger": trigger, "request": TO_INSTANCE})
        return names[::-1]

    def pages(self, api: Api, query: str) -> list[list[str]]:
        found, token = [], ""
        while True:
            status, answer = api.call("GET", f"/restores?{query}{token}")
            assert status == 200, answer
            found.append([one["restoreId"] for one in answer["restores"]])
            if answer["nextToken"] is None:
                return found
            token = f"&nextToken={quote(answer['nextToken'])}"

    @pytest.mark.parametrize("limit", [1, 3, 10, 100])
    def test_pages_hold_every_restore_once_the_newest_first(self, api: Api, limit: int) -> None:
        names = self.start(api, 10)
        pages = self.pages(api, f"limit={limit}")
        assert [name for page in pages for name in page] == names
        assert all(len(page) <= limit for page in pages)

    def test_a_summary_says_what_is_known(self, api: Api) -> None:
        self.start(api, 1)
        (summary,) = api.call("GET", "/restores")[1]["restores"]
        assert summary == {
            "restoreId": "restore-00", "status": "failed", "startedAt": "2026-11-21T03:00:00Z",
            "finishedAt": None, "deadlineAt": None, "instanceId": INSTANCE_ID, "volumeCount": None,
            "step": None, "trigger": {"kind": "alarm", "alarmName": "rewarm-0"},
        }  # fmt: skip

    def test_a_record_that_somebody_has_changed_stops_no_list(self, api: Api) -> None:
        (name,) = self.start(api, 1)
        api.world.table.update(name, {"request": "mine", "failure": "mine", "trigger": "mine"})
        (summary,) = api.call("GET", "/restores")[1]["restores"]
        assert (summary["restoreId"], summary["instanceId"], summary["step"]) == (name, None, None)
        assert self.pages(api, "alarmName=rewarm-0") == [[]]

    @pytest.mark.parametrize(
        ("query", "wanted"),
        [
            ("status=ready", ["restore-03", "restore-01"]), ("status=planning", []),
            ("alarmName=rewarm-2", ["restore-02"]), (f"instanceId={INSTANCE_ID}&limit=9&status=failed",
            ["restore-02", "restore-00"]), ("instanceId=i-00000000000000000", []),
            ("since=2026-11-21T03:02:00Z", ["restore-03", "restore-02"]),
            ("since=2026-11-21T04:01:00%2B01:00&until=2026-11-21T03:02:00Z", ["restore-02", "restore-01"]),
        ],
    )  # fmt: skip
    def test_filters(self, api: Api, query: str, wanted: list[str]) -> None:
        self.start(api, 4)
        assert [name for page in self.pages(api, query) for name in page] == wanted

    def test_the_drills_of_a_runbook_are_found(self, api: Api) -> None:
        self.start(api, 2)
        drill = {**TO_INSTANCE, "drill": {"runbook": "rewarm-1"}}
        record = {"status": "ready", "startedAt": "2026-11-21T04:00:00Z", "request": drill}
        api.world.table.put_new("restore-drill", record)
        assert self.pages(api, "drill=rewarm-1&limit=1") == [["restore-drill"], []]
        assert self.pages(api, "drill=rewarm-2") == [[]]

    @pytest.mark.parametrize(
        ("query", "pages"),
        [
            ("", [["restore-03", "restore-02", "restore-00"]]),
            ("&limit=1", [["restore-03"], ["restore-02"], ["restore-00"]]),
            ("&status=ready", [["restore-03"]]),
            ("&until=2026-11-21T03:02:00Z", [["restore-02", "restore-00"]]),
        ],
    )
    def test_the_restores_of_a_volume_are_found_by_its_id(
        self, api: Api, query: str, pages: list[list[str]]
    ) -> None:
        """Those that are not known any more, or of which only a note was made, are left out."""
        self.start(api, 4)
        for name in ("restore-00", "restore-02", "restore-03", "restore-gone"):
            api.world.table.note_volume(VOLUME_ID, name)
        api.world.table.update("restore-lost", {"events": []})
        api.world.table.note_volume(VOLUME_ID, "restore-lost")
        assert self.pages(api, f"volumeId={VOLUME_ID}{query}") == pages
        assert self.pages(api, f"volumeId={VOLUME_ID[:-1]}0") == [[]]

    @pytest.mark.parametrize(
        ("query", "wanted"),
        [
            ("since=2026-11-21T03:00:00Z", [2, 1]), ("since=2026-11-21T03:00:00.5Z", [2]),
            ("until=2026-11-21T03:00:00Z", [1, 0]), ("until=2026-11-21T03:00:00.5Z", [2, 1, 0]),
            ("since=2026-11-21T03:00:00.5Z&until=2026-11-21T03:00:00.5Z", [2]),
        ],
    )  # fmt: skip
    def test_times_are_exact_with_and_without_milliseconds(
        self, api: Api, query: str, wanted: list[int]
    ) -> None:
        for number, at in enumerate(("02:59:59.999Z", "03:00:00Z", "03:00:00.500Z")):
            api.world.table.put_new(f"r{number}", {"status": "ready", "startedAt": f"2026-11-21T{at}"})
        found = [name for page in self.pages(api, query) for name in page]
        assert sorted(found, reverse=True) == [f"r{number}" for number in wanted]

    def test_a_filter_reads_whole_pages_of_the_table(self, api: Api) -> None:
        self.start(api, 4)
        asked: list[int] = []
        listed = api.world.table.listed

        def counted(status: str, **named: Any) -> Any:
            asked.append(named["limit"])
            return listed(status, **named)

        api.world.table.listed = counted  # type: ignore[method-assign]
        assert self.pages(api, "status=ready&limit=1&alarmName=rewarm-1") == [["restore-01"]]
        assert asked == [100]

    def test_changes_of_performance_are_no_restores(self, api: Api) -> None:
        change = {
            "status": "ready",
            "startedAt": "2026-11-21T03:00:00Z",
            "acceptedAt": "2026-11-21T03:00:00Z",
        }
        api.world.table.put_new("performance-1", change)
        assert self.pages(api, "") == [[]]

    def test_a_page_looks_at_so_many_restores_only(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rewarm.steps.request.listing.MOST_LOOKED_AT", 4)
        self.start(api, 10)
        assert self.pages(api, "alarmName=rewarm-1") == [[], [], ["restore-01"]]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("status=", "status"), ("status=over", "status"), ("instanceId=me", "instanceId"),
            ("volumeId=vol-x", "volumeId"),
            ("limit=0", "limit"), ("limit=101", "limit"), ("limit=1e1", "limit"), ("limit=%201", "limit"),
            ("since=5", "since"), ("since=9999-12-31T23:59:59-10:00", "since"),
            ("until=2026-11-21T03:00:00", "until"),
            ("since=2026-11-21T03:00:00Z&until=2026-11-21T02:59:59Z", "until"),
            ("limit=1&limit=2", "limit"), ("colour=red", "colour"), ("nextToken=", "nextToken"),
            ("nextToken=e30%3D%3D%3D", "nextToken"), ("nextToken=bnVsbA%3D%3D", "nextToken"),
            ("nextToken=eyJyZWFkeSI6WzEsMl19", "nextToken"),
            ("nextToken=eyJyZWFkeSI6WyIyMDI2IiwiciJdfQ%3D%3D", "nextToken"),
            ("nextToken=eyJydW5ib29rIjpudWxsfQ%3D%3D", "nextToken"),
        ],
    )  # fmt: skip
    def test_a_wrong_filter_is_named(self, api: Api, query: str, field: str) -> None:
        status, answer = api.call("GET", f"/restores?{query}")
        assert (status, answer["error"], answer["field"]) == (400, "InvalidRequestError", field)

    def test_a_token_goes_with_its_filters(self, api: Api) -> None:
        self.start(api, 4)
        token = quote(api.call("GET", "/restores?limit=1&status=ready")[1]["nextToken"])
        assert api.call("GET", f"/restores?nextToken={token}&status=failed")[0] == 400
        assert (
            api.call("GET", f"/restores?nextToken={token}&status=ready&until=2026-11-20T00:00:00Z")[0] == 400
        )

    def test_a_calibration_is_kept_and_named_by_the_next_plan(self, api: Api) -> None:
        before = api.call("GET", "/calibration")[1]
        assert (before["calibration"], before["stack"]) == (None, "rewarm")
        calibration = json.loads((ROOT / "events" / "calibration.json").read_text())
        calibration["figures"]["rateDelivered"] = {
            "value": 0.95,
            "low": 0.93,
            "high": 0.97,
            "observations": 1,
        }
        status, stored = api.call("PUT", "/calibration", calibration)
        assert (status, stored["calibration"]) == (200, calibration)
        assert stored["storedBy"] == {"kind": "iam", "name": CALLER}
        assert api.call("GET", "/calibration")[1] == before | stored
        plan = api.call("POST", "/plans", TO_INSTANCE)[1]
        bases = {one["strategy"]: one["basis"]["source"] for one in plan["plans"][0]["candidates"]}
        assert (bases["provisioned-rate"], bases["background"]) == ("calibration", "priors")

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"figures": {"createSeconds": {"value": 3, "low": 4, "high": 5, "observations": 1}}}, "figures"),
            ({"figures": {"moonPhase": {"value": 3, "low": 3, "high": 3, "observations": 1}}}, "figures"),
            ({"accountId": "123456789012"}, "accountId"),
        ],
    )
    def test_a_wrong_calibration_is_refused(self, api: Api, change: Json, field: str) -> None:
        calibration = json.loads((ROOT / "events" / "calibration.json").read_text()) | change
        status, problem = api.call("PUT", "/calibration", calibration)
        assert (status, problem["field"].partition(".")[0]) == (400, field)

    def test_runbooks_the_latest_written_first(self, api: Api) -> None:
        for name in ("rewarm-a", "rewarm-b", "rewarm-c"):
            api.call("PUT", f"/runbooks/{name}", TO_INSTANCE)
        first = api.call("GET", "/runbooks?limit=2")[1]
        assert [one["alarmName"] for one in first["runbooks"]] == ["rewarm-c", "rewarm-b"]
        assert first["runbooks"][0]["runbook"]["target"]["instanceId"] == INSTANCE_ID
        last = api.call("GET", f"/runbooks?limit=2&nextToken={quote(first['nextToken'])}")[1]
        assert ([one["alarmName"] for one in last["runbooks"]], last["nextToken"]) == (["rewarm-a"], None)


class TestWaiting:
    @pytest.fixture
    def pauses(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """The pauses, in a time that passes with them; in the third one the restore moves on."""
        taken: list[float] = []
        start = api.module.now()

        def pause(seconds: float) -> None:
            taken.append(seconds)
            if len(taken) == 3:
                api.world.table.update("restore-1", {"status": "planned"})

        monkeypatch.setattr(api.module, "pause", pause)
        monkeypatch.setattr(api.module, "now", lambda: start + timedelta(seconds=sum(taken)))
        api.world.table.put_new("restore-1", {"status": "planning", "request": TO_INSTANCE})
        return taken

    def test_answers_as_soon_as_the_version_is_another(self, api: Api, pauses: list[float]) -> None:
        first = api.call("GET", "/restores/restore-1")[1]
        second = api.call("GET", f"/restores/restore-1?wait=20&version={first['version']}")[1]
        assert (second["status"], len(pauses)) == ("planned", 3)
        assert second["version"] != first["version"]

    def test_answers_when_the_time_is_over(self, api: Api, pauses: list[float]) -> None:
        first = api.call("GET", "/restores/restore-1")[1]
        then = api.call("GET", f"/restores/restore-1?wait=2&version={first['version']}")[1]
        assert then == {**first, "reportUrl": then["reportUrl"]}
        assert sum(pauses) == 2

    @pytest.mark.parametrize("query", ["", "wait=20", "wait=20&version=old", "wait=0&version=old"])
    def test_answers_at_once_where_nothing_is_known(self, api: Api, pauses: list[float], query: str) -> None:
        assert api.call("GET", f"/restores/restore-1?{query}")[0] == 200
        assert pauses == []

    @pytest.mark.parametrize("query", ["wait=21", "wait=-1", "wait=long", "patience=1"])
    def test_a_wrong_wait_is_named(self, api: Api, query: str) -> None:
        status, answer = api.call("GET", f"/restores/restore-1?{query}")
        assert (status, answer["field"]) == (400, query.partition("=")[0])


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (errors.AccessDeniedError, 403), (errors.SnapshotNotFoundError, 404),
            (errors.TargetNotFoundError, 404),
            (errors.DeviceInUseError, 409), (errors.SnapshotNotUsableError, 422),
            (errors.TargetNotUsableError, 422), (errors.NoStrategyFitsError, 422), (errors.ThrottledError,
            429),
            (errors.ServiceUnavailableError, 503), (errors.RequestRefusedError, 502),
        ],
    )  # fmt: skip
    def test_each_has_its_status(
        self, api: Api, monkeypatch: pytest.MonkeyPatch, error: type[errors.RestoreError], status: int
    ) -> None:
        def refuse(*_: Any, **__: Any) -> Json:
            raise error("because", field="target.device")

        monkeypatch.setattr(routes, "start_restore", refuse)
        found, answer = api.call("POST", "/restores", TO_INSTANCE)
        assert found == status
        fault = {"field": "target.device", "found": None, "allowed": None, "message": "because"}
        assert answer == {
            "type": f"urn:rewarm:error:{error.__name__}",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": answer["message"],
            "instance": "urn:rewarm:request:JKJaXmPLvHcESHA=",
            "error": error.__name__,
            "field": "target.device",
            "message": answer["message"],
            "errors": [fault],
        }
        assert answer["message"].partition("; the request may have been")[0] == "target.device: because"

    def test_a_method_that_does_not_exist_names_those_that_do(self, api: Api) -> None:
        answer = api.module.lambda_handler(event("PATCH", "/restores", None, {}), api.context)
        assert (answer["statusCode"], answer["multiValueHeaders"]["Allow"]) == (405, ["GET, POST"])
        assert json.loads(answer["body"])["error"] == "MethodNotAllowedError"

    def test_a_whole_number_may_be_written_as_a_fraction(self, api: Api) -> None:
        text = json.dumps(TO_INSTANCE)[:-1] + ', "objective": {"readyWithinMinutes": 3.0e1}}'
        assert api.call("POST", "/restores", text)[0] == 202

    def test_each_wrong_field_has_what_was_found_and_what_is_allowed(self, api: Api) -> None:
        wrong = {**TO_INSTANCE, "objective": {"readyWithinMinutes": 0}, "onFailure": "panic; allowed is x"}
        status, answer = api.call("POST", "/restores", wrong)
        assert (status, answer["field"]) == (400, "objective.readyWithinMinutes")
        assert [(one["field"], one["found"], one["allowed"]) for one in answer["errors"]] == [
            ("objective.readyWithinMinutes", "0", "at least 1"),
            ("onFailure", '"panic; allowed is x"', "'clean-up' or 'keep'"),
        ]

    @pytest.mark.parametrize(("many", "listed"), [(7, 7), (200, 100)])
    def test_people_read_some_of_many_wrong_fields_and_programs_more(
        self, api: Api, many: int, listed: int
    ) -> None:
        answer = api.call("POST", "/restores", {**TO_INSTANCE, **{f"x{n}": n for n in range(many)}})[1]
        assert [one["field"] for one in answer["errors"]] == [f"x{n}" for n in range(listed)]
        assert answer["message"].count("unknown field") == 5

    @pytest.mark.parametrize("name", ["\n", " ", "\\", "\u00df", "#"])
    def test_a_strange_id_is_of_no_restore(self, api: Api, name: str) -> None:
        assert api.call("GET", f"/restores/{name}")[1]["error"] == "RestoreNotFoundError"

    @pytest.mark.parametrize("path", ["/nothing", "/restores/"])
    def test_a_route_that_does_not_exist(self, api: Api, path: str) -> None:
        status, answer = api.call("GET", path)
        assert (status, answer["error"]) == (404, "RouteNotFoundError")


class TestPlans:
    def answer(self, api: Api, body: Any = TO_INSTANCE, query: Json | None = None, **headers: str) -> Json:
        told = event("POST", "/plans", json.dumps(body), headers)
        told["queryStringParameters"] = query
        answer: Json = api.module.lambda_handler(told, api.context)
        return answer

    def test_plans_without_creating(self, api: Api) -> None:
        status, body = api.call("POST", "/plans", TO_INSTANCE)
        assert status == 200
        assert body["plans"][0]["volume"]["snapshotId"] == SNAPSHOT_ID
        assert not api.world.volumes.created_by(RESTORE_ID)

    @pytest.mark.parametrize("accept", ["*/*", "application/json", "image/svg+xml;q=0.5, application/json"])
    def test_answers_json_to_who_takes_it(self, api: Api, accept: str) -> None:
        answer = self.answer(api, Accept=accept)
        assert answer["multiValueHeaders"]["Content-Type"] == ["application/json"]
        assert answer["multiValueHeaders"]["Vary"] == ["Accept"]
        assert json.loads(answer["body"])["frontier"]

    @pytest.mark.parametrize(
        ("query", "title"),
        [
            (None, "Cost against time to full speed"),
            ({"picture": "plan"}, "Cost against time to full speed"),
            ({"picture": "what-if"}, "Price against deadline"),
        ],
    )
    def test_draws_for_who_wants_a_picture(self, api: Api, query: Json | None, title: str) -> None:
        answer = self.answer(api, query=query, Accept="image/svg+xml")
        assert answer["statusCode"] == 200
        assert answer["multiValueHeaders"]["Content-Type"] == ["image/svg+xml"]
        assert answer["isBase64Encoded"] is False
        picture = ET.fromstring(answer["body"])
        assert picture.find("{http://www.w3.org/2000/svg}title").text == title  # type: ignore[union-attr]

    def test_the_same_plan_is_the_same_picture(self, api: Api) -> None:
        first, second = (self.answer(api, Accept="image/svg+xml")["body"] for _ in range(2))
        assert first == second

    def test_loads_what_draws_only_for_a_picture(self) -> None:
        code = (
            "import sys; from rewarm.runtime import api; "
            "sys.exit(any(name.startswith('matplotlib') for name in sys.modules))"
        )
        environment = {**os.environ, "PYTHONPATH": str(FUNCTIONS)}
        assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0

    def test_says_what_it_has_to_who_takes_neither(self, api: Api) -> None:
        answer = self.answer(api, Accept="text/html")
        assert answer["statusCode"] == 406
        told = json.loads(answer["body"])
        assert (told["error"], told["field"]) == ("NotAcceptableError", "Accept")
        (fault,) = told["errors"]
        assert (fault["found"], fault["allowed"]) == ("text/html", "application/json or image/svg+xml")

    def test_refuses_a_picture_that_there_is_not(self, api: Api) -> None:
        answer = self.answer(api, query={"picture": "portrait"}, Accept="image/svg+xml")
        told = json.loads(answer["body"])
        assert (answer["statusCode"], told["field"]) == (400, "picture")
        assert told["message"] == 'picture: found "portrait"; allowed is plan, what-if, schedule'

    def test_a_refusal_is_json_whatever_was_asked_for(self, api: Api) -> None:
        answer = self.answer(api, {"source": {}}, Accept="image/svg+xml")
        assert answer["statusCode"] == 400
        assert json.loads(answer["body"])["error"] == "InvalidRequestError"

    def test_plans_the_runbook_of_an_alarm(self, api: Api) -> None:
        alarm = {"source": {"alarm": "rewarm-database lost"}}
        assert api.call("POST", "/plans", alarm)[0] == 404
        api.call("PUT", "/runbooks/rewarm-database%20lost", TO_INSTANCE)
        status, body = api.call("POST", "/plans", {**alarm, "objective": {"readyWithinMinutes": 45}})
        assert (status, body["plans"][0]["volume"]["snapshotId"]) == (200, SNAPSHOT_ID)
        assert body["request"]["objective"]["readyWithinMinutes"] == 45


PLANS = {"/plans", "/fleets/plans"}
"""Routes that change nothing although they are no GET."""
CHANGING = [
    (method.upper(), path)
    for path, item in DOCUMENT["paths"].items()
    for method in item
    if method in {"post", "put", "delete", "patch"} and path not in PLANS
]


class TestWhoAsked:
    @pytest.mark.parametrize(("method", "path"), CHANGING)
    def test_the_log_names_the_caller_of_every_changing_route(
        self, api: Api, monkeypatch: pytest.MonkeyPatch, method: str, path: str
    ) -> None:
        logged: list[Json] = []
        monkeypatch.setattr(api.module.logger, "info", lambda _words, **more: logged.append(more))
        monkeypatch.setattr(api.module.app, "resolve", lambda *_: {"multiValueHeaders": {}})
        path = re.sub(r"\{\w+\}", "x", path)
        given = event(method, path, None, {})
        given["requestContext"]["extendedRequestId"] = "JKJaXmPLvHcESHA="
        api.module.lambda_handler(given, api.context)
        asked = {"method": method, "path": path, "asked_by": CALLER}
        assert logged == [{**asked, "extended_request_id": "JKJaXmPLvHcESHA="}]

    def test_every_changing_route_hands_its_caller_on(self) -> None:
        """Only a deleted runbook, rule or hot set leaves nothing that could name anybody; its log does."""
        routes: dict[str, set[str]] = {}
        for module in ("api", "api_others"):
            tree = ast.parse((ROOT / "functions/rewarm/handlers" / f"{module}.py").read_text())
            used = {each.name: _names(each) for each in tree.body if isinstance(each, ast.FunctionDef)}
            changing = {each for each in tree.body if isinstance(each, ast.FunctionDef) and _changes(each)}
            for route in changing:
                inner = [used.get(name, set()) for name in used[route.name]]
                innermost = [used.get(name, set()) for names in inner for name in names]
                routes[route.name] = used[route.name].union(*inner, *innermost)
        assert len(routes) == len(CHANGING) + len(PLANS)
        silent = {name for name, names in routes.items() if "caller" not in names}
        assert silent == {
            "_delete_rule",
            "_delete_runbook",
            "_delete_hot_set",
            "_plan_restore",
            "_plan_fleet",
        }

    def test_a_restores_record_and_list_name_the_caller(self, api: Api) -> None:
        restore_id = api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="who")[1]["restoreId"]
        asked = {"kind": "iam", "name": CALLER}
        assert api.call("GET", f"/restores/{restore_id}")[1]["trigger"]["askedBy"] == asked
        assert api.call("GET", "/restores")[1]["restores"][0]["trigger"]["askedBy"] == asked
        api.call("DELETE", f"/restores/{restore_id}")
        assert api.call("GET", f"/restores/{restore_id}")[1]["cancelledBy"] == asked


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _changes(function: ast.FunctionDef) -> bool:
    """Whether it is a route of another method than GET."""
    called = [each.func for each in function.decorator_list if isinstance(each, ast.Call)]
    return any(isinstance(each, ast.Attribute) and each.attr in {"post", "put", "delete"} for each in called)


class TestRestores:
    def test_tells_how_a_restore_fares(self, api: Api) -> None:
        assert api.call("GET", f"/restores/{RESTORE_ID}")[0] == 404
        api.world.table.put_new(RESTORE_ID, {"status": "initializing"})
        status, body = api.call("GET", f"/restores/{RESTORE_ID}")
        assert (status, body["restoreId"], body["status"]) == (200, RESTORE_ID, "initializing")

    def test_cancels(self, api: Api) -> None:
        assert api.call("DELETE", f"/restores/{RESTORE_ID}")[0] == 404
        api.world.table.put_new(RESTORE_ID, {"status": "initializing"})
        assert api.call("DELETE", f"/restores/{RESTORE_ID}")[0] == 202
        assert api.world.table.is_cancelled(RESTORE_ID)

    def test_approves_in_the_callers_name(self, api: Api) -> None:
        path = f"/restores/{RESTORE_ID}/approve"
        assert api.call("POST", path)[0] == 404
        api.world.table.put_new(RESTORE_ID, {"status": "planned", "request": {}})
        status, answer = api.call("POST", path)
        assert (status, answer["error"]) == (409, "NotAwaitingApprovalError")
        asked = {"askedAt": "2026-11-21T03:00:00Z", "until": "2026-11-21T04:00:00Z"}
        approval = {**asked, "usd": "3.20", "reason": "It costs more than $1.00."}
        api.world.table.update(RESTORE_ID, {"status": "awaiting-approval", "approval": approval})
        assert api.call("POST", f"{path}?askedAt=2026-11-21T02:00:00Z")[0] == 409
        assert api.call("POST", f"{path}?askedAt=yesterday")[0] == 400
        status, answer = api.call("POST", f"{path}?askedAt=2026-11-21T03:00:00Z")
        assert (status, answer["approval"]["by"]) == (202, CALLER)
        assert api.call("GET", f"/restores/{RESTORE_ID}")[1]["approval"]["by"] == CALLER


class TestRunbooks:
    def test_come_and_go(self, api: Api) -> None:
        path = "/runbooks/rewarm-database%20lost"
        assert api.call("GET", path)[0] == 404
        status, body = api.call("PUT", path, TO_INSTANCE)
        assert (status, body["alarmName"]) == (200, "rewarm-database lost")
        assert api.call("GET", path)[1]["writtenBy"] == {"kind": "iam", "name": CALLER}
        assert api.call("GET", "/runbooks")[1]["runbooks"][0]["writtenBy"]["name"] == CALLER
        assert api.call("GET", path)[1]["request"]["source"]["snapshotId"] == SNAPSHOT_ID
        assert api.call("DELETE", path)[0] == 200
        assert api.call("DELETE", path)[0] == 404

    def test_another_one_is_replaced_only_by_who_has_seen_it(self, api: Api) -> None:
        path = "/runbooks/rewarm-orders"
        other = {**TO_INSTANCE, "objective": {"readyWithinMinutes": 30}}
        assert api.call("PUT", f"{path}?replaces=nothing", TO_INSTANCE)[0] == 200
        assert api.call("PUT", f"{path}?replaces=nothing", TO_INSTANCE)[0] == 200  # the same one
        status, answer = api.call("PUT", f"{path}?replaces=nothing", other)
        assert (status, answer["error"], answer["errors"]) == (409, "AlreadyStoredError", [])
        assert answer["stored"] == api.call("GET", path)[1]["request"]
        assert answer["wanted"] == {**answer["stored"], "objective": answer["wanted"]["objective"]}
        assert answer["wanted"]["objective"]["readyWithinMinutes"] == 30
        assert api.call("PUT", f"{path}?replaces={answer['version']}", other)[0] == 200
        assert api.call("PUT", f"{path}?replaces={answer['version']}", TO_INSTANCE)[0] == 409
        assert api.call("PUT", path, TO_INSTANCE)[0] == 200  # as programs do that know their runbooks
        assert api.call("PUT", f"{path}?replace=nothing", TO_INSTANCE)[0] == 400

    def test_a_runbook_that_no_alarm_reaches_is_refused(self, api: Api) -> None:
        status, answer = api.call("PUT", "/runbooks/other-name", TO_INSTANCE)
        assert (status, answer["field"]) == (400, "alarmName")
        assert "AlarmNamePrefix" in answer["message"]
        assert api.call("GET", "/runbooks/other-name")[0] == 404

    @pytest.mark.parametrize("name", LEGAL_NAMES)
    @pytest.mark.parametrize("form", ["encoded", "decoded"])
    def test_any_legal_name_has_its_runbook(self, api: Api, name: str, form: str) -> None:
        # API Gateway decodes a path, and encodes the per cent signs that are in it then.
        path = "/runbooks/" + (name.replace("%", "%25") if form == "decoded" else quote(name, safe=""))
        path = path.replace("?", "%3F")  # the test's own sign for a query
        assert api.call("PUT", path, TO_INSTANCE)[1]["alarmName"] == name
        assert api.world.table.runbook(name) is not None
        assert api.call("GET", path)[0] == 200
        assert [one["alarmName"] for one in api.call("GET", "/runbooks")[1]["runbooks"]] == [name]
        assert api.call("DELETE", path) == (200, {"alarmName": name, "deleted": True})

    def test_a_name_with_a_control_character_is_none(self, api: Api) -> None:
        status, answer = api.call("PUT", "/runbooks/rewarm-a%0Ab", TO_INSTANCE)
        assert (status, answer["field"]) == (400, "alarmName")
        assert "no control ones" in answer["message"]

    def test_a_bad_runbook_is_refused_now(self, api: Api) -> None:
        status, answer = api.call(
            "PUT", "/runbooks/rewarm-a", {"source": {"alarm": "b"}, "target": TO_ZONE["target"]}
        )
        assert (status, answer["field"]) == (400, "source.alarm")


def test_the_ports_of_ec2_are_made_by_the_first_route_that_needs_them(
    fresh: Callable[[str], ModuleType], context: Context
) -> None:
    """Whoever looks at a restore in a cold start does not wait for EC2's client."""
    others, module = fresh("api_others"), fresh("api")
    api = Api(module, World(), context)
    assert api.call("GET", "/restores/restore-1")[0] == 404
    late = (module._start_ports, module._plan_ports, module._prices, others._changes, others._benchmarks)
    assert [ports.cache_info().currsize for ports in late] == [0, 0, 0, 0, 0]
    assert api.call("POST", "/plans", {})[0] == 400
    assert module._plan_ports.cache_info().currsize == 1
