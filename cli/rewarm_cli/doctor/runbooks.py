"""Every stored runbook, planned as if its alarm went off now; nothing is made."""

from __future__ import annotations

from collections.abc import Iterator

from rewarm_cli import words
from rewarm_cli.account import DEPLOY
from rewarm_cli.commands.showing import pages
from rewarm_cli.doctor.account import Account
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown, warning
from rewarm_cli.views import left_out_lines


def runbooks(account: Account) -> Iterator[Finding]:
    """Each runbook that would fail or do less than it says, by its name; then how many are sound."""
    if account.settings.api_url is None and "ApiUrl" not in account.stack.outputs:
        yield unknown("runbooks", "not planned, for want of the stack", DEPLOY)
        return
    names = [runbook["alarmName"] for runbook in pages(account.api(), "runbooks", {})]
    sound = 0
    for name in names:
        findings = list(_of_one(account, name))
        yield from findings
        sound += not findings
    if not names:
        yield ok("runbooks", "there is none, so no alarm restores anything")
    elif sound:
        yield ok("runbooks", f"{sound} of {words.count(len(names), 'runbook')} can be restored as they say")


def _of_one(account: Account, name: str) -> Iterator[Finding]:
    answer = account.api().call("POST", "/plans", {"source": {"alarm": name}})
    check = words.command("runbook", "check", name)
    if answer.status != 200:
        said = answer.body.get("detail") or answer.body.get("message") or f"the API answered {answer.status}"
        if answer.status >= 500 or answer.status in {403, 429}:
            yield unknown(name, f"could not be planned: {said}", f"look again: {check}")
        else:
            yield problem(name, f"its alarm would restore nothing: {said}", f"mend it, then: {check}")
        return
    for line in left_out_lines(answer.body["request"]):
        yield warning(name, line, "deploy the part, or take it out of the runbook")
    if answer.body["summary"]["deadlineMissed"]:
        yield warning(name, "no plan meets its deadline", f"see what others cost: {check}")
