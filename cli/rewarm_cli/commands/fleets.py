"""`rewarm fleet`: many volumes at once."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.restores import opened
from rewarm_cli.commands.showing import asked_to_cancel, pages, takes_end, takes_limit, takes_wait
from rewarm_cli.inputs import Known, OneOf
from rewarm_cli.output import echo, say
from rewarm_cli.problems import NOT_FOUND, NOT_READY, STILL_RUNNING, STOPPED, CommandFailedError
from rewarm_cli.requests import read, takes_key
from rewarm_cli.settings import Commands, Settings, examples, takes_settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]

STATUSES = ("accepted", "awaiting-approval", "restoring", "ready", "incomplete", "failed", "cancelled")
RUNNING = STATUSES[:3]
ANSWERED = range(200, 203)
"""A plan, or 202 while it is being made."""
PLAN_LOOK_SECONDS = 2.0
LOOK_SECONDS = 15.0
"""Seconds between two calls for a fleet that the user waits for."""


@click.group(cls=Commands)
def fleet() -> None:
    """Restore many volumes by one request, and follow them as one."""


def _path(*segments: str) -> str:
    return address("fleets", *segments)


@fleet.command(
    "start",
    epilog=examples(
        "rewarm fleet start -f fleet.yaml --watch", "rewarm fleet start -f fleet.yaml --yes --wait"
    ),
)
@click.option(
    "-f", "--file", required=True, metavar="FILE", help="The request as YAML or JSON; - is standard input."
)
@takes_end
@takes_yes
@takes_key("fleet")
@takes_settings
def start_fleet(
    settings: Settings, *, file: str, yes: bool, idempotency_key: str | None, **options: Any
) -> None:
    """Show the plan of a fleet in a file, ask, and start it.

    Volumes to one instance become one restore.
    """
    asked = asks(yes=yes)
    api = settings.api()
    headers = {"Idempotency-Key": idempotency_key or f"rewarm-{uuid.uuid4()}"}
    request = read(file)
    if asked:
        _show_plan(_planned(api, request), err=not settings.for_people)
        agree("Start this fleet?", "Nothing was started.")
    begun = api.insist(202, "POST", "/fleets", request, headers)
    _begun(settings, api, begun, **options)


@fleet.command(
    "plan",
    epilog=examples("rewarm fleet plan -f fleet.yaml", "rewarm fleet plan -f fleet.yaml -o json"),
)
@click.option(
    "-f", "--file", required=True, metavar="FILE", help="The request as YAML or JSON; - is standard input."
)
@takes_settings
def plan_fleet(settings: Settings, *, file: str) -> None:
    """Show what a fleet would cost and when it would be ready. Nothing is created."""
    answer = _planned(settings.api(), read(file))
    if not settings.for_people:
        settings.emit(answer)
        return
    _show_plan(answer)


def _planned(api: Api, request: Json) -> Json:
    """The plan; one that takes longer than an answer may is waited for."""
    answer = api.insist(ANSWERED, "POST", "/fleets/plans", request)
    while "planId" in answer:
        time.sleep(PLAN_LOOK_SECONDS)
        answer = api.insist(ANSWERED, "GET", _path("plans", answer["planId"]))
    return answer


def _show_plan(answer: Json, *, err: bool = False) -> None:
    from rewarm_cli.output import console, tell
    from rewarm_cli.views import fleet_plan_lines

    target = console(stderr=err)
    for line in fleet_plan_lines(answer):
        tell(target, line)


@fleet.command("redrive")
@click.argument("fleet_id", type=Known("fleets"), metavar="FLEET")
@takes_end
@takes_yes
@takes_settings
def redrive_fleet(settings: Settings, fleet_id: str, *, yes: bool, **options: Any) -> None:
    """Show what is not ready in a fleet that has ended, ask, and restore that again and nothing else."""
    asked = asks(yes=yes)
    api = settings.api()
    if asked:
        _show(api.insist(200, "GET", _path(fleet_id)), err=True)
        agree("Restore again what is not ready?", "Nothing was started.")
    begun = api.expect(202, "POST", _path(fleet_id, "redrive"))
    _begun(settings, api, begun, **options)


def _begun(
    settings: Settings, api: Api, begun: Json, *, watch: bool, wait: bool, timeout: int | None
) -> None:
    fleet_id = begun["fleetId"]
    if watch or wait:
        say(f"{fleet_id} was accepted", err=not settings.for_people)
        show_fleet(settings, api, fleet_id, watch=watch, wait=wait, minutes=timeout)
    elif settings.for_people:
        say(f"{fleet_id} was accepted")
        say(f"Watch it: {words.command('fleet', 'status', fleet_id, '--watch')}")
        say(f"Cancel it: {words.command('fleet', 'cancel', fleet_id)}")
    else:
        settings.emit(begun)


@fleet.command("status")
@click.argument("fleet_id", type=Known("fleets"), metavar="FLEET")
@takes_end
@takes_settings
def fleet_status(settings: Settings, fleet_id: str, *, watch: bool, wait: bool, timeout: int | None) -> None:
    """Show how far a fleet is: volumes by state, the slowest restores, what failed and why."""
    show_fleet(settings, settings.api(), fleet_id, watch=watch, wait=wait, minutes=timeout)


def show_fleet(
    settings: Settings, api: Api, fleet_id: str, *, watch: bool, wait: bool, minutes: int | None
) -> None:
    """Show the fleet, now or when it has ended."""
    if watch or wait:
        _shown(settings, _ended(settings, api, fleet_id, watch=watch, minutes=minutes))
    else:
        _shown(settings, api.insist(200, "GET", _path(fleet_id)), good=True)


def _ended(settings: Settings, api: Api, fleet_id: str, *, watch: bool, minutes: int | None) -> Json:
    """The fleet's record when it has ended; Ctrl-C ends only the looking."""
    from rewarm_cli.watching import Reach

    until = None if minutes is None else time.monotonic() + 60 * minutes
    news = _News(to_stderr=not settings.for_people)
    reach = Reach(api)
    try:
        while True:
            record = reach.ask(_path(fleet_id))
            if record is not None:
                if watch:
                    news.show(record)
                if record["status"] not in RUNNING:
                    return record
            if until is not None and time.monotonic() >= until:
                raise CommandFailedError(
                    f"{fleet_id} still runs after {words.count(minutes or 0, 'minute')}; it continues. "
                    f"`{words.command('fleet', 'status', fleet_id, '--watch')}` looks again.",
                    STILL_RUNNING,
                )
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        say(words.stopped_looking("fleet", fleet_id, "fleet"), err=True)
        raise click.exceptions.Exit(STOPPED) from None


class _News:
    """What is new of a fleet, a line each: its events, and how many volumes are in which state."""

    def __init__(self, *, to_stderr: bool) -> None:
        self._to_stderr = to_stderr
        self._events = 0
        self._state = ""

    def show(self, record: Json) -> None:
        """Print it."""
        events = record.get("events") or []
        for event in events[self._events :]:
            title = event.get("title") or event["event"]
            say(f"{words.clock(event['at'], seconds=True)}  {title}", err=self._to_stderr)
        self._events = len(events)
        counts = (record.get("progress") or {}).get("counts") or {}
        shown = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        state = f"{record['status']}: {shown}" if shown else record["status"]
        if state != self._state:
            say(state, err=self._to_stderr)
        self._state = state


def is_fleet(restore_id: str) -> bool:
    """Whether the id is of a fleet (domain/fleets.py)."""
    return restore_id.startswith("fleet-")


def _shown(settings: Settings, record: Json, *, good: bool = False) -> None:
    """Shows the fleet; if the user waited for it, the exit status says whether it is ready."""
    if settings.for_people:
        _show(record)
    else:
        settings.emit(record)
    if not good and record["status"] != "ready":
        raise click.exceptions.Exit(NOT_READY)


def _show(record: Json, *, err: bool = False) -> None:
    from rewarm_cli.views import fleet_lines

    for line in fleet_lines(record):
        say(line, err=err)


@fleet.command("list")
@click.option(
    "--status", type=OneOf(STATUSES), metavar="STATUS", help=f"Only those that are {', '.join(STATUSES)}."
)
@takes_limit(30)
@takes_settings
def list_fleets(settings: Settings, *, limit: int, status: str | None) -> None:
    """List fleets, the newest first."""
    found = pages(settings.api(), "fleets", {"status": status}, limit)
    if not settings.for_people:
        settings.emit({"fleets": found})
        return
    if not found:
        say("There is no such fleet." if status else "There is no fleet yet: rewarm fleet start -f FILE")
        return
    from rewarm_cli.output import console
    from rewarm_cli.views import show_fleets

    show_fleets(console(), found)


@fleet.command("cancel")
@click.argument("fleet_id", type=Known("fleets"), metavar="FLEET")
@takes_wait
@takes_yes
@takes_settings
def cancel_fleet(settings: Settings, fleet_id: str, **options: Any) -> None:
    """Show how far a fleet is, ask, and cancel it.

    Volumes at full speed are kept, and so are those that were announced as usable.
    """
    cancel_known_fleet(settings, fleet_id, **options)


def cancel_known_fleet(
    settings: Settings, fleet_id: str, *, yes: bool, wait: bool, timeout: int | None
) -> None:
    """Cancel the fleet, and wait for its end if that is asked for."""
    asked = asks(yes=yes)
    api = settings.api()
    before = api.insist(200, "GET", _path(fleet_id))
    if asked and before["status"] in RUNNING:
        _show(before, err=True)
        say("Kept are volumes at full speed, and those that were announced as usable.", err=True)
        agree(f"Cancel {fleet_id}?", "Nothing was cancelled.")
    answer = api.insist(202, "DELETE", _path(fleet_id))
    if wait:
        _shown(settings, _ended(settings, api, fleet_id, watch=False, minutes=timeout), good=True)
    elif settings.for_people and (said := asked_to_cancel(before)):
        say(said)
    elif settings.for_people:
        say(f"{fleet_id} ends as cancelled; what its restores have made is cleaned up")
    else:
        settings.emit(answer)


@fleet.command("report")
@click.argument("fleet_id", type=Known("fleets"), metavar="FLEET")
@click.option("--url", is_flag=True, help="Print the link; open nothing.")
@takes_settings
def fleet_report(settings: Settings, fleet_id: str, *, url: bool) -> None:
    """Open the page of a fleet that has ended. The link lasts an hour at most."""
    open_fleet_page(settings, fleet_id, url=url)


def open_fleet_page(settings: Settings, fleet_id: str, *, url: bool) -> None:
    """Open or print the page of a fleet."""
    record = settings.api().insist(200, "GET", _path(fleet_id))
    link = record.get("reportUrl")
    if link is None:
        raise CommandFailedError(f"{fleet_id} has no page yet: it is {record['status']}", NOT_FOUND)
    if not settings.for_people:
        settings.emit({"fleetId": fleet_id, "status": record["status"], "reportUrl": link})
    elif url or not opened(link):
        echo(link)
