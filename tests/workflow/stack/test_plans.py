"""POST /plans on the embedded AWS: facts, prices and pictures through the real API, and nothing is made."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from local.aws.region.account.prices import price_data
from rewarm.contracts.plans import PlanResult
from tests.support.stack.restores import RestoreUser, request_for, unique

SVG = "{http://www.w3.org/2000/svg}"


def wanted(user: RestoreUser) -> dict[str, Any]:
    return request_for(user, "auto", readyWithinMinutes=30)


def test_the_answer_holds_what_led_to_the_plan(user: RestoreUser) -> None:
    request, before = wanted(user), user.executions()
    answer = user.call("POST", "/plans", request)
    assert answer.status == 200
    result = PlanResult.model_validate(answer.body)
    (planned,) = result.plans
    assert planned.facts.instance_limits is not None
    assert planned.facts.instance_limits.instance_type == "m5.large"
    assert planned.facts.written_bytes > 0
    assert planned.facts.fast_snapshot_restore.state == "disabled"
    assert sum(candidate.chosen for candidate in planned.candidates) == 1
    assert result.frontier
    is_listed = any(user.lab.addresses.region in product["usd"] for product in price_data()["products"])
    assert ("AWS Price List" in {price.source for price in result.prices}) is is_listed
    assert user.executions() == before
    assert not any(user.left().values())


@pytest.mark.parametrize(
    ("query", "mark"),
    [("", "choice"), ("?picture=what-if", "none-in-time"), ("?picture=schedule", "deadline")],
)
def test_who_asks_for_a_picture_gets_one(user: RestoreUser, query: str, mark: str) -> None:
    answer = user.call("POST", f"/plans{query}", wanted(user), accept="image/svg+xml")
    assert answer.status == 200
    picture = ET.fromstring(answer.body["text"])
    assert picture.tag == f"{SVG}svg"
    assert mark in {part.get("id") or part.get("class") for part in picture.iter()}


def test_another_media_type_is_refused(user: RestoreUser) -> None:
    answer = user.call("POST", "/plans", wanted(user), accept="text/html")
    assert (answer.status, answer.body["field"]) == (406, "Accept")
    assert answer.body["message"] == "found text/html; allowed is application/json or image/svg+xml"


def test_the_runbook_of_an_alarm_can_be_planned(user: RestoreUser) -> None:
    alarm, request = unique("rewarm-plan"), wanted(user)
    user.runbook(alarm, request)
    answer = user.call("POST", "/plans", {"source": {"alarm": alarm}})
    assert answer.status == 200
    assert answer.body["request"]["source"]["snapshotId"] == request["source"]["snapshotId"]
