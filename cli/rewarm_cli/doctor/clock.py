"""This machine's clock, which signatures depend on."""

from __future__ import annotations

from collections.abc import Iterator

from rewarm_cli import words
from rewarm_cli.doctor.account import Account
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown, warning

MOST_SECONDS, SUSPECT_SECONDS = 300, 60
"""IAM user guide, "Signature Version 4": a request must reach AWS within five minutes of its time stamp."""
SET_IT = "let the system set its clock (NTP, chrony, Windows Time)"


def clock(account: Account) -> Iterator[Finding]:
    """Compares it with the Date header of AWS's first answer, which has whole seconds."""
    skew = account.skew_seconds
    if skew is None:
        yield unknown("clock", "no answer of AWS had a Date header", "see why AWS does not answer, above")
        return
    found = f"{words.duration(abs(skew))} {'ahead of' if skew > 0 else 'behind'} AWS's"
    if abs(skew) > MOST_SECONDS:
        yield problem("clock", f"{found}; AWS refuses signatures from {MOST_SECONDS} s", SET_IT)
    elif abs(skew) > SUSPECT_SECONDS:
        yield warning("clock", f"{found}; AWS refuses signatures from {MOST_SECONDS} s", SET_IT)
    else:
        yield ok("clock", found)
