"""Events of both of API Gateway's kinds, paths, and which media type the caller gets."""

from __future__ import annotations

import pytest
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from rewarm.domain.errors import AccessDeniedError
from rewarm.domain.model import NOBODY, Caller
from rewarm.handlers.http import (
    as_rest_event,
    caller,
    preferred,
    query,
    stop_other_routes,
    with_safe_path,
)

JSON, SVG = "application/json", "image/svg+xml"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, JSON), ("", JSON), ("*/*", JSON), ("application/json", JSON), ("image/svg+xml", SVG),
        ("image/*", SVG), ("IMAGE/SVG+XML", SVG), ("image/svg+xml, */*;q=0.1", SVG),
        ("application/json;q=0.4, image/svg+xml;q=0.5", SVG), ("image/svg+xml;charset=utf-8", SVG),
        ("image/svg+xml;q=0, */*", JSON), ("*/*;q=0.5, application/json;q=0", SVG),
        ("text/html", None), ("image/png", None), ("*/*;q=0", None), ("application/json;q=0", None),
        ("image/svg+xml;q=much", SVG), (",,", JSON),
    ],
)  # fmt: skip
def test_the_callers_weights_decide(accept, wanted):
    assert preferred(accept, (JSON, SVG)) == wanted


OF_AN_HTTP_API = {
    "version": "2.0",
    "routeKey": "GET /{path+}",
    "rawPath": "/restores",
    "rawQueryString": "limit=5&status=failed&empty=",
    "headers": {"accept": "image/svg+xml", "idempotency-key": "key"},
    "queryStringParameters": {"limit": "5", "status": "failed", "empty": ""},
    "requestContext": {
        "http": {"method": "GET", "path": "/restores", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
        "authorizer": {
            "jwt": {"claims": {"iss": "https://id.example", "sub": "someone"}, "scopes": ["rewarm/read"]}
        },
        "requestId": "id",
        "stage": "$default",
    },
    "isBase64Encoded": False,
}
"""API Gateway developer guide, "Create AWS Lambda proxy integrations for HTTP APIs", format 2.0."""


def signed_by(arn: str) -> APIGatewayProxyEvent:
    """API Gateway developer guide, "Set up Lambda proxy integrations": the identity of a signed request."""
    return APIGatewayProxyEvent({"requestContext": {"identity": {"userArn": arn}}})


def with_token(**claims: str | None) -> APIGatewayProxyEvent:
    jwt = {"claims": {"iss": "https://id.example", **claims}}
    return APIGatewayProxyEvent({"requestContext": {"authorizer": {"jwt": jwt}}})


class TestEvents:
    def test_an_http_apis_event_is_read_as_a_rest_apis(self) -> None:
        event = APIGatewayProxyEvent(as_rest_event(OF_AN_HTTP_API))
        assert (event.http_method, event.path, event.body) == ("GET", "/restores", None)
        assert query(event) == {"limit": "5", "status": "failed", "empty": ""}
        assert event.headers.get("Idempotency-Key") == "key"
        assert event.multi_value_headers.get("accept") == ["image/svg+xml"]
        assert event["requestContext"]["extendedRequestId"] == "id"

    def test_a_field_that_is_given_twice_is_seen(self) -> None:
        event = as_rest_event({**OF_AN_HTTP_API, "rawQueryString": "limit=5&limit=6"})
        assert event["multiValueQueryStringParameters"] == {"limit": ["5", "6"]}

    def test_a_caller_is_named_by_signature_or_token(self) -> None:
        token = Caller("token", "token of https://id.example: someone")
        assert caller(APIGatewayProxyEvent(as_rest_event(OF_AN_HTTP_API))) == token
        assert caller(signed_by("arn:aws:iam::123456789012:user/ann")) == Caller(
            "iam", "arn:aws:iam::123456789012:user/ann"
        )
        assert caller(APIGatewayProxyEvent({"requestContext": {"identity": {"userArn": None}}})) == NOBODY

    @pytest.mark.parametrize(
        "subject", ["arn:aws:iam::123456789012:user/ciso", "\rarn:aws:iam::1:root", "x" * 9_999]
    )
    def test_what_a_token_says_never_looks_like_an_arn(self, subject: str) -> None:
        name = caller(with_token(sub=subject)).name
        assert name.startswith("token of https://id.example: ")
        assert len(name) < 300
        assert name.isprintable()

    def test_a_token_without_a_subject_names_its_issuer(self) -> None:
        assert caller(with_token(sub=None)).name == "token of https://id.example: without a subject"

    def test_a_token_is_good_only_for_the_route_that_it_was_checked_for(self) -> None:
        approve = "POST /restores/{restoreId}/approve"
        stop_other_routes(APIGatewayProxyEvent({"requestContext": {}}), approve)
        stop_other_routes(APIGatewayProxyEvent({"requestContext": {"routeKey": approve}}), approve)
        with pytest.raises(AccessDeniedError, match="was taken for the route \\$default"):
            stop_other_routes(APIGatewayProxyEvent({"requestContext": {"routeKey": "$default"}}), approve)

    def test_a_signature_is_good_only_for_the_route_that_iam_has_allowed(self) -> None:
        path = "/restores/{restoreId}/approve"
        stop_other_routes(APIGatewayProxyEvent({"requestContext": {"resourcePath": path}}), f"POST {path}")
        other = APIGatewayProxyEvent({"requestContext": {"resourcePath": "/{path+}"}})
        with pytest.raises(AccessDeniedError, match=r"was taken for the route /{path\+}"):
            stop_other_routes(other, f"POST {path}")

    def test_a_rest_apis_event_is_left_alone(self) -> None:
        event = {"path": "/restores", "httpMethod": "GET", "requestContext": {}}
        assert as_rest_event(event) is event


@pytest.mark.parametrize(
    ("path", "matched"),
    [
        ("/restores", "/restores"),
        ("/restores/", "/restores%2F"),
        ("/restores//", "/restores%2F%2F"),
        ("/restores/a b", "/restores/a%20b"),
        ("/runbooks/a/", "/runbooks/a%2F"),
    ],
)
def test_a_slash_at_the_end_is_part_of_the_path(path: str, matched: str) -> None:
    assert with_safe_path({"path": path})["path"] == matched
