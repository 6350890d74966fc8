"""`rewarm observe` and `rewarm hot`: which blocks applications read first, recorded, shown and deleted."""

from __future__ import annotations

from typing import Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.commands.restores import show_plan_of, start
from rewarm_cli.commands.showing import takes_end
from rewarm_cli.inputs import Whole
from rewarm_cli.output import say
from rewarm_cli.requests import build, put, takes_key
from rewarm_cli.settings import Commands, Settings, examples, takes_settings

Json = dict[str, Any]
MOST_MINUTES = 360


@click.command(epilog=examples("rewarm observe vol-…", "rewarm observe vol-… --minutes 60 --yes"))
@click.argument("volume_ids", nargs=-1, required=True, metavar="VOL...")
@click.option(
    "--minutes", type=Whole(1, MOST_MINUTES), default=30, show_default=True, metavar="N",
    help="For so long.",
)  # fmt: skip
@takes_end
@takes_yes
@takes_key("recording")
@takes_settings
def observe(
    settings: Settings,
    volume_ids: tuple[str, ...],
    *,
    watch: bool,
    wait: bool,
    timeout: int | None,
    **options: Any,
) -> None:
    """Record which blocks of volumes are read, for later restores.

    The volumes are in use on one instance; one that is cold is brought to full speed, too. Block numbers,
    their order and how often each was read are kept, and no data. The recording outlasts the command.
    """
    request = build(None, {}, (), ())
    put(request, "source.existing", {"volumeIds": list(volume_ids)})
    put(request, "warmUp.learn", {"minutes": options["minutes"]})
    if asks(yes=options["yes"]):
        show_plan_of(settings, settings.api(), request)
        agree("Start this recording?", "Nothing was started.")
    start(settings, request, key=options["idempotency_key"] or "", watch=watch, wait=wait, timeout=timeout)


@click.group("hot", cls=Commands)
def hot() -> None:
    """List, show and delete which blocks applications read first."""


@hot.command("list", epilog=examples("rewarm hot list", "rewarm hot list -o json"))
@takes_settings
def list_hot_sets(settings: Settings) -> None:
    """List the volumes whose reads were recorded."""
    found = settings.api().insist(200, "GET", "/hot-sets")["hotSets"]
    if not settings.for_people:
        settings.emit({"hotSets": found})
        return
    if not found:
        say("Nothing is recorded.")
        return
    from rewarm_cli.output import console, print_table

    rows = [
        [
            lineage["lineage"],
            f"{lineage['recordings']:,}",
            words.clock(lineage["newestAt"]),
            words.size(lineage["bytes"]),
        ]
        for lineage in found
    ]
    print_table(console(), ("reads of", "recordings", "newest", "kept"), rows, whole=("reads of",))


@hot.command("show", epilog=examples("rewarm hot show vol-…"))
@click.argument("lineage", metavar="VOL")
@takes_settings
def show_hot_set(settings: Settings, lineage: str) -> None:
    """Show what is read first of a volume's snapshots, and by which recordings."""
    found = settings.api().insist(200, "GET", address("hot-sets", lineage))
    if not settings.for_people:
        settings.emit(found)
        return
    from rewarm_cli.output import console, print_table

    say(f"{words.size(found['bytes'])} are read first, or a tenth of what a snapshot has if that is less.")
    rows = [
        [
            words.clock(recording["beganAt"]),
            recording["restoreId"],
            _or_dash(recording["seconds"], words.duration),
            _or_dash(recording["blocks"], lambda count: words.size(count * 524_288)),
            recording["leftOutBecause"] or ("to the end" if recording["complete"] else "ended early"),
        ]
        for recording in found["recordings"]
    ]
    print_table(console(), ("began", "restore", "time", "read", "recorded"), rows, whole=("restore",))


def _or_dash(value: Any, form: Any) -> str:
    return "-" if value is None else str(form(value))


@hot.command("delete", epilog=examples("rewarm hot delete vol-…", "rewarm hot delete vol-… --yes"))
@click.argument("lineage", metavar="VOL")
@takes_yes
@takes_settings
def delete_hot_set(settings: Settings, lineage: str, *, yes: bool) -> None:
    """Ask, and delete what is recorded of a volume's reads."""
    if asks(yes=yes):
        agree(f"Delete what is recorded of {lineage}?", "Nothing was deleted.")
    answer = settings.api().insist(200, "DELETE", address("hot-sets", lineage))
    if settings.for_people:
        say(f"What was recorded of {lineage} is deleted: {answer['deletedObjects']:,} objects")
    else:
        settings.emit(answer)
