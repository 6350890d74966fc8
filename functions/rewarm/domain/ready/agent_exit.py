"""Exit statuses of the agent, and what each means for whoever has started it.

The agent's own table is `enum warmer_exit` in warmer/src/base/diag.h, and its manual is warmer/warmer.1.md.
"""

from __future__ import annotations

from enum import IntEnum

WRONG_CHECKSUM = 65
"""Of documents/start.sh alone: what was downloaded is not the agent."""


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
    NOT_WHOLE = 80
    WRONG_VOLUME = 81
    WRONG_SIZE = 82
    MOUNTED = 83
    HELD = 84
    SWAP = 85
    READ_ONLY = 86
    NO_MANIFEST = 87
    DISTURBED = 88
    """While blocks were being written, somebody else used the device; the agent stopped at once."""
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
INTERRUPTED = frozenset({AgentExit.INTERRUPTED, AgentExit.NO_TRANSFER, AgentExit.ENDED})
"""Something ended the agent that may be over by now: a kill, a restart, S3 out of reach for a while."""
MAY_PASS = INTERRUPTED | IN_USE | {AgentExit.DISTURBED, AgentExit.TAKEN_BEFORE, AgentExit.NO_UNDO}
"""A further attempt of `apply` may succeed."""


def is_one_of(exit_code: int | None, statuses: frozenset[AgentExit]) -> bool:
    """Whether the command ended with one of the statuses; never where nobody saw how it ended."""
    return exit_code is not None and exit_code in statuses
