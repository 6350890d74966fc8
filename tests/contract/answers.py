"""AWS's side of a boto3 client: botocore checks every request, and its shape every answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.validate import validate_parameters

Json = dict[str, Any]
Answer = Json | Callable[[Json], Json]
CONFIG = Config(retries={"total_max_attempts": 1}, region_name="us-east-1")


class ApiError(Exception):
    """An error as AWS answers it."""

    def __init__(self, code: str, message: str = "because", status: int = 400) -> None:
        super().__init__(code)
        self.code, self.message, self.status = code, message, status


class Aws:
    """A client of one service whose operations answer what a test says; the calls are kept."""

    def __init__(self, service: str) -> None:
        self.calls: list[tuple[str, Json]] = []
        session: Any = boto3.session.Session("AKIATEST", "secret")
        self.client = session.client(service, config=CONFIG)
        self._answers: dict[str, list[Answer | ApiError]] = {}
        self.client.meta.events.register("provide-client-params.*.*", self._keep)
        self.client.meta.events.register("before-call.*.*", self._answer)

    def on(self, operation: str, *answers: Answer | ApiError) -> Aws:
        """The operation answers these in turn, and the last one from then on."""
        self._answers[operation] = list(answers)
        return self

    def params(self, operation: str) -> list[Json]:
        """What the operation was called with."""
        return [params for name, params in self.calls if name == operation]

    def _keep(self, params: Json, model: Any, **_: Any) -> None:
        self.calls.append((model.name, dict(params)))

    def _answer(self, model: Any, **_: Any) -> tuple[AWSResponse, Json]:
        answers = self._answers.get(model.name)
        assert answers, f"the test does not say what {model.name} answers"
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if callable(answer) and not isinstance(answer, ApiError):
            params = next(params for name, params in reversed(self.calls) if name == model.name)
            answer = _called(answer, params)
        if isinstance(answer, ApiError):
            error = {"Code": answer.code, "Message": answer.message}
            return _http(answer.status), {
                "Error": error,
                "ResponseMetadata": {"HTTPStatusCode": answer.status},
            }
        if model.output_shape is not None:
            validate_parameters(answer, model.output_shape)
        return _http(200), {**answer, "ResponseMetadata": {"HTTPStatusCode": 200}}


def _called(answer: Callable[[Json], Json], params: Json) -> Json | ApiError:
    try:
        return answer(params)
    except ApiError as error:
        return error


def _http(status: int) -> AWSResponse:
    return AWSResponse("https://aws.test", status, HTTPHeaders(), None)
