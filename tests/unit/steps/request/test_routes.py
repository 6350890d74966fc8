"""The id behind an Idempotency-Key: the same for the same restore, and never a name that is used up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rewarm.steps.request.routes import restore_id_of
from tests.support.builders import NOW, TO_INSTANCE
from tests.support.fakes import FakeTable

DAY = timedelta(days=1)
CALL = {"key": "monthly-drill", "body": TO_INSTANCE}


def id_now(table, *, later=timedelta(0)):
    return restore_id_of(CALL, table=table, now=NOW + later, window=DAY)


@pytest.fixture
def table():
    return FakeTable()


def known(table, status, **record):
    restore_id = id_now(table)
    started = {"startedAt": NOW.isoformat(), "request": {}, "status": status}
    table.put_new(restore_id, {**started, **record})
    return restore_id


@pytest.mark.parametrize("status", ["accepted", "planning", "initializing", "ready", "failed"])
def test_the_same_call_is_the_same_restore(table, status):
    """Also one that failed to be started, as far as anybody knows: it may run all the same."""
    assert id_now(table, later=timedelta(hours=1)) == known(table, status)


@pytest.mark.parametrize("status", ["failed", "cancelled", "refused"])
def test_a_restore_that_came_to_nothing_is_tried_anew(table, status):
    first = known(table, status, toldAt=NOW.isoformat())
    second = id_now(table, later=timedelta(minutes=10))
    assert second != first
    assert id_now(table, later=timedelta(minutes=20)) == second


@pytest.mark.parametrize("record", [{"status": "ready"}, {"status": "planned", "request": {"dryRun": True}}])
def test_after_the_window_the_key_is_free_again(table, record):
    first = known(table, **record)
    assert id_now(table, later=DAY + timedelta(seconds=1)) != first


def test_what_still_runs_after_the_window_is_not_started_again(table):
    assert id_now(table, later=3 * DAY) == known(table, "initializing")
