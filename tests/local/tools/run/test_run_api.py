"""Calls to the API as a user makes them."""

import json
import shlex
from contextlib import closing

import pytest

from rewarm_cli.api import Api, ApiRefusedError
from tests.support.loopback import Loopback, QuietHandler


class Handler(QuietHandler):
    """Answers with what it was asked, and with the status in the path."""

    def answer(self):
        body = self.body().decode()
        status = int(self.path.split("/")[2])
        seen = {
            "method": self.command,
            "body": body,
            "headers": {k.lower(): v for k, v in self.headers.items()},
        }
        content = b"<html>" if status == 502 else json.dumps(seen).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = answer


@pytest.fixture
def api():
    with closing(Loopback(Handler, "/v1")) as server:
        yield Api(server.url, "us-east-1", "123456789012", "local")


def test_calls_are_signed_for_the_api_gateway(api):
    seen = api.expect(202, "POST", "/202", {"a": 1}, {"Idempotency-Key": "k"})
    assert seen["method"] == "POST"
    assert json.loads(seen["body"]) == {"a": 1}
    signature = seen["headers"]["authorization"]
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=123456789012/")
    assert "/us-east-1/execute-api/aws4_request" in signature
    assert seen["headers"]["content-type"] == "application/json"
    assert seen["headers"]["idempotency-key"] == "k"


def test_any_status_is_an_answer(api):
    assert api.call("GET", "/404").status == 404
    assert api.call("GET", "/502").body == {"text": "<html>"}


def test_another_status_than_expected_is_refused_with_what_was_said(api):
    with pytest.raises(ApiRefusedError, match=r'GET /409 answered 409: \{"method": "GET"'):
        api.expect(200, "GET", "/409")


def test_the_curl_command_is_the_same_call():
    words = shlex.split(
        Api("http://h/v1", "us-east-1", "id", "key").curl("POST", "/restores", {"it's": "so"})
    )
    assert words == [
        "curl", "--aws-sigv4", "aws:amz:us-east-1:execute-api", "--user", "id:key", "-X", "POST",
        "-H", "content-type: application/json", "-d", '{"it\'s": "so"}', "http://h/v1/restores",
    ]  # fmt: skip
