"""The fault matrix: is it whole, and what befalls the agent, its instance and its device.

`fault_matrix.json` names every call that any state makes and whether a restore can do without it. A call that
is not in it fails the test below; `make soak ARGS=--calls` prints the table anew.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import Ending
from local.soak.lab.lab import FastLab
from local.soak.trouble import matrix
from local.soak.trouble.call_table import NEEDED, OPTIONAL
from local.soak.trouble.machine_rows import machine_complaints, machine_rows, play_machine
from local.soak.trouble.paths.paths import alarmed
from tests.support.stack import fault_matrix
from tests.support.stack.matrix_summary import FAULT_ROWS


def machine_parameters():
    """Each trouble once, by the command or time whose turn it is; the others are for `make test-long`."""
    of_trouble = groupby(machine_rows(), key=attrgetter("name"))
    for number, rows in enumerate(list(rows) for _name, rows in of_trouble):
        turn = number % len(rows)
        yield from (
            row if place == turn else pytest.param(row, marks=pytest.mark.long)
            for place, row in enumerate(rows)
        )


def test_every_call_that_a_state_makes_has_its_rows(fault_rows):
    known = {place: sorted(calls) for place, calls in fault_matrix.table().items()}
    assert fault_rows.calls() == known


def test_the_table_says_of_every_call_whether_it_is_needed():
    answers = {answer for calls in fault_matrix.table().values() for answer in calls.values()}
    assert answers == {NEEDED, OPTIONAL}


def test_the_paths_end_as_they_are_meant_to(fault_rows):
    endings = {name: one.ending.kind for name, one in fault_rows.recorded.items()}
    ready = {name for name, kind in endings.items() if kind == "ready"}
    assert ready >= {
        "warm-up-agent",
        "provisioned-rate",
        "fast-snapshot-restore",
        "background",
        "boosted-warm-up",
        "volume-clone",
    }
    assert not [name for name, kind in endings.items() if kind.startswith(("stuck", "timed out", "never"))]


@pytest.mark.matrix
@pytest.mark.parametrize("kind", sorted(matrix.ENDLESS))
@pytest.mark.parametrize(
    "call", [("ec2", "DisableFastSnapshotRestores"), ("dynamodb", "UpdateItem"), ("dynamodb", "DeleteItem")]
)
def test_a_volume_at_full_speed_stays_ready_whatever_its_release_meets(
    fault_rows, call, kind, record_property
):
    """People are told what may go on to cost money, and the sweeper ends it."""
    row = matrix.CallRow(("Release", *call), kind, "fast-snapshot-restore")
    result = matrix.play(row)
    assert result.ending.kind == "ready"
    assert matrix.complaints(row, result, fault_rows.recorded[row.path]) == []
    assert matrix.SWITCHED_OFF_BY in result.told
    record_property(FAULT_ROWS, (1, 1))


@pytest.mark.matrix
@pytest.mark.parametrize("row", machine_parameters(), ids=str)
def test_the_agent_or_its_machine_in_trouble(row, record_property):
    assert machine_complaints(row, play_machine(row)) == []
    record_property(FAULT_ROWS, (1, 1))


@pytest.mark.matrix
@pytest.mark.parametrize("fields", [{"account": "999999999999"}, {"region": "eu-west-1"}], ids=str)
def test_an_alarm_of_another_account_or_region_starts_nothing(fields, record_property):
    with FastLab(matrix.SEED) as lab:
        assert alarmed(lab, **fields).kind == "never started"
        assert Auditor(lab).findings(Ending("never started")) == []
    record_property(FAULT_ROWS, (1, 1))
