"""A parser and converters for argparse; each complaint names what was found and what is allowed."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Complains in one sentence, without argparse's usage of a dozen lines.

    With `make_target` the usage says how to call it through make, or directly for the exit status.
    """

    def __init__(self, *, make_target: str | None = None, **settings: Any) -> None:
        if make_target is not None:
            settings["prog"] = f"make {make_target}"
            settings["usage"] = (
                f'make {make_target} ARGS="…"  or  .venv/bin/python -m local.tools.{make_target} …'
            )
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        self.exit(2, f"{self.prog}: {message} (--help lists the options)\n")


def whole(unit: str, least: int, most: int) -> Callable[[str], int]:
    """To whole numbers within limits."""

    def convert(text: str) -> int:
        allowed = f"a whole number of {unit} from {least} to {most} is allowed"
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"found {text!r}; {allowed}") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"found {value}; {allowed}")
        return value

    return convert


def number(least: float, most: float) -> Callable[[str], float]:
    """To numbers within limits."""

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"found {text!r}; a number from {least:g} to {most:g} is allowed"
            )
        return value

    return convert


def dollars(text: str) -> Decimal:
    """To US dollars."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"found {text!r}; an amount of US dollars, 0 or more, is allowed")
    return value


def named(pattern: str, allowed: str) -> Callable[[str], str]:
    """To names of a certain form; `allowed` says it in words."""

    def convert(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise argparse.ArgumentTypeError(f"found {text!r}; {allowed} is allowed")
        return text

    return convert


region = named(r"[a-z]{2}(-[a-z]+)+-\d", "a Region's name such as us-east-1")
"""To a Region's name."""
