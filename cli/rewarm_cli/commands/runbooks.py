"""`rewarm runbook`: what an alarm restores."""

from __future__ import annotations

from typing import Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.showing import pages, takes_limit
from rewarm_cli.inputs import Known, Minutes
from rewarm_cli.output import echo, say
from rewarm_cli.problems import NOT_READY
from rewarm_cli.requests import as_file, takes_request, undrilled
from rewarm_cli.settings import Commands, Settings, examples, takes_settings

Json = dict[str, Any]


def _path(alarm_name: str) -> str:
    return address("runbooks", alarm_name)


@click.group(cls=Commands)
def runbook() -> None:
    """Say what to restore when an alarm goes off."""


@runbook.command(
    "put",
    epilog=examples(
        "rewarm runbook put rewarm-orders-database -f docs/runbooks/database.yaml",
        "rewarm runbook put rewarm-orders-database --volume vol-… --instance i-…",
    ),
)
@click.argument("alarm_name", type=Known("runbooks"), metavar="ALARM")
@takes_request
@takes_yes
@takes_settings
def put_runbook(settings: Settings, alarm_name: str, request: Json, *, yes: bool) -> None:
    """Store the runbook of an alarm, by the alarm's exact name, and say what keeps it from restoring.

    Where the alarm has another runbook, it shows what differs and asks.
    """
    from rewarm_cli.commands.replacing import put_stored

    if not request:
        raise click.UsageError("say what to restore and where to, with --volume and --instance, or -f")
    what = f"the runbook of {alarm_name}"
    answer = put_stored(settings, ("runbooks", alarm_name), request, what, yes=yes)
    if settings.for_people:
        check = words.command("runbook", "check", alarm_name)
        say(f"The runbook of {alarm_name} is stored. `{check}` plans it.")
    else:
        settings.emit(answer)
    _say_what_is_wrong(settings, alarm_name, answer["request"], planned=False)


def _say_what_is_wrong(settings: Settings, alarm_name: str, request: Json, *, planned: bool) -> bool:
    """Show what keeps the alarm from restoring, on standard error; whether something does."""
    from rewarm_cli.commands.doctor import show
    from rewarm_cli.doctor.examination import examine_alarm
    from rewarm_cli.doctor.findings import PROBLEM
    from rewarm_cli.output import console

    found = examine_alarm(settings, alarm_name, request, planned=planned)
    if found:
        show(console(stderr=True), f"What {alarm_name} needs before it restores:", found)
    return any(finding.status == PROBLEM for finding in found)


@runbook.command("get")
@click.argument("alarm_name", type=Known("runbooks"), metavar="ALARM")
@takes_settings
def get_runbook(settings: Settings, alarm_name: str) -> None:
    """Show a runbook, as a file that `rewarm runbook put -f` takes."""
    answer = settings.api().insist(200, "GET", _path(alarm_name))
    if settings.for_people:
        echo(as_file(answer["request"]))
    else:
        settings.emit(answer)


@runbook.command("list")
@takes_limit(100)
@takes_settings
def list_runbooks(settings: Settings, *, limit: int) -> None:
    """List the runbooks."""
    found = pages(settings.api(), "runbooks", {}, limit)
    if not settings.for_people:
        settings.emit({"runbooks": found})
        return
    if not found:
        say("There is no runbook yet, so no alarm restores anything: rewarm runbook put ALARM -f FILE")
        return
    from rewarm_cli.output import console
    from rewarm_cli.views import show_runbooks

    show_runbooks(console(), found)


@runbook.command("delete")
@click.argument("alarm_name", type=Known("runbooks"), metavar="ALARM")
@takes_yes
@takes_settings
def delete_runbook(settings: Settings, alarm_name: str, *, yes: bool) -> None:
    """Show the runbook of an alarm, ask, and delete it; the alarm then restores nothing."""
    if asks(yes=yes):
        before = settings.api().insist(200, "GET", _path(alarm_name))
        echo(as_file(before["request"]), err=True)
        agree(
            f"Delete the runbook of {alarm_name}, so that the alarm restores nothing?", "Nothing was deleted."
        )
    answer = settings.api().insist(200, "DELETE", _path(alarm_name))
    if settings.for_people:
        say(f"The runbook of {alarm_name} is deleted")
    else:
        settings.emit(answer)


@runbook.command(
    "check",
    epilog=examples(
        "rewarm runbook check rewarm-orders-database", "rewarm runbook check -f docs/runbooks/database.yaml"
    ),
)
@click.argument("alarm_name", type=Known("runbooks"), metavar="[ALARM]", required=False)
@takes_request
@takes_settings
def check_runbook(settings: Settings, alarm_name: str | None, request: Json) -> None:
    """Say what would happen if the alarm went off now: snapshot, plan, price, and what is missing.

    Of an alarm that is named, it also says what keeps it from restoring: no alarm of this name, a disabled
    rule, a cooldown, no usable snapshot, no snapshot policy, an instance that Systems Manager does not reach.
    """
    if (alarm_name is None) == (not request):
        raise click.UsageError("name an alarm whose runbook is stored, or a file with -f")
    asked = undrilled(request) or {"source": {"alarm": alarm_name}}
    answer = settings.api().insist(200, "POST", "/plans", asked)
    if settings.for_people:
        from rewarm_cli.output import console
        from rewarm_cli.views import missing_lines, show_plan

        say(f"If {alarm_name or 'its alarm'} went off now:")
        show_plan(console(), answer)
        for line in missing_lines(answer):
            say(line)
    else:
        settings.emit(answer)
    wrong = alarm_name is not None and _say_what_is_wrong(
        settings, alarm_name, answer.get("request") or {}, planned=True
    )
    if wrong or answer["summary"]["deadlineMissed"]:
        raise click.exceptions.Exit(NOT_READY)


@runbook.command("test")
@click.argument("alarm_name", type=Known("runbooks"), metavar="ALARM")
@click.option("--timeout", type=Minutes(), metavar="TIME", help="Wait no longer than this.")
@takes_settings
def test_runbook(settings: Settings, alarm_name: str, *, timeout: int | None) -> None:
    """Run the runbook up to its plan: the workflow and its message are tried, and nothing is made."""
    from rewarm_cli.watching import end, follow

    api = settings.api()
    started = api.expect(202, "POST", "/restores", {"source": {"alarm": alarm_name}, "dryRun": True})
    end(settings, follow(settings, api, started["restoreId"], watch=False, minutes=timeout))
