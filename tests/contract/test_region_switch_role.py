"""The function of docs/region-switch may make just the calls that it makes, by its template's own policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from local import yaml_text
from local.aws.permissions import roles
from local.aws.permissions.authorizer import Authorizer, decide
from local.aws.permissions.policies import Need, Statement, problems
from local.aws.permissions.requests import Asked, Place, needs
from local.soak.lab.template import ACCOUNT, REGION, Resolver
from tests.contract.repository import ROOT, Json
from tests.support.tree import module_of

FOLDER = ROOT / "docs" / "region-switch"
ROLE = "RegionSwitchFunctionRole"
PLACE = Place(ACCOUNT, REGION)
PLAN = f"arn:aws:arc-region-switch::{ACCOUNT}:plan/orders:abc123"
API_ID = "abc123def4"
URL = f"https://{API_ID}.execute-api.{REGION}.amazonaws.com/v1"
KINDS = ("restore", "fleet")


def own_statements(kind: str) -> tuple[Statement, ...]:
    """Those of the function's role that the template writes, without the one that SAM adds for logs."""
    template = yaml_text.template(name="docs/region-switch/template.yaml")
    template["Resources"]["RegionSwitchFunction"]["Properties"]["CodeUri"] = "s3://bucket/key"
    given = {"PlanArn": PLAN, "RestApiId": API_ID, "ApiUrl": URL, "Kind": kind, "Request": "{}"}
    no_globals = {"Globals": {"Function": {"Environment": {"Variables": {}}}}}
    deployed = roles.transformed(template, REGION)
    resolver = Resolver({**deployed, **no_globals}, given, {})
    found = roles.policies(deployed["Resources"], resolver.value)[ROLE]
    return tuple(one for one in found if one.source.startswith("RegionSwitchFunction "))


@pytest.fixture
def switch() -> ModuleType:
    return module_of(FOLDER / "region_switch.py")


class Aws:
    """ARC and the API, which answer only what the role allows."""

    def __init__(self, statements: tuple[Statement, ...]) -> None:
        self.authorizer = Authorizer({ROLE: statements})

    def check(self, service: str, operation: str, params: Json) -> None:
        asked = Asked(service, operation, params, PLACE, SimpleNamespace())  # type: ignore[arg-type]
        refused = self.authorizer.refusal(ROLE, needs(asked))
        if refused is not None:
            raise PermissionError(refused)

    @property
    def needed(self) -> list[Need]:
        """What was asked for."""
        return [need for _, need, _ in self.authorizer.asked.values()]

    def client(self, service: str) -> Any:
        return SimpleNamespace(
            get_paginator=lambda name: SimpleNamespace(paginate=self._pages(service, name))
        )

    def _pages(self, service: str, name: str) -> Any:
        operation = "".join(word.capitalize() for word in name.split("_"))

        def paginate(**params: Any) -> Iterator[Json]:
            self.check(service, operation, params)
            yield {"items": [{"executionRegion": REGION, "executionId": "run", "startTime": 1}]}

        return paginate

    def send(self, request: Any) -> Any:
        """API Gateway: the host names the API, the path the stage and the route."""
        address = urlsplit(request.url)
        api_id = address.netloc.partition(".")[0]
        params = {"ApiId": api_id, "Method": request.method, "Path": address.path}
        self.check("execute-api", "Invoke", params)
        body = {"restoreId": "restore-1", "fleetId": "fleet-1", "status": "ready"}
        return SimpleNamespace(status_code=200, text=json.dumps(body))


def run(switch: ModuleType, kind: str, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Json:
    """One call of ARC."""
    told = {"PLAN_ARN": PLAN, "API_URL": URL, "KIND": kind, "REQUEST": '{"source":{"alarm":"rewarm-orders"}}'}
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": REGION}
    for name, value in {**told, **keys}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(switch.boto3, "client", aws.client)
    monkeypatch.setattr(switch, "URLLib3Session", lambda *_where, **_options: aws)
    found: Json = switch.lambda_handler({}, None)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_its_role_allows_what_it_calls_and_nothing_else(
    kind: str, switch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = own_statements(kind)
    aws = Aws(own)
    assert run(switch, kind, aws, monkeypatch) == {f"{kind}Id": f"{kind}-1", "status": "ready"}
    assert [said for one in own for said in problems(one)] == []
    for one in own:
        for action in one.actions:
            for resource in one.resources:
                part = Statement(one.source, one.effect, (action,), (resource,), one.conditions, one.services)
                used = [need for need in aws.needed if decide([part], need).allowed]
                assert used, f"nobody calls {action} on {resource}"


@pytest.mark.parametrize("kind", KINDS)
def test_each_statement_that_is_taken_out_is_missed(
    kind: str, switch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = own_statements(kind)
    assert len(own) == 2
    for missing in own:
        fewer = tuple(one for one in own if one is not missing)
        with pytest.raises(
            PermissionError, match=f"^{ROLE} is not authorized to perform: {missing.actions[0]}"
        ):
            run(switch, kind, Aws(fewer), monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_it_may_call_no_other_route_api_or_plan(kind: str) -> None:
    own = own_statements(kind)
    other = {"restore": "fleet", "fleet": "restore"}[kind]
    api = f"{API_ID}/v1"
    for action, resource in (
        ("execute-api:Invoke", PLACE.arn("execute-api", f"{api}/POST/{other}s")),
        ("execute-api:Invoke", PLACE.arn("execute-api", f"{api}/DELETE/{kind}s/{kind}-1")),
        ("execute-api:Invoke", PLACE.arn("execute-api", f"{api}/POST/{kind}s/{kind}-1/approve")),
        ("execute-api:Invoke", PLACE.arn("execute-api", f"others/v1/POST/{kind}s")),
        ("arc-region-switch:ListPlanExecutions", PLAN.replace("orders", "others")),
    ):
        assert not decide(own, Need(action, resource)).allowed, resource
