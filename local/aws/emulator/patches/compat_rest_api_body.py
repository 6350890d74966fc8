"""The models and request validators that SAM writes into a REST API's OpenAPI body.

Why: the emulator imports only paths, methods and integrations from the body, so no request is ever refused by
the API itself. AWS refuses a body that doesn't fit the model with HTTP 400 before the Lambda is called (AWS
documentation, "Request validation for REST APIs in API Gateway").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from local.aws.emulator import seam

_VALIDATOR = "x-amazon-apigateway-request-validator"
_LOCATIONS = {"query": "querystring", "path": "path", "header": "header"}


def apply() -> None:
    """Mend the emulator's API Gateway."""
    gateway = seam.module("services.apigateway_v1")
    bring_in = seam.known(gateway, "_import_rest_api", "_import_path_item(")
    seam.known(gateway, "_check_request_validation", 'method_obj.get("requestModels")', "validateRequestBody")

    def import_with_validation(spec: dict[str, Any], base_data: dict[str, Any] | None = None) -> str:
        api_id = str(bring_in(spec, base_data))
        _import_models(gateway, api_id, spec)
        validators = _import_validators(gateway, api_id, spec)
        default = spec.get(_VALIDATOR)
        for method, operation in _operations(gateway, api_id, spec):
            method["requestValidatorId"] = validators.get(str(operation.get(_VALIDATOR, default)))
            _import_parameters(method, operation)
        return api_id

    import_with_validation.__wrapped__ = bring_in  # type: ignore[attr-defined]
    seam.replace(gateway, "_import_rest_api", import_with_validation)


def _import_models(gateway: Any, api_id: str, spec: dict[str, Any]) -> None:
    schemas = {**(spec.get("definitions") or {}), **((spec.get("components") or {}).get("schemas") or {})}
    models = f"https://apigateway.amazonaws.com/restapis/{api_id}/models/"
    for name, schema in schemas.items():
        text = json.dumps(schema)
        for local in ("#/definitions/", "#/components/schemas/"):
            text = text.replace(f'"{local}', f'"{models}')
        gateway._create_model(api_id, {"name": name, "schema": text})


def _import_validators(gateway: Any, api_id: str, spec: dict[str, Any]) -> dict[str, str]:
    ids = {}
    for name, settings in (spec.get("x-amazon-apigateway-request-validators") or {}).items():
        _status, _headers, body = gateway._create_request_validator(api_id, {"name": name, **settings})
        ids[name] = json.loads(body)["id"]
    return ids


def _operations(
    gateway: Any, api_id: str, spec: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    by_path = {resource["path"]: resource for resource in gateway._resources.get(api_id, {}).values()}
    for path, item in (spec.get("paths") or {}).items():
        methods = by_path.get(path, {}).get("resourceMethods", {})
        for verb, operation in (item or {}).items():
            if verb.upper() in methods and isinstance(operation, dict):
                yield methods[verb.upper()], operation


def _import_parameters(method: dict[str, Any], operation: dict[str, Any]) -> None:
    models, parameters = {}, {}
    for parameter in operation.get("parameters") or []:
        if parameter.get("in") == "body":
            models["application/json"] = _model_name(parameter["schema"])
        elif parameter.get("in") in _LOCATIONS:
            name = f"method.request.{_LOCATIONS[parameter['in']]}.{parameter['name']}"
            parameters[name] = bool(parameter.get("required"))
    for content_type, content in ((operation.get("requestBody") or {}).get("content") or {}).items():
        models[content_type] = _model_name(content["schema"])
    method["requestModels"] = {**method.get("requestModels", {}), **models}
    method["requestParameters"] = {**method.get("requestParameters", {}), **parameters}


def _model_name(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rsplit("/", 1)[-1]
