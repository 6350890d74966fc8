"""HTTPS at AWS's names: whole requests in, whole answers out, over connections that stay."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.client import HTTPResponse, HTTPSConnection

import pytest

from local.aws.front.listener import Authority, HttpAnswer, HttpRequest, Listener

AUTHORITY = Authority()


class Echo:
    """Answers with what it was asked, and keeps that."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []
        self.status = 200

    def answer(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        return HttpAnswer(self.status, (("X-Of", request.method),), request.body or b"nothing")


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def listener(echo: Echo) -> Iterator[Listener]:
    found = Listener(echo, AUTHORITY, port=0)
    yield found
    found.close()


@pytest.fixture
def client(listener: Listener) -> Iterator[HTTPSConnection]:
    context = ssl.create_default_context(cadata=AUTHORITY.pem.decode())
    found = HTTPSConnection("localhost", listener.port, context=context, timeout=60)
    yield found
    found.close()


def read(client: HTTPSConnection) -> tuple[HTTPResponse, bytes]:
    answer = client.getresponse()
    return answer, answer.read()


@pytest.mark.parametrize("length", [0, 1, 65_535, 65_536, 3_000_000])
def test_bodies_of_any_length_come_back_over_one_connection(
    length: int, client: HTTPSConnection, echo: Echo
) -> None:
    body = b"abc" * (length // 3) + b"d" * (length % 3)
    for method in ("PUT", "POST"):
        client.request(method, "/key", body)
        answer, found = read(client)
        assert (answer.status, answer.headers["x-of"], found) == (200, method, body or b"nothing")
    assert [len(one.body) for one in echo.requests] == [length, length]


def test_what_was_sent_is_not_tidied(client: HTTPSConnection, echo: Echo) -> None:
    """It is what was signed."""
    client.request("GET", "//two%2Fparts?a=%20&a=", headers={"X-Mixed": "Value", "Accept": "*/*"})
    read(client)
    (request,) = echo.requests
    assert (request.path, request.query) == ("//two%2Fparts", "a=%20&a=")
    assert ("x-mixed", "Value") in request.headers
    assert request.host == "localhost"


def test_a_body_may_come_in_pieces(client: HTTPSConnection, echo: Echo) -> None:
    client.request("PUT", "/key", iter([b"first,", b"second"]), encode_chunked=True)
    assert read(client)[1] == b"first,second"
    client.request("DELETE", "/key")
    assert read(client)[1] == b"nothing"


def test_an_answer_without_a_body_has_none(client: HTTPSConnection, echo: Echo) -> None:
    client.request("HEAD", "/key")
    answer, found = read(client)
    assert (answer.headers["content-length"], found) == ("7", b"")
    echo.status = 204
    client.request("DELETE", "/key")
    answer, found = read(client)
    assert (answer.status, answer.headers["content-length"], found) == (204, None, b"")


def test_a_client_that_does_not_trust_the_authority_harms_nobody(
    listener: Listener, client: HTTPSConnection
) -> None:
    stranger = HTTPSConnection("localhost", listener.port, context=ssl.create_default_context(), timeout=60)
    with pytest.raises(ssl.SSLCertVerificationError):
        stranger.request("GET", "/")
    client.request("GET", "/")
    assert read(client)[0].status == 200


def test_the_end_closes_connections_that_wait(listener: Listener, client: HTTPSConnection) -> None:
    client.request("GET", "/")
    read(client)
    listener.close()
    assert client.sock.recv(1) == b""
    listener.close()
