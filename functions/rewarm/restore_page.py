"""The page of a restore or a fleet, drawn by the functions that write its report."""

from __future__ import annotations

from rewarm.observability import logger
from rewarm.ports import JsonObject


def drawn(account: JsonObject) -> str | None:
    """The page; None if it cannot be made, because a page must never fail a restore."""
    try:
        # Loaded here, so that a missing package of the page stops nothing else.
        from rewarm.page import fleet, render  # noqa: PLC0415

        return fleet.render(account) if "fleetId" in account else render(account)
    except Exception:
        logger.exception("the page could not be made")
        return None


def drawn_live(account: JsonObject) -> str:
    """The page of a restore that has no report yet."""
    # Loaded here, so that only requests for a page wait for what draws it.
    from rewarm.page import live  # noqa: PLC0415

    return live.render(account)
