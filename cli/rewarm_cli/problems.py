"""How a command ends: the exit statuses, and the API's problem details (RFC 9457) as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import click

from rewarm_cli.words import command, duration, visible

Json = dict[str, Any]

DONE, FAILED, USAGE, REFUSED, NOT_FOUND, NOT_READY, STILL_RUNNING, DECLINED, NOT_BACK = range(9)
STOPPED = 130
NOT_PROVEN = REFUSED
"""Of `wait`: for who starts it, a volume that failed and a call that was refused are the same."""
STATUSES = {
    DONE: "done; with `--wait` or `--watch`: the restore is ready, and so is the application of `after`; "
    "`wait`: all volumes are proven",
    FAILED: "the API, AWS or the network failed, or there are no credentials; `bench`: nothing was measured; "
    "`doctor`: there is a problem",
    USAGE: "an option or argument is wrong; nothing was sent",
    REFUSED: "the API refused the request (4xx), and the message says why; `runbook put` and `rule put`: "
    "another one is stored, and there is no terminal on which to ask; `wait`: what was to warm a volume has "
    "failed or was cancelled",
    NOT_FOUND: "there is no such restore, runbook or volume (404)",
    NOT_READY: "the restore has ended and is not ready: failed, cancelled or refused; or a drill missed an "
    "objective",
    STILL_RUNNING: "the restore still runs after `--timeout`; `wait`: not all volumes are proven yet",
    DECLINED: "you answered no, so nothing was done",
    NOT_BACK: "the restore is ready, but the application is not back, what was to be rewound is not, or "
    "volumes that tags or an instance named were left out",
    STOPPED: "stopped with Ctrl-C; a restore continues",
}
"""Exit status -> what it means, for docs/commands.md."""
_NO_STAGE = "This is no route of the stack's API: its address is the output ApiUrl, with /v1 at its end."
WAYS_IN = {
    "ACCESS_DENIED": "Your credentials need execute-api:Invoke on the stack's API (docs/permissions.md).",
    "INVALID_SIGNATURE": "Check the secret access key, --region and this machine's clock (`rewarm doctor`).",
    "EXPIRED_TOKEN": "The credentials have expired: log in again.",
    "DEFAULT_4XX": "Check the access key and the session token, or log in again.",
    "MISSING_AUTHENTICATION_TOKEN": _NO_STAGE,
    None: _NO_STAGE,
}
"""What API Gateway calls its refusal -> what to do (its developer guide, "Gateway response types").

Only where there is no stage of this name, its answer is not in the stack's form and has no such name.
"""
MOST_OF_A_TEXT = 200
"""Characters that are shown of an answer that is not the API's, such as a page of HTML."""
MEANT = {
    "target": "say where to, with --instance or --zone",
    "source": "say what to restore, with --volume, --snapshot, --tag, --source-instance, --image or --alarm",
}
"""Field that is missing -> the options that fill it."""


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
        from rewarm_cli.output import document, echo

        echo(document(self.body, self.output), file=file, err=True)


def _exit_status(status: int) -> int:
    if status == 404:
        return NOT_FOUND
    return REFUSED if 400 <= status < 500 else FAILED


def words(call: str, status: int, body: Json) -> Iterator[str]:
    """Problem details in lines: what is wrong, then each field with what was found and what is allowed."""
    name = body.get("error")
    errors = [error for error in body.get("errors") or [] if isinstance(error, dict)]
    said = (
        body.get("detail")
        or body.get("message")
        or body.get("title")
        or str(body.get("text") or "")[:MOST_OF_A_TEXT]
    )
    if name is None or status >= 500:
        found = ": ".join(str(part) for part in (name, said) if part)
        yield f"{call.partition('?')[0]} answered {status} {found}"
    else:
        yield f"the request is wrong ({name})" if errors else f"{said} ({name})"
    for error in errors:
        yield f"  {error.get('field') or 'request'}: {_wrong(error)}"
    if held_by := body.get("heldBy"):
        yield f"  See it with `{command('status', held_by)}`; end it with `{command('cancel', held_by)}`."
    if status in {401, 403} and (todo := WAYS_IN.get(name)):
        yield f"  {todo}"


def _later(retry_after: str | None) -> Iterator[str]:
    if retry_after and retry_after.isdigit():
        yield f"  Try again in {duration(int(retry_after))}."


def _wrong(error: Json) -> str:
    if error.get("allowed") is None:
        meant = MEANT.get(str(error.get("field")), "")
        said = str(error.get("message") or "is wrong")
        return f"{said}: {meant}" if meant and said == "is missing" else said
    found = error.get("found")
    return f"found {_shown(found)}; allowed is {error['allowed']}"


def _shown(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
