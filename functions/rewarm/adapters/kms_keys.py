"""What stands in the way of using a KMS key: CreateVolume does not tell, the volume only never comes.

botocore, ec2 CreateVolume KmsKeyId: "authenticates the KMS key asynchronously ... the action can appear to
complete, but eventually fails". States: KMS developer guide, "Key states of AWS KMS keys".
"""

from __future__ import annotations

from typing import Any, Protocol

from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, in_our_words, naming_errors
from rewarm.domain.errors import AccessDeniedError
from rewarm.domain.units import clock_text

_USABLE = frozenset({"Enabled", "Updating"})


class DescribesKeys(Protocol):
    """As much of boto3's KMS client as is needed."""

    def describe_key(self, **request: str) -> dict[str, Any]:
        """botocore: kms DescribeKey."""


class KmsKeys:
    """What KMS says of keys."""

    def __init__(self, kms: DescribesKeys) -> None:
        self._kms = kms

    def problem(self, key_id: str) -> str | None:
        """Why the key cannot be used now; None where it can."""
        with naming_errors():
            try:
                found = self._kms.describe_key(KeyId=key_id)["KeyMetadata"]
            except ClientError as error:
                if code_of(error) in ("NotFoundException", "InvalidArnException"):
                    return f"there is no KMS key {key_id} (any more)"
                if isinstance(in_our_words(error), AccessDeniedError):
                    return f"its KMS key {key_id} may not be used from here; the key's policy must allow it"
                raise
        return _state_problem(key_id, found)


def _state_problem(key_id: str, found: dict[str, Any]) -> str | None:
    state = found.get("KeyState", "Enabled")
    if state in _USABLE:
        return None
    if state == "Disabled":
        return f"its KMS key {key_id} is disabled; enable it first: aws kms enable-key --key-id {key_id}"
    if state in ("PendingDeletion", "PendingReplicaDeletion"):
        until = f" at {clock_text(found['DeletionDate'])}" if "DeletionDate" in found else ""
        return (
            f"its KMS key {key_id} is to be deleted{until}; keep it: aws kms cancel-key-deletion "
            f"--key-id {key_id}, then aws kms enable-key --key-id {key_id}"
        )
    return f"its KMS key {key_id} cannot be used, its state is {state}"
