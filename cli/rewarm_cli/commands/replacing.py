"""Stores a runbook or a rule; where another one is stored already, shows what differs and asks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rewarm_cli import asking
from rewarm_cli.addresses import address
from rewarm_cli.api import ALREADY_STORED, ApiRefusedError
from rewarm_cli.problems import REFUSED, CommandFailedError
from rewarm_cli.settings import Settings

Json = dict[str, Any]
NOTHING = "nothing"
"""For the API: nothing that is stored may be replaced."""
UNSET = "(not set)"


def put_stored(settings: Settings, path: Sequence[str], content: Json, what: str, *, yes: bool) -> Json:
    """The answer of PUT. The API itself compares, so what somebody else stores meanwhile stays as well.

    Raises Exit after no, and CommandFailedError where nobody can be asked.
    """
    api = settings.api()
    seen = NOTHING
    while True:
        try:
            return api.insist(200, "PUT", address(*path, replaces=None if yes else seen), content)
        except ApiRefusedError as refusal:
            if refusal.answer.body.get("error") != ALREADY_STORED:
                raise
            if not asking.is_terminal() and settings.output != "table":
                raise  # a program gets both from the API's answer
            found = refusal.answer.body
        _show(what, found)
        if not asking.is_terminal():
            raise CommandFailedError(
                f"{what} was not replaced: there is no terminal on which to ask. Use --yes to replace it.",
                REFUSED,
            )
        asking.agree(f"Replace {what}?", "Nothing was stored.")
        seen = found["version"]


def _show(what: str, found: Json) -> None:
    from rewarm_cli.output import console, tell

    target = console(stderr=True)
    tell(target, f"Another one is stored already as {what}:")
    for name, before, after in differences(found["stored"], found["wanted"]):
        tell(target, f"  {name}: {before} becomes {after}")


def differences(stored: Json, wanted: Json) -> Iterator[tuple[str, str, str]]:
    """Each field that differs: its name, what is stored, and what takes its place."""
    before = dict(_fields(stored))
    after = dict(_fields(wanted))
    for name in [*before, *(name for name in after if name not in before)]:
        if before.get(name) != after.get(name):
            yield name, _shown(before.get(name)), _shown(after.get(name))


def _fields(value: Json, above: str = "") -> Iterator[tuple[str, Any]]:
    """Those that are set, with their whole names."""
    for name, part in value.items():
        if isinstance(part, dict):
            yield from _fields(part, f"{above}{name}.")
        elif part not in (None, []):
            yield f"{above}{name}", part


def _shown(value: Any) -> str:
    if value is None:
        return UNSET
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
