"""What AWS's error codes mean for a restore: the one table from botocore's errors to ours.

The codes are from the EC2 API reference ("Error codes for the Amazon EC2 API"), botocore's service models and
botocore's own lists of what it retries. An unlisted code is a refusal that no retry mends, and keeps
operation, code and message. HTTP 5xx always means trouble at AWS.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's name
    HTTPClientError,
    NoAuthTokenError,
    NoCredentialsError,
    PartialCredentialsError,
)

from rewarm.domain.errors import (
    AccessDeniedError,
    AgentUnreachableError,
    BlockTokenError,
    CapacityUnavailableError,
    DeviceInUseError,
    ModificationPostponedError,
    QuotaExceededError,
    RequestRefusedError,
    RestoreError,
    ServiceUnavailableError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
    TargetNotFoundError,
    TargetNotUsableError,
    ThrottledError,
    VolumeCopyUnavailableError,
    VolumeNotFoundError,
)
from rewarm.domain.value import Value


class _Rule(Value):
    """`codes` mean `error`; only in `operations` if any are named, only if the message says `saying`."""

    error: type[RestoreError]
    codes: frozenset[str]
    operations: frozenset[str] = frozenset()
    saying: str = ""

    def fits(self, operation: str, code: str, message: str) -> bool:
        return (
            code in self.codes
            and (not self.operations or operation in self.operations)
            and self.saying in message.lower()
        )


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READ_BLOCKS = frozenset({"ListSnapshotBlocks", "ListChangedBlocks", "GetSnapshotBlock"})
_RULES = (
    _Rule(
        ThrottledError,
        _codes(
            "Throttling ThrottlingException ThrottledException Throttled RequestThrottled"
            " RequestThrottledException TooManyRequests TooManyRequestsException RequestLimitExceeded"
            " ProvisionedThroughputExceededException BandwidthLimitExceeded SlowDown PriorRequestNotComplete"
            " EC2ThrottledException TransactionInProgressException ConcurrentModificationException"
            " OperationAborted RateExceeded 429"
            # EC2 lets a volume and an account have few snapshots pending, and wants 15 s between two.
            " SnapshotCreationPerVolumeRateExceeded ConcurrentSnapshotLimitExceeded"
            " PendingSnapshotLimitExceeded"
        ),
    ),
    _Rule(
        ServiceUnavailableError,
        _codes(
            "InternalError InternalFailure InternalServerError InternalServerException InternalErrorException"
            " InternalServiceError InternalServiceErrorException InternalServiceException"
            " ServiceUnavailable ServiceUnavailableException ServiceException Unavailable RequestTimeout"
            " RequestTimeoutException RequestExpired KMSInternalException DependencyTimeoutException"
        ),
    ),
    _Rule(
        AccessDeniedError,
        _codes(
            "UnauthorizedOperation AccessDenied AccessDeniedException AuthFailure OptInRequired Blocked"
            " UnrecognizedClientException InvalidClientTokenId InvalidAccessKeyId SignatureDoesNotMatch"
            " ExpiredToken ExpiredTokenException MissingAuthenticationToken AuthorizationError"
            " AuthorizationErrorException NotAuthorized KMSAccessDenied KMSAccessDeniedException"
            " KMSOptInRequired 403"
        ),
    ),
    _Rule(
        CapacityUnavailableError,
        _codes("InsufficientVolumeCapacity InsufficientCapacity InsufficientCapacityException"),
    ),
    _Rule(
        VolumeCopyUnavailableError,
        _codes(
            "CopyVolumesLimitExceeded IncorrectState IncorrectModificationState UnsupportedOperation"
            " InvalidVolume.NotFound InvalidVolumeID.Malformed OperationNotPermitted InvalidAction"
        ),
        frozenset({"CopyVolumes"}),
    ),
    _Rule(ModificationPostponedError, _codes("IncorrectModificationState VolumeModificationRateExceeded")),
    _Rule(TargetNotUsableError, _codes("AttachmentLimitExceeded"), frozenset({"AttachVolume"})),
    _Rule(
        QuotaExceededError,
        _codes(
            "VolumeLimitExceeded MaxIOPSLimitExceeded ServiceQuotaExceededException LimitExceededException"
            " QuotaExceededException ResourceLimitExceeded AttachmentLimitExceeded"
            " FastSnapshotRestoreLimitExceeded SnapshotLimitExceeded"
        ),
    ),
    _Rule(SnapshotNotFoundError, _codes("InvalidSnapshot.NotFound InvalidSnapshotID.Malformed")),
    _Rule(
        SnapshotNotFoundError, _codes("InvalidAMIID.NotFound InvalidAMIID.Malformed InvalidAMIID.Unavailable")
    ),
    _Rule(SnapshotNotFoundError, _codes("ResourceNotFoundException"), _READ_BLOCKS),
    _Rule(
        BlockTokenError, _codes("ValidationException"), frozenset({"GetSnapshotBlock"}), "invalid_block_token"
    ),
    _Rule(SnapshotNotUsableError, _codes("ValidationException ConflictException"), _READ_BLOCKS),
    _Rule(
        SnapshotNotUsableError,
        _codes("InvalidSnapshot.InvalidState IncorrectState"),
        frozenset({"CreateVolume"}),
    ),
    _Rule(
        VolumeNotFoundError,
        _codes("InvalidVolume.NotFound InvalidVolumeID.Malformed InvalidVolumeID.NotFound"),
    ),
    _Rule(TargetNotFoundError, _codes("InvalidInstanceID.NotFound InvalidInstanceID.Malformed")),
    _Rule(TargetNotFoundError, _codes("InvalidZone.NotFound InvalidAvailabilityZone.NotFound")),
    _Rule(
        TargetNotFoundError, _codes("InvalidParameterValue"), frozenset({"CreateVolume"}), "availability zone"
    ),
    _Rule(DeviceInUseError, _codes("InvalidParameterValue InvalidDevice.InUse"), saying="already in use"),
    _Rule(
        TargetNotUsableError,
        _codes("InvalidVolume.ZoneMismatch IncorrectInstanceState UnsupportedOperation"),
        frozenset({"AttachVolume"}),
    ),
    _Rule(TargetNotUsableError, _codes("IncorrectState"), frozenset({"AttachVolume"}), "instance"),
    _Rule(
        AgentUnreachableError, _codes("InvalidInstanceId UnsupportedPlatformType"), frozenset({"SendCommand"})
    ),
)
"""The first rule that fits decides, so the narrower of two stands first."""


def code_of(error: ClientError) -> str:
    """AWS's error code, or the HTTP status if the answer had none."""
    return str(error.response.get("Error", {}).get("Code", ""))


def message_of(error: ClientError) -> str:
    """AWS's error message, with the reason that EBS direct APIs give apart from it."""
    reason = error.response.get("Reason")
    return str(error.response.get("Error", {}).get("Message", "")) + (f" ({reason})" if reason else "")


def in_our_words(error: ClientError | BotoCoreError) -> RestoreError:
    """The error of domain/errors.py that says the same; operation, code and message stay readable."""
    if not isinstance(error, ClientError):
        return _local(error)
    operation = error.operation_name
    code = code_of(error)
    message = message_of(error)
    return meaning(operation, code, message, _status(error))(f"{operation}: {code}: {message}")


def meaning(operation: str, code: str, message: str, status: int = 0) -> type[RestoreError]:
    """Which error a code stands for."""
    for rule in _RULES:
        if rule.fits(operation, code, message):
            return rule.error
    return ServiceUnavailableError if status >= 500 else RequestRefusedError


@contextmanager
def naming_errors() -> Iterator[None]:
    """Everything that botocore raises inside leaves as one of our errors."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise in_our_words(error) from error


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _local(error: BotoCoreError) -> RestoreError:
    """Errors that botocore raises without an answer from AWS."""
    if isinstance(error, (ConnectionError, HTTPClientError)):
        return ServiceUnavailableError(f"no answer from AWS: {error}")
    if isinstance(error, (NoCredentialsError, PartialCredentialsError, NoAuthTokenError)):
        return AccessDeniedError(f"no credentials: {error}")
    return RequestRefusedError(f"{type(error).__name__}: {error}")
