"""What options take; each complaint says what was found and what is allowed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import click

from rewarm_cli import words
from rewarm_cli.addresses import address

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

REGION = re.compile(r"[a-z]{2,8}(-[a-z]+)+-[0-9]{1,2}")
A_REGION = "a Region such as eu-central-1 is allowed"
COMPLETION_SECONDS = 3.0
"""How long a shell waits for names."""
MOST_USD = 1_000_000
"""As in a request (events/restore-request.schema.json)."""
MOST_DIGITS = 7
"""Of a number of minutes, hours or days; more would be thousands of years."""


class Input(click.ParamType):  # type: ignore[type-arg]  # click 8.1 has no argument
    """Text that is read by `_read`, which raises ValueError for what is not allowed."""

    name, allowed = "text", ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except (ValueError, ArithmeticError):
            self.refuse(value, param, ctx)

    def refuse(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> NoReturn:
        """Complain."""
        self.fail(f"found {value!r}; {self.allowed}", param, ctx)

    def _read(self, text: str) -> Any:
        raise NotImplementedError


class Formed(Input):
    """Text of a form, taken as it is."""

    form = ""

    def _read(self, text: str) -> str:
        if re.fullmatch(self.form, text, re.DOTALL) is None:
            raise ValueError
        return text


class Minutes(Input):
    """`60`, `90m`, `2h`, `1d`, to whole minutes."""

    name, allowed = "time", "allowed are minutes, or a number with m, h or d"

    def _read(self, text: str) -> int:
        found = re.fullmatch(rf"([0-9]{{1,{MOST_DIGITS}}})([mhd]?)", text, re.ASCII)
        if found is None:
            raise ValueError
        return int(found[1]) * {"": 1, "m": 1, "h": 60, "d": 1440}[found[2]]


class Usd(Input):
    """An amount of US dollars."""

    name, allowed = "usd", "a number of US dollars from 0 to 1,000,000 is allowed"

    def _read(self, text: str) -> Decimal:
        try:
            amount = Decimal(text)
        except InvalidOperation:
            raise ValueError from None
        if not amount.is_finite() or not 0 <= amount <= MOST_USD:
            raise ValueError
        return amount


class Whole(Input):
    """A whole number within limits."""

    name = "number"

    def __init__(self, least: int, most: int) -> None:
        self._least = least
        self._most = most
        self.allowed = f"a whole number from {least:,} to {most:,} is allowed"

    def _read(self, text: str) -> int:
        value = int(text)
        if not self._least <= value <= self._most:
            raise ValueError
        return value


class Instant(Input):
    """A time, a date or an age, to the API's form of a time."""

    name, allowed = (
        "time",
        "allowed are an age such as 12h or 7d, a date, or a time such as 2026-11-22T10:00Z",
    )

    def _read(self, text: str) -> str:
        return words.instant(text, datetime.now(UTC))


class Region(Formed):
    """A Region's name, of any partition."""

    name, allowed, form = "region", A_REGION, REGION.pattern


class Address(Formed):
    """The address of the API."""

    name = "url"
    allowed = "an https address is allowed, such as the stack's output ApiUrl: https://…/v1"
    form = r"(?i:https?://[a-z0-9._-]+(:[0-9]{1,4}|:[1-5][0-9]{4})?(/[!-~]*)?)"


class Key(Formed):
    """What may stand in a header of HTTP."""

    name, allowed = "key", "up to 255 letters, digits and signs of ASCII are allowed"
    form = r"[!-~]([ -~]{0,253}[!-~])?"


class Known(Formed):
    """The id or name of what the API lists, which a shell completes."""

    name = "id"
    NAMES: ClassVar = {"restores": "restoreId", "fleets": "fleetId", "runbooks": "alarmName", "rules": "name"}
    """List -> the field that names an entry."""
    _FORMS: ClassVar[dict[tuple[str, ...], tuple[str, str]]] = {
        ("runbooks",): (r".{1,255}", "the name of an alarm, of up to 255 characters, is allowed"),
        ("rules",): (
            r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}",
            "up to 64 letters, digits and . _ - are allowed, the first no mark",
        ),
    }
    _ID = r"[A-Za-z0-9_-]{1,80}", "an id such as restore-0123456789abcdef is allowed"

    def __init__(self, *lists: str) -> None:
        self._lists = lists
        self.form, self.allowed = self._FORMS.get(lists, self._ID)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """What begins so, newest first; nothing where the API does not answer soon."""
        from click.shell_completion import CompletionItem

        from rewarm_cli.api import ApiRefusedError
        from rewarm_cli.settings import Settings, enter_embedded_aws

        given = {name: ctx.params.get(name) for name in words.WHERE}
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
        found: list[CompletionItem] = []
        with suppress(click.ClickException, ApiRefusedError, OSError):
            if ctx.meta.get(words.LOCAL) and not os.environ.get(words.LOCAL):
                enter_embedded_aws([])  # which completes the same words
            api = replace(settings.api(), timeout_seconds=COMPLETION_SECONDS)
            for listed in self._lists:
                answer = api.expect(200, "GET", address(listed, limit=100))
                found += [
                    CompletionItem(entry[self.NAMES[listed]], help=entry.get("status"))
                    for entry in answer[listed]
                    if entry[self.NAMES[listed]].startswith(incomplete)
                ]
        return found


class Volume(Formed):
    """The id of a volume."""

    name, allowed = "volume", "an id such as vol-0123456789abcdef0 is allowed"
    form = r"vol-([0-9a-f]{8}|[0-9a-f]{17})"


class OneOf(click.Choice):  # type: ignore[type-arg]  # click 8.1 has no argument
    """One of some names."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(list(names))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(f"found {value!r}; allowed are {', '.join(self.choices)}", param, ctx)
        return value


class NewFile(click.Path):
    """A file that is written, with an ending that says what is in it."""

    def __init__(self, ending: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._ending = ending

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix.lower() != self._ending:
            self.fail(f"found {str(value)!r}; a name that ends in {self._ending} is allowed", param, ctx)
        return path
