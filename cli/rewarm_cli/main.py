"""The command `rewarm`."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from rewarm_cli import __version__
from rewarm_cli.bench.command import bench
from rewarm_cli.calibrate.command import calibrate
from rewarm_cli.commands.doctor import doctor
from rewarm_cli.commands.drills import drill
from rewarm_cli.commands.fleets import fleet
from rewarm_cli.commands.hot_sets import hot, observe
from rewarm_cli.commands.launch import launch
from rewarm_cli.commands.restores import approve, cancel, plan, report, restore
from rewarm_cli.commands.rules import rule
from rewarm_cli.commands.runbooks import runbook
from rewarm_cli.commands.showing import list_restores, status
from rewarm_cli.commands.undo_logs import undo_log
from rewarm_cli.commands.volumes import volume
from rewarm_cli.commands.warm import warm
from rewarm_cli.inputs import OneOf
from rewarm_cli.output import Help, say
from rewarm_cli.problems import DONE, FAILED, STOPPED, USAGE, ApiProblemError
from rewarm_cli.settings import Commands, Settings, examples, takes_settings
from rewarm_cli.waiting.command import wait

NAME = "rewarm"
HELP_OPTIONS = ["-h", "--help"]
MEANT = {"--json": "-o json", "--yaml": "-o yaml"}
"""Options of other programs -> ours."""
SHELLS = ("bash", "zsh", "fish")
COMPLETE = "_REWARM_COMPLETE"


# Of every command, because each makes its own context.
click.Context.formatter_class = Help


@click.group(cls=Commands, context_settings={"help_option_names": HELP_OPTIONS, "max_content_width": 100})
@click.version_option(__version__)
def rewarm() -> None:
    """Restore EBS snapshots to volumes that run at full speed.

    Commands work on the stack of your AWS credentials. `rewarm COMMAND --help` has options and examples.
    """


for command in (
    doctor, plan, restore, warm, wait, status, list_restores, approve, cancel, report, launch, fleet, runbook,
    drill, rule, volume, observe, hot, undo_log, bench, calibrate,
):  # fmt: skip
    rewarm.add_command(command)


@rewarm.command(
    epilog=examples(
        'eval "$(rewarm completion bash)"', "rewarm completion fish > ~/.config/fish/completions/rewarm.fish"
    )
)
@click.argument("shell", type=OneOf(SHELLS))
def completion(shell: str) -> None:
    """Print what completes commands in a shell."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(rewarm, {}, NAME, COMPLETE).source())


@rewarm.command(epilog=examples("rewarm version", "rewarm version --query stack"))
@takes_settings
def version(settings: Settings) -> None:
    """Show the version of this command and that of the stack."""
    versions = {"rewarm": __version__, "stack": settings.api().stack_version}
    if settings.for_people:
        say(f"rewarm {__version__}\nstack  {versions['stack'] or 'unknown'}")
    else:
        settings.emit(versions)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command, show what went wrong, and return the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if wrong := next((word for word in given if not _is_text(word)), None):
        say(f"Error: found {wrong!a}, which is no UTF-8; text in UTF-8 is allowed", err=True)
        return USAGE
    try:
        result = rewarm.main(arguments, prog_name=NAME, complete_var=COMPLETE, standalone_mode=False)
    except click.ClickException as problem:
        if isinstance(problem, click.NoSuchOption) and (meant := MEANT.get(problem.option_name)):
            problem = click.NoSuchOption(problem.option_name, possibilities=[meant], ctx=problem.ctx)
        _show(problem)
        return problem.exit_code
    except click.Abort:
        say("Stopped.", err=True)
        return STOPPED
    except BrokenPipeError:
        # The reader of the output has closed it, so nothing more is written, not even when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return result if isinstance(result, int) else DONE


def _show(problem: click.ClickException) -> None:
    """Its sentences; programs get the API's refusal unchanged."""
    if isinstance(problem, ApiProblemError) and problem.output != "table":
        problem.show()
        return
    said = io.StringIO()
    problem.show(said)
    say(said.getvalue().rstrip("\n"), err=True)


def _is_text(word: str) -> bool:
    """Whether it can be printed and sent; Python keeps bytes that are no UTF-8 as surrogates."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def main() -> None:
    """The entry point."""
    sys.exit(run())
