"""What options take: a complaint says what was found and what is allowed, and nothing is sent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rewarm_cli.problems import USAGE
from rewarm_cli.words import instant

TO = ("--volume", "vol-0123456789abcdef0", "--instance", "i-0123456789abcdef0")


@pytest.mark.parametrize(
    ("words", "found", "allowed"),
    [
        (("list", "--api-url", "nonsense"), "nonsense", "an https address is allowed"),
        (("list", "--api-url", "http://127.0.0.1:99999/v1"), ":99999", "an https address is allowed"),
        (("list", "--region", "mars-1"), "mars-1", "a Region such as eu-central-1 is allowed"),
        (("plan", *TO, "--snapshot-region", "mars-1"), "mars-1", "a Region such as eu-central-1 is allowed"),
        (("plan", *TO, "--max-cost", "five"), "five", "a number of US dollars"),
        (("plan", *TO, "--max-cost", "1e999999"), "1e999999", "a number of US dollars"),
        (("plan", *TO, "--approve-above", "nan"), "nan", "a number of US dollars"),
        (("plan", *TO, "--at", "yesterday"), "yesterday", "an age such as 12h or 7d, a date, or a time"),
        (("plan", *TO, "--ready-within", "\u00b2m"), "\u00b2m", "minutes, or a number with m, h or d"),
        (("plan", *TO, "--picture", "plan.png"), "plan.png", "a name that ends in .svg is allowed"),
        (("plan", *TO, "--strategy", "fast"), "fast", "allowed are auto, background"),
        (("list", "--limit", "many"), "many", "a whole number from 1 to 10,000 is allowed"),
        (("restore", *TO, "--idempotency-key", "a\nb"), "a\\nb", "letters, digits and signs"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(rewarm, stack, words, found, allowed):
    shown = rewarm(*words)
    assert (shown.status, stack.calls) == (USAGE, [])
    said = " ".join(shown.err.split())
    assert f"found '{found}" in said or found in said
    assert allowed in said


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("90m", "2026-11-22T08:30:00Z"),
        ("7d", "2026-11-15T10:00:00Z"),
        ("2026-11-20", "2026-11-20T00:00:00Z"),
        ("2026-11-20T10:00", "2026-11-20T10:00:00Z"),
        ("2026-11-20T10:00+02:00", "2026-11-20T08:00:00Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_an_age_a_date_or_a_time(text, at):
    assert instant(text, datetime(2026, 11, 22, 10, tzinfo=UTC)) == at


@pytest.mark.parametrize("text", ["9999999d", "\u0661d", "0001-01-01T00:00+12:00", "soon", ""])
def test_what_is_no_time_is_refused(text):
    with pytest.raises((ValueError, OverflowError)):
        instant(text, datetime(2026, 11, 22, 10, tzinfo=UTC))


def test_a_plan_of_a_date_asks_for_its_first_moment(rewarm, stack):
    rewarm("plan", *TO, "--at", "2026-11-20")
    assert stack.calls[0].body["source"]["at"] == "2026-11-20T00:00:00Z"
