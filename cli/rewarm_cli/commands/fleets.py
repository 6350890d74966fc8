"""`rewarm fleet`: many volumes at once."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from rewarm_cli import words
from rewarm_cli.commands.restores import opened, pages
from rewarm_cli.inputs import Key, OneOf, Whole
from rewarm_cli.problems import NOT_FOUND, NOT_READY, CommandFailedError
from rewarm_cli.requests import read
from rewarm_cli.settings import Commands, Settings, examples, takes_settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]

STATUSES = ("accepted", "awaiting-approval", "restoring", "ready", "incomplete", "failed", "cancelled")
RUNNING = frozenset(STATUSES[:3])
LOOK_SECONDS = 15.0
"""Seconds between two calls for a fleet that the user waits for."""


@click.group(cls=Commands)
def fleet() -> None:
    """Restore many volumes by one request, and follow them as one."""


def _path(fleet_id: str, more: str = "") -> str:
    return f"/fleets/{quote(fleet_id, safe='')}{more}"


@fleet.command(
    "start",
    epilog=examples("rewarm fleet start -f fleet.yaml", "rewarm fleet start -f fleet.yaml --wait"),
)
@click.option(
    "-f", "--file", required=True, metavar="FILE", help="The request as YAML or JSON; - is standard input."
)
@click.option("--wait", is_flag=True, help="Wait until the fleet has ended.")
@click.option(
    "--idempotency-key",
    type=Key(),
    metavar="KEY",
    help="The same key starts the same fleet only once in 24 hours.",
)
@takes_settings
def start_fleet(settings: Settings, *, file: str, wait: bool, idempotency_key: str | None) -> None:
    """Start a fleet from a file. Volumes to one instance become one restore."""
    api = settings.api()
    headers = {"Idempotency-Key": idempotency_key or f"rewarm-{uuid.uuid4()}"}
    _begun(settings, api, api.insist(202, "POST", "/fleets", read(file), headers), wait=wait)


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
    answer = settings.api().insist(200, "POST", "/fleets/plans", read(file))
    if not settings.for_people:
        settings.emit(answer)
        return
    from rewarm_cli.views import fleet_plan_lines

    for line in fleet_plan_lines(answer):
        click.echo(line)


@fleet.command("redrive")
@click.argument("fleet_id", metavar="FLEET")
@click.option("--wait", is_flag=True, help="Wait until the fleet has ended.")
@takes_settings
def redrive_fleet(settings: Settings, fleet_id: str, *, wait: bool) -> None:
    """Restore again what is not ready in a fleet that has ended, and nothing else."""
    api = settings.api()
    _begun(settings, api, api.expect(202, "POST", _path(fleet_id, "/redrive")), wait=wait)


def _begun(settings: Settings, api: Api, begun: Json, *, wait: bool) -> None:
    fleet_id = begun["fleetId"]
    if wait:
        _shown(settings, _ended(api, fleet_id))
    elif settings.for_people:
        click.echo(f"{fleet_id} was accepted")
        click.echo(f"Look at it: {words.command('fleet', 'status', fleet_id)}")
        click.echo(f"Cancel it: {words.command('fleet', 'cancel', fleet_id)}")
    else:
        settings.emit(begun)


@fleet.command("status")
@click.argument("fleet_id", metavar="FLEET")
@click.option("--wait", is_flag=True, help="Wait until the fleet has ended.")
@takes_settings
def fleet_status(settings: Settings, fleet_id: str, *, wait: bool) -> None:
    """Show how far a fleet is: volumes by state, the slowest restores, what failed and why."""
    api = settings.api()
    if wait:
        _shown(settings, _ended(api, fleet_id))
    else:
        _shown(settings, api.insist(200, "GET", _path(fleet_id)), good=True)


def _ended(api: Api, fleet_id: str) -> Json:
    while True:
        record = api.insist(200, "GET", _path(fleet_id))
        if record["status"] not in RUNNING:
            return record
        time.sleep(LOOK_SECONDS)


def _shown(settings: Settings, record: Json, *, good: bool = False) -> None:
    """Shows the fleet; if the user waited for it, the exit status says whether it is ready."""
    if settings.for_people:
        from rewarm_cli.views import fleet_lines

        for line in fleet_lines(record):
            click.echo(line)
    else:
        settings.emit(record)
    if not good and record["status"] != "ready":
        raise click.exceptions.Exit(NOT_READY)


@fleet.command("list")
@click.option("--status", type=OneOf(STATUSES), help="Only those with this status.")
@click.option("-L", "--limit", type=Whole(1, 10_000), default=30, show_default=True, help="At most so many.")
@takes_settings
def list_fleets(settings: Settings, *, limit: int, status: str | None) -> None:
    """List fleets, the newest first."""
    found = pages(settings.api(), "/fleets", "fleets", limit, {"status": status})
    if not settings.for_people:
        settings.emit({"fleets": found})
        return
    from rewarm_cli.output import console
    from rewarm_cli.views import show_fleets

    show_fleets(console(), found)


@fleet.command("cancel")
@click.argument("fleet_id", metavar="FLEET")
@click.option("--wait", is_flag=True, help="Wait until the fleet has ended.")
@takes_settings
def cancel_fleet(settings: Settings, fleet_id: str, *, wait: bool) -> None:
    """Cancel a fleet. Volumes at full speed are kept, and so are those that were announced as usable."""
    api = settings.api()
    answer = api.insist(202, "DELETE", _path(fleet_id))
    if wait:
        _shown(settings, _ended(api, fleet_id), good=True)
    elif settings.for_people:
        click.echo(f"{fleet_id} ends as cancelled; what its restores have made is cleaned up")
    else:
        settings.emit(answer)


@fleet.command("report")
@click.argument("fleet_id", metavar="FLEET")
@click.option("--url", is_flag=True, help="Print the link; open nothing.")
@takes_settings
def fleet_report(settings: Settings, fleet_id: str, *, url: bool) -> None:
    """Open the page of a fleet that has ended. The link lasts an hour at most."""
    record = settings.api().insist(200, "GET", _path(fleet_id))
    link = record.get("reportUrl")
    if link is None:
        raise CommandFailedError(f"{fleet_id} has no page yet: it is {record['status']}", NOT_FOUND)
    if not settings.for_people:
        settings.emit({"fleetId": fleet_id, "status": record["status"], "reportUrl": link})
    elif url or not opened(link):
        click.echo(link)
