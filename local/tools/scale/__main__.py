"""`make scale`: how long the largest snapshots take to list, and in how many requests and how much memory;
or, with --restores, whether so many restores at once all end, with hardly more requests than a single one;
or, with --adopt, whether a rule adopts so many volumes, which others make within a minute, once and in time;
or, with --fleet, how near fleets of growing size come to the least time that the account's limits allow.

The snapshot is listed by the stack's own function, at the pace that AWS's quota allows (the Region simulator
refuses what goes faster), and its map is read back and compared with what was written. Restores run in one
process and in virtual time, with EC2's request limits; a thousand take some twenty minutes of real time, and
a fleet of a thousand volumes about three.
Exit status 0 when every listing holds its limits, 1 when not, 2 for options that make no sense.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from local import ROOT
from local.aws.host import HOST_ERRORS
from local.tools.scale import adoptions, curve, fleets
from local.tools.scale.measure import Listing, ScaleError, as_json, measure_alone
from local.tools.scale.patterns import PATTERNS, pages
from local.tools.scale.restores import Shortage, crowd, problems
from rewarm.domain.model import Strategy
from rewarm_cli.clone.arguments import Parser, whole

DEFAULT_SIZE_GIB = 16_384
OF_LISTINGS = ("size_gib", "pattern", "state_dir")
OF_RESTORES = ("strategy", "lambda_concurrency", "lambda_outage_minutes")
MOST_CONCURRENCY, MOST_OUTAGE_MINUTES = 100_000, 600
MOST_MIB = 512
MOST_VOLUMES = 10_000
MOST_ADOPTED, ADOPTED = 4_000, 1_000
MOST_RESTORES = 2_000
"""What a stack allows at once by default."""
FULL_SECONDS = 60
QUOTA_PER_SECOND = 50
SPARE = 1.25
"""Listing block by block may take so much longer than the quota alone would allow."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and return the exit status."""
    options = parse(arguments)
    said = sys.stderr if options.json else sys.stdout
    if options.restores:
        return _restores(options, said)
    if options.fleet:
        return _fleets(options, said)
    if options.adopt:
        return _adoptions(options, said)
    listings: list[Listing] = []
    try:
        for pattern in options.pattern or PATTERNS:
            listings.append(_measure(pattern, options.size_gib, options.state_dir))
            print(_line(listings[-1]), file=said, flush=True)
    except (ScaleError, *HOST_ERRORS) as problem:
        print(f"scale: {problem}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(as_json(listings)), flush=True)
    return 0 if all(holds(listing) for listing in listings) else 1


def _restores(options: argparse.Namespace, said: TextIO) -> int:
    """So many at once, beside one alone."""
    with _silence():
        alone = crowd(1, strategy=options.strategy, seed=options.seed)
        shortage = Shortage(options.lambda_concurrency, options.lambda_outage_minutes or 0)
        many = crowd(options.restores, strategy=options.strategy, seed=options.seed, shortage=shortage)
    wrong = problems(many, alone)
    print(
        f"{'✗' if wrong else '✓'} {many.ready:,} of {many.restores:,} restores at once are ready, after "
        f"{many.first_seconds:,.0f} to {many.last_seconds:,.0f} s (one alone: {alone.last_seconds:,.0f} s); "
        f"{many.calls:,.1f} requests each (alone {alone.calls:,.1f}), {many.ec2_calls:,.1f} of them to EC2 "
        f"(alone {alone.ec2_calls:,.1f}); {many.throttled_states:,} states were throttled; "
        f"{many.told:,} were told; {many.most_functions:,} functions ran at once at most, and Lambda refused "
        f"{many.refused_functions:,}",
        file=said,
    )
    for one in wrong:
        print(f"  {one}", file=said)
    if options.json:
        told = {"alone": alone.as_json(), "restores": many.as_json(), "problems": wrong}
        print(json.dumps(told), flush=True)
    return 1 if wrong else 0


def _adoptions(options: argparse.Namespace, said: TextIO) -> int:
    """So many volumes, beside those of one instance alone."""
    with _silence():
        pace = adoptions.MADE_WITHIN_SECONDS / options.adopt
        alone = adoptions.adopted(adoptions.PER_INSTANCE, pace * adoptions.PER_INSTANCE, seed=options.seed)
        many = adoptions.adopted(options.adopt, seed=options.seed)
    print(adoptions.line(many, alone), file=said)
    wrong = adoptions.problems(many, alone)
    for one in wrong:
        print(f"  {one}", file=said)
    if options.json:
        print(
            json.dumps({"alone": alone.as_json(), "adopted": many.as_json(), "problems": wrong}), flush=True
        )
    return 1 if wrong else 0


@contextmanager
def _silence() -> Iterator[None]:
    """The functions' logs would drown the figures."""
    silenced = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(silenced)


def _fleets(options: argparse.Namespace, said: TextIO) -> int:
    """Fleets of these sizes, the smallest first: its restores are disturbed by nobody."""
    found: list[fleets.Fleet] = []
    with _silence():
        for count in fleets.ordered(options.fleet):
            found.append(fleets.fleet(count, alone=found[0] if found else None, seed=options.seed))
            print(curve.line(found[-1], found[0]), file=said, flush=True)
    if options.write_docs:
        for path in curve.write(found, ROOT / "docs"):
            print(f"Written: {path}", file=said)
    wrong = [problem for one in found for problem in fleets.problems(one, found[0])]
    if options.json:
        print(json.dumps({"fleets": [one.as_json() for one in found], "problems": wrong}), flush=True)
    return 1 if wrong else 0


def _measure(pattern: str, size_gib: int, state_dir: Path) -> Listing:
    """In a separate process, which holds one embedded AWS only; it ends the function's process too."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure_alone, pattern, size_gib, state_dir).result()


def holds(listing: Listing) -> bool:
    """Whether it kept to time and memory."""
    at_quota = SPARE * pages(listing.pattern, listing.size_gib) / QUOTA_PER_SECOND
    limit = FULL_SECONDS if listing.pattern == "full" else max(FULL_SECONDS, at_quota)
    return listing.seconds <= limit and listing.peak_mib <= MOST_MIB


def _line(listing: Listing) -> str:
    mark, what = "✓" if holds(listing) else "✗", PATTERNS[listing.pattern].description
    return (
        f"{mark} {listing.size_gib:,} GiB, {what}: {listing.seconds:,.1f} s, "
        f"{listing.requests:,} requests, peak {listing.peak_mib:,.0f} MiB, map of {listing.map_mib:,.1f} MiB"
    )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Listings or restores: an option of the one is not silently lost on the other."""
    parser = _parser()
    given = parser.parse_args(arguments)
    kinds = [f"--{name}" for name in ("restores", "fleet", "adopt") if getattr(given, name)]
    if len(kinds) > 1:
        parser.error(f"argument {kinds[1]}: not allowed with {kinds[0]}")
    kind = kinds[0] if kinds else ""
    for names, owner in ((OF_LISTINGS, ""), (OF_RESTORES, "--restores")):
        for name in names:
            if getattr(given, name) is not None and kind != owner:
                rule = f"allowed only with {owner}" if owner else f"not allowed with {kind}"
                parser.error(f"argument --{name.replace('_', '-')}: {rule}")
    if given.seed is not None and not kind:
        parser.error("argument --seed: allowed only with --restores, --fleet or --adopt")
    if given.write_docs and not given.fleet:
        parser.error("argument --write-docs: allowed only with --fleet")
    given.size_gib = given.size_gib or DEFAULT_SIZE_GIB
    given.state_dir = given.state_dir or ROOT / ".local" / "scale"
    given.strategy = given.strategy or Strategy.WARM_UP_AGENT
    given.seed = 1 if given.seed is None else given.seed
    return given


def _parser() -> Parser:
    parser = Parser(
        make_target="scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size-gib", type=whole("GiB", 1, 65_536), help=f"size of the snapshot ({DEFAULT_SIZE_GIB})"
    )
    parser.add_argument(
        "--pattern", choices=list(PATTERNS), action="append", help="only this one; may be given again"
    )
    parser.add_argument(
        "--restores", type=whole("restores", 1, MOST_RESTORES), help="so many restores at once, instead"
    )
    parser.add_argument(
        "--fleet", type=whole("volumes", 1, MOST_VOLUMES), nargs="+", metavar="VOLUMES",
        help="fleets of these sizes, instead",
    )  # fmt: skip
    parser.add_argument(
        "--adopt", type=whole("volumes", 1, MOST_ADOPTED), nargs="?", const=ADOPTED, metavar="VOLUMES",
        help=f"so many volumes of a foreign client, adopted by a rule, instead ({ADOPTED})",
    )  # fmt: skip
    parser.add_argument("--write-docs", action="store_true", help="with --fleet: write docs/scale.md")
    parser.add_argument(
        "--strategy",
        choices=[one for one in Strategy if one.makes_volume],
        help=f"of the restores ({Strategy.WARM_UP_AGENT})",
    )
    parser.add_argument(
        "--lambda-concurrency", type=whole("functions", 1, MOST_CONCURRENCY),
        help="Lambda runs so many functions at once (no limit)",
    )  # fmt: skip
    parser.add_argument(
        "--lambda-outage-minutes", type=whole("minutes", 1, MOST_OUTAGE_MINUTES),
        help="for so long Lambda runs no function, once half of the restores have begun",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, help="of the chances of restores, fleets and adoptions (1)")
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--state-dir", type=Path, help="folder of its own for the listings (.local/scale)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
