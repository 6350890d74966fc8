"""How long a new process takes to import each function's handler, and `rewarm` to answer.

The figures are of some processes: the median wall time, and the least, median and most processor time.
The goals are for the least, because what else runs on the machine only adds to it (Python's timeit,
`Timer.repeat`). All are measured in turn, so that a slow minute slows all of them. The processes find the
bytecode that Python has kept, which a function in Lambda does only where its layers have it.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import Any

from local import ROOT
from local.tools.bench.view import View
from local.tools.plan import crossovers, offline
from local.tools.plan.docs import EXAMPLE

MOST_IMPORT_MS = 400.0
MOST_HELP_MS, MOST_PLAN_MS = 300.0, 1500.0
PLAN = ("plan", "--volume", "vol-0123456789abcdef0", "--instance", "i-0123456789abcdef0")
Pair = tuple[float, float]
"""Wall time and processor time, in milliseconds."""
_HANDLERS = re.compile(r"Handler: rewarm\.runtime\.(\w+)")
_IMPORT = """\
import time
wall, processor = time.perf_counter(), time.process_time()
from rewarm.runtime import {name}
print(time.perf_counter() - wall, time.process_time() - processor)
"""
_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "LAMBDA_TASK_ROOT": "/var/task",
    "POWERTOOLS_LOG_LEVEL": "INFO",
    "MODIFICATION_RULE": "",
    "PRICE_OVERRIDES": "",
}
"""As in Lambda, where X-Ray traces."""


def handlers() -> list[str]:
    """The functions of template.yaml, by their names in `rewarm.runtime`."""
    return sorted(set(_HANDLERS.findall(_template())))


def measure(view: View, rounds: int) -> dict[str, dict[str, float]]:
    """Measure all, print a line for each with its goal, and return the figures."""
    with _planning() as url:
        kinds: dict[str, Callable[[], Pair]] = {name: partial(_import, name) for name in handlers()}
        goals = dict.fromkeys(kinds, MOST_IMPORT_MS) | {
            "rewarm --help": MOST_HELP_MS,
            "rewarm plan": MOST_PLAN_MS,
        }
        kinds["rewarm --help"] = partial(_command, ("--help",), url)
        kinds["rewarm plan"] = partial(_command, PLAN, url)
        turns = [{name: kind() for name, kind in kinds.items()} for _ in range(rounds + 1)]
    found = {name: _figures([turn[name] for turn in turns[1:]]) for name in kinds}
    for name, figures in found.items():
        mark = "✓" if figures["leastProcessorMs"] < goals[name] else "✗"
        view.say(
            f"{mark} {name:22} {figures['wallMs']:6.0f} ms, processor {figures['leastProcessorMs']:6.0f} ms "
            f"at least (median {figures['processorMs']:.0f}, most {figures['mostProcessorMs']:.0f}); "
            f"under {goals[name]:,.0f} ms is the goal"
        )
    return found


def environment() -> dict[str, str]:
    """What the functions find in theirs: every name of template.yaml, and what Lambda adds."""
    settings = dict.fromkeys(re.findall(r"[ {]([A-Z][A-Z_]+): ", _template()), "1")
    return {**settings, **_ENVIRONMENT, "PYTHONPATH": "functions"}


def _import(name: str) -> Pair:
    """Milliseconds that a new process takes until Lambda has a function, its clients included."""
    words = [sys.executable, "-c", _IMPORT.format(name=name)]
    found = {**environment(), "PATH": os.environ["PATH"]}
    said = subprocess.run(words, cwd=ROOT, env=found, capture_output=True, text=True, check=True)
    wall, processor = (1000 * float(seconds) for seconds in said.stdout.split())
    return wall, processor


def _template() -> str:
    return (ROOT / "template.yaml").read_text(encoding="utf-8")


def _figures(pairs: list[Pair]) -> dict[str, float]:
    wall, processor = (sorted(round(ms, 1) for ms in column) for column in zip(*pairs, strict=True))
    return {
        "wallMs": statistics.median(wall),
        "processorMs": statistics.median(processor),
        "leastProcessorMs": processor[0],
        "mostProcessorMs": processor[-1],
    }


def _command(words: tuple[str, ...], url: str) -> Pair:
    """Milliseconds that `rewarm <words>` takes, from its start to its end."""
    found = {**_ENVIRONMENT, "PATH": os.environ["PATH"], "PYTHONPATH": "cli", "REWARM_API_URL": url}
    began, used = perf_counter(), _used()
    subprocess.run(
        [sys.executable, "-m", "rewarm_cli", *words],
        cwd=ROOT,
        env=found,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return 1000 * (perf_counter() - began), 1000 * (_used() - used)


def _used() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _planning() -> Iterator[str]:
    """An API that answers at once with a plan: what is measured is the command alone."""
    body = json.dumps(offline.plan(EXAMPLE, crossovers.NOW).to_json()).encode()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
