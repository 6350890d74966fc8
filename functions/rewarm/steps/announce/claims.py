"""Lets one sender at a time send a message that must arrive: that a restore failed, or a volume is fast.

Each sender looks whether the message was sent, sends it, and notes that. An execution does so, and the
sweeper for an execution that was stopped. If somebody redrives the execution at that moment, both do. So a
sender claims the message in the table before it looks, and gives the claim back when it has noted or failed.

- A state that finds another's claim tries again for some seconds, because sending takes no longer. Then it
  fails, its Retry repeats it for two minutes, and after that its Catch leaves the message to the sweeper.
- A sweep does not wait. The restore stays noted as running, so this sweep or the next one looks again.
- A sender that dies gives nothing back. Its own retry continues at once, and others after CLAIM_SECONDS.

So nobody takes a message for sent because another one was about to send it. Only the note says that it was.
A claim is for one kind of message: a restore that failed and is redriven can still announce full speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rewarm.contracts.events import AnnounceEvent
from rewarm.domain.errors import RestoreError, ServiceUnavailableError
from rewarm.ports.restores import RestoreTable

CLAIM_SECONDS = 330
"""Longer than any sender's function may run, so that nobody still sends when another takes over."""
TRIES = 10
PAUSE_SECONDS = 2.0
OTHER_SENDS = "another execution or sweep sends the message now"


@contextmanager
def claimed(
    event: AnnounceEvent,
    index: int | None,
    table: RestoreTable,
    *,
    wait: Callable[[float], None] | None,
    goes_without: Callable[[AnnounceEvent, RestoreError], bool],
) -> Iterator[None]:
    """Holds the claim of the message; `index` is that of the volume it is about.

    `wait` waits some seconds for another sender; None does not wait. `goes_without` says whether the message
    is sent even if the table refuses the write. Raises ServiceUnavailableError if another sender has it.
    """
    # An execution that began with an earlier version names no sender.
    message = _name(event, index)
    sender = str(event.details.get("sender") or "execution")
    try:
        is_ours = _claim(message, sender, table, wait)
    except RestoreError as error:
        if not goes_without(event, error):
            raise
        is_ours = True
    if not is_ours:
        raise ServiceUnavailableError(OTHER_SENDS)
    try:
        yield
    except RestoreError:
        _give_back(message, sender, table)
        raise
    _give_back(message, sender, table)


def _name(event: AnnounceEvent, index: int | None) -> str:
    about = event.restore_id if index is None else f"{event.restore_id}#{index}"
    return f"{event.event}#{about}"


def _claim(message: str, sender: str, table: RestoreTable, wait: Callable[[float], None] | None) -> bool:
    for number in range(TRIES if wait else 1):
        if wait and number:
            wait(PAUSE_SECONDS)
        if table.claim_message(message, sender, seconds=CLAIM_SECONDS):
            return True
    return False


def _give_back(message: str, sender: str, table: RestoreTable) -> None:
    """If this fails, the claim ends by itself."""
    with suppress(RestoreError):
        table.claim_message(message, sender, seconds=0)
