"""Times, sizes, prices and commands as people read them."""

from __future__ import annotations

import math
import os
import re
import shlex
import unicodedata
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import click
from click.core import ParameterSource

UNITS = {"m": "minutes", "h": "hours", "d": "days"}
LEAST_USD = Decimal("0.0001")
LOCAL = "REWARM_LOCAL"
"""In the environment of a command that --local has started again."""
TYPED_AS = "REWARM_TYPED_AS"
"""In the environment of ./rewarm: how it was called."""
WHERE = {"profile": "--profile", "region": "--region", "stack": "--stack", "api_url": "--api-url"}
"""The options that say which stack."""


HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Unicode's categories of what controls a terminal or the direction of text, breaks lines, or is not seen."""
HARMLESS = frozenset("\t\n")


def visible(text: str) -> str:
    """The text with hidden characters escaped as in JSON, because names from outside may have any."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(sign: str) -> str:
    if sign in HARMLESS or unicodedata.category(sign) not in HIDDEN:
        return sign
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def aws(*words: str) -> str:
    """`aws <words>` for pasting."""
    return shlex.join(["aws", *words])


def command(*words: str) -> str:
    """`rewarm <words>` for pasting, with this command's options that say which stack."""
    context = click.get_current_context(silent=True)
    typed = [os.environ.get(TYPED_AS, "rewarm"), *words]
    for name, option in WHERE.items():
        if context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            typed += [option, context.params[name]]
    return shlex.join([*typed, "--local"] if os.environ.get(LOCAL) else typed)


def stopped_looking(what: str, its_id: str, *group: str) -> str:
    """What is said after Ctrl-C of what continues; `group` is that of its commands."""
    return (
        f"Stopped looking. The {what} continues.\n"
        f"  Look again: {command(*group, 'status', its_id, '--watch')}\n"
        f"  Cancel it:  {command(*group, 'cancel', its_id)}"
    )


def duration(seconds: float | None) -> str:
    """`31 s`, `4 min`, `23 h 38 min`, `2 d 3 h`."""
    if seconds is None:
        return "-"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def estimate(seconds: float | None) -> str:
    """A promised duration, which is rounded up as in the plan's own sentences."""
    return duration(seconds if seconds is None or seconds < 100 else 60 * math.ceil(seconds / 60))


def size(number: float) -> str:
    """`739.5 MiB`, `1 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:.4g} TiB"


def usd(text: Any) -> str:
    """`$0.75`, `$0.0035`, `under $0.0001`, as in the plan's own sentences; `-` where there is no price."""
    try:
        value = Decimal(str(text))
    except InvalidOperation:
        return "-"
    if 0 < value < LEAST_USD:
        return f"under ${LEAST_USD}"
    rounded = (f"{value:.{decimals}f}" for decimals in (2, 3, 4, 5))
    near = next(text for text in (*rounded, f"{value}") if abs(Decimal(text) - value) <= abs(value) / 50)
    return f"${near}"


def moment(text: str | None) -> datetime | None:
    """The time that the API wrote."""
    return None if not text else datetime.fromisoformat(text)


def clock(text: str | None, *, seconds: bool = False) -> str:
    """`2026-11-22 18:29 UTC`."""
    at = moment(text)
    if at is None:
        return "-"
    return f"{at.astimezone(UTC):{'%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}} UTC"


def instant(text: str, now: datetime) -> str:
    """A time for the API; `30m`, `12h` and `7d` count back from now, and a date is its first moment in UTC.

    Raises ValueError or OverflowError.
    """
    if age := re.fullmatch(r"([0-9]{1,7})([mhd])", text, re.ASCII):
        at = now - timedelta(**{UNITS[age[2]]: int(age[1])})
    else:
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def count(number: int, thing: str) -> str:
    """`1 volume`, `2 volumes`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
