"""The API without signatures: pages of restores, by a link and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from rewarm.domain.errors import ServiceUnavailableError
from rewarm.ports.messages import LinkedPage
from tests.support.builders import NOW, RESTORE_ID, World, request
from tests.support.outline import read
from tests.support.wired import use
from tests.support.worlds.announcing import plan_details, say
from tests.unit.handlers.conftest import Context
from tests.unit.page.test_page import NONSENSE, PageOutline

Json = dict[str, Any]


class Visitor:
    """Somebody with a browser and no AWS account."""

    def __init__(self, module: ModuleType, world: World, context: Context) -> None:
        self._module, self.world, self._context = module, world, context

    def get(self, path: str, method: str = "GET") -> Json:
        event = {"httpMethod": method, "path": path, "headers": {}, "body": None}
        answer: Json = self._module.lambda_handler(event, self._context)
        assert answer["headers"]["Cache-Control"] == "no-store"
        return answer

    def open(self, page: LinkedPage, *, days: float = 7) -> Json:
        url = self.world.links.link(page, until=NOW + timedelta(days=days))
        return self.get(f"/pages/{url.rpartition('/')[2]}")


@pytest.fixture
def visitor(warm: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, context: Context) -> Visitor:
    world, module = World(), warm("public")
    use(monkeypatch, module, table=world.table, artifacts=world.artifacts, links=world.links)
    monkeypatch.setattr(module, "now", lambda: NOW)
    world.table.put_new(
        RESTORE_ID,
        {"status": "accepted", "startedAt": "2026-11-21T02:58:00Z", "request": request().to_json()},
    )
    return Visitor(module, world, context)


def test_a_running_restore_has_a_page_that_refreshes_itself(visitor: Visitor) -> None:
    say(visitor.world, "plan", plan_details())
    answer = visitor.open(LinkedPage(RESTORE_ID, None))
    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert '<meta http-equiv="refresh" content="30">' in answer["body"]
    for words in (
        "Running for",
        "2 min 00 s",
        "warm-up-agent",
        "shipped price book",
        'Restoring: <span class="one">snap-',
    ):
        assert words in answer["body"], words


def test_a_volume_at_full_speed_says_so_while_others_are_loaded(visitor: Visitor) -> None:
    say(visitor.world, "plan", plan_details())
    page = LinkedPage(RESTORE_ID, None)
    assert "at full speed" not in visitor.open(page)["body"]
    visitor.world.table.update(RESTORE_ID, {"volumeCount": 2, "settled0": True})
    assert "at full speed" in visitor.open(page)["body"]


def test_before_the_plan_it_says_so(visitor: Visitor) -> None:
    assert "being planned" in visitor.open(LinkedPage(RESTORE_ID, None))["body"]


def test_no_search_engine_lists_it_and_no_page_frames_it(visitor: Visitor) -> None:
    """A policy in the page itself cannot forbid frames (CSP Level 3, "frame-ancestors")."""
    headers = visitor.open(LinkedPage(RESTORE_ID, None))["headers"]
    assert headers["X-Robots-Tag"] == "noindex"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"


def test_one_that_ended_leads_to_its_report(visitor: Visitor) -> None:
    key = f"restores/{RESTORE_ID}/report.html"
    visitor.world.table.update(RESTORE_ID, {"status": "ready", "pageKey": key})
    answer = visitor.open(LinkedPage(RESTORE_ID, None))
    assert (answer["statusCode"], answer["body"]) == (302, "")
    assert answer["headers"]["Location"] == visitor.world.artifacts.download_url(key, expires_seconds=3_600)


def test_one_that_ended_without_a_report_refreshes_no_more(visitor: Visitor) -> None:
    failure = {"state": "Create Volume", "error": "QuotaExceededError", "cause": "no volume is left"}
    visitor.world.table.update(RESTORE_ID, {"status": "failed", "failure": failure})
    answer = visitor.open(LinkedPage(RESTORE_ID, None))
    assert "refresh" not in answer["body"]
    assert "no volume is left" in answer["body"]


def test_a_volume_leads_to_its_own_report(visitor: Visitor) -> None:
    visitor.world.table.update_volume(RESTORE_ID, 1, {"report": {"pageKey": "restores/x/1/report.html"}})
    assert "restores/x/1/report.html" in visitor.open(LinkedPage(RESTORE_ID, 1))["headers"]["Location"]


def test_a_link_whose_time_is_over_opens_nothing(visitor: Visitor) -> None:
    answer = visitor.open(LinkedPage(RESTORE_ID, None), days=0)
    assert (answer["statusCode"], RESTORE_ID in answer["body"]) == (404, False)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/pages/"), ("GET", "/pages/x"), ("POST", "/pages/x"), ("GET", "/restores"), ("DELETE", "/")],
)
def test_everything_else_is_not_there(visitor: Visitor, method: str, path: str) -> None:
    assert visitor.get(path, method)["statusCode"] == 404


def test_a_table_out_of_reach_says_to_come_back(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_restore_id: str) -> None:
        raise ServiceUnavailableError("GetItem: no answer from table-name")

    monkeypatch.setattr(visitor.world.table, "get_whole", refuse)
    answer = visitor.open(LinkedPage(RESTORE_ID, None))
    assert (answer["statusCode"], "table-name" in answer["body"]) == (503, False)


def test_nothing_from_outside_becomes_markup(visitor: Visitor) -> None:
    say(visitor.world, "plan", plan_details())
    news = {"event": "x", "at": "2026-11-21T03:00:00Z", "title": NONSENSE, "text": NONSENSE}
    visitor.world.table.append_event(RESTORE_ID, news)
    visitor.world.table.update(RESTORE_ID, {"trigger": {"kind": "alarm", "alarmName": NONSENSE}})
    page = read(visitor.open(LinkedPage(RESTORE_ID, None))["body"], PageOutline())
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert page.handlers == []
    assert page.loaded == []
