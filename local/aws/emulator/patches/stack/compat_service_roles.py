"""What AWS's services do for a stack is allowed by roles and by the policies of functions.

Why: the emulator's services call each other without asking. A state machine acts with its role. A rule or a
schedule starts an execution with the role of its target, and a rule and the API invoke a function where the
function's policy allows it (Step Functions, EventBridge and API Gateway developer guides).
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any, Protocol

from local.aws.emulator import seam

LOG = logging.getLogger(__name__)
current_role: ContextVar[str] = ContextVar("current_role", default="")
"""The role of the state machine that runs in this context."""
DENIED = "Lambda.AWSLambdaException"
"""Step Functions' error where a state machine may not invoke a function (public reports)."""


class ServiceRoles(Protocol):
    """IAM, as services ask it; each answer says why not."""

    def invoked(self, role: str, function_arn: str) -> str | None:
        """A state machine's role may invoke the function."""

    def child(self, role: str, machine_arn: str, name: str) -> str | None:
        """A state machine's role may run another one and wait for it."""

    def started(self, role: str, machine_arn: str, service: str) -> str | None:
        """The service may take the role, and the role start the machine."""

    def permitted(self, service: str, function_arn: str, source_arn: str) -> str | None:
        """The function's own policy allows the service, for what happens at the source."""


def apply(roles: ServiceRoles) -> None:
    """Mend Step Functions, EventBridge, EventBridge Scheduler and API Gateway."""
    _mend_machines(roles)
    _mend_rules(roles)
    _mend_api(roles)


def _mend_machines(roles: ServiceRoles) -> None:
    states, functions = seam.module("services.stepfunctions"), seam.module("services.lambda_svc")
    run = seam.known(states, "_run_execution")
    call = seam.known(states, "_call_lambda", "_get_func_record_for_ref(func_ref)")
    child = seam.known(states, "_invoke_nested_start_execution_sync")

    def run_with_role(arn: str) -> Any:
        execution = states._executions.get(arn) or {}
        machine = states._state_machines.get(execution.get("stateMachineArn")) or {}
        current_role.set(machine.get("roleArn", ""))
        return run(arn)

    def call_allowed(reference: str, event: Any) -> Any:
        _function, config, _name = functions._get_func_record_for_ref(reference)
        _refuse(states, DENIED, roles.invoked(current_role.get(), config["FunctionArn"]) if config else None)
        return call(reference, event)

    def child_allowed(resource: str, argument: dict[str, Any]) -> Any:
        reason = roles.child(current_role.get(), argument["StateMachineArn"], argument.get("Name", "*"))
        _refuse(states, "StepFunctions.AccessDeniedException", reason)
        return child(resource, argument)

    run_with_role.__wrapped__ = run  # type: ignore[attr-defined]
    call_allowed.__wrapped__ = call  # type: ignore[attr-defined]
    child_allowed.__wrapped__ = child  # type: ignore[attr-defined]
    seam.replace(states, "_run_execution", run_with_role)
    seam.replace(states, "_call_lambda", call_allowed)
    seam.replace(states, "_invoke_nested_start_execution_sync", child_allowed)


def _refuse(states: Any, error: str, reason: str | None) -> None:
    if reason is not None:
        raise states._ExecutionError(error, reason)


def _mend_rules(roles: ServiceRoles) -> None:
    """A target that may not be started is a failed invocation, of which nobody is notified."""
    events, scheduler = seam.module("services.eventbridge"), seam.module("services.scheduler")
    invoke = seam.known(events, "_invoke_target", "_dispatch_to_lambda(arn", "_dispatch_to_stepfunctions(arn")
    seam.known(scheduler, "_tick_schedules", "_eb._invoke_target(target, event, sched)")

    def invoke_allowed(target: dict[str, Any], event: Any, rule: dict[str, Any], view: Any = None) -> Any:
        is_schedule = ":schedule/" in rule.get("Arn", "")
        service = f"{'scheduler' if is_schedule else 'events'}.amazonaws.com"
        arn, reason = target.get("Arn", ""), None
        if ":states:" in arn:
            reason = roles.started(target.get("RoleArn", ""), arn, service)
        elif ":lambda:" in arn:
            reason = roles.permitted(service, arn, rule["Arn"])
        if reason is not None:
            LOG.warning("%s is not started: %s", arn, reason)
            return None
        return invoke(target, event, rule, view)

    invoke_allowed.__wrapped__ = invoke  # type: ignore[attr-defined]
    seam.replace(events, "_invoke_target", invoke_allowed)


def _mend_api(roles: ServiceRoles) -> None:
    gateway, functions = seam.module("services.apigateway_v1"), seam.module("services.lambda_svc")
    call = seam.known(gateway, "_call_lambda_raw", "_get_func_record_for_ref_in_scope(")

    async def call_allowed(reference: str, event: dict[str, Any], **scope: Any) -> Any:
        _data, config, _name = functions._get_func_record_for_ref_in_scope(reference, **scope)
        about = event.get("requestContext", {})
        if config and about:
            source = _of_api(config["FunctionArn"], about)
            reason = roles.permitted("apigateway.amazonaws.com", config["FunctionArn"], source)
            if reason is not None:
                return None, reason
        return await call(reference, event, **scope)

    call_allowed.__wrapped__ = call  # type: ignore[attr-defined]
    seam.replace(gateway, "_call_lambda_raw", call_allowed)


def _of_api(function_arn: str, about: dict[str, Any]) -> str:
    """The ARN of the API's method that was called."""
    head, _, rest = function_arn.partition(":lambda:")
    place = ":".join(rest.split(":")[:2])
    path = about.get("path", "/").removeprefix(f"/{about['stage']}")
    return f"{head}:execute-api:{place}:{about['apiId']}/{about['stage']}/{about['httpMethod']}{path}"
