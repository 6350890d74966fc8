"""The world of the tests of this room."""

from __future__ import annotations

import pytest

from tests.support.builders import snapshot
from tests.support.worlds.replacing import OLD
from tests.support.worlds.rewinding import Rewinding


@pytest.fixture
def world() -> Rewinding:
    """A volume at its device, and a snapshot of it."""
    made = Rewinding()
    made.snapshots.add(snapshot(volume_id=OLD))
    return made
