"""The options that every command takes, and the way to the API that they describe."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rewarm_cli import __version__, words
from rewarm_cli.inputs import Address, OneOf, Region
from rewarm_cli.output import say
from rewarm_cli.problems import ApiProblemError, CommandFailedError

if TYPE_CHECKING:
    from rewarm_cli.api import Api

DEFAULT_STACK = "rewarm"
OUTPUTS = ("table", "json", "yaml")
EMBEDDED_SHELL = Path(".local", "run", "shell")
"""What `make run ARGS=--keep-running` writes into the clone."""
MAKER = Path("local", "tools", "run")
"""What `make run` starts in a clone."""
NOT_INSIDE = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "REWARM_API_URL", "REWARM_STACK")
"""Settings of a real account, which the embedded AWS must not get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Which stack, and what the answer looks like."""

    profile: str | None = None
    region: str | None = None
    stack: str = DEFAULT_STACK
    api_url: str | None = None
    output: str = "table"
    query: str | None = None

    @property
    def for_people(self) -> bool:
        """Whether the answer is a table."""
        return self.output == "table" and self.query is None

    def api(self) -> Api:
        """The stack's API, with the user's credentials."""
        from rewarm_cli.account import StackUnreachableError, api_of

        try:
            api = api_of(self.stack, self.api_url, self.region, self.profile)
        except StackUnreachableError as error:
            raise CommandFailedError(str(error)) from error
        if api.stack_version is not None and not _agree(__version__, api.stack_version):
            say(
                f"Warning: this is rewarm {__version__}, and the stack {self.stack} runs "
                f"{api.stack_version}; update the older one (docs/upgrade.md).",
                err=True,
            )
        return api

    def emit(self, value: Any) -> None:
        """Print an answer for programs."""
        from rewarm_cli.output import emit

        emit(value, self.output, self.query)


class Commands(click.Group):
    """Commands in the order of their use. The options of every command may stand before it, too."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Their first sentences, which click itself would cut on a narrow terminal."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, self.commands[name].get_short_help_str(limit=500))
                    for name in self.list_commands(ctx)
                ]
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Lets options stand before a command, as in `aws --profile night s3 ls`."""
        flags = {
            name: parameter
            for parameter in of_settings()
            if isinstance(parameter, click.Option)
            for name in parameter.opts
        }
        before = 0
        while before < len(args) and (option := flags.get(args[before].partition("=")[0])) is not None:
            before += 1 if option.is_flag or "=" in args[before] else 2
        return super().parse_args(ctx, [*args[before : before + 1], *args[:before], *args[before + 1 :]])


def _agree(own: str, other: str) -> bool:
    """Whether two versions fit by Semantic Versioning: by the first number, and below 1.0 by the second."""
    first = own.split(".")
    second = other.split(".")
    return first[:2] == second[:2] if first[0] == "0" else first[0] == second[0]


def examples(*lines: str) -> str:
    """The examples below a command's options, each on its own line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def takes_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of every command as its first argument, and show the API's refusals."""

    @functools.wraps(command)
    def called(**values: Any) -> Any:
        names = Settings.__dataclass_fields__
        settings = Settings(**{name: values.pop(name) for name in names})
        try:
            return command(settings, **values)
        except Exception as error:
            raise explained(error, settings) from error

    for option in reversed(_OPTIONS):
        called = option(called)
    return called


def of_settings() -> list[click.Parameter]:
    """The options of every command."""
    command = click.Command(None)
    for option in _OPTIONS:
        option(command)
    return command.params


def explained(error: Exception, settings: Settings) -> Exception:
    """The exception to end the command with."""
    if isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort):
        return error
    from http.client import HTTPException

    from rewarm_cli.api import ApiRefusedError

    if isinstance(error, ApiRefusedError):
        answer = error.answer
        return ApiProblemError(
            error.call, answer.status, answer.body, retry_after=answer.retry_after, output=settings.output
        )
    if isinstance(error, BrokenPipeError) or not isinstance(error, OSError | HTTPException):
        return error
    if isinstance(error, OSError) and error.filename is not None:
        return CommandFailedError(f"{error.filename}: {error.strerror}")
    return CommandFailedError(f"the API cannot be reached: {getattr(error, 'reason', error)}")


def _enter_embedded_aws(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001
    """Run the same command again where AWS's names lead to the embedded AWS."""
    if value and context.resilient_parsing:
        context.meta[words.LOCAL] = True
    elif value:
        enter_embedded_aws([typed for typed in sys.argv[1:] if typed != "--local"])


def enter_embedded_aws(arguments: list[str]) -> NoReturn:
    """Run `rewarm` with these arguments there, in place of this program."""
    shell = _embedded_shell()
    if shell is None:
        raise CommandFailedError(f"--local: {_why_no_shell()}")
    if os.geteuid() != 0:
        raise CommandFailedError("--local needs root, because the embedded AWS has its own network")
    for name in NOT_INSIDE:
        os.environ.pop(name, None)
    os.environ[words.LOCAL] = "1"
    os.execv(shell, [str(shell), sys.executable, "-m", "rewarm_cli", *arguments])  # noqa: S606


def _embedded_shell() -> Path | None:
    """The shell of the clone that this is called from, or that this program is a part of."""
    return next((path for folder in _folders() if (path := folder / EMBEDDED_SHELL).exists()), None)


def _why_no_shell() -> str:
    clone = next((folder for folder in _folders() if (folder / MAKER).exists()), None)
    if clone is None:
        return "this folder is in no clone of Rewarm; cd to the clone whose embedded AWS runs"
    return (
        f"no embedded AWS runs in {clone}; `make run ARGS=--keep-running` leaves one up there; if one runs "
        "in another clone, cd to that"
    )


def _folders() -> list[Path]:
    here = Path.cwd()
    return [here, *here.parents, Path(__file__).resolve().parents[2]]


_OPTIONS = (
    click.option("--profile", metavar="NAME", help="AWS profile, as in the AWS CLI."),
    click.option(
        "--region", type=Region(), metavar="REGION", help="Default: AWS_REGION, or that of your profile."
    ),
    click.option(
        "--stack", default=DEFAULT_STACK, show_default=True, envvar="REWARM_STACK", metavar="NAME",
        help="CloudFormation stack; its output ApiUrl is where the API is.",
    ),
    click.option(
        "--api-url", type=Address(), envvar="REWARM_API_URL", metavar="URL",
        help="The API's address, in place of --stack.",
    ),
    click.option(
        "-o", "--output", type=OneOf(OUTPUTS), default="table", show_default=True,
        envvar="REWARM_OUTPUT", help="What is printed.",
    ),
    click.option(
        "--query", metavar="JMESPATH", help="Print this part of the JSON only, such as restoreId."
    ),
    click.option(
        "--local", is_flag=True, is_eager=True, expose_value=False, callback=_enter_embedded_aws,
        help="Use the embedded AWS that `make run ARGS=--keep-running` has left up.",
    ),
)  # fmt: skip
