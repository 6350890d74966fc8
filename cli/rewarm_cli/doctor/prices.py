"""The prices that plans are made with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rewarm_cli.doctor.account import Account
from rewarm_cli.doctor.findings import Finding, ok, problem, warning

Json = dict[str, Any]

WITHOUT_LIST = ("aws-cn", "aws-us-gov")
"""China's list needs an account there and is in CNY; GovCloud has no endpoint for it (botocore)."""
FAMILIES = (
    "Storage",
    "Storage Snapshot",
    "System Operation",
    "Provisioned Throughput",
    "Fast Snapshot Restore",
    "EBS direct API Requests",
)
ROWS = {
    "EBS:FastSnapshotRestore": "fsrUsdPerHour",
    "EBS:directAPI.snapshot.List": "listBlocksUsdPerThousand",
    "EBS:directAPI.snapshot.Get": "getBlocksUsdPerThousand",
    "EBS:SnapshotUsage": "snapshotUsdPerGibMonth",
    "EBS:VolumeUsage.gp3": "storageUsdPerGibMonth.gp3",
    "EBS:VolumeUsage.gp2": "storageUsdPerGibMonth.gp2",
    "EBS:VolumeUsage.io2": "storageUsdPerGibMonth.io2",
    "EBS:VolumeUsage.piops": "storageUsdPerGibMonth.io1",
    "EBS:VolumeUsage.st1": "storageUsdPerGibMonth.st1",
    "EBS:VolumeUsage.sc1": "storageUsdPerGibMonth.sc1",
    "EBS:VolumeP-IOPS.gp3": "iopsUsdPerMonth.gp3",
    "EBS:VolumeP-IOPS.io2": "iopsUsdPerMonth.io2",
    "EBS:VolumeP-IOPS.piops": "iopsUsdPerMonth.io1",
    "EBS:VolumeP-Throughput.gp3": "throughputUsdPerMibSMonth.gp3",
}
"""Usage type -> figure (Amazon EBS user guide, "Amazon EBS billing and usage reports")."""
RATE = "rateUsdPerGibMibS"
"""AWS documents no usage type for provisioned rates, so it is looked for by its name."""
SET_THEM = "nothing, or set the parameter PriceOverrides to your own prices (docs/operations.md)"


def prices(account: Account) -> Iterator[Finding]:
    """The rows of the Price List that Rewarm needs, or the user's own prices in their place."""
    own: Json = {}
    try:
        own = json.loads(account.stack.parameters.get("PriceOverrides") or "{}")
    except ValueError as error:
        yield problem("your own prices", f"PriceOverrides is not JSON: {error}", SET_THEM)
    if own:
        yield ok("your own prices", f"PriceOverrides has {', '.join(sorted(own))}")
    if account.partition in WITHOUT_LIST:
        found = f"{account.region} has none in USD, so plans use us-east-1's prices"
        yield warning("Price List", found, SET_THEM)
    else:
        yield _compared(_listed(account), set(own))


def _listed(account: Account) -> set[str]:
    """The figures that the Price List has for the Region."""
    usages: list[str] = []
    for kind, name, value in [
        *(("TERM_MATCH", "productFamily", family) for family in FAMILIES),
        ("CONTAINS", "usagetype", "Initialization"),
    ]:
        filters = [
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": account.region},
            {"Type": kind, "Field": name, "Value": value},
        ]
        listed = account.pages(
            "pricing", "GetProducts", "PriceList", ServiceCode="AmazonEC2", Filters=filters
        )
        usages += [json.loads(text)["product"]["attributes"].get("usagetype", "") for text in listed]
    # Outside us-east-1 a usage type begins with the Region's name, as in APN1-EBS:FastSnapshotRestore.
    found = {ROWS.get(f"EBS:{usage.partition('EBS:')[2]}", "") for usage in usages} - {""}
    return found | {RATE for usage in usages if "initialization" in usage.lower()}


def _compared(listed: set[str], own: set[str]) -> Finding:
    wanted = {*ROWS.values(), RATE}
    missing = wanted - listed - own
    found = f"it has {len(listed)} of the {len(wanted)} prices that plans need"
    if not missing:
        return ok("Price List", found)
    return warning("Price List", f"{found}; Rewarm's own stand in for {', '.join(sorted(missing))}", SET_THEM)
