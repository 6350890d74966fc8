"""Serves the states that begin with Announce: people and programs are told."""

from __future__ import annotations

from rewarm.contracts import AnnounceEvent, AnnounceResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.restore_metrics import announced
from rewarm.steps.announce.announce import announce
from rewarm.steps.announce.unreported import is_reported

_TABLE = wiring.table()
_MESSAGES = wiring.messages()
_ARTIFACTS = wiring.artifacts()


@step_handler(AnnounceEvent)
def lambda_handler(event: AnnounceEvent) -> AnnounceResult:
    """Who was told."""
    if is_reported(event, _TABLE):
        return AnnounceResult(channels=[])
    told = announce(event, table=_TABLE, messages=_MESSAGES, artifacts=_ARTIFACTS)
    announced(event)
    return told
