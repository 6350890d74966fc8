"""Serves the state Clean Up."""

from __future__ import annotations

from rewarm.contracts import CleanUpEvent, CleanUpResult
from rewarm.handlers import wiring
from rewarm.observability import step_handler
from rewarm.steps.clean_up.clean_up import clean_up

_VOLUMES = wiring.volumes()
_MODIFICATIONS = wiring.modifications()
_COMMANDS = wiring.commands()
_FAST_RESTORES = wiring.fast_restores()
_TABLE = wiring.table()


@step_handler(CleanUpEvent)
def lambda_handler(event: CleanUpEvent) -> CleanUpResult:
    """What was removed and what stays."""
    return clean_up(
        event,
        volumes=_VOLUMES,
        modifications=_MODIFICATIONS,
        commands=_COMMANDS,
        fast_restores=_FAST_RESTORES,
        table=_TABLE,
        stack_name=wiring.settings.stack_name,
        put_back=wiring.put_back(event.now),
    )
