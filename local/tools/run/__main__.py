"""`python -m local.tools.run`: exit status 0 ready, 1 not, 2 bad options, 130 stopped."""

from __future__ import annotations

import json
import logging
import sys
import time

from local import ROOT, Json
from local.aws.host import HOST_ERRORS, Host
from local.aws.region import RegionSettings
from local.tools.run.examples import commands
from local.tools.run.lab import Lab
from local.tools.run.live.view import View
from local.tools.run.options import Options, parse
from local.tools.run.stories.adoptions import AdoptStory
from local.tools.run.stories.drills import DrillStory
from local.tools.run.stories.rewinds import RewindStory
from local.tools.run.story import Story, StoryError
from local.tools.run.verdict import problems, summary
from local.tools.signals import STOPPED, stop_by_signals
from rewarm_cli.api import ApiRefusedError

READY, NOT_READY = 0, 1
STORIES = {"restore": Story, "drill": DrillStory, "rewind": RewindStory, "adopt": AdoptStory}
EXPECTED = (*HOST_ERRORS, ApiRefusedError, StoryError)
"""What may go wrong without a fault in this program: a sentence is enough, no traceback."""


def main(arguments: list[str] | None = None) -> int:
    """Run the job and return the exit status."""
    options = parse(arguments)
    _log_to_file()
    view = View(sys.stderr if options.as_json else sys.stdout)
    stop_by_signals()
    try:
        status, result = _run(options, view)
    except KeyboardInterrupt:
        status, result = STOPPED, {"verdict": "stopped"}
    except EXPECTED as problem:
        view.say(f"Rewarm cannot run here: {problem}")
        status, result = NOT_READY, {"verdict": "failed", "problems": [str(problem)]}
    if status == STOPPED:
        view.say("Stopped. Everything that was started has been ended.")
    if options.as_json:
        print(json.dumps(result), flush=True)
    return status


def _run(options: Options, view: View) -> tuple[int, Json]:
    view.title()
    story = STORIES[options.scenario](options, view)
    host = Host(options.state_dir, region_settings=RegionSettings(region=options.region))
    try:
        report = story.tell(host)
        view.finished(story.run, str(report))
        status = NOT_READY if problems(story.run) else READY
        if options.keep_running:
            status = _keep_running(Lab(host), story, view)
    finally:
        view.stop()
        host.close()
    return status, summary(story.run, report)


def _keep_running(lab: Lab, story: Story, view: View) -> int:
    """Leave the embedded AWS to the user, until a signal ends it; the run's result stands all the same."""
    lab.clock.people_are_there = True
    view.heading("The embedded AWS stays up until Ctrl-C")
    view.say("Every command of rewarm reaches it with --local. To paste in another shell, in this folder:\n")
    view.paste("\n".join(commands(story.run)))
    view.say(f"\n{lab.host.shell} opens a shell in which the AWS CLI, curl and the commands of")
    view.say("docs/operations.md reach it at AWS's names; docs/api.md has the routes.")
    try:
        while True:
            time.sleep(3_600)
    except KeyboardInterrupt:
        return STOPPED


def _log_to_file() -> None:
    """The libraries' warnings would tear the view apart; they are kept for whoever looks for a fault."""
    folder = ROOT / ".local"
    folder.mkdir(exist_ok=True)
    logging.basicConfig(
        filename=folder / "run.log",
        filemode="w",
        level=logging.WARNING,
        format="%(asctime)s %(name)s %(message)s",
    )


if __name__ == "__main__":
    sys.exit(main())
