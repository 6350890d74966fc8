"""`rewarm undo-log`: what rewinds have overwritten, which undoes them."""

from __future__ import annotations

from typing import Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.inputs import Known
from rewarm_cli.output import say
from rewarm_cli.settings import Commands, Settings, examples, takes_settings

Json = dict[str, Any]


@click.group("undo-log", cls=Commands)
def undo_log() -> None:
    """List and delete what rewinds have overwritten."""


@undo_log.command("list", epilog=examples("rewarm undo-log list", "rewarm undo-log list -o json"))
@takes_settings
def list_undo_logs(settings: Settings) -> None:
    """List the undo logs with their size and price, and when S3 deletes them."""
    found = settings.api().insist(200, "GET", "/undo-logs")["undoLogs"]
    if not settings.for_people:
        settings.emit({"undoLogs": found})
        return
    if not found:
        say("There is no undo log.")
        return
    from rewarm_cli.output import console, print_table

    rows = [
        [
            log["restoreId"],
            log["volumeId"] or "-",
            log["snapshotId"] or "-",
            _blocks(log),
            words.size(log["bytes"]),
            words.usd(log["usdPerMonth"]),
            words.clock(log["expiresAt"]),
        ]
        for log in found
    ]
    names = ("restore", "volume", "put back to", "blocks", "size", "a month", "deleted at")
    print_table(console(), names, rows, whole=("restore", "volume"))


def _blocks(log: Json) -> str:
    """How many blocks undo the rewind; unknown if it stopped halfway or was interrupted."""
    if log["completedAt"] is None:
        return "incomplete"
    return "-" if log["blocks"] is None else f"{log['blocks']:,}"


@undo_log.command(
    "delete", epilog=examples("rewarm undo-log delete restore-…", "rewarm undo-log delete restore-… --yes")
)
@click.argument("restore_id", type=Known("restores"), metavar="RESTORE")
@takes_yes
@takes_settings
def delete_undo_log(settings: Settings, restore_id: str, *, yes: bool) -> None:
    """Ask, and delete the undo log of a restore; the rewind cannot be undone by it any more."""
    if asks(yes=yes):
        agree(f"Delete what undoes the rewind of {restore_id}?", "Nothing was deleted.")
    answer = settings.api().insist(200, "DELETE", address("undo-logs", restore_id))
    if settings.for_people:
        say(f"The undo log of {restore_id} is deleted: {answer['deletedObjects']:,} objects")
    else:
        settings.emit(answer)
