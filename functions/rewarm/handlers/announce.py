"""Serves the states that begin with Announce: people and programs are told."""

from __future__ import annotations

from rewarm.contracts import AnnounceEvent, AnnounceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.announce import announce

_TABLE = wiring.table()
_MESSAGES = wiring.messages()
_ARTIFACTS = wiring.artifacts()


@step_handler(AnnounceEvent)
def lambda_handler(event: AnnounceEvent) -> AnnounceResult:
    """Who was told."""
    return announce(event, table=_TABLE, messages=_MESSAGES, artifacts=_ARTIFACTS)
