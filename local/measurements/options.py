"""The command line of `make measurements`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from local.arguments import whole
from local.host import ROOT

DEFAULT_STATE_DIR = ROOT / ".local" / "measurements"
MOST_RESTORES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for."""

    restores: int = 30
    seed: int = 1
    as_json: bool = False
    state_dir: Path = DEFAULT_STATE_DIR


def parse(arguments: list[str] | None = None) -> Options:
    """The options; a bad value ends the process with status 2 and a sentence that names it."""
    parser = argparse.ArgumentParser(
        prog="make measurements ARGS=… (python -m local.measurements)",
        description="Restore again and again on the embedded AWS, and hold the estimates against it.",
        epilog="Exit status: 0 the estimates hold, 1 they do not, 2 bad option, 130 stopped.",
    )
    default = Options()
    parser.add_argument(
        "--estimates", action="store_true", help="estimate against actual (what is measured by default)"
    )
    parser.add_argument(
        "--restores",
        type=whole("restores", 1, MOST_RESTORES),
        default=default.restores,
        help="how many (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=default.seed, help="of sizes and order (%(default)s)")
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="the last line on standard output is one JSON object; the story goes to standard error",
    )
    parser.add_argument(
        "--state-dir", type=Path, default=default.state_dir, help="folder of its own (%(default)s)"
    )
    values = vars(parser.parse_args(arguments))
    del values["estimates"]
    return Options(**values)
