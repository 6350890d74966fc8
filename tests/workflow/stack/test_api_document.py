"""The running API is what docs/openapi.json says, whatever it is sent: schemathesis draws the requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import FatalError, NonFatalError, ScenarioFinished
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.openapi.checks import RejectedPositiveData

from local import ROOT
from rewarm_cli.api import TIMEOUT_SECONDS
from tests.support.amount import LONG
from tests.support.stack.restores import RestoreUser
from tests.support.stack.signing import Signed

DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
OPERATIONS = [
    (method.upper(), path) for path, methods in sorted(DOCUMENT["paths"].items()) for method in methods
]
CASES = 400 if LONG else 5
"""Of each operation; those at the borders of the schemas come on top in `make test-long`."""
FIELD_RULE = re.compile(
    r"unknown field|is missing|; allowed is ("
    r"'|at |more than|less than|a (number|whole|JSON|list|time)|text|true or|an id such as|another value)"
)
"""How the API words what a schema can say of one field. What it refuses beyond that, no schema says: rules of
several fields together, and what is not so in AWS.
"""


def checked(user: RestoreUser, method: str, path: str, seed: int) -> tuple[int, list[str]]:
    """How many cases the operation had, and what any check found."""
    options: dict[str, Any] = {
        "seed": seed,
        "base-url": user.lab.api_url,
        "tls-verify": user.lab.environment["AWS_CA_BUNDLE"],
        "workers": 1,
        "request-timeout": TIMEOUT_SECONDS,
        "continue-on-failure": True,
        "generation": {"max-examples": CASES, "deterministic": not LONG, "no-shrink": True},
        "phases": {"coverage": {"enabled": LONG}, "stateful": {"enabled": False}},
        "checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}},
    }
    schema = schemathesis.openapi.from_dict(DOCUMENT, config=SchemathesisConfig.from_dict(options))
    schema.auth.set_from_requests(Signed(user))
    cases, found = 0, []
    for event in from_schema(schema.include(method=method, path=path)).execute():
        if isinstance(event, NonFatalError):
            found.append(str(event.info))
        if isinstance(event, FatalError):
            raise event.exception
        if isinstance(event, ScenarioFinished):
            cases += len(event.recorder.interactions)
            found += failures(event.recorder)
    return cases, found


def failures(recorder: ScenarioRecorder) -> Iterator[str]:
    """What the checks found: the failure, the request and the answer."""
    for case_id, checks in recorder.checks.items():
        answer = recorder.interactions[case_id].response
        said = "" if answer is None else answer.text
        for check in checks:
            failure = None if check.failure_info is None else check.failure_info.failure
            is_beyond_schema = isinstance(failure, RejectedPositiveData) and not FIELD_RULE.search(said)
            if failure is not None and not is_beyond_schema:
                yield f"{failure}\n{recorder.cases[case_id].value.as_curl_command()}\n{said}"


@pytest.fixture
def unthrottled(user: RestoreUser) -> RestoreUser:
    """The API answers all the calls of this test, and not 20 a second."""
    user.lab.client("apigateway").update_stage(
        restApiId=user.lab.outputs["RestApiId"],
        stageName="v1",
        patchOperations=[
            {"op": "replace", "path": f"/*/*/throttling/{name}", "value": "100000"}
            for name in ("rateLimit", "burstLimit")
        ],
    )
    return user


# Threads of the lab may use the module `random` while Hypothesis draws, which takes that for the strategy's.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.hypothesis
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda value: value)
def test_every_answer_is_documented(
    unthrottled: RestoreUser, method: str, path: str, pytestconfig: pytest.Config
) -> None:
    seed = int(pytestconfig.getoption("--hypothesis-seed") or 0)
    cases, found = checked(unthrottled, method, path, seed)
    assert not found, "\n\n".join(found)
    # On a busy machine schemathesis was seen to send fewer; that it sends some is what is checked.
    assert cases >= CASES // 2
