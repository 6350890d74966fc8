"""Options of `make soak`."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm_cli.clone.arguments import Parser, named, whole

DEFAULT_RESTORES, MOST_RESTORES = 200, 1_000_000
TABLE_OPTION = "--calls"
STATEMENTS_OPTION, REWINDS_OPTION, ADOPTIONS_OPTION = "--statements", "--rewinds", "--adoptions"


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    restores: int
    seed: int
    only: int | None
    """One scenario, by its seed."""
    calls: bool
    """Print the table of the fault matrix instead."""
    statements: bool
    """Take out each statement of the template instead."""
    rewinds: bool
    """Nothing but rewinds, and what undoes them."""
    adoptions: bool
    """Nothing but adoptions of volumes that others have made."""
    as_json: bool


def parse(arguments: list[str] | None = None) -> Options:
    """Exit with status 2 and a sentence for options that make no sense."""
    given = _parser().parse_args(arguments)
    only = None if given.only is None else int(given.only)
    seed, tables = int(given.seed), (given.calls, given.statements)
    return Options(given.restores, seed, only, *tables, given.rewinds, given.adoptions, given.json)


def _parser() -> Parser:
    parser = Parser(
        make_target="soak",
        description="Random restores with random faults, in one process and in virtual time.",
        epilog="A scenario follows from its seed alone: --only repeats it.",
    )
    parser.add_argument(
        "--restores",
        type=whole("restores", 1, MOST_RESTORES),
        default=DEFAULT_RESTORES,
        help="at least so many (default: %(default)s)",
    )
    seed = named(r"\d{1,18}", "a whole number, 0 or more")
    parser.add_argument("--seed", type=seed, default="1", help="of the first scenario (default: %(default)s)")
    parser.add_argument("--only", type=seed, metavar="SEED", help="one scenario, and all that is known of it")
    parser.add_argument(
        TABLE_OPTION, action="store_true", help="print which calls every state makes and needs, as JSON"
    )
    parser.add_argument(
        STATEMENTS_OPTION, action="store_true", help="print which call each statement of template.yaml is for"
    )
    parser.add_argument(
        REWINDS_OPTION, action="store_true", help="each scenario is a rewind, and what undoes it"
    )
    parser.add_argument(
        ADOPTIONS_OPTION, action="store_true", help="each scenario is about volumes that others have made"
    )
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    return parser
