"""`python -m rewarm_cli.clone.reference`: docs/commands.md, made of the commands' own help."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator

import click

from rewarm_cli.main import HELP_OPTIONS, NAME, rewarm
from rewarm_cli.problems import STATUSES
from rewarm_cli.settings import of_settings

WIDTH = 110
HEAD = """\
# The commands of `rewarm`

This page is made of the commands' own help (`make commands-docs`). [operations.md](operations.md) says when to
use which.

## Installing it

`rewarm` is a separate package, for Python 3.11 or newer:

```
pipx install ./cli                                    # in a clone
pipx install dist/rewarm_cli-*.whl                    # from a release
pipx install 'git+https://…#subdirectory=cli'         # from the repository's address, without a clone
```

In a clone, `./rewarm` runs it without installing it. `rewarm bench --picture` needs matplotlib too:
`pipx inject rewarm-cli matplotlib`. This completes commands in bash, and in zsh and fish likewise:

```
eval "$(rewarm completion bash)"
```

## Which stack

The options `--profile` and `--region` and the credentials are those of the AWS CLI. `--stack` names the
CloudFormation stack; `rewarm` calls the API of its output `ApiUrl`. `--api-url` names the API itself, which saves
that look-up. `REWARM_STACK`, `REWARM_API_URL`, `REWARM_OUTPUT`, `AWS_PROFILE` and `AWS_REGION` in the environment do
the same as the options.

`--local` takes the embedded AWS instead, which `make run ARGS=--keep-running` leaves up on this machine. Both need
root. Every command takes these options, before or after its name:

```text
OPTIONS```

## Output

`--output json` and `--output yaml` print the API's answer. `--query` prints a part of it, by a
[JMESPath](https://jmespath.org) expression as in the AWS CLI; a text is printed without quotes. Control characters and
others that nobody sees are shown as escapes, such as `\\u202e`, so that no name moves or colours the terminal:

```
id=$(rewarm restore -f request.yaml --yes --query restoreId)
```

If the API refuses a request, the message on standard error names each wrong field, what was found and what is
allowed. With `--output json` or `yaml` it is the API's own problem details (RFC 9457). `rewarm` repeats a call that
the API throttles for some seconds. `rewarm restore` sends an idempotency key with each request, so a request whose
answer was lost starts nothing twice.

## Questions

A command that makes, stops, deletes, swaps or replaces something shows its plan or its effect and asks. It asks on a
terminal, on standard error. Without a terminal it does nothing unless it has `--yes`, which asks nothing.

## Exit statuses

| status | meaning |
|---|---|
"""  # noqa: E501  # Markdown
FOOT = """
Ctrl-C ends only the looking: `--watch` and `--wait` never cancel a restore. `rewarm cancel` does.
"""


def page() -> str:
    """The page as Markdown."""
    statuses = "".join(f"| {status} | {meaning} |\n" for status, meaning in STATUSES.items())
    options = _help(click.Command(None, params=list(of_settings())), "").partition("Options:\n")[2]
    return HEAD.replace("OPTIONS", options) + statuses + FOOT + "".join(_sections(rewarm, NAME))


def _sections(group: click.Group, name: str) -> Iterator[str]:
    known = {option.name for option in of_settings()}
    for command in group.commands.values():
        path = f"{name} {command.name}"
        shown = copy.copy(command)
        shown.params = [parameter for parameter in command.params if parameter.name not in known]
        yield f"\n## {path}\n\n```text\n{_help(shown, path)}```\n"
        if isinstance(command, click.Group):
            yield from _sections(command, path)


def _help(command: click.Command, path: str) -> str:
    context = click.Context(
        command, info_name=path, terminal_width=WIDTH, max_content_width=WIDTH, help_option_names=HELP_OPTIONS
    )
    return "".join(f"{line.rstrip()}\n" for line in command.get_help(context).splitlines())


if __name__ == "__main__":
    sys.stdout.write(page())
