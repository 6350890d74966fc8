"""Links to pages: each opens one page until the time that it says, and nothing else (moto's DynamoDB)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rewarm.adapters.table.page_links import DynamoPageLinks
from rewarm.ports.messages import LinkedPage
from tests.support.builders import NOW, RESTORE_ID

PAGE, UNTIL = LinkedPage(RESTORE_ID, None), NOW + timedelta(days=7)
BASE = "https://abc.execute-api.us-east-1.amazonaws.com/v1"


@pytest.fixture
def links(dynamodb: Any) -> DynamoPageLinks:
    return DynamoPageLinks(dynamodb, "restores", BASE)


def token_of(url: str) -> str:
    start = f"{BASE}/pages/"
    assert url.startswith(start)
    return url.removeprefix(start)


@pytest.mark.parametrize("page", [PAGE, LinkedPage(RESTORE_ID, 3)])
def test_it_lasts_exactly_as_long_as_it_says(links: DynamoPageLinks, page: LinkedPage) -> None:
    token = token_of(links.link(page, until=UNTIL))
    assert links.page_of(token, now=NOW) == page
    assert links.page_of(token, now=UNTIL - timedelta(seconds=1)) == page
    assert links.page_of(token, now=UNTIL) is None


def test_each_character_of_it_counts(links: DynamoPageLinks) -> None:
    token = token_of(links.link(LinkedPage(RESTORE_ID, 3), until=UNTIL))
    for place, character in enumerate(token):
        other = token[:place] + ("1" if character != "1" else "2") + token[place + 1 :]
        assert links.page_of(other, now=NOW) is None, other


@pytest.mark.parametrize("token", ["", ".", "a.b.c.d", f"{RESTORE_ID}..9999999999.{'A' * 43}", "x" * 10_000])
def test_what_nobody_signed_opens_nothing(links: DynamoPageLinks, token: str) -> None:
    assert links.page_of(token, now=NOW) is None


def test_a_letter_that_no_signature_has_opens_nothing(links: DynamoPageLinks) -> None:
    """hmac.compare_digest takes only ASCII text."""
    token = token_of(links.link(PAGE, until=UNTIL))
    assert links.page_of(token[:-1] + "é", now=NOW) is None


def test_another_restores_key_does_not_fit(links: DynamoPageLinks) -> None:
    links.link(LinkedPage("restore-other", None), until=UNTIL)
    token = token_of(links.link(PAGE, until=UNTIL))
    assert links.page_of(token.replace(RESTORE_ID, "restore-other"), now=NOW) is None


def test_the_key_stays_and_is_shown_nowhere_else(links: DynamoPageLinks, dynamodb: Any) -> None:
    first, second = (links.link(PAGE, until=UNTIL) for _ in range(2))
    assert first == second
    (item,) = dynamodb.scan(TableName="restores")["Items"]
    assert item["pk"] == {"S": f"page-key#{RESTORE_ID}"}
    assert item["signingKey"]["S"] not in first
    assert "expiresAt" in item


def test_deleting_the_key_ends_all_links(links: DynamoPageLinks, dynamodb: Any) -> None:
    token = token_of(links.link(PAGE, until=UNTIL))
    dynamodb.delete_item(TableName="restores", Key={"pk": {"S": f"page-key#{RESTORE_ID}"}})
    links.link(PAGE, until=UNTIL)
    assert links.page_of(token, now=NOW) is None
