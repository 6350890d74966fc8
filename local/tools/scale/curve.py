"""docs/scale.md: what fleets of growing size took, as a table and as a curve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from local.tools.scale.fleets import (
    CHEAPEST_RATE_MIB_S,
    DEADLINE_MINUTES,
    LOADED_AT_ONCE,
    MOST_RATIO,
    MOST_TIMES_THE_CALLS,
    PER_INSTANCE,
    RATE_QUOTA_MIB_S,
    SIZES_GIB,
    Fleet,
    problems,
)
from rewarm.charts.svg import COLOURS, style, to_document
from rewarm.domain.units import elapsed_text

WIDTH_INCHES, HEIGHT_INCHES = 9.6, 3.9
TITLE = "Fleets of growing size"
_PAGE = """\
# Fleets of growing size

Written by `make scale ARGS="--fleet {sizes} --write-docs"`. Each fleet runs alone in a new account with
AWS's default quotas and EC2's documented request limits. Time is virtual: the state machines, the functions
and their roles are the stack's own, and AWS is the embedded AWS ([fidelity.md](fidelity.md)). So the
figures show what Rewarm adds to the limits, and nothing of AWS's own bad days.

Of {per_instance} volumes, eight go to one instance and two to a zone alone. Snapshots have {snapshots} GiB,
half of them written. Every volume is to be ready within {deadline} minutes, and each restore chooses its
strategy.

![Makespan and calls to AWS by the number of volumes](scale.svg)

{table}

Makespan is the time from the start of the fleet's execution until its last volume is ready. The execution
ends later: it confirms what is ready by the first minutes of each volume in CloudWatch, which come late.
The bound is the largest of these. The sizes of EC2's buckets of requests and their refill are those of the
EC2 developer guide, "Request throttling".

| bound | seconds |
|---|---|
| longest volume | that of the smallest fleet, where nobody disturbs a volume |
| initialization rate | the wait for a turn at {rate:,} MiB/s (EBS quotas), then a volume of a zone alone |
| CreateVolume requests | (volumes - 100) / 5 a second, then the shortest volume |
| other requests that change | (requests - 50) / 5 a second |
| describe requests | (requests - 100) / 20 a second |

Each volume of a zone is loaded at {cheapest} MiB/s, the cheapest rate, as that is in time. So {places} are
loaded at once. Before the last one begins, all but the {places} largest have been loaded.

A makespan of at most {ratio} times the bound is the goal, and at most {calls} times the requests a volume
of the smallest fleet. Invocations of functions are not among these requests. A restore may have up to 40
volumes, so the smallest fleet of {per_instance} volumes has {restores} restores.

A fleet takes the turns of its restores at EC2 when it is planned: a stack makes at most
`DescribeCallsPerSecond` describe calls, 19 by default. Restores that wait for the
rate begin five minutes before their turn, and the others between them. Volumes that were refused the rate
ask for it again one after the other: 30 at once, then 0.6 a second.
"""


def line(found: Fleet, smallest: Fleet) -> str:
    """One fleet, for a terminal."""
    wrong = problems(found, smallest)
    said = "".join(f"\n  {problem}" for problem in wrong)
    makespan, bound = (elapsed_text(seconds) for seconds in (found.makespan_seconds, found.bound_seconds))
    return (
        f"{'✗' if wrong else '✓'} {found.volumes:,} volumes by {found.restores:,} restores: {found.ready:,} "
        f"ready after {makespan}, {found.ratio:.2f} times the {bound} by {found.bound}; "
        f"{found.all_calls:,.0f} requests and {found.states:,.0f} states a volume{said}"
    )


def write(found: Sequence[Fleet], folder: Path) -> list[Path]:
    """The page and its picture."""
    page = _PAGE.format(
        sizes=" ".join(str(one.volumes) for one in found),
        per_instance=PER_INSTANCE,
        snapshots=", ".join(map(str, SIZES_GIB)),
        deadline=DEADLINE_MINUTES,
        table=_table(found),
        rate=RATE_QUOTA_MIB_S,
        cheapest=CHEAPEST_RATE_MIB_S,
        places=LOADED_AT_ONCE,
        ratio=MOST_RATIO,
        calls=MOST_TIMES_THE_CALLS,
        restores=found[0].restores,
    )
    paths = [folder / "scale.md", folder / "scale.svg"]
    paths[0].write_text(page, encoding="utf-8")
    paths[1].write_text(document(found), encoding="utf-8")
    return paths


def _table(found: Sequence[Fleet]) -> str:
    heads = (
        "volumes", "restores", "ready", "makespan", "bound", "by", "ratio", "execution ended",
        "requests a volume", "of them EC2", "invocations a volume", "states a volume",
    )  # fmt: skip
    rows = [
        (
            f"{one.volumes:,}", f"{one.restores:,}", f"{one.ready:,}", elapsed_text(one.makespan_seconds),
            elapsed_text(one.bound_seconds), one.bound, f"{one.ratio:.2f}",
            elapsed_text(one.ended_seconds), f"{one.all_calls:,.0f}", f"{one.calls.get('ec2', 0.0):,.1f}",
            f"{one.calls.get('lambda', 0.0):,.1f}", f"{one.states:,.1f}",
        )
        for one in found
    ]  # fmt: skip
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows))


def document(found: Sequence[Fleet]) -> str:
    """The picture as an SVG file, with a description in words."""
    words = "; ".join(
        f"{one.volumes:,} volumes: {elapsed_text(one.makespan_seconds)}, the bound is "
        f"{elapsed_text(one.bound_seconds)}, {one.all_calls:,.0f} requests a volume"
        for one in found
    )
    return to_document(_draw(found), TITLE, words)


def _draw(found: Sequence[Fleet]) -> Figure:
    volumes = [one.volumes for one in found]
    with style():
        figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
        times, calls = figure.subplots(1, 2)
        times.plot(volumes, [one.makespan_seconds / 60 for one in found], "o-", label="makespan")
        bounds = [one.bound_seconds / 60 for one in found]
        times.plot(volumes, bounds, "--", color=COLOURS["muted"], label="what the limits allow")
        times.set_title("Minutes until every volume is ready")
        times.legend()
        calls.plot(volumes, [one.all_calls for one in found], "o-", label="requests to AWS")
        calls.plot(volumes, [one.states for one in found], "s-", label="states")
        calls.set_title("For each volume")
        calls.legend()
        for axes in (times, calls):
            axes.set_xscale("log")
            axes.set_xticks(volumes, [f"{number:,}" for number in volumes])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.margins(y=0.1)
            axes.set_xlabel("volumes")
            axes.set_ylim(bottom=0)
        figure.suptitle(TITLE, x=0.012, ha="left", fontsize=11, fontweight="bold")
    return figure
