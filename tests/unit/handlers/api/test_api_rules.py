"""The routes of rules, as API Gateway calls them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.support.builders import World
from tests.support.wired import use
from tests.unit.handlers.api.test_api import CALLER, Api, Context

PATH = "/rules/kubernetes_2.b"
RULE = {"match": {"volumeTags": {"app": "orders"}}}


@pytest.fixture
def api(fresh: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context) -> Api:
    routes, world = fresh("api_others"), World()  # first: the API includes them when it is loaded
    ports = ("table", "volumes", "instances", "snapshots", "artifacts")
    use(monkeypatch, routes, **{port: getattr(world, port) for port in ports})
    return Api(fresh("api"), world, context)


def test_a_rule_comes_is_checked_and_goes(api: Api) -> None:
    assert api.call("GET", PATH)[0] == 404
    status, body = api.call("PUT", PATH, RULE)
    assert (status, body["name"], body["rule"]["mode"]) == (200, "kubernetes_2.b", "observe")
    assert api.call("GET", PATH)[1]["writtenBy"] == {"kind": "iam", "name": CALLER}
    assert [one["name"] for one in api.call("GET", "/rules")[1]["rules"]] == ["kubernetes_2.b"]
    checked = {"name": "kubernetes_2.b", "adoptions": [], "passedOver": []}
    assert api.call("GET", f"{PATH}/check") == (200, checked)
    assert api.call("DELETE", PATH)[0] == 200
    assert api.call("DELETE", PATH)[0] == 404
    assert api.call("GET", f"{PATH}/check")[0] == 404


def test_another_rule_is_replaced_only_by_who_has_seen_it(api: Api) -> None:
    other = {"match": {"volumeTags": {"app": "*"}}}
    assert api.call("PUT", f"{PATH}?replaces=nothing", RULE)[0] == 200
    status, answer = api.call("PUT", f"{PATH}?replaces=nothing", other)
    assert (status, answer["error"]) == (409, "AlreadyStoredError")
    assert (answer["stored"]["match"], answer["wanted"]["match"]) == (
        api.call("GET", PATH)[1]["rule"]["match"],
        {**answer["stored"]["match"], "volumeTags": {"app": "*"}},
    )
    assert api.call("PUT", f"{PATH}?replaces={answer['version']}", other)[0] == 200
    assert api.call("GET", PATH)[1]["rule"]["match"] == answer["wanted"]["match"]


def test_a_bad_rule_is_refused_with_the_field(api: Api) -> None:
    status, answer = api.call("PUT", "/rules/all", {"match": {}})
    assert (status, answer["field"]) == (400, "match")
    assert api.call("PUT", f"/rules/{'a' * 65}", RULE)[1]["field"] == "name"
