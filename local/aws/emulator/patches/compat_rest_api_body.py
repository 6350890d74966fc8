"""The gateway responses that SAM writes into a REST API's OpenAPI body.

Why: the emulator imports only paths, methods and integrations from the body, so what the API itself refuses
has its default form. AWS answers with the templates of the body (AWS documentation,
"x-amazon-apigateway-gateway-responses object" and "Gateway responses for REST APIs in API Gateway").

The front refuses calls by their signature and by IAM, so the emulator's table for such refusals gets the
front's codes.
"""

from __future__ import annotations

from typing import Any

from local.aws.emulator import seam

_RESPONSES = "x-amazon-apigateway-gateway-responses"
_TYPES = {
    "AccessDeniedException": "ACCESS_DENIED",
    "InvalidSignatureException": "INVALID_SIGNATURE",
    "MissingAuthenticationTokenException": "MISSING_AUTHENTICATION_TOKEN",
    **dict.fromkeys(
        ("IncompleteSignatureException", "RequestExpired", "UnrecognizedClientException"), "DEFAULT_4XX"
    ),
}
"""API Gateway developer guide, "Gateway response types", which names no type for the last three."""


def apply() -> None:
    """Mend the emulator's API Gateway."""
    gateway = seam.module("services.apigateway_v1")
    bring_in = seam.known(gateway, "_import_rest_api", "_import_path_item(")
    seam.known(gateway, "_put_gateway_response", 'data.get("responseTemplates")', "_gateway_responses")

    def import_with_responses(spec: dict[str, Any], base_data: dict[str, Any] | None = None) -> str:
        api_id = str(bring_in(spec, base_data))
        for kind, response in (spec.get(_RESPONSES) or {}).items():
            gateway._put_gateway_response(api_id, kind, response)
        return api_id

    import_with_responses.__wrapped__ = bring_in  # type: ignore[attr-defined]
    seam.replace(gateway, "_import_rest_api", import_with_responses)
    seam.known(gateway, "authentication_error_response", "_AUTHENTICATION_GATEWAY_ERRORS.get(")
    for code, kind in _TYPES.items():
        seam.add_entry(gateway._AUTHENTICATION_GATEWAY_ERRORS, code, (kind, code))
