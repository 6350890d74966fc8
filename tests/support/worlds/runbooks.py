"""Runbooks that are put in memory."""

from __future__ import annotations

from typing import Any

from rewarm.steps.request import runbooks
from tests.support.builders import ALICE, World
from tests.support.wired import wired

Json = dict[str, Any]


def put_runbook(name: str, body: Json, **ports: Any) -> Json:
    """What Alice gets for it; ports that are not given are those of an empty world."""
    made = wired(runbooks.PutRunbookPorts, World(), **ports)
    return runbooks.put_runbook(name, body, by=ALICE, prefix="rewarm-", ports=made)
