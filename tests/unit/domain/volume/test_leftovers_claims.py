"""Whose fast snapshot restore is it? Told by when it was enabled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rewarm.domain.volume.leftovers import FastRestoreClaim

ASKED = datetime(2026, 11, 21, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "ours"), [(-60, False), (-3, False), (-1, True), (0, True), (60, True), (121, False)]
)
def test_where_no_answer_came_it_must_have_been_enabled_right_after_we_asked(seconds, ours):
    claim = FastRestoreClaim(asked_at=frozenset({ASKED}))
    assert claim.is_ours(ASKED + timedelta(seconds=seconds)) is ours


@pytest.mark.parametrize(("seconds", "ours"), [(-3, False), (-0.9, True), (0.9, True), (3, False)])
def test_where_it_did_the_time_is_that_of_the_answer(seconds, ours):
    """EC2 may give it with or without fractions of a second."""
    claim = FastRestoreClaim(enabling_times=frozenset({ASKED}))
    assert claim.is_ours(ASKED + timedelta(seconds=seconds)) is ours


def test_a_claim_that_shows_nothing_owns_nothing():
    claim = FastRestoreClaim(users=frozenset({"restore-1/0"}))
    assert not claim.may_be_on
    assert not claim.is_ours(ASKED)
