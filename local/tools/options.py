"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

from rewarm_cli.clone.arguments import Parser


def add_json_and_state_dir(parser: Parser, state_dir: Path) -> None:
    """As `as_json` and `state_dir`."""
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="the last line on standard output is one JSON object; the story goes to standard error",
    )
    parser.add_argument(
        "--state-dir", type=Path, default=state_dir, help="folder of the embedded AWS (%(default)s)"
    )
