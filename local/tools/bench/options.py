"""`make bench`: the warm-up agent beside dd and fio on cold volumes, interleaved and repeated."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from local import ROOT
from local.tools.bench.specs import SPECS, TOOLS, VolumeSpec
from local.tools.bench.tools import AGENT
from rewarm_cli.clone.arguments import Parser

QUICK_SHARE = 0.25
MAX_ROUNDS, MAX_SIZE_GIB = 100, 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to measure."""

    specs: tuple[VolumeSpec, ...]
    tools: tuple[str, ...]
    rounds: int
    size_gib: float | None
    agent: Path
    state_dir: Path
    as_json: bool
    write_docs: bool
    check_politeness: bool
    polite_latency_ms: float
    check_rate_limit: float | None
    """The limit in MiB/s."""
    check_kill: int | None
    """How often."""
    apply: bool
    observe: bool
    hot: bool
    imports: bool
    plans: bool


def parse(arguments: list[str] | None = None) -> Options:
    """Exit with status 2 and a sentence for options that make no sense."""
    given = _parser().parse_args(arguments)
    named = [spec for spec in SPECS if not given.volume or spec.name in given.volume]
    complete = not (given.volume or given.tool or given.size_gib or given.quick or given.rounds < 5)
    return Options(
        specs=tuple(_sized(spec, given.size_gib, quick=given.quick) for spec in named),
        tools=tuple(given.tool or TOOLS),
        rounds=1 if given.quick else given.rounds,
        size_gib=given.size_gib,
        agent=given.agent.resolve(),
        state_dir=given.state_dir,
        as_json=given.json,
        write_docs=complete or given.write_docs,
        check_politeness=given.check_politeness,
        polite_latency_ms=given.polite_latency_ms,
        check_rate_limit=given.check_rate_limit,
        check_kill=given.check_kill,
        apply=given.apply,
        observe=given.observe,
        hot=given.hot,
        imports=given.imports,
        plans=given.plans,
    )


def _sized(spec: VolumeSpec, size_gib: float | None, *, quick: bool) -> VolumeSpec:
    if size_gib is not None:
        return spec.sized(size_gib)
    return spec.sized(spec.size_gib * QUICK_SHARE) if quick else spec


def _parser() -> Parser:
    names = ", ".join(spec.name for spec in SPECS)
    parser = Parser(make_target="bench", description=__doc__)
    add = parser.add_argument
    add("--rounds", type=_whole, default=5, help="how often each tool reads each volume (%(default)s)")
    add(
        "--volume",
        action="append",
        choices=[spec.name for spec in SPECS],
        metavar="NAME",
        help=f"only {names}",
    )
    add("--tool", action="append", choices=TOOLS, metavar="NAME", help=f"only {', '.join(TOOLS)}")
    add("--size-gib", type=_size, help="of every volume; each has a size of its own by default")
    add("--quick", action="store_true", help="one round on volumes of a quarter of the size: does it work?")
    add("--json", action="store_true", help="the last line on standard output is one JSON object")
    add("--write-docs", action="store_true", help="write docs/ even if this is not the complete benchmark")
    _add_checks(parser)
    add("--agent", type=Path, default=AGENT, help="the agent's binary (warmer/build/warmer)")
    add("--state-dir", type=Path, default=ROOT / ".local" / "bench", help="folder of its own (.local/bench)")
    return parser


def _add_checks(parser: Parser) -> None:
    group = parser.add_argument_group("other measurements, instead")
    add = group.add_mutually_exclusive_group().add_argument
    add("--check-politeness", action="store_true", help="what a warm-up leaves to an application")
    add("--check-rate-limit", type=_positive, metavar="MIB_S", help="how closely --max-mib-s is kept")
    add("--check-kill", type=_whole, metavar="KILLS", help="kill the agent so often and let it go on")
    add("--apply", action="store_true", help="`warmer apply` beside dd, which writes the same blocks")
    add("--observe", action="store_true", help="what `warmer observe` costs an application and a core")
    add("--hot", action="store_true", help="how soon applications are fast, by what the agent reads first")
    add("--imports", action="store_true", help="how fast the handlers are imported, and `rewarm` answers")
    add("--plans", action="store_true", help="how long a joint plan of 10,000 volumes takes")
    group.add_argument(
        "--polite-latency-ms", type=_positive, default=5.0, help="of --check-politeness (%(default)s)"
    )


def _whole(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if not 1 <= value <= MAX_ROUNDS:
        raise argparse.ArgumentTypeError(f"found {text!r}; 1 to {MAX_ROUNDS} is allowed")
    return value


def _size(text: str) -> float:
    value = _positive(text)
    if value > MAX_SIZE_GIB:
        raise argparse.ArgumentTypeError(f"found {text!r}; at most {MAX_SIZE_GIB:g} GiB is allowed")
    return value


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"found {text!r}; a number above 0 is allowed")
    return value
