"""A failed Lambda reports the class of its exception, and its environment serves the next invocation.

Why: the emulator reports every exception as Runtime.HandlerError, so no Retry or Catch by name ever matches,
and it ends the process. AWS's Python runtime reports the class name as errorType, the text as errorMessage,
and the stack trace; then it asks for the next invocation (Lambda developer guide, "Using the Lambda runtime
API for custom runtimes").
"""

from __future__ import annotations

import threading
from typing import Any

from local.aws.emulator import seam

_OLD = 'json.dumps({"status": "error", "error": str(e), "trace": traceback.format_exc()})'
_NEW = _OLD.replace(
    '"status": "error", "error": str(e),',
    '"status": "ok", "error": str(e), "error_type": type(e).__name__,'
    ' "stack": traceback.format_tb(e.__traceback__),',
)
"""`ok` for the worker, which would end the process; `error` again for whoever called it."""


def apply() -> None:
    """Mend the emulator's Lambda."""
    runtime = seam.module("core.lambda_runtime")
    service = seam.module("services.lambda_svc")
    script = seam.known(runtime, "_PYTHON_WORKER_SCRIPT", _OLD)
    invoke = seam.known(runtime.Worker, "invoke", "result_box[0]")
    execute = seam.known(service, "_execute_function_warm", '"Runtime.HandlerError"', "worker.invoke(")
    last = threading.local()

    def invoke_and_keep(*args: Any, **kwargs: Any) -> Any:
        response = last.response = invoke(*args, **kwargs)
        return response | {"status": "error"} if "error_type" in response else response

    def execute_with_error(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        last.response = None
        result: dict[str, Any] = execute(function, event, request_id)
        if result.get("error") and last.response and "error_type" in last.response:
            result["body"] = _error_payload(last.response, request_id)
        return result

    invoke_and_keep.__wrapped__ = invoke  # type: ignore[attr-defined]
    execute_with_error.__wrapped__ = execute  # type: ignore[attr-defined]
    seam.replace(runtime, "_PYTHON_WORKER_SCRIPT", script.replace(_OLD, _NEW))
    seam.replace(runtime.Worker, "invoke", invoke_and_keep)
    seam.replace(service, "_execute_function_warm", execute_with_error)


def _error_payload(response: dict[str, Any], request_id: str) -> dict[str, Any]:
    return {
        "errorMessage": response["error"],
        "errorType": response["error_type"],
        "requestId": request_id,
        "stackTrace": response["stack"],
    }
