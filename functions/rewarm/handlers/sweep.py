"""Serves the schedule that ends what goes on costing money after its restore."""

from __future__ import annotations

from aws_lambda_powertools.utilities.typing import LambdaContext

from rewarm.domain.errors import IncompleteCleanUpError
from rewarm.handlers import wiring
from rewarm.handlers.clock import now
from rewarm.observability import count, logger, tracer
from rewarm.ports import JsonObject
from rewarm.steps.gauges import GaugePorts, read_gauges
from rewarm.steps.sweep import SweepPorts, sweep

_VOLUMES = wiring.volumes()
_MODIFICATIONS = wiring.modifications()
_EXECUTIONS = wiring.restore_executions()
_TABLE = wiring.table()
_INVENTORY = wiring.inventory()
_PRICES = wiring.prices()


@tracer.capture_lambda_handler(capture_response=False)
@logger.inject_lambda_context(clear_state=True)
def lambda_handler(_event: JsonObject, _context: LambdaContext) -> JsonObject:
    """What was found; raises IncompleteCleanUpError, which an alarm sees, where something is left."""
    found = sweep(
        SweepPorts(
            stack_name=wiring.settings.stack_name,
            now=now(),
            boosted=_VOLUMES,
            volumes=_VOLUMES,
            modifications=_MODIFICATIONS,
            executions=_EXECUTIONS,
            table=_TABLE,
        )
    )
    for one in found:
        logger.info("swept", **one.to_json())
        count("Swept", sweep=one.sweep, state=one.state)
    left = [f"{one.resource} ({one.sweep}): {one.reason}" for one in found if one.state == "left"]
    left += _publish_gauges()
    if left:
        raise IncompleteCleanUpError("; ".join(left))
    return {"swept": [one.to_json() for one in found]}


def _publish_gauges() -> tuple[str, ...]:
    """After the sweep, so that they tell what it could not end; why some could not be read."""
    reading = read_gauges(
        GaugePorts(
            stack_name=wiring.settings.stack_name,
            now=now(),
            inventory=_INVENTORY,
            volumes=_VOLUMES,
            executions=_EXECUTIONS,
            prices=_PRICES,
        )
    )
    for one in reading.gauges:
        count(one.name, value=one.value, unit=one.unit)
    for reason in reading.later:
        logger.warning("gauge not read", reason=reason)
    return reading.problems
