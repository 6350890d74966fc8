"""Errors as AWS answers them: a code, a message and the HTTP status they travel with."""

from __future__ import annotations


class ApiError(Exception):
    """One AWS error. `code` and `message` are what boto3 shows; `Reason` is EBS direct APIs' extra field."""

    def __init__(self, code: str, message: str, status: int = 400, *, reason: str | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.Reason = reason


def missing(parameter: str) -> ApiError:
    """EC2's answer to a request that lacks a parameter it needs."""
    return ApiError("MissingParameter", f"The request must contain the parameter {parameter}")


def invalid(message: str) -> ApiError:
    """EC2's answer to a value that it cannot accept."""
    return ApiError("InvalidParameterValue", message)


def not_together(message: str) -> ApiError:
    """EC2's answer to parameters that exclude each other."""
    return ApiError("InvalidParameterCombination", message)


def volume_not_found(volume_id: str) -> ApiError:
    """EC2's answer to a volume id that it does not know."""
    return ApiError("InvalidVolume.NotFound", f"The volume '{volume_id}' does not exist.")


def snapshot_not_found(snapshot_id: str) -> ApiError:
    """EC2's answer to a snapshot id that it does not know, or may not show."""
    return ApiError("InvalidSnapshot.NotFound", f"The snapshot '{snapshot_id}' does not exist.")


def instance_not_found(instance_id: str) -> ApiError:
    """EC2's answer to an instance id that it does not know."""
    return ApiError("InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist")
