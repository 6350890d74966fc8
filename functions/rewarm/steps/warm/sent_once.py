"""Sends a command of the agent once, also if the function ends before it can record the command.

SendCommand has no client token. So a note with the command's comment is written before the command is
sent. If the note is still there later, Run Command is asked whether the command exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from rewarm.domain.errors import RestoreError, ServiceUnavailableError
from rewarm.domain.units import iso
from rewarm.ports import JsonObject
from rewarm.ports.instances import Commands
from rewarm.ports.restores import RestoreTable
from rewarm.steps.record.records import parsed_time, sending_attribute

ANSWER_AFTER = timedelta(seconds=19)
"""A command may be sent so long after its note: connecting and the answer take it (adapters/clients.py)."""
SHOWN_AFTER = timedelta(seconds=15)
"""SSM shows a new command a little late; how late is not documented. After this time it was never sent."""
NOTED_WITHIN = timedelta(seconds=5)
"""A note that took longer to write has too early a time, and is written again."""


@contextmanager
def about_to_send(
    restore_id: str, index: int, note: JsonObject, *, commands: Commands, table: RestoreTable
) -> Iterator[None]:
    """Around SendCommand, which may have its effect from `since` to `until`.

    Whoever notes the command's id takes the note away (`sending_attribute`: None).
    """
    name = sending_attribute(index)

    def noted(since: datetime, until: datetime) -> None:
        told = {**note, "since": iso(since), "until": iso(until)}
        table.update_volume(restore_id, index, {name: told})

    since = commands.time()
    noted(since, since + ANSWER_AFTER)
    if commands.time() - since > NOTED_WITHIN:
        since = commands.time()
        noted(since, since + ANSWER_AFTER)
    try:
        yield
    except ServiceUnavailableError:
        # It may have been sent all the same, but no later than now.
        with suppress(RestoreError):
            noted(since, commands.time())
        raise
    except RestoreError:
        with suppress(RestoreError):
            table.update_volume(restore_id, index, {name: None})
        raise


def sent_before(standing: JsonObject | None, comment: str | None, commands: Commands) -> str | None:
    """The command with this comment that nobody noted; others that nobody noted are cancelled.

    Raises ServiceUnavailableError while SSM may not show it yet.
    """
    since = parsed_time((standing or {}).get("since"))
    if not standing or since is None:
        return None
    sent = commands.find(standing["comment"], platform=standing["platform"], since=since)
    found = [command for command in sent if not command.is_cancelled]
    until = parsed_time(standing.get("until")) or since
    if not found and commands.time() - until < SHOWN_AFTER:
        raise ServiceUnavailableError(f'whether "{standing["comment"]}" was sent, SSM may not show yet')
    kept = None
    if found and standing["comment"] == comment:
        kept = next((command for command in found if not command.is_over), found[0])
    for command in found:
        if command is not kept and not command.is_over:
            commands.cancel(command.command_id, standing["instanceId"])
    return kept.command_id if kept else None
