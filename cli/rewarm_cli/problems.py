"""How a command ends: the exit statuses, and the API's problem details (RFC 9457) as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import click

from rewarm_cli.words import command, duration, visible

Json = dict[str, Any]

DONE, FAILED, USAGE, REFUSED, NOT_FOUND, NOT_READY, STILL_RUNNING, STOPPED = 0, 1, 2, 3, 4, 5, 6, 130
STATUSES = {
    DONE: "done; with `--wait` or `--watch`: the restore is ready",
    FAILED: "the API, AWS or the network failed, or there are no credentials; `bench`: nothing was measured; "
    "`doctor`: there is a problem",
    USAGE: "an option or argument is wrong; nothing was sent",
    REFUSED: "the API refused the request (4xx); the message says why",
    NOT_FOUND: "there is no such restore, runbook or volume (404)",
    NOT_READY: "the restore has ended and is not ready: failed, cancelled or refused; or a drill missed an "
    "objective",
    STILL_RUNNING: "the restore still runs after `--timeout`",
    STOPPED: "stopped with Ctrl-C; a restore continues",
}
"""Exit status -> what it means, for docs/commands.md."""
FORBIDDEN_HINT = "Your credentials need execute-api:Invoke on the stack's API (docs/permissions.md)."


class CommandFailedError(click.ClickException):
    """Ends the command with a message and an exit status."""

    def __init__(self, message: str, status: int = FAILED) -> None:
        super().__init__(visible(message))
        self.exit_code = status  # type: ignore[misc]  # of the class, in click


class ApiProblemError(CommandFailedError):
    """The API's refusal; programs (`--output json` or `yaml`) get it unchanged on standard error."""

    def __init__(self, call: str, status: int, body: Json, *, retry_after: str | None, output: str) -> None:
        super().__init__("\n".join([*words(call, status, body), *_later(retry_after)]), _exit_status(status))
        self.body = body
        self.output = output

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on standard error."""
        if self.output == "table":
            super().show(file)
            return
        from rewarm_cli.output import document

        click.echo(document(self.body, self.output), file=file, err=True)


def _exit_status(status: int) -> int:
    if status == 404:
        return NOT_FOUND
    return REFUSED if 400 <= status < 500 else FAILED


def words(call: str, status: int, body: Json) -> Iterator[str]:
    """Problem details in lines: the call, then each field with what was found and what is allowed."""
    name = body.get("error") or body.get("title") or "no reason"
    errors = [error for error in body.get("errors") or [] if isinstance(error, dict)]
    said = body.get("detail") or body.get("message") or body.get("title") or body.get("text") or ""
    yield f"{call.partition('?')[0]} answered {status} {name}" + ("" if errors or not said else f": {said}")
    for error in errors:
        yield f"  {error.get('field') or 'request'}: {_wrong(error)}"
    if held_by := body.get("heldBy"):
        yield f"  See it with `{command('status', held_by)}`; end it with `{command('cancel', held_by)}`."
    if status == 403:
        yield f"  {FORBIDDEN_HINT}"


def _later(retry_after: str | None) -> Iterator[str]:
    if retry_after and retry_after.isdigit():
        yield f"  Try again in {duration(int(retry_after))}."


def _wrong(error: Json) -> str:
    if error.get("allowed") is None:
        return str(error.get("message") or "is wrong")
    found = error.get("found")
    return f"found {_shown(found)}; allowed is {error['allowed']}"


def _shown(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
