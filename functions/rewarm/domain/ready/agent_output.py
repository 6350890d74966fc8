"""What the warm-up agent prints and exits with, and what that means for whoever has started it.

It prints JSON lines, the last of them the result (warmer/README.md). Its own table of exit statuses is `enum
warmer_exit` in warmer/src/base/diag.h, and its manual is warmer/warmer.1.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from rewarm.domain.model import CommandStatus
from rewarm.domain.units import size_text
from rewarm.domain.value import Value

WRONG_CHECKSUM = 65
"""Exit status of documents/start.sh alone: what was downloaded is not the agent."""
UNREACHABLE_DETAILS = frozenset(
    {"DeliveryTimedOut", "Undeliverable", "Terminated", "InvalidPlatform", "AccessDenied", "NoInstancesInTag"}
)
"""Details of commands that never ran (Systems Manager user guide, "Understanding command statuses")."""
STDERR_SHOWN = 300
MOST_COUNTED = 2**64
"""The agent and fio count in 64 bits."""
LEAST_MEASURED = 1e-9
"""A smaller value counts as 0: a division by it would give no number."""
_GOES_ON = frozenset({"Pending", "InProgress", "Cancelling"})
_CANCELLED = frozenset({"Cancelling", "Cancelled"})


class AgentExit(IntEnum):
    """What the agent exits with; documents/start.sh exits with NO_TRANSFER and ENDED as well."""

    OK = 0
    UNREADABLE = 1
    USAGE = 2
    CANNOT_OPEN = 3
    INTERRUPTED = 4
    NO_DEVICE = 66
    NO_FIO = 67
    BUSY = 68
    NO_TRANSFER = 69
    ENDED = 70
    NO_ROOM = 73
    NO_OUTPUT = 74
    """All is done, but the result could not be printed."""
    NOT_MOUNTABLE = 75
    """Of `mount` and `unmount`: refused, and nothing was ended or mounted over."""
    NOT_WHOLE = 80
    WRONG_VOLUME = 81
    WRONG_SIZE = 82
    MOUNTED = 83
    HELD = 84
    SWAP = 85
    READ_ONLY = 86
    NO_MANIFEST = 87
    DISTURBED = 88
    """Somebody else used the device after it was taken: seen by a look, or by what the kernel has counted."""
    BAD_MANIFEST = 89
    BAD_PACK = 90
    DIFFERS = 91
    TAKEN_BEFORE = 92
    """An earlier run of this attempt had the device, and this one must not continue it."""
    NO_UNDO = 93
    """The old bytes of blocks could not be kept, so these were not written."""


WROTE_NOTHING = frozenset(
    {
        AgentExit.NO_DEVICE,
        AgentExit.NOT_WHOLE,
        AgentExit.WRONG_VOLUME,
        AgentExit.WRONG_SIZE,
        AgentExit.MOUNTED,
        AgentExit.HELD,
        AgentExit.SWAP,
        AgentExit.READ_ONLY,
        AgentExit.NO_MANIFEST,
        AgentExit.TAKEN_BEFORE,
    }
)
"""This run of `apply` wrote nothing. An earlier run of the same command may have written."""
IN_USE = frozenset({AgentExit.MOUNTED, AgentExit.HELD, AgentExit.SWAP})
"""Somebody uses the device; where an agent was killed, the kernel may hold it for a while as well."""
INTERRUPTED = frozenset({AgentExit.INTERRUPTED, AgentExit.NO_TRANSFER, AgentExit.ENDED, AgentExit.NO_OUTPUT})
"""Something ended the agent that may be over by now: a kill, a restart, S3 out of reach, a full disk."""
MAY_PASS = INTERRUPTED | IN_USE | {AgentExit.DISTURBED, AgentExit.TAKEN_BEFORE, AgentExit.NO_UNDO}
"""A further attempt of `apply` may succeed."""


def is_one_of(exit_code: int | None, statuses: frozenset[AgentExit]) -> bool:
    """Whether the command ended with one of the statuses; never where nobody saw how it ended."""
    return exit_code is not None and exit_code in statuses


def parsed(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object, or None. The instance wrote it: a number that nothing can be counted in spoils it."""
    try:
        value = json.loads(text, parse_constant=_measured, parse_float=_measured, parse_int=_counted)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _measured(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or abs(value) > MOST_COUNTED:
        raise ValueError(text)
    return value if abs(value) >= LEAST_MEASURED else 0.0


def _counted(text: str) -> int:
    value = int(text)
    if abs(value) > MOST_COUNTED:
        raise ValueError(text)
    return value


def last_object(text: str) -> dict[str, Any] | None:
    """The last line that is a whole JSON object; a line cut short is passed over."""
    for line in reversed(text.splitlines()):
        value = parsed(line)
        if value is not None:
            return value
    return None


def result(status: CommandStatus) -> dict[str, Any] | None:
    """The final object of a finished command; None where there is none."""
    value = last_object(status.stdout)
    return value if value is not None and value.get("event") == "result" else None


def cold_measurement(status: CommandStatus) -> dict[str, Any] | None:
    """What the warm-up command measured before it read anything; None where it did not measure."""
    found = (parsed(line) for line in status.stdout.splitlines())
    return next((value for value in found if value and value.get("event") == "before"), None)


def is_unreachable(status: CommandStatus) -> bool:
    """The command never reached the instance."""
    return status.status_details.replace(" ", "") in UNREACHABLE_DETAILS


def is_interrupted(status: CommandStatus) -> bool:
    """Something ended the command that may be over by now: a kill, a restart, S3 out of reach for a while.

    An exit status is missing where nobody saw the end, or where a signal ended the document's shell (-1). A
    command that was cancelled, or ran into its time limit, was not interrupted.
    """
    if status.status != "Failed" or is_unreachable(status):
        return False
    return status.exit_code is None or is_one_of(status.exit_code, INTERRUPTED)


def whole_number(account: Mapping[str, Any] | None, name: str) -> int | None:
    """A count that the agent reports; None if it is missing or not a number."""
    value = (account or {}).get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def number(account: Mapping[str, Any] | None, name: str) -> float | None:
    """A value that the agent measured; None if it is missing or not a number."""
    value = (account or {}).get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


class AgentFigures(Value):
    """The figures of a line of the agent, be it progress or its result; None where it says none."""

    bytes_done: int | None
    bytes_total: int | None
    bytes_resumed: int | None
    blocks_done: int | None
    blocks_written: int | None
    blocks_resumed: int | None
    blocks_equal: int | None
    first_blocks_total: int | None
    first_blocks_done: int | None
    first_seconds: float | None
    samples: int | None
    errors: int | None
    eta_seconds: int | None
    elapsed_seconds: float | None
    mib_per_second: float | None

    @property
    def first_percent(self) -> float | None:
        """How much of what it reads first it has read; None where nothing comes first."""
        if not self.first_blocks_total or self.first_blocks_done is None:
            return None
        return min(100.0, 100.0 * max(0, self.first_blocks_done) / self.first_blocks_total)

    @property
    def in_words(self) -> str:
        """How far the agent came, as the beginning of a sentence; empty where it said nothing."""
        if self.bytes_done is None or self.bytes_total is None:
            return ""
        unreadable = (
            f", {self.errors} block{'s' if self.errors > 1 else ''} unreadable" if self.errors else ""
        )
        return f"{size_text(self.bytes_done)} of {size_text(self.bytes_total)}{unreadable}; "


def figures(account: Mapping[str, Any] | None) -> AgentFigures:
    """As warmer/warmer.1.md names them."""
    return AgentFigures(
        bytes_done=whole_number(account, "bytesDone"),
        bytes_total=whole_number(account, "bytesTotal"),
        bytes_resumed=whole_number(account, "bytesResumed"),
        blocks_done=whole_number(account, "blocksDone"),
        blocks_written=whole_number(account, "blocksWritten"),
        blocks_resumed=whole_number(account, "blocksResumed"),
        blocks_equal=whole_number(account, "blocksEqual"),
        first_blocks_total=whole_number(account, "firstBlocksTotal"),
        first_blocks_done=whole_number(account, "firstBlocksDone"),
        first_seconds=number(account, "firstSeconds"),
        samples=whole_number(account, "samples"),
        errors=whole_number(account, "errors"),
        eta_seconds=whole_number(account, "etaSeconds"),
        elapsed_seconds=number(account, "elapsedSeconds"),
        mib_per_second=number(account, "mibPerSecond"),
    )


def ending(status: CommandStatus) -> str:
    """How a command ended, with the last words of its error output."""
    exit_status = (
        "" if status.exit_code is None or status.exit_code < 0 else f", exit status {status.exit_code}"
    )
    words = " ".join(status.stderr.split())[-STDERR_SHOWN:]
    return f"{status.status_details or status.status}{exit_status}{f': {words}' if words else ''}"


class SentCommand(Value):
    """`status` is that of botocore's CommandStatus."""

    command_id: str
    status: str

    @property
    def is_over(self) -> bool:
        """It does nothing any more."""
        return self.status not in _GOES_ON

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled, or is about to be."""
        return self.status in _CANCELLED
