"""Serves the events and the schedule by which rules look at new volumes, and adopt them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm import wiring
from rewarm.observability import count, logger, tracer
from rewarm.ports import JsonObject
from rewarm.runtime import filled
from rewarm.steps.adopt.hear import LOOK_SECONDS, HearingPorts, hear, is_for_rules
from rewarm.wiring import now, pause

if TYPE_CHECKING:
    from rewarm.steps.adopt.look import RuleLookPorts

_HEARING = filled(HearingPorts)


@tracer.capture_lambda_handler(capture_response=False)
@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: JsonObject, context: LambdaContext) -> JsonObject:
    """Makes rules look: soon after an event at what it names, by the schedule at everything that is new.

    Returns the ids of the adoptions that have begun. Raises every error of `look`: Lambda then tries again.
    Where none succeeds for an hour, the sweeper says so.
    """
    scans = not is_for_rules(event)
    if not scans:
        account = context.invoked_function_arn.split(":")[4]
        if not hear(event, _HEARING, account=account, region=wiring.settings.region, now=now()):
            return {"begun": []}
        pause(LOOK_SECONDS)
    return {"begun": _looked(scans=scans)}


def _looked(*, scans: bool) -> list[str]:
    """What rules have begun, of what events have named and, with `scans`, of everything that is new."""
    from rewarm.steps.adopt.look import look  # noqa: PLC0415 - most events come where there is no rule

    begun = look(_look_ports(), now=now(), scans=scans)
    for restore_id in begun:
        logger.info("adopting by a rule", restore_id=restore_id)
        count("RestoresStarted", trigger="rule")
    return begun


@cache
def _look_ports() -> RuleLookPorts:
    from rewarm.steps.adopt.look import RuleLookPorts  # noqa: PLC0415

    return filled(
        RuleLookPorts, messages=wiring.messages(wiring.later_client), artifacts=wiring.late_artifacts()
    )
