"""`rewarm status` and `list`: what runs, how far it is, and what ran before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.inputs import Instant, Known, Minutes, OneOf, Whole
from rewarm_cli.output import say
from rewarm_cli.settings import Settings, examples, takes_settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]

STATUSES = (
    "accepted", "planning", "planned", "awaiting-approval", "restoring", "initializing", "ready", "failed",
    "cancelled", "refused", "duplicate", "suppressed",
)  # fmt: skip
MOST_ON_A_PAGE, MOST_LISTED = 100, 10_000
RUNNING = ("accepted", "planning", "awaiting-approval", "restoring", "initializing")
"""Statuses of a restore that has not ended; a dry run ends as planned."""


def takes_wait(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that can wait for the end of what it ends."""
    command = click.option("--timeout", type=Minutes(), metavar="TIME", help="Wait no longer than this.")(
        command
    )
    return click.option("--wait", is_flag=True, help="Wait until it has ended.")(command)


def takes_limit(usual: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option of a command that lists."""
    kind = Whole(1, MOST_LISTED)
    return click.option("-L", "--limit", type=kind, default=usual, show_default=True, help="At most so many.")


def asked_to_cancel(record: Json) -> str | None:
    """When somebody has asked before to cancel this restore or fleet, and who; None if nobody has."""
    asked = next(
        (event for event in record.get("events") or [] if event["event"] == "cancel-requested"), None
    )
    if asked is None:
        return None
    name = record.get("restoreId") or record.get("fleetId")
    by = (record.get("cancelledBy") or {}).get("name")
    return f"{name} was cancelled already at {words.clock(asked['at'])}" + (f", by {by}" if by else "")


def cancel_lines(record: Json) -> Iterator[str]:
    """What cancelling a restore that runs does to what it has made."""
    made = [volume for volume in record.get("volumes") or [] if (volume.get("volume") or {}).get("volumeId")]
    usable = [volume["volume"]["volumeId"] for volume in made if volume.get("attached")]
    others = [volume["volume"]["volumeId"] for volume in made if not volume.get("attached")]
    yield f"{record['restoreId']} is {record.get('status') or 'starting'}."
    if usable:
        yield f"Kept, because somebody may use them: {', '.join(usable)}."
    if others:
        yield f"Deleted: {', '.join(others)}."
    if not made:
        is_adoption = ((record.get("request") or {}).get("source") or {}).get("existing")
        yield "Its volumes stay as they are." if is_adoption else "It has made no volume yet."


def takes_end(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that can wait for a restore's end."""
    options = (
        click.option("--watch", is_flag=True, help="Show states and progress until the restore has ended."),
        click.option("--wait", is_flag=True, help="Wait for the end in silence."),
        click.option(
            "--timeout",
            type=Minutes(),
            metavar="TIME",
            help="Wait no longer than this; the restore continues.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    epilog=examples("rewarm status", "rewarm status restore-… --watch", "rewarm status fleet-… --wait")
)
@click.argument("restore_id", type=Known("restores", "fleets"), metavar="[RESTORE]", required=False)
@takes_end
@takes_settings
def status(
    settings: Settings, restore_id: str | None, *, watch: bool, wait: bool, timeout: int | None
) -> None:
    """Show one restore or fleet: state, volumes, progress, messages. Without an id: all that run."""
    from rewarm_cli.commands.fleets import is_fleet, show_fleet
    from rewarm_cli.watching import end, follow, path_of

    api = settings.api()
    if restore_id is None:
        if watch or wait:
            raise click.UsageError("--watch and --wait need the id of a restore or fleet")
        _show_running(settings, api)
    elif is_fleet(restore_id):
        show_fleet(settings, api, restore_id, watch=watch, wait=wait, minutes=timeout)
    elif watch or wait:
        end(settings, follow(settings, api, restore_id, watch=watch, minutes=timeout), events=not watch)
    else:
        end(settings, api.insist(200, "GET", path_of(restore_id)), good=True)


def _show_running(settings: Settings, api: Api) -> None:
    """The restores and fleets that have not ended, the newest first."""
    from rewarm_cli.commands.fleets import RUNNING as FLEETS_RUNNING

    restores = [found for name in RUNNING for found in pages(api, "restores", {"status": name})]
    fleets = [found for name in FLEETS_RUNNING for found in pages(api, "fleets", {"status": name})]
    restores.sort(key=lambda restore: str(restore.get("startedAt")), reverse=True)
    if not settings.for_people:
        settings.emit({"restores": restores, "fleets": fleets})
        return
    from rewarm_cli.output import console
    from rewarm_cli.views import show_fleets, show_restores

    if restores:
        show_restores(console(), restores)
    if fleets:
        show_fleets(console(), fleets)
    if not restores and not fleets:
        say(f"Nothing runs. `{words.command('list')}` shows what has ended.")


@click.command("list")
@click.option(
    "--status", type=OneOf(STATUSES), metavar="STATUS", help=f"Only those that are {', '.join(STATUSES)}."
)
@click.option("--instance", metavar="I", help="Only those onto this instance.")
@click.option("--alarm", metavar="NAME", help="Only those that this alarm started.")
@click.option(
    "--since", type=Instant(), metavar="TIME", help="Only those since then: 12h, 7d, a date or a time."
)
@click.option("--until", type=Instant(), metavar="TIME", help="Only those that started before then.")
@takes_limit(30)
@takes_settings
def list_restores(
    settings: Settings, *, limit: int, since: str | None, until: str | None, **filters: Any
) -> None:
    """List restores, the newest first."""
    query = {
        "status": filters["status"],
        "instanceId": filters["instance"],
        "alarmName": filters["alarm"],
        "since": since,
        "until": until,
    }
    found = pages(settings.api(), "restores", query, limit)
    if not settings.for_people:
        settings.emit({"restores": found})
        return
    if not found:
        asked = any(value is not None for value in query.values())
        say("There is no such restore." if asked else "There is no restore yet: rewarm restore --help")
        return
    from rewarm_cli.output import console
    from rewarm_cli.views import show_restores

    show_restores(console(), found)


def pages(api: Api, name: str, query: Json, limit: int = MOST_LISTED) -> list[Json]:
    """The first entries of a list of the API, page by page."""
    found: list[Json] = []
    token = None
    while len(found) < limit:
        asked = {**query, "limit": min(limit - len(found), MOST_ON_A_PAGE), "nextToken": token}
        answer = api.insist(200, "GET", address(name, **asked))
        found += answer[name]
        token = answer.get("nextToken")
        if not token:
            break
    return found[:limit]
