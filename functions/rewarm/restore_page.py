"""The page of a restore or a fleet, as the functions draw it that write its account."""

from __future__ import annotations

from rewarm.observability import logger
from rewarm.ports import JsonObject


def drawn(account: JsonObject) -> str | None:
    """None where it cannot be made: a page is never worth a restore."""
    try:
        # Loaded here: what a page needs, and that it might be missing, stops nothing.
        from rewarm.page import fleet, render  # noqa: PLC0415

        return fleet.render(account) if "fleetId" in account else render(account)
    except Exception:
        logger.exception("the page could not be made")
        return None


def drawn_live(account: JsonObject) -> str:
    """The page of a restore that has no report yet."""
    # Loaded here: only who looks at a page waits for what draws it.
    from rewarm.page import live  # noqa: PLC0415

    return live.render(account)
