"""What may go wrong with a block of a snapshot, as botocore meets it."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local.aws.wire.protocol import Protocol
from local.soak.lab.transport import Call, Switchboard
from local.soak.trouble.wire_faults import CallFault, Kind, kinds
from tests.local.aws.region.region_lab import Lab

KEY = ("Copy Blocks", "ebs", "GetSnapshotBlock")


class Desk:
    """A Region whose clients have one fault."""

    def __init__(self, lab: Lab, kind: Kind) -> None:
        self.interference = CallFault(KEY, kind)
        self._protocol = Protocol(lab.region)

    def call_of(self, service: str, operation: str) -> Call:
        return Call("Copy Blocks", service, operation)

    def function(self) -> str:
        return "CopyBlocksFunction"

    def denied(self, call: Call, params: Any) -> None:
        """Everything is allowed."""

    unlisted = denied

    def note_trouble(self, service: str) -> None:
        """Nobody asks for it."""

    def respond(
        self, region: str, service: str, operation: str, request: Any
    ) -> tuple[int, dict[str, str], bytes]:
        return self._protocol.reply(region, service, operation, request)


def read(ebs: Any, **block: Any) -> str:
    """How a read ends."""
    try:
        answer = ebs.get_snapshot_block(**block)
    except ClientError as error:
        return f"{error.response['Error']['Code']} {error.response.get('Reason', '')}".strip()
    digest = base64.b64encode(hashlib.sha256(answer["BlockData"].read()).digest()).decode()
    return "read" if digest == answer["Checksum"] else "damaged"


@pytest.mark.parametrize(
    ("kind", "reads"),
    [
        (Kind.ACCOUNT_THROTTLED, ["ThrottlingException"] * 2 + ["read"]),
        (Kind.THROTTLED_TWICE, ["RequestThrottledException"] * 2 + ["read"]),
        (Kind.DAMAGED_BLOCK, ["damaged", "read", "read"]),
        (Kind.EXPIRED_BLOCK, ["ValidationException INVALID_BLOCK_TOKEN", "read", "read"]),
    ],
)
def test_reads_of_a_block_end_by_the_kind_of_fault(kind: Kind, reads: list[str]) -> None:
    lab, switchboard = Lab(), Switchboard()
    snapshot = lab.snapshot()
    (first, *_) = lab.region.call("ebs", "ListSnapshotBlocks", {"SnapshotId": snapshot})["Blocks"]
    switchboard.desk = Desk(lab, kind)  # type: ignore[assignment]
    ebs = switchboard.client("ebs", config=Config(retries={"total_max_attempts": 1}))
    block = {"SnapshotId": snapshot, "BlockIndex": 0, "BlockToken": first["BlockToken"]}
    assert [read(ebs, **block) for _ in range(3)] == reads
    assert kind in kinds(KEY)
