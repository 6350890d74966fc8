"""The command line of `make measurements`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from local import ROOT
from local.tools.measurements.published.states import Scale
from local.tools.options import add_json_and_state_dir
from rewarm_cli.clone.arguments import Parser, whole

DEFAULT_STATE_DIR = ROOT / ".local" / "measurements"
MOST_RESTORES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for."""

    estimates: bool = True
    published: bool = True
    """Which of the two; without an option both."""
    scale: Scale = field(default_factory=Scale)
    docs: Path = ROOT / "docs"
    restores: int = 30
    seed: int = 1
    as_json: bool = False
    state_dir: Path = DEFAULT_STATE_DIR


def parse(arguments: list[str] | None = None) -> Options:
    """The options; a bad value ends the process with status 2 and a sentence that names it."""
    parser = Parser(
        make_target="measurements",
        description="Restore again and again on the embedded AWS, hold the estimates against it, and measure "
        "the published figures again.",
        epilog="Exit status: 0 all holds, 1 it does not, 2 bad option, 130 stopped; "
        "make's own is 2 for any but 0.",
    )
    default = Options()
    parser.add_argument("--estimates", action="store_true", help="only estimate against actual")
    parser.add_argument(
        "--published", action="store_true", help="only the published figures, written to docs/measurements.md"
    )
    parser.add_argument(
        "--seconds",
        type=whole("seconds", 5, 600),
        default=default.scale.seconds,
        help="how long fio runs for each published figure (%(default)s)",
    )
    parser.add_argument(
        "--docs", type=Path, default=default.docs, help="folder of measurements.md (%(default)s)"
    )
    parser.add_argument(
        "--restores",
        type=whole("restores", 1, MOST_RESTORES),
        default=default.restores,
        help="how many (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=default.seed, help="of sizes and order (%(default)s)")
    add_json_and_state_dir(parser, default.state_dir)
    values = vars(parser.parse_args(arguments))
    both = values["estimates"] == values["published"]
    values |= {name: both or values[name] for name in ("estimates", "published")}
    return Options(scale=Scale(seconds=values.pop("seconds")), **values)
