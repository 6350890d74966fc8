"""Callers with a JSON Web Token, whose issuer publishes its keys as OpenID Connect asks (Discovery 1.0)."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
import trustme
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from local.aws.host import Host
from tests.support.stack.restores import RestoreUser, request_for

Json = dict[str, Any]
AUDIENCE, KEY_ID, HOUR_SECONDS = "rewarm-callers", "key-1", 3_600


class Issuer:
    """An OpenID Connect issuer on loopback."""

    def __init__(self, folder: Path) -> None:
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        authority = trustme.CA()
        self.authority = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def token(self, scope: str, key: rsa.RSAPrivateKey | None = None, **claims: Any) -> str:
        """A token that is valid for an hour, unless a claim says otherwise."""
        now = int(time.time())
        payload = {
            "iss": self.url, "aud": AUDIENCE, "sub": "someone", "scope": scope,
            "iat": now, "nbf": now, "exp": now + HOUR_SECONDS, **claims,
        }  # fmt: skip
        signed = f"{_part({'alg': 'RS256', 'kid': KEY_ID})}.{_part(payload)}"
        signature = (key or self._key).sign(signed.encode(), padding.PKCS1v15(), SHA256())
        return f"{signed}.{_text(signature)}"

    def _documents(self) -> dict[str, Json]:
        numbers = self._key.public_key().public_numbers()
        key = {
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID,
            "n": _text(numbers.n.to_bytes(256, "big")), "e": _text(numbers.e.to_bytes(3, "big")),
        }  # fmt: skip
        return {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/keys": {"keys": [key]},
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                document = issuer._documents().get(self.path)
                self.send_response(200 if document else 404)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_: object) -> None:
                """Nothing."""

        return Handler


def _part(value: Json) -> str:
    return _text(json.dumps(value).encode())


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class Caller:
    """Somebody with a token."""

    def __init__(self, lab: Host, issuer: Issuer) -> None:
        self.issuer = issuer
        self._lab, self._url = lab, lab.outputs["JwtApiUrl"]

    def status(self, method: str, path: str, token: str | None, body: Json | None = None) -> int:
        return self.call(method, path, token, body).status_code

    def call(self, method: str, path: str, token: str | None, body: Json | None = None) -> requests.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        trusted = self._lab.environment["AWS_CA_BUNDLE"]
        return requests.request(
            method, f"{self._url}{path}", headers=headers, json=body, verify=trusted, timeout=60
        )


@pytest.fixture
def caller(user: RestoreUser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    issuer = Issuer(tmp_path)
    # API Gateway's, which reads the issuer's keys, runs in this process.
    monkeypatch.setenv("SSL_CERT_FILE", str(issuer.authority))
    user.lab.deploy({"JwtIssuer": issuer.url, "JwtAudience": f"others,{AUDIENCE}"})
    try:
        yield Caller(user.lab, issuer)
    finally:
        user.lab.deploy()
        issuer.close()


def test_a_token_is_good_for_what_its_scopes_say(user: RestoreUser, caller: Caller) -> None:
    read, write = caller.issuer.token("rewarm/read"), caller.issuer.token("openid rewarm/write")
    request = request_for(user, "auto") | user.to_zone

    refused = caller.call("POST", "/restores", read, request)
    assert (refused.status_code, refused.json()) == (403, {"message": "Forbidden"})
    assert caller.status("POST", "/plans", read, request) == 200
    assert caller.status("POST", "/plans", caller.issuer.token("openid"), request) == 403

    started = caller.call("POST", "/restores", write, {**request, "dryRun": True})
    assert started.status_code == 202, started.text
    restore_id = started.json()["restoreId"]
    shown = caller.call("GET", f"/restores/{restore_id}", read).json()
    assert shown["trigger"]["askedBy"]["name"] == f"token of {caller.issuer.url}: someone"
    assert caller.call("GET", f"/restores/{restore_id}?wait=0", read).json()["restoreId"] == restore_id
    listed = caller.call("GET", "/restores?limit=100", write).json()["restores"]
    assert restore_id in [restore["restoreId"] for restore in listed]
    user.finished(restore_id)

    wrong = caller.call("PUT", "/runbooks/rewarm-a%20b", write, {"snapshotId": "none"})
    assert (wrong.status_code, wrong.headers["Content-Type"]) == (400, "application/problem+json")


def test_other_tokens_are_refused(caller: Caller) -> None:
    issuer, past = caller.issuer, int(time.time()) - HOUR_SECONDS
    stranger = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    tokens = {
        "none": None,
        "no token": "rewarm/read",
        "another key": issuer.token("rewarm/read", key=stranger),
        "over": issuer.token("rewarm/read", exp=past),
        "not yet": issuer.token("rewarm/read", nbf=int(time.time()) + HOUR_SECONDS),
        "another audience": issuer.token("rewarm/read", aud="somebody"),
        "another issuer": issuer.token("rewarm/read", iss="https://localhost"),
    }
    statuses = {name: caller.status("GET", "/restores", token) for name, token in tokens.items()}
    assert statuses == dict.fromkeys(tokens, 401)
    assert caller.status("GET", "/restores", issuer.token("rewarm/read")) == 200
