"""Failures as Step Functions knows them."""

from __future__ import annotations

import json

from local.soak.lab.transport import Call, Refusal

TIMEOUT = "States.Timeout"
START = "StepFunctions"
"""Begins the names of errors of the integration `states:startExecution`."""
LAMBDA_SILENT, START_SILENT = "Lambda.ClientExecutionTimeoutException", f"{START}.SdkClientException"
"""The service did its work, and its answer got lost."""
HTTP_BUSY, HTTP_FAILED = 429, 500
UNCATCHABLE = frozenset({"States.DataLimitExceeded", "States.Runtime"})
"""Step Functions developer guide, "Handling errors": States.ALL does not match these."""


class StateError(Exception):
    """A state has failed; Retry and Catch look at `error`."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause

    def matches(self, names: list[str]) -> bool:
        """Whether ErrorEquals names this error."""
        if self.error in names:
            return True
        if self.error in UNCATCHABLE:
            return False
        return "States.ALL" in names or ("States.TaskFailed" in names and self.error != TIMEOUT)


def too_large(what: str, size: int, limit: int) -> StateError:
    """The size limit of a state's input and output."""
    return StateError("States.DataLimitExceeded", f"{what} has {size} bytes; at most {limit} are allowed")


def of_lambda(refusal: Refusal) -> StateError:
    """How a state fails whose function Lambda refuses to run.

    Step Functions developer guide, "Handle transient Lambda service exceptions". That a missing permission is
    an AWSLambdaException comes from public reports; AWS does not document it.
    """
    name = "TooManyRequestsException" if refusal.status == HTTP_BUSY else "AWSLambdaException"
    name = "ServiceException" if refusal.status >= HTTP_FAILED else name
    return StateError(f"Lambda.{name}", _refused("Lambda", "Invoke", refusal))


def of_start(refusal: Refusal) -> StateError:
    """How a state fails whose execution Step Functions refuses to start."""
    return StateError(f"{START}.AWSStepFunctionsException", _refused("Sfn", "StartExecution", refusal))


def of_service(call: Call, refusal: Refusal | None) -> StateError:
    """How a state fails that calls a service itself; without a refusal, the answer got lost.

    Step Functions developer guide, "AWS SDK service integrations": errors are `Service.CodeException`, EC2's
    all `Ec2.Ec2Exception`.
    """
    name = call.service.capitalize()
    if refusal is None:
        return StateError(f"{name}.SdkClientException", f"{call.operation}: no answer")
    code = name if call.service == "ec2" else refusal.code.removesuffix("Exception")
    return StateError(f"{name}.{code}Exception", _refused(name, call.operation, refusal))


def _refused(service: str, operation: str, refusal: Refusal) -> str:
    return (
        f"{refusal.message} (Service: {service}, Operation: {operation}, Status Code: {refusal.status}, "
        f"Error Code: {refusal.code})"
    )


def lambda_failure(kind: str, message: str) -> str:
    """The cause of a function's failure: what Lambda answers."""
    return json.dumps({"errorMessage": message, "errorType": kind})
