"""The table of AWS's errors: every row means one of ours, and nothing leaves it nameless."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.retries.standard import ThrottledRetryableChecker

from rewarm.adapters import aws_errors
from rewarm.domain import errors


def named(operation: str, code: str, message: str = "because", status: int = 400) -> errors.RestoreError:
    response = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return aws_errors.in_our_words(ClientError(response, operation))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operation", "code", "error"),
    [
        ("DescribeVolumes", "RequestLimitExceeded", errors.ThrottledError),
        ("SendCommand", "ThrottlingException", errors.ThrottledError),
        ("PutObject", "SlowDown", errors.ThrottledError),
        ("CreateSnapshot", "SnapshotCreationPerVolumeRateExceeded", errors.ThrottledError),
        ("CreateSnapshot", "ConcurrentSnapshotLimitExceeded", errors.ThrottledError),
        ("CreateSnapshot", "PendingSnapshotLimitExceeded", errors.ThrottledError),
        ("CreateSnapshot", "SnapshotLimitExceeded", errors.QuotaExceededError),
        ("GetMetricData", "InternalServiceFault", errors.RequestRefusedError),
        ("DescribeVolumes", "InternalError", errors.ServiceUnavailableError),
        ("DescribeVolumes", "Unavailable", errors.ServiceUnavailableError),
        ("DescribeVolumes", "UnauthorizedOperation", errors.AccessDeniedError),
        ("GetObject", "AccessDenied", errors.AccessDeniedError),
        ("SendCommand", "AccessDeniedException", errors.AccessDeniedError),
        ("CreateVolume", "VolumeLimitExceeded", errors.QuotaExceededError),
        ("CreateVolume", "InsufficientVolumeCapacity", errors.CapacityUnavailableError),
        ("CreateVolume", "IncorrectState", errors.SnapshotNotUsableError),
        ("DescribeSnapshots", "InvalidSnapshot.NotFound", errors.SnapshotNotFoundError),
        ("DescribeVolumes", "InvalidVolume.NotFound", errors.VolumeNotFoundError),
        ("DescribeInstances", "InvalidInstanceID.NotFound", errors.TargetNotFoundError),
        ("SendCommand", "InvalidInstanceId", errors.AgentUnreachableError),
        ("DetachVolume", "IncorrectState", errors.RequestRefusedError),
        ("Anything", "BrandNewCode", errors.RequestRefusedError),
    ],
)
def test_each_code_has_its_meaning(operation: str, code: str, error: type[Exception]) -> None:
    found = named(operation, code)
    assert type(found) is error
    assert operation in str(found)
    assert code in str(found)
    assert "because" in str(found)


def test_an_unknown_code_with_a_server_error_is_awss_trouble() -> None:
    assert type(named("DescribeVolumes", "Novelty", status=503)) is errors.ServiceUnavailableError
    assert type(named("DescribeVolumes", "403", status=403)) is errors.AccessDeniedError


def test_what_botocore_counts_as_throttling_so_do_we() -> None:
    # LimitExceededException is throttling to botocore, and a used-up limit to Service Quotas, DynamoDB and
    # Lambda.
    known: list[str] = vars(ThrottledRetryableChecker)["_THROTTLED_ERROR_CODES"]
    for code in set(known) - {"LimitExceededException"}:
        assert type(named("Anything", code)) is errors.ThrottledError, code


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (EndpointConnectionError(endpoint_url="https://ec2"), errors.ServiceUnavailableError),
        (ConnectTimeoutError(endpoint_url="https://ec2"), errors.ServiceUnavailableError),
        (ReadTimeoutError(endpoint_url="https://ec2"), errors.ServiceUnavailableError),
        (NoCredentialsError(), errors.AccessDeniedError),
        (ParamValidationError(report="bad"), errors.RequestRefusedError),
    ],
)
def test_errors_without_an_answer_are_named_too(error: Exception, ours: type[Exception]) -> None:
    with pytest.raises(ours) as caught, aws_errors.naming_errors():
        raise error
    assert type(caught.value) is ours


def test_errors_that_are_ours_already_pass() -> None:
    with pytest.raises(errors.VolumeFailedError), aws_errors.naming_errors():
        raise errors.VolumeFailedError("error")
