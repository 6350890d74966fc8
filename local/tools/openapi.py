"""The API as a document: docs/openapi.json for people and programs, api.json for API Gateway.

Usage: `python -m local.tools.openapi FOLDER`. Both come from the routes below and from the contracts.

docs/openapi.json is OpenAPI 3.1 with every schema. api.yaml beside this file says what no contract says. A
REST API of API Gateway imports OpenAPI 3.0 at most (API Gateway developer guide, "Develop REST APIs using
OpenAPI"). It needs no schemas either: the function checks what it is sent. So api.json has the same routes in
3.0.1, each with its integration, and the responses that API Gateway gives itself. template.yaml includes it
as the API's definition.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from local.tools.plan.offline import plan
from local.tools.plan.options import parse
from local.tools.schemas import WithoutFieldTitles, main, request_examples
from rewarm import __version__
from rewarm.adapters.channels.messages import detail_type
from rewarm.contracts import answers
from rewarm.contracts.base import Contract, JsonObject, parsed
from rewarm.contracts.benchmarks import (
    BenchmarkRequest,
    BenchmarkResult,
    Calibration,
    CalibrationAnswer,
    CalibrationLease,
    KeptLease,
    StoredCalibration,
)
from rewarm.contracts.fleets import (
    AcceptedFleet,
    BegunFleetPlan,
    CancelledFleet,
    FleetList,
    FleetPlanResult,
    FleetRecord,
    FleetRequest,
    FleetsQuery,
)
from rewarm.contracts.plans import PICTURES, PlanResult
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.rewinding import DeletedUndoLog, UndoLogList
from rewarm.contracts.rules import (
    RULE_NAME,
    AdoptionRule,
    DeletedRule,
    RuleCheck,
    RuleList,
    StoredRule,
)
from rewarm.domain.model import HEX, VOLUME_ID
from rewarm.domain.value import Value

SAYS: JsonObject = yaml.safe_load(Path(__file__).with_name("api.yaml").read_text(encoding="utf-8"))
"""Descriptions of tags, operations and fields, and an example of each answer by the name of its contract."""
JSON, PROBLEM = "application/json", "application/problem+json"
ALWAYS = (400, 401, 403, 404, 429, 500, 502, 503, 504)
"""What any route may answer: the function, or API Gateway itself."""
WITH_BODY = (413, 415)
WITH_TARGET = (409, 422)
"""Where something in AWS is in the way of what is asked for."""
TOO_LONG = "The request's line and headers are longer than API Gateway takes: 10,240 bytes."
SIGNATURE, TOKEN = "SignatureVersion4", "JsonWebToken"
_TOKEN = {
    TOKEN: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "At the address JwtApiUrl only, which a stack with the parameter JwtIssuer has.",
    }
}
_PLACE = {"apiId": {"default": "API_ID"}, "region": {"default": "us-east-1"}}
INSTANCE = "$context.extendedRequestId"


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    is_list = isinstance(value, list) and value and isinstance(value[0], dict)
    return [_short(value[0])] if is_list else value


class Operation(Value, kw_only=True):
    """One method of a route."""

    method: str
    path: str
    name: str
    says: str
    status: int = 200
    answer: type[Contract]
    later: type[Contract] | None = None
    """The answer 202, where the one that is asked for takes longer."""
    body: type[Contract] | None = None
    query: type[Contract] | None = None
    parameters: tuple[JsonObject, ...] = ()
    errors: tuple[int, ...] = ()
    picture: bool = False


def _in_path(name: str, says: str, **schema: Any) -> JsonObject:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": says,
        "schema": {"type": "string", "minLength": 1, **schema},
    }


_RESTORE = (_in_path("restoreId", "As POST /restores, messages and lists name it.", maxLength=80),)
_FLEET = (_in_path("fleetId", "As POST /fleets, messages and lists name it.", maxLength=80),)
_PLAN = (_in_path("planId", "As POST /fleets/plans answers it.", maxLength=80),)
_ALARM = (_in_path("alarmName", "The exact name of the CloudWatch alarm, percent-encoded.", maxLength=255),)
_RULE = (_in_path("name", "The rule's name.", pattern=RULE_NAME),)
_BENCHMARK = (_in_path("benchmarkId", "As POST /benchmarks answers it."),)
_CALIBRATION = (
    _in_path("calibrationId", "As `rewarm calibrate` names it.", pattern="^calibration-[0-9a-f]{16}$"),
)
_LINEAGE = (
    _in_path(
        "lineage",
        "The volume or snapshot that the recordings are of.",
        pattern=f"^(vol|snap)-{HEX}$",
    ),
)
_VOLUME = (_in_path("volumeId", "The EBS volume.", pattern=f"^{VOLUME_ID}$"),)
_KEY: JsonObject = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same request with the same key starts one restore only, for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "pattern": r"^[!-~]([ -~]*[!-~])?$"},
}
_PICTURE: JsonObject = {
    "name": "picture",
    "in": "query",
    "description": "Which one, where the answer is a picture.",
    "schema": {"enum": list(PICTURES), "default": PICTURES[0]},
}
OPERATIONS = (
    Operation(
        method="post", path="/restores", name="startRestore", says="Start a restore.", status=202,
        answer=answers.AcceptedRestore, body=RestoreRequest, parameters=(_KEY,), errors=WITH_TARGET,
    ),
    Operation(
        method="get", path="/restores", name="listRestores", says="List restores, the newest first.",
        answer=answers.RestoreList, query=answers.RestoresQuery,
    ),
    Operation(
        method="get", path="/restores/{restoreId}", name="getRestore",
        says="Show a restore, or wait for news of it.",
        answer=answers.RestoreRecord, query=answers.RestoreQuery, parameters=_RESTORE,
    ),
    Operation(
        method="delete", path="/restores/{restoreId}", name="cancelRestore",
        says="Cancel a restore.", status=202,
        answer=answers.CancelledRestore, parameters=_RESTORE, errors=(409,),
    ),
    Operation(
        method="post", path="/restores/{restoreId}/approve", name="approveRestore",
        says="Approve the plan that a restore waits with.", status=202,
        answer=answers.ApprovedRestore, query=answers.ApprovalQuery, parameters=_RESTORE, errors=(409,),
    ),
    Operation(
        method="post", path="/fleets", name="startFleet", says="Restore many volumes.", status=202,
        answer=AcceptedFleet, body=FleetRequest, parameters=(_KEY,), errors=(409,),
    ),
    Operation(
        method="post", path="/fleets/plans", name="planFleet",
        says="Plan a fleet; nothing is created. A plan that takes longer is fetched with its id.",
        answer=FleetPlanResult, later=BegunFleetPlan, body=FleetRequest, errors=WITH_TARGET,
    ),
    Operation(
        method="get", path="/fleets/plans/{planId}", name="getFleetPlan",
        says="Show the plan of a fleet that takes longer than an answer may.",
        answer=FleetPlanResult, later=BegunFleetPlan, parameters=_PLAN, errors=(422,),
    ),
    Operation(
        method="get", path="/fleets", name="listFleets", says="List fleets, the newest first.",
        answer=FleetList, query=FleetsQuery,
    ),
    Operation(
        method="get", path="/fleets/{fleetId}", name="getFleet", says="Show how far a fleet is.",
        answer=FleetRecord, parameters=_FLEET,
    ),
    Operation(
        method="delete", path="/fleets/{fleetId}", name="cancelFleet",
        says="Cancel a fleet; volumes at full speed stay.", status=202,
        answer=CancelledFleet, parameters=_FLEET, errors=(409,),
    ),
    Operation(
        method="post", path="/fleets/{fleetId}/redrive", name="redriveFleet",
        says="Restore again what is not ready in a fleet, and nothing else.", status=202,
        answer=AcceptedFleet, parameters=_FLEET, errors=(409,),
    ),
    Operation(
        method="post", path="/plans", name="planRestore", says="Plan a restore; nothing is created.",
        answer=PlanResult, body=RestoreRequest, parameters=(_PICTURE,), errors=(406, *WITH_TARGET),
        picture=True,
    ),
    Operation(
        method="get", path="/runbooks", name="listRunbooks", says="List runbooks, the latest written first.",
        answer=answers.RunbookList, query=answers.StoredQuery,
    ),
    Operation(
        method="put", path="/runbooks/{alarmName}", name="putRunbook", says="Store what an alarm restores.",
        answer=answers.StoredRunbook, body=RestoreRequest, query=answers.PutQuery, parameters=_ALARM,
        errors=(409,),
    ),
    Operation(
        method="get", path="/runbooks/{alarmName}", name="getRunbook", says="Show what an alarm restores.",
        answer=answers.StoredRunbook, parameters=_ALARM,
    ),
    Operation(
        method="delete", path="/runbooks/{alarmName}", name="deleteRunbook",
        says="Delete an alarm's runbook.",
        answer=answers.DeletedRunbook, parameters=_ALARM,
    ),
    Operation(
        method="get", path="/rules", name="listRules", says="List rules, the latest written first.",
        answer=RuleList, query=answers.StoredQuery,
    ),
    Operation(
        method="put", path="/rules/{name}", name="putRule", says="Store which new volumes are adopted.",
        answer=StoredRule, body=AdoptionRule, query=answers.PutQuery, parameters=_RULE, errors=(409,),
    ),
    Operation(
        method="get", path="/rules/{name}", name="getRule", says="Show which new volumes are adopted.",
        answer=StoredRule, parameters=_RULE,
    ),
    Operation(
        method="delete", path="/rules/{name}", name="deleteRule", says="Delete a rule.",
        answer=DeletedRule, parameters=_RULE,
    ),
    Operation(
        method="get", path="/rules/{name}/check", name="checkRule",
        says="Show what the rule would adopt now.",
        answer=RuleCheck, parameters=_RULE,
    ),
    Operation(
        method="post", path="/volumes/{volumeId}/performance", name="changePerformance",
        says="Change a volume's type, IOPS or throughput.", status=202, answer=answers.AcceptedChange,
        body=answers.PerformanceRequest, parameters=_VOLUME, errors=WITH_TARGET,
    ),
    Operation(
        method="get", path="/volumes/{volumeId}/performance", name="getPerformance",
        says="Show a volume's performance and its latest change.", answer=answers.VolumePerformance,
        parameters=_VOLUME,
    ),
    Operation(
        method="get", path="/undo-logs", name="listUndoLogs",
        says="List what rewinds have overwritten, and what it costs.", answer=UndoLogList,
    ),
    Operation(
        method="delete", path="/undo-logs/{restoreId}", name="deleteUndoLog",
        says="Delete what undoes a rewind.", answer=DeletedUndoLog, parameters=_RESTORE, errors=(409,),
    ),
    Operation(
        method="get", path="/hot-sets", name="listHotSets",
        says="List what is recorded of reads.", answer=answers.HotSetList,
    ),
    Operation(
        method="get", path="/hot-sets/{lineage}", name="getHotSet",
        says="Show what is read first of a volume, and by which recordings.", answer=answers.HotSetAnswer,
        parameters=_LINEAGE,
    ),
    Operation(
        method="delete", path="/hot-sets/{lineage}", name="deleteHotSet",
        says="Delete what is recorded of reads.", answer=answers.DeletedHotSet, parameters=_LINEAGE,
    ),
    Operation(
        method="post", path="/benchmarks", name="startBenchmark",
        says="Measure mounts or volumes of an instance.",
        status=202, answer=answers.AcceptedBenchmark, body=BenchmarkRequest, errors=WITH_TARGET,
    ),
    Operation(
        method="get", path="/benchmarks/{benchmarkId}", name="getBenchmark",
        says="Show a benchmark's figures.",
        answer=BenchmarkResult, parameters=_BENCHMARK,
    ),
    Operation(
        method="put", path="/calibration", name="putCalibration",
        says="Store what `rewarm calibrate` measured; estimates use it from then on.",
        answer=StoredCalibration, body=Calibration,
    ),
    Operation(
        method="get", path="/calibration", name="getCalibration",
        says="Show the calibration that estimates use, and what the next one needs to know.",
        answer=CalibrationAnswer,
    ),
    Operation(
        method="put", path="/calibrations/{calibrationId}", name="putCalibrationLease",
        says="Say what a calibration that runs has made; after its end the sweeper removes that.",
        answer=KeptLease, body=CalibrationLease, parameters=_CALIBRATION,
    ),
)  # fmt: skip

LEASE = CalibrationLease(volume_ids=["vol-0123456789abcdef0"], snapshot_ids=["snap-0123456789abcdef0"])
EXAMPLES: dict[type[Contract], Contract] = {
    CalibrationLease: LEASE,
    **{type(request): request for request in request_examples().values()},
}


def answer_example(model: type[Contract]) -> JsonObject:
    """Returns an example of an answer; a plan is what `make plan` reckons, with one line of each list."""
    if model is PlanResult:
        short: JsonObject = _short(plan(parse([]), datetime(2026, 11, 21, 3, tzinfo=UTC)).to_json())
        return short
    return parsed(model, SAYS["answers"][model.__name__]).to_json()


_UNSIGNED = "the request is not signed (Signature Version 4, service execute-api)"
_SIGNED_WRONG = "the request's signature is wrong, or too old"
_NOT_ALLOWED = "the caller may not use this route; its IAM policy must allow execute-api:Invoke"
_WRONG = "API Gateway refused the request; error is AWS's type of the response"
_TOO_MANY = "too many requests at once; send it again in some seconds"
_NO_ANSWER = (
    "there is no answer, and the request may have been carried out; with the same Idempotency-Key it can be "
    "sent again"
)
GATEWAY: dict[str, tuple[int, str]] = {
    "ACCESS_DENIED": (403, _NOT_ALLOWED),
    "API_CONFIGURATION_ERROR": (500, _NO_ANSWER),
    "AUTHORIZER_CONFIGURATION_ERROR": (500, _NO_ANSWER),
    "AUTHORIZER_FAILURE": (500, _NO_ANSWER),
    "BAD_REQUEST_BODY": (400, _WRONG),
    "BAD_REQUEST_PARAMETERS": (400, _WRONG),
    "DEFAULT_4XX": (403, _WRONG),
    "DEFAULT_5XX": (502, _NO_ANSWER),
    "EXPIRED_TOKEN": (403, _SIGNED_WRONG),
    "INTEGRATION_FAILURE": (504, _NO_ANSWER),
    "INTEGRATION_TIMEOUT": (504, _NO_ANSWER),
    "INVALID_API_KEY": (403, _NOT_ALLOWED),
    "INVALID_SIGNATURE": (403, _SIGNED_WRONG),
    "MISSING_AUTHENTICATION_TOKEN": (401, _UNSIGNED),
    "QUOTA_EXCEEDED": (429, _TOO_MANY),
    "REQUEST_TOO_LARGE": (413, "the request is larger than API Gateway takes"),
    "RESOURCE_NOT_FOUND": (404, "there is no such route"),
    "THROTTLED": (429, _TOO_MANY),
    "UNAUTHORIZED": (401, _UNSIGNED),
    "UNSUPPORTED_MEDIA_TYPE": (415, _WRONG),
    "WAF_FILTERED": (403, _WRONG),
}
"""Each type of API Gateway's own responses -> status and words.

The statuses are AWS's (API Gateway developer guide, "Gateway response types") but for two kinds. The defaults
have none there; what is left for them are signatures that cannot be read, and functions that fail. A missing
signature has 401, where AWS has 403: as every path is a route here, nothing else is ever missing.
"""


@cache
def document() -> JsonObject:
    """Returns docs/openapi.json."""
    paths: dict[str, JsonObject] = {}
    references = _References()
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _published(operation, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rewarm",
            "version": __version__,
            "summary": "Start, watch and cancel restores; plan them; keep runbooks.",
            "description": SAYS["document"],
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [
            {
                "url": "https://{apiId}.execute-api.{region}.amazonaws.com/v1",
                "description": "The stack's output ApiUrl.",
                "variables": _PLACE,
            },
            {
                "url": "https://{apiId}.execute-api.{region}.amazonaws.com",
                "description": "The stack's output JwtApiUrl, for callers with a token.",
                "variables": _PLACE,
            },
        ],
        "security": [{SIGNATURE: []}, {TOKEN: []}],
        "tags": [{"name": name, "description": says} for name, says in SAYS["tags"].items()],
        "paths": paths,
        "webhooks": {detail_type(event): _sent(says) for event, says in SAYS["events"].items()},
        "components": {
            "securitySchemes": {**_signature(), **_TOKEN},
            "schemas": {**references.schemas, SAYS["event"]["title"]: SAYS["event"]},
        },
    }


def definition() -> JsonObject:
    """Returns api.json."""
    paths: dict[str, JsonObject] = {"/{path+}": {"x-amazon-apigateway-any-method": _deployed("/{path}")}}
    for operation in OPERATIONS:
        # API Gateway does not say whether %2F is a slash when it looks for the route; so both are taken.
        path = operation.path.replace("{alarmName}", "{alarmName+}")
        anything_else = {"x-amazon-apigateway-any-method": _deployed(operation.path)}
        paths.setdefault(path, anything_else)[operation.method] = _deployed(operation.path)
    return {
        "openapi": "3.0.1",
        "info": {"title": {"Ref": "AWS::StackName"}, "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": _signature()},
        "x-amazon-apigateway-gateway-responses": dict(_gateway_responses()),
    }


class _References:
    """The schemas of all contracts, and where each is."""

    def __init__(self) -> None:
        models: list[tuple[type[Contract], JsonSchemaMode]] = [(answers.Problem, "validation")]
        for operation in OPERATIONS:
            answered = filter(None, (operation.answer, operation.later))
            models += [(answer, "serialization") for answer in answered]
            if operation.body:
                models.append((operation.body, "validation"))
        self._found, whole = models_json_schema(
            list(dict.fromkeys(models)),
            ref_template="#/components/schemas/{model}",
            schema_generator=WithoutFieldTitles,
        )
        self.schemas: JsonObject = whole["$defs"]
        for kind, schema in self.schemas.items():
            # Generators of clients take oneOf beside properties for a union, and lose the properties.
            if rules := {rule: schema.pop(rule) for rule in ("oneOf", "anyOf") if rule in schema}:
                schema |= {"if": {}, "then": rules}
            for name, field in schema.get("properties", {}).items():
                says = SAYS["fields"].get(f"{kind}.{name}", SAYS["fields"].get(name))
                field.setdefault("description", says)

    def of(self, model: type[Contract], mode: JsonSchemaMode) -> JsonObject:
        return self._found[model, mode]


def _published(operation: Operation, references: _References) -> JsonObject:
    content = _answered(operation.answer, references)
    if operation.picture:
        content["image/svg+xml"] = {"schema": {"type": "string"}}
    refused = {PROBLEM: {"schema": references.of(answers.Problem, "validation")}}
    statuses = sorted({*ALWAYS, *operation.errors, *(WITH_BODY if operation.body else ())})
    found: JsonObject = {
        "operationId": operation.name,
        "tags": [operation.path.split("/")[1]],
        "summary": operation.says,
        "description": SAYS["operations"][operation.name],
    }
    parameters = [*operation.parameters, *_of_query(operation.query)]
    if parameters:
        found["parameters"] = parameters
    if operation.body:
        example = EXAMPLES[operation.body].model_dump(by_alias=True, mode="json", exclude_defaults=True)
        schema = references.of(operation.body, "validation")
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": schema, "example": example}}}
    answered = {str(operation.status): content}
    if operation.later:
        answered["202"] = _answered(operation.later, references)
    found["responses"] = {
        **{
            status: {"description": HTTPStatus(int(status)).phrase, "content": each}
            for status, each in answered.items()
        },
        **{str(each): {"description": HTTPStatus(each).phrase, "content": refused} for each in statuses},
        "431": {"description": TOO_LONG},
    }
    return found


def _answered(model: type[Contract], references: _References) -> JsonObject:
    return {JSON: {"schema": references.of(model, "serialization"), "example": answer_example(model)}}


def _sent(says: str) -> JsonObject:
    """An event on EventBridge, by its detail type; a rule sends it wherever the user wants."""
    schema = {"$ref": f"#/components/schemas/{SAYS['event']['title']}"}
    body = {"description": "The event's detail.", "content": {JSON: {"schema": schema}}}
    return {"post": {"summary": says, "requestBody": body, "responses": {"200": {"description": "Ignored."}}}}


def _of_query(model: type[Contract] | None) -> Iterator[JsonObject]:
    """A parameter of the address for each field; one that is left out is null in the contract."""
    if model is None:
        return
    schema = model.model_json_schema(by_alias=True, schema_generator=WithoutFieldTitles)
    for name, field in schema["properties"].items():
        says = field.pop("description", None)
        kinds = [kind for kind in field.pop("anyOf", []) if kind != {"type": "null"}]
        if isinstance(field.get("type"), list):
            field["type"] = field["type"][0]
        own = {key: value for key, value in field.items() if (key, value) != ("default", None)}
        yield {
            "name": name,
            "in": "query",
            **({"description": says} if says else {}),
            "schema": {**(kinds[0] if kinds else {}), **own},
        }


def _signature() -> JsonObject:
    return {
        SIGNATURE: {
            "type": "apiKey",
            "name": "Authorization",
            "in": "header",
            "x-amazon-apigateway-authtype": "awsSigv4",
        }
    }


def _deployed(path: str) -> JsonObject:
    function = (
        "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/"
        "${ApiFunction.Arn}/invocations"
    )
    names = re.findall(r"\{(\w+)\}", path)
    return {
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ],
        "security": [{SIGNATURE: []}],
        "responses": {"200": {"description": "What the function answers."}},
        "x-amazon-apigateway-integration": {
            "type": "aws_proxy",
            "httpMethod": "POST",
            "uri": {"Fn::Sub": function},
        },
    }


def _gateway_responses() -> Iterator[tuple[str, JsonObject]]:
    """Their texts are fixed, because nothing escapes what a template fills in.

    The two variables hold words of AWS's own: the type of the response, and an id that callers cannot choose.
    Only the template of application/json is ever taken, so the header names the type.
    """
    for kind, (status, words) in GATEWAY.items():
        error = "$context.error.responseType"
        body = {
            "type": f"urn:rewarm:error:{error}",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": words,
            "instance": f"urn:rewarm:request:{INSTANCE}",
            "error": error,
            "field": None,
            "message": words,
            "errors": [],
        }
        headers = {"gatewayresponse.header.Content-Type": f"'{PROBLEM}'"}
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            headers["gatewayresponse.header.Retry-After"] = "'5'"
        if status == HTTPStatus.UNAUTHORIZED:
            headers["gatewayresponse.header.WWW-Authenticate"] = "'AWS4-HMAC-SHA256'"
        yield (
            kind,
            {
                "statusCode": str(status),
                "responseParameters": headers,
                "responseTemplates": {JSON: json.dumps(body)},
            },
        )


def write(folder: Path) -> None:
    """Writes both documents below the folder of the repository."""
    for path, found in (("docs/openapi.json", document()), ("api.json", definition())):
        text = json.dumps(found, indent=2, ensure_ascii=False)
        (folder / path).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "openapi", write))
