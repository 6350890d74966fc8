"""`rewarm bench`: exit status 0 when measured, 1 when not, 2 for bad options, 130 if stopped."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from rewarm_cli.api import Api, ApiRefusedError, Json
from rewarm_cli.bench.options import Options, parse
from rewarm_cli.bench.picture import draw
from rewarm_cli.bench.stack import StackUnreachableError, api_of
from rewarm_cli.bench.tables import COLUMNS, by_pattern, row, title

MEASURED, NOT_MEASURED, STOPPED = 0, 1, 130
PAUSE_SECONDS = 3.0
WIDTH = 120


def main(arguments: Sequence[str] | None = None, sleep: Callable[[float], None] = time.sleep) -> int:
    """Measure, show and return the exit status."""
    options = parse(arguments)
    console = Console(stderr=options.as_json, width=WIDTH, highlight=False)
    try:
        api = api_of(options.stack, options.api_url, options.region)
        found = _benchmark(api, options, console, sleep)
    except KeyboardInterrupt:
        console.print("Stopped looking. What was started goes on to its end on the instance.")
        return STOPPED
    except (StackUnreachableError, ApiRefusedError, OSError) as problem:
        console.print(f"It cannot be measured: {problem}", markup=False)
        return NOT_MEASURED
    _show(found, options, console)
    measured = found["copied"] is not None or any(run["problem"] is None for run in found["runs"])
    return MEASURED if found["status"] == "completed" and measured else NOT_MEASURED


def _benchmark(api: Api, options: Options, console: Console, sleep: Callable[[float], None]) -> Json:
    started = api.expect(202, "POST", "/benchmarks", options.request)
    console.print(f"{started['benchmarkId']} runs on {options.request['instanceId']}")
    while True:
        found = api.expect(200, "GET", f"/benchmarks/{started['benchmarkId']}")
        if found["status"] != "running":
            return found
        sleep(PAUSE_SECONDS)


def _show(found: Json, options: Options, console: Console) -> None:
    if found["status"] == "failed":
        console.print(f"It failed: {found['reason']}", markup=False)
    for pattern, runs in by_pattern(found["runs"]).items():
        table = Table(title=title(pattern), title_justify="left")
        for column in COLUMNS:
            table.add_column(column, justify="right" if column in {"rank", "IOPS", "MiB/s"} else "left")
        for run in runs:
            table.add_row(*row(run))
        console.print(table)
    if (copied := found["copied"]) is not None:
        first, second = (
            f"{copied[f'{name}Seconds']:.1f} s ({copied[f'{name}MibS']:.1f} MiB/s)"
            for name in ("first", "second")
        )
        console.print(f"First copy {first}, second {second}: {copied['ratio']:.2f} times as long")
    if options.picture is not None and draw(options.picture, found["runs"]):
        console.print(f"Picture: {options.picture}", markup=False)
    if options.as_json:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    sys.exit(main())
