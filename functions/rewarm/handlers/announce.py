"""Serves the states that begin with Announce: tells people and programs."""

from __future__ import annotations

from rewarm.contracts import AnnounceEvent, AnnounceResult
from rewarm.handlers import wiring
from rewarm.observability import announced, step_handler
from rewarm.steps.announce.announce import announce
from rewarm.steps.announce.ended import is_reported

_TABLE = wiring.table()
_MESSAGES = wiring.messages()
_ARTIFACTS = wiring.artifacts()
_LINKS = wiring.page_links()


@step_handler(AnnounceEvent)
def lambda_handler(event: AnnounceEvent) -> AnnounceResult:
    """The channels that took the message."""
    if is_reported(event, _TABLE):
        return AnnounceResult(channels=[])
    result = announce(event, table=_TABLE, messages=_MESSAGES, artifacts=_ARTIFACTS, links=_LINKS)
    announced(event)
    return result
