"""Failures as Step Functions knows them."""

from __future__ import annotations

import json

TIMEOUT = "States.Timeout"
UNCATCHABLE = frozenset({"States.DataLimitExceeded", "States.Runtime"})
"""Step Functions developer guide, "Handling errors": States.ALL does not match these."""


class StateError(Exception):
    """A state has failed; Retry and Catch look at `error`."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause

    def matches(self, names: list[str]) -> bool:
        """Whether ErrorEquals names this error."""
        if self.error in names:
            return True
        if self.error in UNCATCHABLE:
            return False
        return "States.ALL" in names or ("States.TaskFailed" in names and self.error != TIMEOUT)


def too_large(what: str, size: int, limit: int) -> StateError:
    """The size limit of a state's input and output."""
    return StateError("States.DataLimitExceeded", f"{what} has {size} bytes; at most {limit} are allowed")


def lambda_failure(kind: str, message: str) -> str:
    """The cause of a function's failure: what Lambda answers."""
    return json.dumps({"errorMessage": message, "errorType": kind})
