"""A function's code is unpacked once (compat_lambda_code.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_lambda

if TYPE_CHECKING:
    from local.aws.host import Host

SOURCE = """
    import os
    import pathlib

    def handler(event, context):
        own = pathlib.Path(__file__)
        return {"unpacked": str(own.resolve()), "folder": os.getcwd(), "text": own.read_text()}
"""


def unpacked(host: Host, source: str) -> dict[str, str]:
    answer = host.client("lambda").invoke(FunctionName=create_lambda(host, source))
    return dict(json.loads(answer["Payload"].read()))


def test_functions_of_one_file_share_what_was_unpacked(host: Host) -> None:
    first, second = unpacked(host, SOURCE), unpacked(host, SOURCE)
    assert first == second
    assert first["unpacked"].startswith(first["folder"])


def test_functions_of_other_code_have_their_own(host: Host) -> None:
    other = SOURCE + "\n    VERSION = 2\n"
    first, second = unpacked(host, SOURCE), unpacked(host, other)
    assert first["unpacked"] != second["unpacked"]
    assert "VERSION = 2" in second["text"]
