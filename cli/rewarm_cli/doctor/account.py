"""The user's account as the checks read it: one function for every call, and one kind of error."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from rewarm_cli.settings import Settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]

PREFIXES = {"service-quotas": "servicequotas"}
"""botocore's names of services that have other names in IAM."""
DENIED = re.compile(r"AccessDenied|UnauthorizedOperation|AuthorizationError|NotAuthorized")
MISSING = re.compile(r"NotFound|NoSuchEntity|NoSuchResource|Malformed")
POLICY = "docs/policies/doctor.json"
PRICE_LIST_REGION = "us-east-1"
"""The Price List Query API has few endpoints, of which each answers for every Region (botocore endpoints)."""


READS = re.compile(r"Describe|Get|List")
OTHERS = {
    ("iam", "SimulatePrincipalPolicy"): "decides, and does nothing",
    ("ssm", "SendCommand"): "for --on-instance only, with a script that writes nothing",
}
"""Operations that change nothing, although their names do not begin like those that read."""


class NoAnswerError(Exception):
    """AWS refused the call, or could not be reached."""

    def __init__(self, action: str, code: str, message: str) -> None:
        super().__init__(f"{action}: {code} {message}" if code else f"{action}: {message}")
        self.action = action
        self.code = code

    @property
    def is_denied(self) -> bool:
        """Whether these credentials may not make the call."""
        return DENIED.search(self.code) is not None

    @property
    def is_missing(self) -> bool:
        """Whether the thing does not exist."""
        return MISSING.search(self.code) is not None

    @property
    def todo(self) -> str:
        """What makes the call possible."""
        if self.is_denied:
            return f"allow {self.action} to these credentials ({POLICY} has all that doctor asks)"
        return "run it again; if this stays, ask AWS with the same call of the AWS CLI"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user named."""

    instance: str | None = None
    snapshot: str | None = None
    volume: str | None = None
    on_instance: bool = False
    alarm: str | None = None
    request: Json = field(default_factory=dict)
    """The alarm's runbook."""


@dataclass
class Stack:
    """What CloudFormation says of the stack."""

    outputs: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    resources: dict[str, str] = field(default_factory=dict)
    """Logical id -> physical id."""


class Account:
    """Asks AWS with the user's credentials, and keeps what several checks need."""

    def __init__(self, settings: Settings, wanted: Wanted) -> None:
        self.settings = settings
        self.wanted = wanted
        self.session = botocore.session.Session(profile=settings.profile)
        self.caller: str | None = None
        """ARN of the caller; None until AWS has accepted the credentials."""
        self.account_id = ""
        self.stack = Stack()
        self.skew_seconds: float | None = None
        """This machine's clock minus AWS's."""
        self._known: dict[str, Any] = {}
        self._clients: dict[tuple[str, str], Any] = {}

    @property
    def region(self) -> str | None:
        """The Region that the other commands use, too."""
        configured: str | None = self.session.get_config_variable("region")
        return self.settings.region or os.environ.get("AWS_REGION") or configured

    @property
    def partition(self) -> str:
        """`aws`, `aws-cn`, `aws-us-gov`."""
        try:
            return str(self.session.get_partition_for_region(self.region or ""))
        except BotoCoreError:
            return "aws"

    @property
    def domain(self) -> str:
        """What follows the Region in the names of AWS's hosts."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"

    def arn(self, service: str, resource: str, *, region: bool = True, account: bool = True) -> str:
        """An ARN in this account and Region."""
        where = self.region if region else ""
        owner = self.account_id if account else ""
        return f"arn:{self.partition}:{service}:{where}:{owner}:{resource}"

    def api(self) -> Api:
        """The stack's API."""
        found: Api = self.once("api", self.settings.api)
        return found

    def ask(self, service: str, operation: str, **parameters: Any) -> Json:
        """Makes one call. Raises NoAnswerError; ValueError for a call that would change something."""
        self._check_reads(service, operation, parameters)
        with self._explained(service, operation):
            call = getattr(self._client(service), xform_name(operation))
            answer: Json = call(**parameters)
        self._note_time(answer)
        return answer

    def pages(self, service: str, operation: str, key: str, **parameters: Any) -> list[Any]:
        """All pages of a list. Raises NoAnswerError; ValueError for a call that would change something."""
        self._check_reads(service, operation, parameters)
        with self._explained(service, operation):
            paginator = self._client(service).get_paginator(xform_name(operation))
            return [item for page in paginator.paginate(**parameters) for item in page.get(key) or []]

    def once(self, name: str, look: Any) -> Any:
        """What `look` returned the first time; errors are not kept."""
        if name not in self._known:
            self._known[name] = look()
        return self._known[name]

    def _check_reads(self, service: str, operation: str, parameters: Json) -> None:
        is_command = operation == "SendCommand"
        is_allowed = (
            READS.match(operation) or parameters.get("DryRun") is True or (service, operation) in OTHERS
        )
        if not is_allowed or (is_command and not self.wanted.on_instance):
            raise ValueError(f"{service} {operation} is no call of the doctor's")

    @contextmanager
    def _explained(self, service: str, operation: str) -> Iterator[None]:
        action = f"{PREFIXES.get(service, service)}:{operation}"
        try:
            yield
        except ClientError as error:
            self._note_time(error.response)
            said = error.response.get("Error", {})
            raise NoAnswerError(action, said.get("Code", ""), said.get("Message", "")) from error
        except BotoCoreError as error:
            raise NoAnswerError(action, "", str(error)) from error

    def _client(self, service: str) -> Any:
        region = PRICE_LIST_REGION if service == "pricing" else self.region or PRICE_LIST_REGION
        key = service, region
        if key not in self._clients:
            quick: Any = {"mode": "standard", "total_max_attempts": 3}
            config = Config(
                retries=quick, connect_timeout=5, read_timeout=20, user_agent_extra="rewarm-doctor"
            )
            self._clients[key] = self.session.create_client(service, region_name=region, config=config)
        return self._clients[key]

    def _note_time(self, answer: Any) -> None:
        """Notes how far this machine's clock is from the first answer's Date header (whole seconds)."""
        headers = (answer.get("ResponseMetadata") or {}).get("HTTPHeaders") or {}
        if self.skew_seconds is None and (date := headers.get("date")):
            try:
                self.skew_seconds = time.time() - parsedate_to_datetime(date).timestamp()
            except ValueError:
                return
