"""The gateway responses and the methods ANY of a REST API's OpenAPI body, and what a failed function gives.

Why: the emulator imports only paths, methods and integrations from the body. So what the API itself refuses
has its default form, and a route answers just the methods that are named. AWS answers with the templates of
the body, and all methods where it says so (AWS documentation, "x-amazon-apigateway-gateway-responses object",
"x-amazon-apigateway-any-method object" and "Gateway responses for REST APIs in API Gateway"). The emulator's
id of a request is its extended id as well.

Where a function fails, AWS answers 502 "Internal server error". People give that answer headers with the
response DEFAULT_5XX (public reports; AWS does not document the type). The emulator has a fixed answer.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from local.aws.emulator import seam

_RESPONSES = "x-amazon-apigateway-gateway-responses"
_ANY = "x-amazon-apigateway-any-method"
_FAILED: ContextVar[bool] = ContextVar("function_failed", default=False)


def apply() -> None:
    """Mend the emulator's API Gateway."""
    gateway = seam.module("services.apigateway_v1")
    bring_in = seam.known(gateway, "_import_rest_api", "_import_path_item(")
    seam.known(gateway, "_put_gateway_response", 'data.get("responseTemplates")', "_gateway_responses")

    import_one = seam.known(gateway, "_import_operation", "_put_method(")
    import_path = seam.known(gateway, "_import_path_item", "_import_operation(")

    def import_with_responses(spec: dict[str, Any], base_data: dict[str, Any] | None = None) -> str:
        api_id = str(bring_in(spec, base_data))
        for kind, response in (spec.get(_RESPONSES) or {}).items():
            templates = response.get("responseTemplates") or {}
            known = {name: text.replace("extendedRequestId", "requestId") for name, text in templates.items()}
            gateway._put_gateway_response(api_id, kind, {**response, "responseTemplates": known})
        return api_id

    def import_path_with_any(
        api_id: str, path: str, item: dict[str, Any], schemes: Any = None, security: Any = None
    ) -> None:
        import_path(api_id, path, item, schemes, security)
        if _ANY in item:
            (resource_id,) = (key for key, one in gateway._resources[api_id].items() if one["path"] == path)
            import_one(api_id, resource_id, "ANY", item[_ANY], schemes, security)

    import_with_responses.__wrapped__ = bring_in  # type: ignore[attr-defined]
    import_path_with_any.__wrapped__ = import_path  # type: ignore[attr-defined]
    seam.replace(gateway, "_import_rest_api", import_with_responses)
    seam.replace(gateway, "_import_path_item", import_path_with_any)
    _mend_failures(gateway)


def _mend_failures(gateway: Any) -> None:
    """A task has a context of its own, so the mark is of one request."""
    read = seam.known(gateway, "_lambda_proxy_response")
    invoke = seam.known(gateway, "_invoke_lambda_proxy_v1", "_lambda_proxy_response(result)")

    def read_and_note(result: Any) -> Any:
        answer, failure = read(result)
        _FAILED.set(bool(failure))
        return answer, failure

    async def invoke_with_response(*arguments: Any, **named: Any) -> Any:
        answer = await invoke(*arguments, **named)
        failed = _FAILED.get()
        _FAILED.set(False)
        return gateway._gw_error("DEFAULT_5XX", "Internal server error") if failed else answer

    read_and_note.__wrapped__ = read  # type: ignore[attr-defined]
    invoke_with_response.__wrapped__ = invoke  # type: ignore[attr-defined]
    seam.replace(gateway, "_lambda_proxy_response", read_and_note)
    seam.replace(gateway, "_invoke_lambda_proxy_v1", invoke_with_response)
