"""Who signs for the API of the embedded AWS: a request, a server that passes on, a user with one policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from requests import PreparedRequest
from requests.auth import AuthBase

from rewarm_cli.api import TIMEOUT_SECONDS
from tests.support.loopback import Loopback, QuietHandler
from tests.support.stack.restores import RestoreUser, unique
from tests.support.tree import ROOT


class Signed(AuthBase):
    """Signature Version 4 of what is sent."""

    def __init__(self, user: RestoreUser) -> None:
        key, secret = (user.lab.environment[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"))
        self._signer = SigV4Auth(Credentials(key, secret), "execute-api", user.lab.addresses.region)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """The request, signed."""
        asked = AWSRequest(method=request.method, url=request.url, data=request.body or b"")
        self._signer.add_auth(asked)
        request.headers.update(dict(asked.headers.items()))
        return request


@contextmanager
def signing_server(user: RestoreUser) -> Iterator[str]:
    """The address of a server that signs requests and sends them to the API, as aws-sigv4-proxy does."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            answer = requests.request(
                self.command,
                user.lab.api_url + self.path,
                data=self.body(),
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                auth=Signed(user),
                timeout=TIMEOUT_SECONDS,
                verify=user.lab.environment["AWS_CA_BUNDLE"],
            )
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET

    with closing(Loopback(Handler)) as server:
        yield server.url


def key_with_policy(user: RestoreUser, policy: str) -> dict[str, Any]:
    """An access key, as IAM answers it, of a new user who has this policy of docs/policies and no other."""
    text = (ROOT / "docs" / "policies" / f"{policy}.json").read_text(encoding="utf-8")
    outputs, settings = user.lab.outputs, user.region.settings
    for name, value in (
        ("API_ID", outputs["RestApiId"]), ("REGION", settings.region), ("ACCOUNT", settings.account_id),
        ("arn:aws:", f"arn:{user.lab.addresses.partition}:"),
    ):  # fmt: skip
        text = text.replace(name, value)
    iam, name = user.lab.client("iam"), unique(policy)
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName=policy, PolicyDocument=text)
    return new_key(user, name)


def new_key(user: RestoreUser, name: str) -> dict[str, Any]:
    """An access key of the user of this name, as IAM answers it."""
    key: dict[str, Any] = user.lab.client("iam").create_access_key(UserName=name)["AccessKey"]
    return key
