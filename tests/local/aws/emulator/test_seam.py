"""Patches refuse an emulator that they don't know, and can be taken back (local/aws/emulator/seam.py)."""

from __future__ import annotations

import types

import pytest

from local.aws.emulator import seam
from local.aws.emulator.seam import EmulatorChangedError


def subject():
    """A module of a make-believe emulator."""


subject.answer = lambda: 41  # type: ignore[attr-defined]


@pytest.fixture
def own_undo(monkeypatch):
    """An undo list of its own, so that a running embedded AWS keeps its patches."""
    monkeypatch.setattr(seam, "_undo", [])


def test_another_release_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(seam, "version", lambda _name: "1.5.34")
    with pytest.raises(EmulatorChangedError, match=r"ministack 1\.5\.34 is installed, .* 1\.5\.33"):
        seam.check_version()


def test_a_missing_name_is_refused():
    with pytest.raises(EmulatorChangedError, match="has no gone"):
        seam.known(subject, "gone")


def test_changed_source_is_refused_with_what_was_expected():
    assert seam.known(subject, "answer", "41")() == 41
    with pytest.raises(EmulatorChangedError, match="no longer contains '42'"):
        seam.known(subject, "answer", "42")


def test_a_text_is_checked_as_it_is():
    holder = types.SimpleNamespace(__name__="holder", SCRIPT="one two")
    assert seam.known(holder, "SCRIPT", "two") == "one two"


def test_replacements_are_taken_back_newest_first(own_undo):
    holder = types.SimpleNamespace(value=1)
    table = {"kept": 1}
    seam.replace(holder, "value", 2)
    seam.replace(holder, "value", 3)
    seam.add_entry(table, "kept", 2)
    seam.add_entry(table, "new", 1)
    assert (holder.value, table) == (3, {"kept": 2, "new": 1})
    seam.restore_all()
    assert (holder.value, table) == (1, {"kept": 1})
