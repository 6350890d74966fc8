"""What --keep-running shows (local/tools/run/examples.py)."""

import os
import re
import subprocess

from local.tools.run.examples import script
from rewarm.openapi import OPERATIONS
from tests.support.values.run_recordings import recorded_run

CURL = """#!/bin/sh
method=GET
while [ $# -gt 0 ]; do
    case $1 in
        -X) method=$2; shift ;;
        http:*) url=$1 ;;
    esac
    shift
done
echo "$method $url" >>"$CALLS"
echo '{"restoreId": "restore-1", "benchmarkId": "benchmark-1", "fleetId": "fleet-1"}'
"""


def routes():
    """Method and path of every route of the API."""
    return {f"{one.method.upper()} {re.sub(r'{[^}]*}', '[^/]+', one.path)}" for one in OPERATIONS}


def test_the_examples_call_every_route_of_the_api_when_they_are_pasted(tmp_path):
    (tmp_path / "curl").write_text(CURL)
    (tmp_path / "curl").chmod(0o755)
    run = recorded_run()
    run.delivered = ["vol-1"]
    run.restores[-1].request["target"] = {"instanceId": "i-1"}
    calls = tmp_path / "calls"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls)}
    text = script(
        run,
        {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "1", "AWS_SECRET_ACCESS_KEY": "x"},
        "http://h/v1",
    )
    done = subprocess.run(
        ["sh", "-eu"], input=text, text=True, env=environment, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    called = calls.read_text().replace("http://h/v1", "").splitlines()
    assert [route for route in routes() if not any(re.fullmatch(route, call) for call in called)] == []
    assert "GET /restores/restore-1" in called
    # gp3 of less than 8 GiB has 3,000 IOPS, and may not have more
    assert '{"throughputMibS": 250}' in text
