"""Quotas that a restore uses, and Lambda's concurrency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import Finding, ok, unknown, warning

Json = dict[str, Any]

FAST_RESTORES = ("L-631ECBD3", 5)
RATE = ("L-A37D9CF3", 5_000)
COPIES = ("L-39BD5252", 5)
"""Quota code and AWS's default (EBS user guide, "Quotas for Amazon EBS")."""
LONGEST_INITIALIZATION = timedelta(days=8)
"""64 TiB at 100 MiB/s, the largest volume at the lowest rate, take 7.8 days."""
STATUS_IDS = 100
RESTORES_PER_FUNCTION = 2
"""docs/operations.md, Lambda's concurrency."""


def fast_snapshot_restores(account: Account) -> Iterator[Finding]:
    """The quota counts snapshots, whatever their zones."""

    def used() -> int:
        running: Json = {"Name": "state", "Values": ["enabling", "optimizing", "enabled"]}
        listed = account.pages(
            "ec2", "DescribeFastSnapshotRestores", "FastSnapshotRestores", Filters=[running]
        )
        return len({found["SnapshotId"] for found in listed})

    yield _finding(account, "fast snapshot restore", FAST_RESTORES, used, "snapshots")


def initialization_rate(account: Account) -> Iterator[Finding]:
    """The sum of the rates of volumes that are being initialized."""

    def used() -> int:
        return sum(volume.get("VolumeInitializationRate") or 0 for volume in _initializing(account))

    yield _finding(account, "initialization rate", RATE, used, "MiB/s")


def volume_copies(account: Account) -> Iterator[Finding]:
    """Copies of volumes that are being initialized."""

    def used() -> int:
        return len({volume.get("SourceVolumeId") for volume in _initializing(account)} - {None})

    yield _finding(account, "volume copies", COPIES, used, "copies")


def lambda_concurrency(account: Account) -> Iterator[Finding]:
    """Compared with MaxRestoresInFlight, which may be about twice the concurrency."""
    limit = account.ask("lambda", "GetAccountSettings")["AccountLimit"]
    free = limit.get("UnreservedConcurrentExecutions", limit["ConcurrentExecutions"])
    found = f"{limit['ConcurrentExecutions']:,} functions at once, {free:,} of them not reserved"
    most = account.stack.parameters.get("MaxRestoresInFlight", "")
    allowed = RESTORES_PER_FUNCTION * free
    if most.isdigit() and int(most) > allowed:
        todo = (
            f"lower MaxRestoresInFlight to {allowed}, or ask for more Concurrent executions in Service Quotas"
        )
        yield warning("Lambda", f"{found}; MaxRestoresInFlight is {int(most):,}", todo)
    else:
        yield ok("Lambda", found)


def _finding(
    account: Account, check: str, quota: tuple[str, int], used: Callable[[], int], unit: str
) -> Finding:
    code, default = quota
    allowed, source = _allowed(account, code, default)
    try:
        count = used()
    except NoAnswerError as error:
        found = f"{allowed:,} {unit} allowed{source}; what is in use is not known: {error}"
        return unknown(check, found, error.todo)
    found = f"{count:,} of {allowed:,} {unit} in use{source}"
    if count >= allowed:
        todo = f"ask for a higher quota in Service Quotas (Amazon EBS, {code}), or end what uses it"
        return warning(check, f"{found}: no restore can use it now", todo)
    return ok(check, found)


def _allowed(account: Account, code: str, default: int) -> tuple[int, str]:
    """The value, and its source unless it is the account's own."""
    try:
        answer = account.ask("service-quotas", "GetServiceQuota", ServiceCode="ebs", QuotaCode=code)
        return int(answer["Quota"]["Value"]), ""
    except (NoAnswerError, KeyError):
        # An account that never asked for another value may have no applied quota.
        return default, " (AWS's default; Service Quotas did not tell this account's)"


def _initializing(account: Account) -> list[Json]:
    """Volumes with a rate or a source that DescribeVolumeStatus does not call finished."""

    def look() -> list[Json]:
        since = datetime.now(UTC) - LONGEST_INITIALIZATION
        pages: Json = {"PageSize": 500}
        volumes = {
            volume["VolumeId"]: volume
            for volume in account.pages("ec2", "DescribeVolumes", "Volumes", PaginationConfig=pages)
            if volume["CreateTime"] > since
            and (volume.get("VolumeInitializationRate") or volume.get("SourceVolumeId"))
        }
        return [volumes[volume_id] for volume_id in _unfinished(account, list(volumes))]

    found: list[Json] = account.once("initializing", look)
    return found


def _unfinished(account: Account, volume_ids: list[str]) -> Iterator[str]:
    for begin in range(0, len(volume_ids), STATUS_IDS):
        ids = volume_ids[begin : begin + STATUS_IDS]
        statuses = account.ask("ec2", "DescribeVolumeStatus", VolumeIds=ids)["VolumeStatuses"]
        finished = {
            found["VolumeId"]
            for found in statuses
            if (found.get("InitializationStatusDetails") or {}).get("Progress", 0) >= 100
        }
        yield from (volume_id for volume_id in ids if volume_id not in finished)
