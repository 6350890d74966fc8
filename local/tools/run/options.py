"""The command line of `make run`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from local.aws.host import DEFAULT_STATE_DIR
from local.tools.options import add_json_and_state_dir
from rewarm.domain.model import Strategy
from rewarm_cli.clone.arguments import Parser, dollars, region, whole

STRATEGIES = ("auto", *(strategy.value for strategy in Strategy if strategy.makes_volume))
SCENARIOS = ("restore", "drill", "rewind", "adopt")
MAX_SIZE_GIB = 64
"""The snapshot is a real file system on this machine; more would only take long."""
MAX_DEADLINE_MINUTES = 10_080
THROUGHPUT = 125, 750
"""MiB/s: gp3 gives 0.25 for each IOPS (EBS user guide, "General Purpose SSD volumes")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for."""

    strategy: str = "auto"
    size_gib: int = 2
    written_percent: int = 50
    throughput: int = 125
    deadline_minutes: int = 30
    max_cost_usd: Decimal | None = None
    seed: int = 1
    as_json: bool = False
    keep_running: bool = False
    skip_second: bool = False
    scenario: str = "restore"
    region: str = "us-east-1"
    state_dir: Path = DEFAULT_STATE_DIR


def parse(arguments: list[str] | None = None) -> Options:
    """The options; a bad value ends the process with status 2 and a sentence that names it."""
    values = vars(_parser().parse_args(arguments))
    return Options(**values)


def _parser() -> Parser:
    parser = Parser(
        make_target="run",
        description="Restore a volume on the embedded AWS after an alarm, and again by POST /restores.",
        epilog="Exit status: 0 ready, 1 not ready, 2 bad option, 130 stopped; make's own is 2 for any but 0.",
    )
    default = Options()
    _add_restore_options(parser, default)
    parser.add_argument("--seed", type=int, default=default.seed, help="of the files' contents (%(default)s)")
    parser.add_argument(
        "--keep-running",
        action="store_true",
        help="leave the embedded AWS up afterwards, until Ctrl-C, and show how to call its API",
    )
    parser.add_argument(
        "--region", type=region, default=default.region, help="of the embedded AWS (%(default)s)"
    )
    parser.add_argument(
        "--scenario",
        choices=SCENARIOS,
        default=default.scenario,
        help="restore after an alarm and by a call, drill a runbook three times, put a damaged volume back "
        "and undo that, or warm up a volume that something else has made (%(default)s)",
    )
    parser.add_argument("--skip-second", action="store_true", help="only the restore that the alarm starts")
    add_json_and_state_dir(parser, default.state_dir)
    return parser


def _add_restore_options(parser: Parser, default: Options) -> None:
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default=default.strategy,
        help="of the restore after the alarm (%(default)s); the second one is always provisioned-rate. "
        "With --scenario rewind, of the restore beside it. For volume-clone the source volume stays alive, "
        "for boosted-warm-up the instance is a larger one.",
    )
    parser.add_argument(
        "--size-gib",
        type=whole("GiB", 1, MAX_SIZE_GIB),
        default=default.size_gib,
        help=f"size of the volume, 1 to {MAX_SIZE_GIB} (%(default)s)",
    )
    parser.add_argument(
        "--written-percent",
        type=whole("percent", 5, 85),
        default=default.written_percent,
        help="how much of it holds files, 5 to 85 (%(default)s)",
    )
    parser.add_argument(
        "--throughput",
        type=whole("MiB/s", *THROUGHPUT),
        default=default.throughput,
        help="of the volumes of --scenario rewind, old and new, gp3 with 3,000 IOPS: "
        f"{THROUGHPUT[0]} to {THROUGHPUT[1]} (%(default)s)",
    )
    parser.add_argument(
        "--deadline-minutes",
        type=whole("minutes", 1, MAX_DEADLINE_MINUTES),
        default=default.deadline_minutes,
        help=f"objective.readyWithinMinutes, 1 to {MAX_DEADLINE_MINUTES} (%(default)s)",
    )
    parser.add_argument(
        "--max-cost-usd", type=dollars, default=None, help="objective.maxCostUsd (default: no limit)"
    )
