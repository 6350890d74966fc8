"""What the warm-up agent prints: JSON lines, the last of them the result (warmer/README.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewarm.domain.model import CommandStatus
from rewarm.domain.ready.agent_exit import INTERRUPTED, is_one_of
from rewarm.domain.units import size_text

UNREACHABLE_DETAILS = frozenset(
    {"DeliveryTimedOut", "Undeliverable", "Terminated", "InvalidPlatform", "AccessDenied", "NoInstancesInTag"}
)
"""Details of commands that never ran (Systems Manager user guide, "Understanding command statuses")."""
STDERR_SHOWN = 300
MOST_COUNTED = 2**64
"""The agent and fio count in 64 bits."""
LEAST_MEASURED = 1e-9
"""Less counts as nothing: what is divided by it would be no number."""


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


def numbers(account: Mapping[str, Any] | None) -> str:
    """How far the agent came, as the beginning of a sentence; empty where it said nothing."""
    done, total, errors = (whole_number(account, name) for name in ("bytesDone", "bytesTotal", "errors"))
    if done is None or total is None:
        return ""
    unreadable = f", {errors} block{'s' if errors > 1 else ''} unreadable" if errors else ""
    return f"{size_text(done)} of {size_text(total)}{unreadable}; "


def ending(status: CommandStatus) -> str:
    """How a command ended, with the last words of its error output."""
    exit_status = (
        "" if status.exit_code is None or status.exit_code < 0 else f", exit status {status.exit_code}"
    )
    words = " ".join(status.stderr.split())[-STDERR_SHOWN:]
    return f"{status.status_details or status.status}{exit_status}{f': {words}' if words else ''}"


_GOES_ON = frozenset({"Pending", "InProgress", "Cancelling"})
_CANCELLED = frozenset({"Cancelling", "Cancelled"})


@dataclass(frozen=True, slots=True)
class SentCommand:
    """`status` is that of botocore's CommandStatus."""

    command_id: str
    status: str

    @property
    def is_over(self) -> bool:
        """It does nothing any more."""
        return self.status not in _GOES_ON

    @property
    def is_cancelled(self) -> bool:
        """It came to nothing, or will not come to more."""
        return self.status in _CANCELLED
