"""`python -m local.tools.measurements`: exit status 0 where all holds, 1 where not, 2, 130 if stopped."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict

from local import ROOT, Json
from local.aws.host import HOST_ERRORS, Host
from local.tools.measurements.cases import cases
from local.tools.measurements.options import Options, parse
from local.tools.measurements.published import run as published
from local.tools.measurements.published.page import write
from local.tools.measurements.series import Outcome, Series, SeriesError
from local.tools.measurements.verdict import Verdict, judge
from local.tools.measurements.view import View
from local.tools.signals import STOPPED, stop_by_signals
from rewarm_cli.api import ApiRefusedError

HOLDS, HOLDS_NOT = 0, 1
IDLE_SPEED = 3_600.0
"""An hour of waiting for AWS takes a second."""
EXPECTED = (*HOST_ERRORS, ApiRefusedError, SeriesError)


def main(arguments: list[str] | None = None) -> int:
    """Measure and return the exit status."""
    options = parse(arguments)
    (ROOT / ".local").mkdir(exist_ok=True)
    logging.basicConfig(filename=ROOT / ".local" / "measurements.log", filemode="w", level=logging.WARNING)
    view = View(sys.stderr if options.as_json else sys.stdout)
    stop_by_signals()
    try:
        status, found = _measure(options, view)
    except KeyboardInterrupt:
        view.say("Stopped. Everything that was started has been ended.")
        status, found = STOPPED, {"verdict": "stopped"}
    except EXPECTED as problem:
        view.say(f"It cannot be measured here: {problem}")
        status, found = HOLDS_NOT, {"verdict": "failed", "problem": str(problem)}
    if options.as_json:
        print(json.dumps(found), flush=True)
    return status


def _measure(options: Options, view: View) -> tuple[int, Json]:
    found: Json = {}
    with Host(options.state_dir, idle_speed=IDLE_SPEED) as host:
        host.deploy()
        if options.published:
            found["published"] = _published(host, options, view)
        if options.estimates:
            found |= _estimates(host, options, view)
    verdicts = {one.get("verdict") for one in (found, found.get("published", {}))} - {None}
    holds = verdicts == {"holds"}
    return (HOLDS if holds else HOLDS_NOT), {**found, "verdict": "holds" if holds else "does-not-hold"}


def _published(host: Host, options: Options, view: View) -> Json:
    view.say(f"Published figures on the embedded AWS; fio runs for {options.scale.seconds} s each.")
    results = published.measure(host, options.scale, view.say)
    page = write(options.docs, results)
    off = [row.figure.text for row in results.rows if not row.holds]
    view.say(f"{'Not as published: ' + ', '.join(off) if off else 'All ratios are as published'}; {page}")
    return published.summary(results)


def _estimates(host: Host, options: Options, view: View) -> Json:
    wanted, outcomes = cases(options.restores, options.seed), []
    view.say(f"{len(wanted)} restores on the embedded AWS, one after the other; times are lab time.")
    for outcome in Series(host).outcomes(wanted):
        outcomes.append(outcome)
        view.outcome(outcome, len(wanted))
    verdict = judge(outcomes)
    view.table(outcomes)
    view.verdict(verdict)
    return _summary(outcomes, verdict)


def _summary(outcomes: list[Outcome], verdict: Verdict) -> Json:
    return {
        "verdict": "holds" if verdict.holds else "does-not-hold",
        **asdict(verdict),
        "restores": [
            {**asdict(outcome), "error_percent": outcome.error_percent, "within_p90": outcome.is_within_p90}
            for outcome in outcomes
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
