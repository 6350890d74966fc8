"""An invocation's log is what the function wrote in it (compat_lambda_logs.py)."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_lambda

if TYPE_CHECKING:
    from local.aws.host import Host

SAYS = """
def handler(event, context):
    for line in event["lines"]:
        print(line)
    assert not event["fails"]
"""


def log_of(host: Host, function: str, lines: list[str], *, fails: bool = False) -> str:
    payload = json.dumps({"lines": lines, "fails": fails}).encode()
    answer = host.client("lambda").invoke(FunctionName=function, LogType="Tail", Payload=payload)
    return base64.b64decode(answer.get("LogResult", "")).decode()


def test_each_invocation_has_its_own_lines(host: Host):
    function = create_lambda(host, SAYS)
    first, nothing = log_of(host, function, ["first line", "second line"]), log_of(host, function, [])
    failed, last = log_of(host, function, ["third line"], fails=True), log_of(host, function, ["fourth line"])
    said = [
        [word for word in ("first line", "second line", "third line", "fourth line") if word in log]
        for log in (first, nothing, failed, last)
    ]
    assert said == [["first line", "second line"], [], ["third line"], ["fourth line"]]
    assert "end of the invocation" not in first + nothing + failed + last
