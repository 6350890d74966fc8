"""`rewarm drill`: rehearse a runbook, and see the results of its drills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.restores import open_page, show_plan_of, start
from rewarm_cli.commands.showing import takes_end
from rewarm_cli.inputs import Known, Minutes
from rewarm_cli.output import say
from rewarm_cli.problems import NOT_FOUND, NOT_READY, CommandFailedError
from rewarm_cli.settings import Commands, Settings, examples, takes_settings

Json = dict[str, Any]


@click.group(cls=Commands)
def drill() -> None:
    """Rehearse a runbook: restore it elsewhere, measure it, delete what was made."""


@drill.command(
    "start",
    epilog=examples(
        "rewarm drill start rewarm-orders-database --watch",
        "rewarm drill start rewarm-orders-database --yes --instance i-… --recovery-time 60",
    ),
)
@click.argument("alarm_name", type=Known("runbooks"), metavar="RUNBOOK")
@click.option("--instance", metavar="I", help="Onto this instance, which has the tag rewarm:drills.")
@click.option("--zone", metavar="Z", help="Only into this Availability Zone.")
@click.option("--recovery-time", type=Minutes(), metavar="TIME", help="Objective: back within this.")
@click.option(
    "--recovery-point", type=Minutes(), metavar="TIME", help="Objective: snapshots no older than this."
)
@takes_end
@takes_yes
@takes_settings
def start_drill(
    settings: Settings, alarm_name: str, *, watch: bool, wait: bool, timeout: int | None, **options: Any
) -> None:
    """Show the plan of a runbook's drill, ask, and start it. What is not said here its `drill` says."""
    drill = {
        "recoveryTimeMinutes": options["recovery_time"],
        "recoveryPointMinutes": options["recovery_point"],
    }
    target = {"instanceId": options["instance"], "availabilityZone": options["zone"]}
    request: Json = {"source": {"alarm": alarm_name}, "drill": _given(drill)}
    if _given(target):
        request["target"] = _given(target)
    if asks(yes=options["yes"]):
        show_plan_of(settings, settings.api(), request)
        agree("Start this drill? What it makes is deleted at its end.", "Nothing was started.")
    restore_id = start(settings, request, watch=watch, wait=wait, timeout=timeout)
    if watch or wait:
        _insist_on_objectives(settings, alarm_name, restore_id)


def _insist_on_objectives(settings: Settings, alarm_name: str, restore_id: str) -> None:
    """Fails the command if the drill is ready but missed an objective."""
    for drilled in _drills(settings, alarm_name):
        if drilled["restoreId"] == restore_id and drilled["outcome"] == "late":
            raise CommandFailedError(
                f"{restore_id} is ready, but missed an objective: "
                f"`{words.command('drill', 'list', alarm_name)}` has its times",
                NOT_READY,
            )


@drill.command("list", epilog=examples("rewarm drill list rewarm-orders-database"))
@click.argument("alarm_name", type=Known("runbooks"), metavar="RUNBOOK")
@takes_settings
def list_drills(settings: Settings, alarm_name: str) -> None:
    """List the latest drills of a runbook, with recovery time and recovery point against their objectives."""
    found = _drills(settings, alarm_name)
    if not settings.for_people:
        settings.emit({"drills": found})
        return
    if not found:
        say(f"{alarm_name} was not drilled yet: {words.command('drill', 'start', alarm_name)}")
        return
    from rewarm_cli.output import console
    from rewarm_cli.views import show_drills

    show_drills(console(), found[::-1])


@drill.command("report", epilog=examples("rewarm drill report rewarm-orders-database --save drill.html"))
@click.argument("alarm_name", type=Known("runbooks"), metavar="RUNBOOK")
@click.option("--url", is_flag=True, help="Print the link; open nothing.")
@click.option(
    "--save", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.html", help="Keep the page."
)
@takes_settings
def report_drill(settings: Settings, alarm_name: str, *, url: bool, save: Path | None) -> None:
    """Open the page of the latest drill of a runbook, with the trend over the drills before."""
    found = _drills(settings, alarm_name)
    if not found:
        raise CommandFailedError(f"{alarm_name} was not drilled yet", NOT_FOUND)
    open_page(settings, found[-1]["restoreId"], url=url, save=save)


def _drills(settings: Settings, alarm_name: str) -> list[Json]:
    """The runbook's drills, oldest first."""
    answer = settings.api().insist(200, "GET", address("runbooks", alarm_name))
    found: list[Json] = answer["drills"]
    return found


def _given(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}
