"""Stores a runbook or a rule, over another one only where its writer has seen that one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rewarm.contracts.base import Contract, parsed
from rewarm.domain.errors import AlreadyStoredError, InvalidRequestError, ServiceUnavailableError
from rewarm.ports import JsonObject
from rewarm.ports.restores import MOST_ROUNDS, RestoreTable

NOTHING = "nothing"
"""Instead of a version: nothing is to be replaced."""


def store(
    table: RestoreTable,
    key: tuple[str, str],
    content: Contract,
    *,
    trigger: JsonObject,
    replaces: str | None,
    what: str,
) -> None:
    """Stores the content under its kind and name.

    `replaces` is the version that the writer has seen, or NOTHING; None replaces whatever is there. Raises
    AlreadyStoredError where something else is stored, which stays. `what` names it. Raises
    ServiceUnavailableError if others write all the time.
    """
    wanted: JsonObject = content.to_json()
    if replaces is None:
        table.store(*key, wanted, trigger=trigger)
        return
    for _round in range(MOST_ROUNDS):
        item = table.stored(*key)
        was = None if item is None else item["request"]
        if was is not None and version_of(was) != replaces and _today(was, type(content)) != wanted:
            raise AlreadyStoredError(
                f"{what} is stored already and differs, and it stays; with replaces={version_of(was)} it is "
                "replaced",
                stored=_today(was, type(content)),
                wanted=wanted,
                version=version_of(was),
            )
        if table.replace(*key, wanted, trigger=trigger, was=was):
            return
    raise ServiceUnavailableError(f"{what} is stored all the time; try again")


def version_of(stored: JsonObject) -> str:
    """Names what is stored: another content has another version."""
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()[:16]


def _today(stored: JsonObject, contract: type[Contract]) -> Any:
    """With all fields that this version knows; as it is, where this version does not take it."""
    try:
        return parsed(contract, stored).to_json()
    except InvalidRequestError:
        return stored
