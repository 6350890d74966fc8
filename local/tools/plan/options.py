"""The command line of `make plan`."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from local import ROOT
from rewarm.domain.model import Strategy
from rewarm_cli.clone.arguments import Parser, dollars, named, number, region, whole

MAX_SIZE_GIB = 65_536
MAX_DEADLINE_MINUTES = 10_080
MAX_VOLUMES = 100
FSR_STATES = ("disabled", "enabling", "optimizing", "enabled", "disabling")
ZONE = r"[a-z]{2}(-[a-z]+)+-\d[a-z]"
EPILOG = """\
No AWS account is needed: prices are the shipped ones, each with its date; limits of instance types
and quotas are AWS's published ones. With --request FILE the objective, the volume, the warm-up and
the check come from the file, and what AWS would know (data, fast snapshot restore, instance type)
from the options. With --aws all of it comes from the account of your credentials, or from the
embedded AWS in a shell of its network. Only calls that read are made (Describe, Get).
Exit status: 0 planned, 1 AWS did not answer, 2 bad option or request, 3 no strategy fits;
make's own is 2 for any but 0.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for; None where the request file or a default decides."""

    request: Path | None = None
    aws: bool = False
    calibration: Path | None = None
    size_gib: int | None = None
    written_percent: int | None = None
    volume_type: str | None = None
    iops: int | None = None
    throughput: int | None = None
    region: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    volumes: int | None = None
    fsr_state: str | None = None
    credits: float | None = None
    strategy: str | None = None
    deadline_minutes: int | None = None
    max_cost_usd: Decimal | None = None
    strict: bool = False
    what_if: bool = False
    explain: bool = False
    as_json: bool = False
    svg: Path | None = None
    docs: Path | None = None


def parse(arguments: list[str] | None = None) -> Options:
    """The options; a bad value ends the process with status 2 and a sentence that names it."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    facts = [name for name in _OF_FACTS if given[name] is not None]
    if given["aws"] and given["request"] is None:
        parser.error("argument --aws: found no --request; allowed only with --request FILE")
    if given["aws"] and facts:
        parser.error(
            f"argument --{facts[0].replace('_', '-')}: not allowed with --aws, which knows it itself"
        )
    if given["credits"] is not None and given["fsr_state"] != "enabled":
        parser.error("argument --credits: found a balance; allowed only with --fsr-state enabled")
    data_gib = given.pop("data_gib")
    if data_gib is not None:  # the name of --size-gib until it was the same in all commands
        given["size_gib"] = math.ceil(data_gib * 100 / (given["written_percent"] or 100))
    return Options(**{name: value for name, value in given.items() if value is not None})


_OF_FACTS = (
    "size_gib",
    "data_gib",
    "written_percent",
    "instance_type",
    "volumes",
    "fsr_state",
    "credits",
    "calibration",
)


def _parser() -> Parser:
    parser = Parser(
        make_target="plan",
        description="Every strategy with its time and price, the cheapest in time, and why. Creates nothing.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_request(parser)
    _add_snapshot(parser.add_argument_group("the snapshot and the volume"))
    _add_target(parser.add_argument_group("the target"))
    _add_objective(parser.add_argument_group("the objective"))
    _add_output(parser.add_argument_group("what is shown"))
    return parser


def _add_request(parser: Any) -> None:
    parser.add_argument(
        "--request",
        type=_file,
        metavar="FILE",
        help="a restore request as JSON (events/restore-request.schema.json)",
    )
    parser.add_argument(
        "--aws",
        action="store_true",
        help="ask AWS with your own credentials; calls that only read, nothing is made",
    )


def _add_snapshot(group: Any) -> None:
    size = whole("GiB", 1, MAX_SIZE_GIB)
    group.add_argument(
        "--size-gib", type=size, help=f"size of the snapshot's volume, 1 to {MAX_SIZE_GIB:,} (100)"
    )
    group.add_argument("--data-gib", type=size, help=argparse.SUPPRESS)
    group.add_argument(
        "--written-percent", type=whole("percent", 1, 100), help="how much of it holds data, 1 to 100 (100)"
    )
    types = ("gp3", "gp2", "io2", "io1", "st1", "sc1")
    group.add_argument("--volume-type", choices=types, help="of the new volume (gp3)")
    group.add_argument(
        "--iops", type=whole("IOPS", 100, 256_000), help="of the new volume; io1 and io2 need it (gp3: 3,000)"
    )
    group.add_argument(
        "--throughput", type=whole("MiB/s", 125, 2_000), help="of the new volume, gp3 only (125)"
    )
    group.add_argument(
        "--volumes", type=whole("volumes", 1, MAX_VOLUMES), metavar="N", help="from the same snapshot (1)"
    )
    group.add_argument(
        "--fsr-state", choices=FSR_STATES, help="of fast snapshot restore in the target's zone (disabled)"
    )
    group.add_argument(
        "--calibration",
        type=_file,
        metavar="FILE",
        help="times that `rewarm calibrate --save` measured, as in docs/calibrations (shipped priors)",
    )
    group.add_argument(
        "--credits", type=number(0, 10), help="of fast snapshot restore, where it is enabled (0)"
    )


def _add_target(group: Any) -> None:
    group.add_argument("--region", type=region, help="(us-east-1)")
    group.add_argument(
        "--zone", type=named(ZONE, "a zone's name such as us-east-1a"), help="(the Region's first)"
    )
    group.add_argument(
        "--instance-type",
        help="where the volume is attached, or none for a volume in a zone alone (m7g.large)",
    )


def _add_objective(group: Any) -> None:
    group.add_argument(
        "--deadline-minutes",
        type=whole("minutes", 1, MAX_DEADLINE_MINUTES),
        help="until when it has to be at full speed (no deadline)",
    )
    group.add_argument(
        "--max-cost-usd", type=dollars, metavar="USD", help="the most it may cost, all volumes (no limit)"
    )
    group.add_argument("--budget", dest="max_cost_usd", type=dollars, help=argparse.SUPPRESS)
    strategies = ("auto", *(one.value for one in Strategy if one.makes_volume))
    group.add_argument("--strategy", choices=strategies, help="(auto: the cheapest)")
    group.add_argument("--strict", action="store_true", help="refuse where nothing meets deadline and price")


def _add_output(group: Any) -> None:
    group.add_argument("--what-if", action="store_true", help="also the price of every other deadline")
    group.add_argument(
        "--explain",
        action="store_true",
        help="also when each way is the right one; of several volumes, every strategy for each",
    )
    group.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="the plan as POST /plans answers it, on standard output",
    )
    group.add_argument(
        "--svg", type=_svg, nargs="?", const=ROOT / ".local" / "plan.svg", metavar="FILE",
        help="also draw it: the plan, its schedule and its what-if, from FILE on (.local/plan.svg)",
    )  # fmt: skip
    group.add_argument(
        "--docs", type=Path, nargs="?", const=Path("docs"), metavar="FOLDER",
        help="write what docs/strategies.md and docs/plan.md take from the rules, and nothing else",
    )  # fmt: skip


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"found {text!r}; the path of a file that exists is allowed")
    return path


def _svg(text: str) -> Path:
    path = Path(text)
    if path.suffix != ".svg" or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"found {text!r}; a path in a folder that exists, ending in .svg, is allowed"
        )
    return path
