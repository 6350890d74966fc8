"""An alarm and its runbook: does the alarm start a restore, and when does it not?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.api import ApiRefusedError
from rewarm_cli.commands.showing import pages
from rewarm_cli.doctor.account import Account
from rewarm_cli.doctor.findings import Finding, ok, problem, unknown, warning
from rewarm_cli.problems import CommandFailedError
from rewarm_cli.requests import undrilled

Json = dict[str, Any]

MOST_LOOKED_AT = 20
"""Restores of an alarm, of which some may be by hand or suppressed."""
OWN_NAMES = "list those that there are: aws cloudwatch describe-alarms --query 'MetricAlarms[].AlarmName'"


def alarm(account: Account) -> Iterator[Finding]:
    """There is an alarm of exactly this name, and it can go off."""
    name = str(account.wanted.alarm)
    found = _described(account, name)
    if found is None:
        near = difflib.get_close_matches(name, _names_without_runbook(account), n=1, cutoff=0.6)
        meant = f"; did you mean {near[0]}?" if near else ""
        put = words.command("runbook", "put", *near)
        todo = f"store the runbook under that name: {put}" if near else OWN_NAMES
        yield problem("alarm", f"there is no alarm {name} in {account.region}{meant}", todo)
        return
    since = found.get("StateUpdatedTimestamp")
    state = f"{name} is {found['StateValue']}" + (f" since {_when(since)}" if since else "")
    if found["StateValue"] == "ALARM":
        todo = f"start the restore now: {words.command('restore', '--alarm', name)}"
        yield warning("alarm", f"{state}: it restores only when it has left ALARM and goes off again", todo)
    elif found["StateValue"] == "INSUFFICIENT_DATA":
        yield warning("alarm", f"{state}: its metric has no data", "see that something writes the metric")
    else:
        yield ok("alarm", state)
    if not found.get("ActionsEnabled", True):
        yield warning(
            "alarm actions",
            f"those of {name} are disabled; AWS does not document whether Rewarm hears of it then",
            words.aws("cloudwatch", "enable-alarm-actions", "--alarm-names", name),
        )
    if suppressor := found.get("ActionsSuppressor"):
        yield warning(
            "alarm suppressor",
            f"{name} waits for {suppressor} whenever it goes off, up to "
            f"{found.get('ActionsSuppressorWaitPeriod', 0)} s; it restores nothing then, and AWS documents "
            "no event after that",
            "let an alarm without a suppressor start the restore (docs/alarms.md, Suppressed alarms)",
        )


def rule(account: Account) -> Iterator[Finding]:
    """The stack's rule takes the alarm's name, and is enabled."""
    name = str(account.wanted.alarm)
    parameters = account.stack.parameters
    outputs = account.stack.outputs
    prefix = parameters.get("AlarmNamePrefix")
    rule_name = outputs.get("AlarmRuleName")
    if prefix is None or rule_name is None:
        yield unknown("rule", "it is not known, for want of the stack", "see the stack")
        return
    if name.startswith(prefix):
        yield ok("prefix", f"{name} begins with {prefix}")
    else:
        yield problem(
            "prefix", f"{name} does not begin with {prefix}, so it starts no restore",
            f"name the alarm {prefix}…, or deploy with another AlarmNamePrefix",
        )  # fmt: skip
    if account.ask("events", "DescribeRule", Name=rule_name)["State"] == "DISABLED":
        yield problem(
            "rule", f"{rule_name} is disabled: no alarm starts a restore",
            words.aws("events", "enable-rule", "--name", rule_name),
        )  # fmt: skip
    else:
        yield ok("rule", f"{rule_name} is enabled")


def cooldown(account: Account) -> Iterator[Finding]:
    """No restore of this alarm runs, and none began so lately that the next alarm would start none."""
    name = str(account.wanted.alarm)
    own = account.wanted.request.get("alarmCooldownMinutes")
    minutes = own if own is not None else account.stack.parameters.get("AlarmCooldownMinutes")
    last = _last_restore(account, name)
    if last is None:
        yield ok("cooldown", "the alarm has started no restore yet")
        return
    restore_id = last["restoreId"]
    began = words.moment(last["startedAt"])
    if last.get("finishedAt") is None:
        found = f"{restore_id} runs, and the alarm starts no other one meanwhile"
        yield warning("cooldown", found, f"see it: {words.command('status', restore_id)}")
    elif minutes is None or began is None:
        yield unknown("cooldown", "how long it is is not known, for want of the stack", "see the stack")
    elif (ends := began + timedelta(minutes=int(minutes))) > datetime.now(UTC):
        yield warning(
            "cooldown",
            f"the alarm starts no restore until {_when(ends)}, {minutes} minutes after {restore_id} began",
            "a change of the runbook ends it, and rewarm restore --alarm does not wait for it",
        )
    else:
        yield ok("cooldown", f"is over: {restore_id} began at {_when(began)}")


def snapshot_time(account: Account) -> Iterator[Finding]:
    """The runbook takes the newest snapshot, not the newest one of a time that recedes."""
    at = (account.wanted.request.get("source") or {}).get("at")
    if at not in (None, "latest"):
        yield warning(
            "snapshot time",
            f"whenever the alarm goes off, no snapshot later than {at} is restored: an age counts from now",
            "store the runbook without --at, which takes the newest snapshot",
        )


def plan(account: Account) -> Iterator[Finding]:
    """The runbook can be planned now: its snapshot is usable, and its target is there."""
    answer = account.api().call("POST", "/plans", undrilled(account.wanted.request))
    if answer.status == 200:
        yield ok("plan", "the runbook can be restored now")
        return
    said = answer.body.get("detail") or answer.body.get("message") or f"the API answered {answer.status}"
    yield problem("plan", f"nothing could be restored now: {said}", "mend the runbook, or what it names")


def _described(account: Account, name: str) -> Json | None:
    kinds = ["MetricAlarm", "CompositeAlarm"]
    found = account.ask("cloudwatch", "DescribeAlarms", AlarmNames=[name], AlarmTypes=kinds)
    listed: list[Json] = [*found.get("MetricAlarms", []), *found.get("CompositeAlarms", [])]
    return listed[0] if listed else None


def _names_without_runbook(account: Account) -> set[str]:
    """The names of metric alarms that have no runbook yet; empty where nobody knows which have one."""
    listed = account.pages("cloudwatch", "DescribeAlarms", "MetricAlarms")
    try:
        runbooks = pages(account.api(), "runbooks", {})
    except (ApiRefusedError, CommandFailedError, OSError):
        return set()
    return {str(found["AlarmName"]) for found in listed} - {str(found["alarmName"]) for found in runbooks}


def _last_restore(account: Account, name: str) -> Json | None:
    """The latest restore that the alarm itself started; one by hand keeps no alarm from restoring."""
    path = address("restores", alarmName=name, limit=MOST_LOOKED_AT)
    answer = account.api().expect(200, "GET", path)
    found: list[Json] = [
        restore
        for restore in answer["restores"]
        if restore["trigger"]["kind"] == "alarm" and restore["status"] not in {"suppressed", "duplicate"}
    ]
    return found[0] if found else None


def _when(at: datetime) -> str:
    return words.clock(at.isoformat())
