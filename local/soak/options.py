"""Options of `make soak`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

DEFAULT_RESTORES, MOST_RESTORES = 200, 1_000_000
TABLE_OPTION = "--calls"


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    restores: int
    seed: int
    only: int | None
    """One scenario, by its seed."""
    calls: bool
    """Print the table of the fault matrix instead."""
    as_json: bool


def parse(arguments: list[str] | None = None) -> Options:
    """Exit with status 2 and a sentence for options that make no sense."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not 1 <= given.restores <= MOST_RESTORES:
        parser.error(f"--restores: found {given.restores}; allowed is 1 to {MOST_RESTORES:,}")
    for name in ("seed", "only"):
        value = getattr(given, name)
        if value is not None and value < 0:
            parser.error(f"--{name}: found {value}; allowed is 0 or more")
    return Options(given.restores, given.seed, given.only, given.calls, given.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make soak ARGS=…",
        description="Random restores with random faults, in one process and in virtual time.",
        epilog="A scenario follows from its seed alone: --only repeats it.",
    )
    parser.add_argument(
        "--restores", type=int, default=DEFAULT_RESTORES, help="at least so many (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first scenario (default: %(default)s)")
    parser.add_argument("--only", type=int, metavar="SEED", help="one scenario, and all that is known of it")
    parser.add_argument(
        TABLE_OPTION, action="store_true", help="print which calls every state makes and needs, as JSON"
    )
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    return parser
