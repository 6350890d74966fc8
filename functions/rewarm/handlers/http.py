"""What every route does with a request's body and address, and the form of every error."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from rewarm.domain.errors import AccessDeniedError, InvalidRequestError
from rewarm.domain.model import NOBODY, Caller
from rewarm.domain.units import shown
from rewarm.ports import JsonObject

Fault = tuple[str, str]
"""A field, and what is wrong with it."""
RUNBOOKS = "/runbooks/"
_EXACT = 2**53
"""Up to this, a float can hold every whole number."""
_ALLOWED = re.compile(r"found (.*); allowed (?:[^;]* )?(?:is|are) (.*)", re.DOTALL)
"""How errors separate faults; what was found may contain a semicolon itself."""


def json_body(event: BaseProxyEvent) -> JsonObject:
    """The request's JSON object. Raises InvalidRequestError."""
    try:
        text = event.decoded_body or ""
        if not text.strip():
            raise InvalidRequestError("is empty; send a JSON object", field="request")
        body: Any = json.loads(text, parse_float=_number)
    except ValueError as error:
        raise InvalidRequestError(f"is not JSON: {error}", field="request") from error
    except RecursionError as error:
        raise InvalidRequestError("is nested too deeply", field="request") from error
    if not isinstance(body, dict):
        raise InvalidRequestError(f"found {shown(body)}; allowed is a JSON object", field="request")
    return body


def _number(text: str) -> float:
    """A whole number for 5.0, as JSON and the schema of a whole number do not distinguish it from 5."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < _EXACT else value


def query(event: APIGatewayProxyEvent) -> JsonObject:
    """The parameters of the address, each of which is text. Raises InvalidRequestError."""
    for name, values in (event.get("multiValueQueryStringParameters") or {}).items():
        if len(values) > 1:
            raise InvalidRequestError(f"found {shown(values)}; allowed is one value", field=name)
    return dict(event.get("queryStringParameters") or {})


def as_rest_event(event: JsonObject) -> JsonObject:
    """The event as a REST API sends it.

    The API for callers with a token is an HTTP API. Its events have format 2.0 (API Gateway developer guide,
    "Create AWS Lambda proxy integrations for HTTP APIs"). A REST API's event comes back unchanged.
    """
    if event.get("version") != "2.0":
        return event
    context = event["requestContext"]
    values = parse_qs(event.get("rawQueryString") or "", keep_blank_values=True)
    return {
        "httpMethod": context["http"]["method"],
        "path": event["rawPath"],
        "headers": event.get("headers") or {},
        "multiValueHeaders": {name: [value] for name, value in (event.get("headers") or {}).items()},
        "queryStringParameters": {name: value[-1] for name, value in values.items()},
        "multiValueQueryStringParameters": values,
        "requestContext": {**context, "extendedRequestId": context.get("requestId")},
        "body": event.get("body"),
        "isBase64Encoded": event.get("isBase64Encoded", False),
    }


def as_answer_to(event: JsonObject, answer: JsonObject) -> JsonObject:
    """The answer in the event's format: 2.0 has no headers with several values."""
    if event.get("version") != "2.0":
        return answer
    headers = {name: ", ".join(values) for name, values in answer["multiValueHeaders"].items()}
    return {**answer, "headers": headers}


def caller(event: BaseProxyEvent) -> Caller:
    """Who signed the request, by IAM's name, or whose token it has; API Gateway has checked either.

    Its developer guide, "Variables for data transformations" ($context.identity.userArn), "JWT authorizers".
    """
    context = event.get("requestContext") or {}
    claims = ((context.get("authorizer") or {}).get("jwt") or {}).get("claims")
    if claims:
        return Caller.with_token(str(claims.get("iss")), str(claims.get("sub") or "without a subject"))
    arn = (context.get("identity") or {}).get("userArn")
    return Caller("iam", str(arn)) if arn else NOBODY


def stop_other_routes(event: BaseProxyEvent, route: str) -> None:
    """Raises AccessDeniedError if API Gateway has let the caller in by another route.

    AWS does not document how its APIs choose the route of an encoded path. An HTTP API gives the method and
    path of the route, a REST API only the path.
    """
    context = event.get("requestContext") or {}
    chosen = context.get("routeKey") or context.get("resourcePath")
    if chosen is not None and chosen not in (route, route.partition(" ")[2]):
        raise AccessDeniedError(f"the path was taken for the route {chosen}; write it as {route}")


def with_safe_path(event: JsonObject) -> JsonObject:
    """The event, with a path that Powertools matches whatever characters it has.

    Powertools matches only some characters, and ignores a line feed at the end. An alarm's name becomes one
    segment. API Gateway decodes a path and leaves only the per cent sign encoded (its developer guide,
    "Important notes for REST APIs"). So decoding once more gives the name, even if more is left encoded. A
    slash at the end, which Powertools ignores, makes another path, because IAM judges the path that was sent.
    """
    path = event["path"]
    if path.startswith(RUNBOOKS):
        safe = RUNBOOKS + quote(unquote(path.removeprefix(RUNBOOKS)), safe="")
    else:
        kept = path.rstrip("/")
        safe = quote(kept, safe="/%") + quote(path[len(kept) :], safe="")
    return {**event, "path": safe}


def problem(
    event: BaseProxyEvent, status: int, name: str, message: str, faults: Sequence[Fault] = (), **more: Any
) -> Response[str]:
    """An error as problem details (RFC 9457), with the field of the first fault."""
    request = (event.get("requestContext") or {}).get("extendedRequestId")
    body = {
        "type": f"urn:rewarm:error:{name}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": message,
        "instance": request and f"urn:rewarm:request:{request}",
        "error": name,
        "field": faults[0][0] if faults else None,
        "message": message,
        "errors": [_fault(field, words) for field, words in faults],
        **more,
    }
    headers: dict[str, str | list[str]] = {"Retry-After": "5"} if status in (429, 503) else {}
    return Response(
        status_code=status, content_type="application/problem+json", body=json.dumps(body), headers=headers
    )


def _fault(field: str, words: str) -> JsonObject:
    said = _ALLOWED.fullmatch(words)
    found, allowed = said.groups() if said else (None, None)
    return {"field": field, "found": found, "allowed": allowed, "message": words}


def preferred(accept: str | None, offered: Sequence[str]) -> str | None:
    """The first offered type with the highest weight; None if the header allows none."""
    ranges = [_range(part) for part in (accept or "").split(",") if part.strip()]
    if not ranges:
        return offered[0]
    weights = [_weight(offer, ranges) for offer in offered]
    best = max(weights)
    return offered[weights.index(best)] if best > 0 else None


def _range(part: str) -> tuple[str, float]:
    """`image/*;q=0.5` as (`image/*`, 0.5); a weight that is no number is ignored."""
    name, *parameters = (word.strip().lower() for word in part.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, min(1.0, max(0.0, float(value)))
            except ValueError:
                return name, 1.0
    return name, 1.0


def _weight(offer: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The weight of the most specific range that fits; 0 if none fits."""
    for pattern in (offer, f"{offer.partition('/')[0]}/*", "*/*"):
        for name, weight in ranges:
            if name == pattern:
                return weight
    return 0.0
