"""`rewarm plan`, `restore`, `status`, `list`, `approve`, `cancel` and `report`."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.showing import asked_to_cancel, cancel_lines, takes_end, takes_wait
from rewarm_cli.inputs import Known, NewFile, OneOf
from rewarm_cli.output import echo, say
from rewarm_cli.problems import DONE, NOT_FOUND, STOPPED, CommandFailedError
from rewarm_cli.requests import put, takes_key, takes_request
from rewarm_cli.settings import Settings, examples, explained, takes_settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]

PICTURES = ("plan", "what-if", "schedule")


@click.command(
    epilog=examples(
        "rewarm plan --volume vol-… --instance i-… --ready-within 60",
        "rewarm plan --alarm rewarm-orders-database --explain",
        "rewarm plan -f request.yaml --what-if --output json --query summary.readyP90At",
    )
)
@takes_request
@click.option("--what-if", is_flag=True, help="Show what other deadlines would cost, too.")
@click.option(
    "--explain",
    is_flag=True,
    help="Show when each way is the right one; of several volumes, all ways of each.",
)
@click.option("--picture", type=NewFile(".svg"), metavar="FILE.svg", help="Also draw it.")
@click.option(
    "--picture-of",
    type=OneOf(PICTURES),
    help="What --picture shows; by default the plan, the schedule of several volumes, or the what-if.",
)
@takes_settings
def plan(
    settings: Settings, request: Json, *, picture: Path | None, picture_of: str | None, **options: bool
) -> None:
    """Show what a restore would do, when and at what price.

    Nothing is made.
    """
    api = settings.api()
    answer = api.insist(200, "POST", "/plans", request)
    if picture is not None:
        usual = "schedule" if len(answer["plans"]) > 1 else "plan"
        _draw(api, request, picture, picture_of or ("what-if" if options["what_if"] else usual))
    if settings.for_people:
        from rewarm_cli.output import console
        from rewarm_cli.views import show_plan

        show_plan(console(), answer, offers=options["what_if"], explain=options["explain"])
    else:
        settings.emit(answer)


def show_plan_of(settings: Settings, api: Api, request: Json) -> None:
    """Show the plan of what is about to be started; on standard error where the answer is for programs."""
    from rewarm_cli.output import console
    from rewarm_cli.views import show_plan

    answer = api.insist(200, "POST", "/plans", {**request, "dryRun": False})
    show_plan(console(stderr=not settings.for_people), answer)


def _draw(api: Api, request: Json, file: Path, name: str) -> None:
    path = address("plans", picture=name)
    answer = api.insist(200, "POST", path, request, {"accept": "image/svg+xml"})
    file.write_text(str(answer["text"]), encoding="utf-8")


@click.command(
    epilog=examples(
        "rewarm restore --volume vol-… --instance i-… --ready-within 60 --watch",
        "rewarm restore --alarm rewarm-orders-database --yes",
        "id=$(rewarm restore -f request.yaml --yes --query restoreId)",
    )
)
@takes_request
@takes_end
@takes_yes
@click.option("--dry-run", is_flag=True, help="End after the plan and its message; nothing is made.")
@takes_key("restore")
@takes_settings
def restore(
    settings: Settings, request: Json, *, watch: bool, wait: bool, timeout: int | None, **options: Any
) -> None:
    """Show the plan of a restore, ask, and start it."""
    if options["dry_run"]:
        put(request, "dryRun", value=True)
    elif asks(yes=options["yes"]):
        show_plan_of(settings, settings.api(), request)
        agree("Start this restore?", "Nothing was started.")
    start(settings, request, key=options["idempotency_key"] or "", watch=watch, wait=wait, timeout=timeout)


def start(
    settings: Settings, request: Json, *, key: str = "", watch: bool, wait: bool, timeout: int | None
) -> str:
    """Start the restore once, follow it where that is asked for, and return its id."""
    api = settings.api()
    started = _started(api, request, key or f"rewarm-{uuid.uuid4()}")
    _followed(settings, api, started, watch=watch, wait=wait, timeout=timeout)
    restore_id: str = started["restoreId"]
    return restore_id


def start_each(
    settings: Settings, requests: list[Json], *, key: str, watch: bool, wait: bool, timeout: int | None
) -> None:
    """Start each once, then follow one after the other; one that is refused keeps no other from starting.

    Raises Exit with the highest exit status of all.
    """
    if len(requests) == 1:
        start(settings, requests[0], key=key, watch=watch, wait=wait, timeout=timeout)
        return
    api = settings.api()
    key = key or f"rewarm-{uuid.uuid4()}"
    calls = [partial(_started, api, request, f"{key}-{at}") for at, request in enumerate(requests)]
    begun = [_outcome(settings, call) for call in calls]
    follow = partial(_followed, settings, api, watch=watch, wait=wait, timeout=timeout)
    ended = [_outcome(settings, partial(follow, started)) for started, _ in begun if started]
    worst = max(status for _, status in [*begun, *ended])
    if worst != DONE:
        raise click.exceptions.Exit(worst)


def _outcome(settings: Settings, call: Callable[[], Json | None]) -> tuple[Json | None, int]:
    """What the call returns, and its exit status; a problem is printed."""
    try:
        return call(), DONE
    except click.exceptions.Exit as ended:
        return None, ended.exit_code
    except Exception as error:
        problem = explained(error, settings)
        if not isinstance(problem, click.ClickException):
            raise
        problem.show()
        return None, problem.exit_code


def _started(api: Api, request: Json, key: str) -> Json:
    """Starts the restore; because of the key, the call can be sent again if its answer was lost."""
    try:
        return api.insist(202, "POST", "/restores", request, {"Idempotency-Key": key})
    except KeyboardInterrupt:
        say(
            f"Stopped. The restore may have been started: `{words.command('list')}` shows it. The same "
            f"command with --idempotency-key {key} starts it only once.",
            err=True,
        )
        raise click.exceptions.Exit(STOPPED) from None


def _followed(
    settings: Settings, api: Api, started: Json, *, watch: bool, wait: bool, timeout: int | None
) -> None:
    restore_id = started["restoreId"]
    if watch or wait:
        from rewarm_cli.watching import end, follow

        say(f"{restore_id} was accepted", err=not settings.for_people)
        _say_exceptions(started, err=not settings.for_people)
        end(settings, follow(settings, api, restore_id, watch=watch, minutes=timeout), events=not watch)
    elif settings.for_people:
        say(f"{restore_id} was accepted")
        _say_exceptions(started)
        say(f"Watch it: {words.command('status', restore_id, '--watch')}")
        say(f"Cancel it: {words.command('cancel', restore_id)}")
    else:
        settings.emit(started)


def _say_exceptions(started: Json, *, err: bool = False) -> None:
    """What it waits for, and what it does without."""
    from rewarm_cli.views import left_out_lines

    if started.get("waitsBecause"):
        say(f"It waits: {started['waitsBecause']}.", err=err)
    for line in left_out_lines(started):
        say(line, err=err)


@click.command()
@click.argument("restore_id", type=Known("restores", "fleets"), metavar="RESTORE")
@takes_yes
@takes_settings
def approve(settings: Settings, restore_id: str, *, yes: bool) -> None:
    """Show the plan that a restore or fleet waits with, ask, and approve it.

    If another plan takes its place meanwhile, nothing is approved.
    """
    from rewarm_cli.commands.fleets import is_fleet
    from rewarm_cli.views import approval_lines, is_awaiting

    asked = asks(yes=yes)
    api = settings.api()
    record = api.insist(200, "GET", address("fleets" if is_fleet(restore_id) else "restores", restore_id))
    asked_at = (record.get("approval") or {}).get("askedAt")
    if is_awaiting(record):
        for line in approval_lines(record):
            say(line, err=not settings.for_people)
        if asked:
            agree("Approve this plan?", "Nothing was approved.")
    answer = api.insist(202, "POST", address("restores", restore_id, "approve", askedAt=asked_at))
    if settings.for_people:
        say(f"{restore_id} is approved, by {answer['approval']['by']}")
        say(f"Watch it: {words.command('status', restore_id, '--watch')}")
    else:
        settings.emit(answer)


@click.command()
@click.argument("restore_id", type=Known("restores", "fleets"), metavar="RESTORE")
@takes_wait
@takes_yes
@takes_settings
def cancel(settings: Settings, restore_id: str, *, yes: bool, wait: bool, timeout: int | None) -> None:
    """Say what a restore or fleet has made, ask, and cancel it.

    Volumes that were announced as usable are kept.
    """
    from rewarm_cli.commands.fleets import cancel_known_fleet, is_fleet
    from rewarm_cli.views import is_over, status_of
    from rewarm_cli.watching import end, follow, path_of

    if is_fleet(restore_id):
        cancel_known_fleet(settings, restore_id, yes=yes, wait=wait, timeout=timeout)
        return
    asked = asks(yes=yes)
    api = settings.api()
    before = api.insist(200, "GET", path_of(restore_id))
    if asked and not is_over(before):
        for line in cancel_lines(before):
            say(line, err=True)
        agree(f"Cancel {restore_id}?", "Nothing was cancelled.")
    answer = api.insist(202, "DELETE", path_of(restore_id))
    if wait:
        record = follow(settings, api, restore_id, watch=False, minutes=timeout)
        end(settings, record, good=status_of(record) == "cancelled")
    elif settings.for_people and (said := asked_to_cancel(before)):
        say(said)
    elif settings.for_people:
        say(f"{restore_id} ends as cancelled; it is {status_of(answer)} now")
        say(f"Watch it: {words.command('status', restore_id, '--watch')}")
    else:
        settings.emit(answer)


@click.command()
@click.argument("restore_id", type=Known("restores", "fleets"), metavar="RESTORE")
@click.option("--url", is_flag=True, help="Print the link; open nothing.")
@click.option(
    "--save", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.html", help="Keep the page."
)
@takes_settings
def report(settings: Settings, restore_id: str, *, url: bool, save: Path | None) -> None:
    """Open the page of a restore: progress while it runs, then the report. The link lasts an hour at most."""
    from rewarm_cli.commands.fleets import is_fleet, open_fleet_page

    if is_fleet(restore_id):
        open_fleet_page(settings, restore_id, url=url)
    else:
        open_page(settings, restore_id, url=url, save=save)


def open_page(settings: Settings, restore_id: str, *, url: bool, save: Path | None) -> None:
    """Open, print or keep the page of a restore."""
    from rewarm_cli.views import status_of
    from rewarm_cli.watching import path_of

    record = settings.api().insist(200, "GET", path_of(restore_id))
    link = record.get("reportUrl")
    if link is None:
        raise CommandFailedError(f"{restore_id} has no page yet: it is {status_of(record)}", NOT_FOUND)
    if save is not None:
        _save(link, save)
    if not settings.for_people:
        settings.emit({"restoreId": restore_id, "status": status_of(record), "reportUrl": link})
    elif save is not None:
        say(f"{save} has the page of {restore_id}")
    elif url or not opened(link):
        echo(link)


def opened(link: str) -> bool:
    """Whether a browser has opened it; click.launch says so even without a browser."""
    import webbrowser

    return webbrowser.open(link)


def _save(link: str, file: Path) -> None:
    import urllib.request

    with urllib.request.urlopen(link, timeout=60) as answer:
        file.write_bytes(answer.read())
