"""The result of a check: a state, what was found, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

OK, WARNING, PROBLEM, UNKNOWN = "ok", "warning", "problem", "unknown"
STATES = (PROBLEM, WARNING, UNKNOWN, OK)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the answer."""

    status: str
    check: str
    found: str
    todo: str = ""
    group: str = ""


def ok(check: str, found: str) -> Finding:
    """The check passed."""
    return Finding(OK, check, found)


def warning(check: str, found: str, todo: str) -> Finding:
    """A restore is possible, with a disadvantage."""
    return Finding(WARNING, check, found, todo)


def problem(check: str, found: str, todo: str) -> Finding:
    """A restore would fail, or nobody would hear of it."""
    return Finding(PROBLEM, check, found, todo)


def unknown(check: str, found: str, todo: str) -> Finding:
    """The check could not be made."""
    return Finding(UNKNOWN, check, found, todo)


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """State -> how many findings have it, the worst first."""
    numbers = Counter(finding.status for finding in findings)
    return {status: numbers[status] for status in STATES}


def document(findings: Iterable[Finding]) -> Json:
    """The answer for programs."""
    listed = list(findings)
    entries = [
        {
            "group": finding.group,
            "check": finding.check,
            "status": finding.status,
            "found": finding.found,
            "todo": finding.todo or None,
        }
        for finding in listed
    ]
    return {"summary": counted(listed), "findings": entries}
