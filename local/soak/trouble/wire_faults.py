"""What can go wrong with one call to AWS, with the codes that each service really sends.

EC2 API reference, "Error codes for the Amazon EC2 API"; for the other services the common errors of their API
references and the error shapes of botocore's models.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from local.soak.lab.functions import BUSY
from local.soak.lab.transport import Call, NoInterference, Refusal, denied


class Kind(StrEnum):
    """A column of the fault matrix."""

    THROTTLED_TWICE = "throttled twice"
    THROTTLED_FOR_EVER = "throttled for ever"
    ACCESS_DENIED = "access denied"
    INTERNAL_ERROR = "internal error"
    LOST_ANSWER = "time-out after the effect"
    PARTIAL_FAILURE = "partial failure"
    NOT_FOUND_YET = "not found right after create"
    THROTTLED_FIVE_MINUTES = "throttled for five minutes"
    ACCOUNT_THROTTLED = "account throttled twice"
    DAMAGED_BLOCK = "a block with a wrong checksum"
    EXPIRED_BLOCK = "a block whose token has expired"


PASSING = frozenset(Kind) - {Kind.THROTTLED_FOR_EVER, Kind.ACCESS_DENIED}
"""What goes by while the state is tried again."""
FIVE_MINUTES = 300.0
"""Only calls that Step Functions makes for a state: no attempts of botocore's are behind them."""
INTERNAL_ERRORS = 4
"""One more than botocore's three attempts: the state's own Retry is needed."""
NOT_FOUND_TIMES = 2

THROTTLED = {
    "ec2": Refusal("RequestLimitExceeded", "Request limit exceeded.", 503),
    "ebs": Refusal("RequestThrottledException", "The number of API requests has exceeded the maximum."),
    "s3": Refusal("SlowDown", "Please reduce your request rate.", 503),
    "sns": Refusal("Throttled", "Rate exceeded", 429),
    "dynamodb": Refusal("ThrottlingException", "Rate of requests exceeds the allowed throughput."),
    "service-quotas": Refusal("TooManyRequestsException", "Too many requests"),
    "lambda": BUSY,
}
INTERNAL = {
    "ec2": "InternalError",
    "ebs": "InternalServerException",
    "s3": "InternalError",
    "sns": "InternalError",
    "dynamodb": "InternalServerError",
    "ssm": "InternalServerError",
    "secretsmanager": "InternalServiceError",
    "events": "InternalException",
    "cloudwatch": "InternalServiceFault",
    "pricing": "InternalErrorException",
    "service-quotas": "ServiceException",
    "kms": "KMSInternalException",
    "lambda": "ServiceException",
}
JSON_THROTTLED = Refusal("ThrottlingException", "Rate exceeded")
_VOLUME = Refusal("InvalidVolume.NotFound", "The volume does not exist.")
_NOT_FOUND = {
    ("ec2", "AttachVolume"): _VOLUME,
    ("ec2", "DescribeVolumeStatus"): _VOLUME,
    ("ssm", "GetCommandInvocation"): Refusal("InvocationDoesNotExist", ""),
}
"""EC2 developer guide, "Eventual consistency"; what was just made and is asked for by its id."""
_OF_A_NEW_VOLUME = frozenset({"Check Volume", "Attach Volume", "Poll Initialization", "Clean Up"})
_PARTIAL = frozenset(
    {
        ("ec2", "EnableFastSnapshotRestores"),
        ("ec2", "DisableFastSnapshotRestores"),
        ("events", "PutEvents"),
        ("cloudwatch", "GetMetricData"),
    }
)
"""Calls whose answer has HTTP status 200 and yet says that a part was not done (botocore)."""


_OF_SOME = frozenset(
    {
        Kind.PARTIAL_FAILURE,
        Kind.NOT_FOUND_YET,
        Kind.THROTTLED_FIVE_MINUTES,
        Kind.ACCOUNT_THROTTLED,
        Kind.DAMAGED_BLOCK,
        Kind.EXPIRED_BLOCK,
    }
)
_OF_BLOCKS = (Kind.ACCOUNT_THROTTLED, Kind.DAMAGED_BLOCK, Kind.EXPIRED_BLOCK)
_EXPIRED = Refusal("ValidationException", "The block token is not valid.", reason="INVALID_BLOCK_TOKEN")
_STARTING_STATES = frozenset({"Restore Volume"})


def refusal_of(kind: Kind, service: str) -> Refusal:
    """What the service says where the trouble never ends."""
    if kind is Kind.ACCESS_DENIED:
        return denied(service)
    return THROTTLED.get(service, JSON_THROTTLED)


def kinds(key: tuple[str, str, str]) -> list[Kind]:
    """The columns that a call has."""
    place, service, operation = key
    found: list[Kind] = [kind for kind in Kind if kind not in _OF_SOME]
    if service == "lambda" or (operation == "StartExecution" and place in _STARTING_STATES):
        found.append(Kind.THROTTLED_FIVE_MINUTES)
    if (service, operation) in _PARTIAL:
        found.append(Kind.PARTIAL_FAILURE)
    if _not_found(place, service, operation) is not None:
        found.append(Kind.NOT_FOUND_YET)
    if (service, operation) == ("ebs", "GetSnapshotBlock"):
        found.extend(_OF_BLOCKS)
    return found


def _not_found(place: str, service: str, operation: str) -> Refusal | None:
    if (service, operation) == ("ec2", "DescribeVolumes") and place in _OF_A_NEW_VOLUME:
        return _VOLUME
    return _NOT_FOUND.get((service, operation))


@dataclass
class CallFault(NoInterference):
    """One row: what happens to one kind of call, wherever it is made in one state."""

    key: tuple[str, str, str]
    kind: Kind
    met: int = 0
    """How many calls were hit."""
    lifted: bool = False
    seen: int = 0
    first_at: float | None = None

    def before(self, call: Call) -> Refusal | None:
        """Errors instead of the work."""
        if self.lifted or call.key != self.key:
            return None
        self.seen += 1
        self.first_at = call.at if self.first_at is None else self.first_at
        refusal = self._refusal(call.at - self.first_at)
        if refusal is not None:
            self.met += 1
        return refusal

    def after(self, call: Call) -> bool:
        """The first answer gets lost."""
        if self.lifted or self.kind is not Kind.LOST_ANSWER or call.key != self.key or self.met:
            return False
        self.met += 1
        return True

    def change(self, call: Call, body: bytes) -> bytes:
        """The first answer says that a part failed, or has another byte than its checksum is of."""
        changing = self.kind in (Kind.PARTIAL_FAILURE, Kind.DAMAGED_BLOCK)
        if self.lifted or not changing or call.key != self.key or self.met:
            return body
        self.met += 1
        if self.kind is Kind.DAMAGED_BLOCK:
            return bytes([body[0] ^ 1]) + body[1:]
        return _partly_failed(call.operation, body)

    def _throttles(self, since_first: float) -> bool:
        """Whether the service refuses the call for its rate, by the code that it mostly has."""
        twice = self.kind is Kind.THROTTLED_TWICE and self.seen <= 2
        passing = self.kind is Kind.THROTTLED_FIVE_MINUTES and since_first < FIVE_MINUTES
        return twice or passing or self.kind is Kind.THROTTLED_FOR_EVER

    def _refusal(self, since_first: float) -> Refusal | None:
        _, service, operation = self.key
        if self._throttles(since_first):
            return THROTTLED.get(service, JSON_THROTTLED)
        match self.kind:
            case Kind.ACCOUNT_THROTTLED if self.seen <= 2:
                return JSON_THROTTLED
            case Kind.EXPIRED_BLOCK if self.seen == 1:
                return _EXPIRED
            case Kind.ACCESS_DENIED:
                return denied(service)
            case Kind.INTERNAL_ERROR if self.seen <= INTERNAL_ERRORS:
                return Refusal(
                    INTERNAL.get(service, "InternalFailure"), "An internal error has occurred", 500
                )
            case Kind.NOT_FOUND_YET if self.seen <= NOT_FOUND_TIMES:
                return _not_found(self.key[0], service, operation)
        return None


def _partly_failed(operation: str, body: bytes) -> bytes:
    """The answer as AWS writes it where it could not do everything."""
    if operation == "PutEvents":
        told = json.loads(body)
        failed = [{"ErrorCode": "InternalFailure", "ErrorMessage": "internal"} for _ in told["Entries"]]
        return json.dumps({"FailedEntryCount": len(failed), "Entries": failed}).encode()
    if operation == "GetMetricData":
        told = json.loads(body)
        for result in told["MetricDataResults"]:
            result |= {"StatusCode": "InternalError", "Timestamps": [], "Values": []}
        return json.dumps(told).encode()
    return _unsuccessful(body.decode()).encode()


def _unsuccessful(text: str) -> str:
    """EC2's Enable/DisableFastSnapshotRestores: reports what was successful as unsuccessful."""
    snapshot = re.search(r"<snapshotId>([^<]+)</snapshotId>", text)
    zone = re.search(r"<availabilityZone>([^<]+)</availabilityZone>", text)
    if snapshot is None or zone is None:
        return text
    item = (
        f"<item><snapshotId>{snapshot[1]}</snapshotId><fastSnapshotRestoreStateErrorSet><item>"
        f"<availabilityZone>{zone[1]}</availabilityZone><error><code>InternalError</code>"
        "<message>An internal error has occurred</message></error></item>"
        "</fastSnapshotRestoreStateErrorSet></item>"
    )
    root = re.search(r"<(\w+Response)", text)
    name = root[1] if root else "EnableFastSnapshotRestoresResponse"
    return (
        f'<{name} xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>0</requestId>'
        f"<successful/><unsuccessful>{item}</unsuccessful></{name}>"
    )
