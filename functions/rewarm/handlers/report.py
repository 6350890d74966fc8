"""Serves the states that begin with Report."""

from __future__ import annotations

from rewarm.contracts import ReportEvent, ReportResult
from rewarm.handlers import wiring
from rewarm.observability import logger, step_handler
from rewarm.ports import JsonObject
from rewarm.restore_metrics import restore_reported
from rewarm.steps.report import report

_ARTIFACTS = wiring.artifacts()
_TABLE = wiring.table()
_HISTORY = wiring.history()


@step_handler(ReportEvent)
def lambda_handler(event: ReportEvent) -> ReportResult:
    """The account of the whole restore, or of one volume."""
    result = report(event, artifacts=_ARTIFACTS, table=_TABLE, history=_HISTORY, draw=_drawn)
    if event.volume_index is None:
        restore_reported(event, result)
    return result


def _drawn(account: JsonObject) -> str | None:
    """A page is never worth a restore."""
    try:
        # Loaded here: what a page needs, and that it might be missing, stops nothing.
        from rewarm.page import render  # noqa: PLC0415

        return render(account)
    except Exception:
        logger.exception("the page could not be made")
        return None
