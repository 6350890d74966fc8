"""`python -m local.tools.plan`: exit status 0 planned, 1 AWS fails, 2 bad input, 3 nothing fits.

What just some plans need is loaded for them alone: boto3 and the library that draws take longer than a plan.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from local.tools.plan import offline
from local.tools.plan.options import Options, parse
from local.tools.plan.request import complaint
from local.tools.plan.view import View
from rewarm.contracts.plans import PlanResult
from rewarm.domain.errors import InvalidRequestError, NoStrategyFitsError, RestoreError

PLANNED, NO_ANSWER, BAD_INPUT, NOTHING_FITS = 0, 1, 2, 3


def main(arguments: list[str] | None = None) -> int:
    """Plan, show, draw; return the exit status."""
    options = parse(arguments)
    view = View(sys.stderr if options.as_json else sys.stdout)
    if options.docs is not None:
        from local.tools.plan import docs

        view.written(str(path) for path in docs.write(options.docs))
        return PLANNED
    try:
        result = plan(options, datetime.now(UTC))
    except RestoreError as error:
        sys.stderr.write(f"make plan: {complaint(error, options)}\n")
        return _status(error)
    except ConnectionError as error:
        sys.stderr.write(f"make plan: {error}\n")
        return NO_ANSWER
    view.plan(result, explain=options.explain)
    if options.what_if:
        view.what_if(result)
    if options.svg is not None:
        view.written(str(path) for path in draw(result, options.svg, what_if=options.what_if))
    if options.as_json:
        print(json.dumps(result.to_json()), flush=True)
    return PLANNED


def plan(options: Options, now: datetime) -> PlanResult:
    """By AWS, or by the options alone. Raises RestoreError, and ConnectionError where AWS does not answer."""
    if not options.aws:
        return offline.plan(options, now)
    from local.tools.plan import aws

    return aws.plan(options, now)


def draw(result: PlanResult, path: Path, *, what_if: bool) -> list[Path]:
    """Write the pictures; their paths."""
    from rewarm.charts.pictures import picture

    path.parent.mkdir(exist_ok=True)
    pictures = {"plan": path, "schedule": path.with_name(f"{path.stem}-schedule.svg")}
    if what_if:
        pictures["what-if"] = path.with_name(f"{path.stem}-what-if.svg")
    for name, place in pictures.items():
        place.write_text(picture(result, name), encoding="utf-8")
    return list(pictures.values())


def _status(error: RestoreError) -> int:
    if isinstance(error, NoStrategyFitsError):
        return NOTHING_FITS
    return BAD_INPUT if isinstance(error, InvalidRequestError) or error.field else NO_ANSWER


if __name__ == "__main__":
    sys.exit(main())
