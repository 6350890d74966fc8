"""`python -m local.tools.bench`: exit status 0 measured, 1 not, 2 bad options, 130 stopped."""

from __future__ import annotations

import json
import sys
from typing import Any

from local import ROOT
from local.aws.machines.dataplane import DataPlaneError
from local.tools.bench import report
from local.tools.bench.checks import imports, plans
from local.tools.bench.checks.checks import is_check, run_check, tools_of_check
from local.tools.bench.goals import evaluate
from local.tools.bench.options import Options, parse
from local.tools.bench.record import summarise
from local.tools.bench.rounds import run_rounds
from local.tools.bench.session import Session
from local.tools.bench.tools import require_tools
from local.tools.bench.view import View
from local.tools.signals import STOPPED, stop_by_signals

MEASURED, NOT_MEASURED = 0, 1


def main(arguments: list[str] | None = None) -> int:
    """Measure and return the exit status."""
    options = parse(arguments)
    view = View(sys.stderr if options.as_json else sys.stdout, options.specs, options.rounds)
    stop_by_signals()
    status, found = MEASURED, {}
    try:
        found = _measure(options, view)
    except KeyboardInterrupt:
        view.say("Stopped. Everything that was started has been ended.")
        status, found = STOPPED, {"verdict": "stopped"}
    except (DataPlaneError, OSError) as problem:
        view.say(f"The benchmark cannot run here: {problem}")
        status, found = NOT_MEASURED, {"verdict": "failed", "problem": str(problem)}
    if options.as_json:
        print(json.dumps(found), flush=True)
    return status


def _measure(options: Options, view: View) -> dict[str, Any]:
    if is_check(options):
        return _check(options, view)
    if options.imports:
        return {"imports": imports.measure(view, options.rounds)}
    if options.plans:
        return {"plans": plans.measure(view)}
    require_tools(options.agent, options.tools)
    with Session(options.state_dir / "state", options.agent) as session:
        facts = report.machine_facts(session.agent)
        runs = run_rounds(
            session, options.specs, options.rounds, lambda name: name in options.tools, view.run
        )
    summaries = summarise(runs, options.specs)
    goals = evaluate(summaries, options.specs)
    view.table(summaries)
    view.goals(goals)
    found = report.result(facts, options.specs, runs, summaries, goals)
    report.save_json(options.state_dir / "result.json", found)
    folder = ROOT / "docs" if options.write_docs else options.state_dir
    page = report.write(folder, facts, options.specs, summaries, goals)
    view.say(f"Report: {page}, and for programs {options.state_dir / 'result.json'}")
    return found


def _check(options: Options, view: View) -> dict[str, Any]:
    require_tools(options.agent, tools_of_check(options))
    with Session(options.state_dir / "state", options.agent) as session:
        found = run_check(session, options, view.say)
    for name, results in found.items():
        report.save_json(options.state_dir / f"{name}.json", {name: results})
    return found


if __name__ == "__main__":
    sys.exit(main())
