"""All checks in their order. An error in one stops no other, and none ends in a traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from botocore.exceptions import BotoCoreError

from rewarm_cli.doctor import (
    alarms,
    clock,
    identity,
    keys,
    permissions,
    policies,
    prices,
    quotas,
    runbooks,
    snapshots,
)
from rewarm_cli.doctor.account import Account, NoAnswerError, Wanted
from rewarm_cli.doctor.findings import OK, Finding, Json, problem, unknown
from rewarm_cli.doctor.reach import instance, network, on_instance
from rewarm_cli.settings import Settings

Check = Callable[[Account], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Group:
    """Checks under one heading."""

    name: str
    checks: tuple[Check, ...]
    needs_caller: bool = True


QUOTAS = (
    quotas.fast_snapshot_restores,
    quotas.initialization_rate,
    quotas.volume_copies,
    quotas.lambda_concurrency,
)
ALWAYS = (
    Group("identity", (identity.credentials,), needs_caller=False),
    Group("clock", (clock.clock,), needs_caller=False),
    Group("stack", (identity.stack, identity.parts, identity.api, identity.messages)),
    Group("permissions", (permissions.caller, permissions.roles, permissions.dry_runs)),
    Group("quotas", QUOTAS),
    Group("prices", (prices.prices,)),
    Group("runbooks", (runbooks.runbooks,)),
)
OF_INSTANCE = (
    Group("instance", (instance.state, instance.devices, instance.systems_manager)),
    Group("network", (network.path, network.security_groups, network.network_acl)),
    Group("on the instance", (on_instance.look,)),
)
OF_DATA = (Group("snapshots", (snapshots.snapshot, snapshots.lineage)), Group("keys", (keys.keys,)))


OF_ALARM = Group(
    "alarm", (alarms.alarm, alarms.rule, alarms.cooldown, alarms.snapshot_time, policies.schedule)
)
PLANNED = Group("runbook", (alarms.plan,))
FIRST = Group("stack", (identity.credentials, identity.stack))
REACHED = Group("instance", (instance.systems_manager,))


def examine_alarm(settings: Settings, name: str, request: Json, *, planned: bool) -> list[Finding]:
    """What keeps an alarm from restoring by this runbook, and what could not be looked at.

    `planned` is whether the caller has planned the runbook already.
    """
    target: Json = request.get("target") or {}
    account = Account(settings, Wanted(alarm=name, request=request, instance=target.get("instanceId")))
    findings = [found for check in FIRST.checks for found in _guarded(account, check)]
    if account.caller is not None:
        groups = [OF_ALARM, *([] if planned else [PLANNED]), *([REACHED] if account.wanted.instance else [])]
        checks = [check for group in groups for check in group.checks]
        findings += [found for check in checks for found in _guarded(account, check)]
    return [found for found in findings if found.status != OK]


def examine(settings: Settings, wanted: Wanted) -> Iterator[tuple[str, list[Finding]]]:
    """Yields the heading and the findings of each group when they are known."""
    try:
        account = Account(settings, wanted)
        _ = account.region
    except BotoCoreError as error:
        finding = problem("profile", str(error), "name another one with --profile")
        yield "identity", [replace(finding, group="identity")]
        return
    for group in _groups(wanted):
        if group.needs_caller and account.caller is None:
            findings = [unknown(group.name, "not looked at, for want of credentials", "mend identity first")]
        else:
            findings = [finding for check in group.checks for finding in _guarded(account, check)]
        yield group.name, [replace(finding, group=group.name) for finding in findings]


def _groups(wanted: Wanted) -> Iterator[Group]:
    """The groups for what the user named."""
    yield from ALWAYS
    if wanted.instance:
        yield from OF_INSTANCE
    if wanted.snapshot or wanted.volume:
        yield from OF_DATA


def _guarded(account: Account, check: Check) -> Iterator[Finding]:
    """What a check finds; if it cannot look, the reason."""
    name = check.__name__.replace("_", " ")
    try:
        yield from check(account)
    except NoAnswerError as error:
        yield unknown(name, str(error), error.todo)
    except Exception as error:
        found = f"AWS's answer could not be read: {type(error).__name__}: {error}"
        yield unknown(name, found, "report it, with what rewarm doctor --output json prints")
