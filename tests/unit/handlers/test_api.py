"""The REST API, with API Gateway's own events, steps on fakes and idempotency on DynamoDB."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from rewarm.domain import errors
from tests.support.builders import INSTANCE_ID, RESTORE_ID, SNAPSHOT_ID, TO_INSTANCE, TO_ZONE, World
from tests.support.wired import use
from tests.unit.handlers.conftest import Context

Json = dict[str, Any]
FUNCTIONS = Path(__file__).parents[3] / "functions"
PORTS = (
    "snapshots", "instances", "volumes", "artifacts", "fast_restores", "prices", "quotas", "table",
    "executions",
)  # fmt: skip


class Api:
    """A client of the handler."""

    def __init__(self, module: ModuleType, world: World, context: Context) -> None:
        self.module, self.world, self.context = module, world, context

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Json]:
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        answer = self.module.lambda_handler(event(method, path, text, headers), self.context)
        assert answer["multiValueHeaders"]["Content-Type"] == ["application/json"]
        return answer["statusCode"], json.loads(answer["body"])


def event(method: str, path: str, body: str | None, headers: dict[str, str]) -> Json:
    """A REST API's proxy event (API Gateway developer guide, "Lambda proxy integrations")."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {
        "resource": path, "path": path, "httpMethod": method,
        "headers": {"Content-Type": "application/json", **named},
        "multiValueHeaders": {name: [value] for name, value in named.items()},
        "queryStringParameters": None, "multiValueQueryStringParameters": None, "pathParameters": None,
        "stageVariables": None, "body": body, "isBase64Encoded": False,
        "requestContext": {
            "accountId": "123456789012", "apiId": "api", "httpMethod": method, "path": f"/v1{path}",
            "stage": "v1",
            "requestId": "request", "resourcePath": path, "identity": {"sourceIp": "192.0.2.1"},
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
    ("PUT", "/runbooks/rewarm-orders"),
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
        assert (status, set(answer)) == (400, {"error", "field", "message"})
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

        monkeypatch.setattr(api.module, "start_restore", broken)
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
        real = api.module.start_restore

        def throttled(*_: Any, **__: Any) -> Json:
            raise errors.ThrottledError("slow down")

        monkeypatch.setattr(api.module, "start_restore", throttled)
        assert api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k1")[0] == 429
        monkeypatch.setattr(api.module, "start_restore", real)
        assert api.call("POST", "/restores", TO_INSTANCE, Idempotency_Key="k1")[0] == 202

    def test_a_lost_answer_starts_nothing_twice(self, api: Api, fresh: Callable[[str], ModuleType]) -> None:
        call = {"key": "k1", "body": TO_INSTANCE}
        seen: list[str] = []
        original = api.module._started
        api.module._started = lambda body, restore_id: seen.append(restore_id) or original(body, restore_id)
        for _ in range(2):
            api.module._started_once.__wrapped__(call=call)
        assert len(set(seen)) == 1
        del fresh


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

        monkeypatch.setattr(api.module, "start_restore", refuse)
        found, answer = api.call("POST", "/restores", TO_INSTANCE)
        assert found == status
        assert answer == {
            "error": error.__name__,
            "field": "target.device",
            "message": "target.device: because",
        }

    def test_a_route_that_does_not_exist(self, api: Api) -> None:
        status, answer = api.call("GET", "/nothing")
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
            "import sys; import rewarm.handlers.api; "
            "sys.exit(any(name.startswith('matplotlib') for name in sys.modules))"
        )
        environment = {**os.environ, "PYTHONPATH": str(FUNCTIONS)}
        assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0

    def test_says_what_it_has_to_who_takes_neither(self, api: Api) -> None:
        answer = self.answer(api, Accept="text/html")
        assert answer["statusCode"] == 406
        assert json.loads(answer["body"]) == {
            "error": "NotAcceptableError",
            "field": "Accept",
            "message": "found text/html; allowed is application/json or image/svg+xml",
        }

    def test_refuses_a_picture_that_there_is_not(self, api: Api) -> None:
        answer = self.answer(api, query={"picture": "portrait"}, Accept="image/svg+xml")
        told = json.loads(answer["body"])
        assert (answer["statusCode"], told["field"]) == (400, "picture")
        assert told["message"] == 'picture: found "portrait"; allowed is plan or what-if'

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


class TestRunbooks:
    def test_come_and_go(self, api: Api) -> None:
        path = "/runbooks/rewarm-database%20lost"
        assert api.call("GET", path)[0] == 404
        status, body = api.call("PUT", path, TO_INSTANCE)
        assert (status, body["alarmName"]) == (200, "rewarm-database lost")
        assert api.call("GET", path)[1]["request"]["source"]["snapshotId"] == SNAPSHOT_ID
        assert api.call("DELETE", path)[0] == 200
        assert api.call("DELETE", path)[0] == 404

    def test_a_runbook_that_no_alarm_reaches_is_refused(self, api: Api) -> None:
        status, answer = api.call("PUT", "/runbooks/other-name", TO_INSTANCE)
        assert (status, answer["field"]) == (400, "alarmName")
        assert "AlarmNamePrefix" in answer["message"]
        assert api.call("GET", "/runbooks/other-name")[0] == 404

    def test_a_slash_in_a_name_is_refused(self, api: Api) -> None:
        status, answer = api.call("PUT", "/runbooks/rewarm-a%2Fb", TO_INSTANCE)
        assert (status, answer["field"]) == (400, "alarmName")
        assert "give the alarm another name" in answer["message"]

    def test_a_bad_runbook_is_refused_now(self, api: Api) -> None:
        status, answer = api.call(
            "PUT", "/runbooks/rewarm-a", {"source": {"alarm": "b"}, "target": TO_ZONE["target"]}
        )
        assert (status, answer["field"]) == (400, "source.alarm")
