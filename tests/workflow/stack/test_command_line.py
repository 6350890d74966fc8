"""`rewarm` on the embedded AWS: it finds the stack's API by CloudFormation, and restores with it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewarm_cli.main import run
from rewarm_cli.problems import DONE, NOT_FOUND, NOT_READY, REFUSED, STILL_RUNNING
from rewarm_cli.settings import EMBEDDED_SHELL
from tests.support.stack.restores import RestoreUser, request_for, unique
from tests.support.tree import ROOT

Rewarm = Callable[..., tuple[int, str, str]]


@pytest.fixture
def rewarm(capsys: pytest.CaptureFixture[str]) -> Rewarm:
    """Runs a command: its exit status, and what it printed."""

    def called(*words: str) -> tuple[int, str, str]:
        status = run(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return called


def written(folder: Path, request: dict[str, Any]) -> str:
    file = folder / "request.json"
    file.write_text(json.dumps(request), encoding="utf-8")
    return str(file)


def test_a_restore_from_its_plan_to_its_page(user: RestoreUser, rewarm: Rewarm, tmp_path: Path) -> None:
    file, before = written(tmp_path, request_for(user, "auto", readyWithinMinutes=30)), user.executions()
    status, planned, _ = rewarm("plan", "-f", file, "--set", "verify.maxP99Ms=2000")
    assert status == DONE
    assert "*  warm-up-agent" in planned
    assert user.executions() == before
    status, shown, errors = rewarm("restore", "--yes", "-f", file, "--set", "verify.maxP99Ms=2000", "--watch")
    assert status == DONE, errors
    restore_id = shown.split(maxsplit=1)[0]
    assert "can be used" in shown
    assert "volume 0: 100 %" in shown
    assert f"{restore_id} is ready" in shown
    status, record, _ = rewarm("status", restore_id, "--output", "json")
    assert json.loads(record)["volumes"][0]["volume"]["strategy"] == "warm-up-agent"
    status, shown, _ = rewarm("report", restore_id, "--save", str(tmp_path / "page.html"))
    assert status == DONE
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert rewarm("cancel", restore_id, "--yes")[0] == REFUSED


def test_a_restore_that_is_not_waited_for_any_longer_and_then_cancelled(
    user: RestoreUser, rewarm: Rewarm, tmp_path: Path
) -> None:
    file = written(tmp_path, request_for(user, "background"))
    status, restore_id, _ = rewarm("restore", "--yes", "-f", file, "--query", "restoreId")
    assert status == DONE
    restore_id = restore_id.strip()
    assert rewarm("status", restore_id, "--wait", "--timeout", "0m")[0] == STILL_RUNNING
    status, shown, errors = rewarm("cancel", restore_id, "--yes", "--wait")
    assert status == DONE, errors
    assert f"{restore_id} is cancelled" in shown


def test_a_runbook_that_is_stored_checked_tested_and_deleted(
    user: RestoreUser, rewarm: Rewarm, tmp_path: Path
) -> None:
    alarm, file = unique("rewarm-line"), written(tmp_path, request_for(user, "auto", readyWithinMinutes=30))
    status, _, errors = rewarm("runbook", "put", alarm, "-f", file)
    assert status == DONE
    assert f"there is no alarm {alarm} in" in errors
    status, _, errors = rewarm("runbook", "check", alarm)
    assert status == NOT_READY
    user.lab.client("cloudwatch").put_metric_alarm(
        AlarmName=alarm, Namespace="Orders", MetricName="Lost", Statistic="Sum", Period=60,
        EvaluationPeriods=1, Threshold=1.0, ComparisonOperator="GreaterThanThreshold",
    )  # fmt: skip
    status, checked, errors = rewarm("runbook", "check", alarm)
    assert status == DONE, errors
    assert f"If {alarm} went off now:" in checked
    status, tested, errors = rewarm("runbook", "test", alarm)
    assert status == DONE, errors
    assert "is planned" in tested
    assert not any(user.left().values())
    assert rewarm("runbook", "delete", alarm, "--yes")[0] == DONE
    status, _, errors = rewarm("runbook", "get", alarm)
    assert (status, "has no runbook" in errors) == (NOT_FOUND, True)


def test_what_the_api_refuses_is_said_in_its_words(rewarm: Rewarm) -> None:
    status, shown, errors = rewarm(
        "restore", "--yes", "--volume", "vol-x", "--instance", "i-0123456789abcdef0"
    )
    assert (status, shown) == (REFUSED, "")
    assert "source.volumeId: found " in errors
    assert "vol-x" in errors


def test_local_reaches_the_embedded_aws_from_the_folder_of_its_clone(
    user: RestoreUser, tmp_path: Path
) -> None:
    shell = tmp_path / EMBEDDED_SHELL
    shell.parent.mkdir(parents=True)
    shell.symlink_to(user.lab.shell)
    file = written(tmp_path, request_for(user, "auto", readyWithinMinutes=30))
    elsewhere = {"AWS_PROFILE": "production", "AWS_REGION": "eu-north-1", "REWARM_STACK": "production"}
    words = ["plan", "--local", "-f", file, "--query", "plans[0].plan.strategy"]
    ended = subprocess.run(
        [sys.executable, "-m", "rewarm_cli", *words],
        cwd=tmp_path,
        env={**os.environ, **elsewhere, "PYTHONPATH": str(ROOT / "cli")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (DONE, "warm-up-agent\n"), ended.stderr


def test_the_doctor_finds_the_embedded_aws_fit_for_a_restore(user: RestoreUser, rewarm: Rewarm) -> None:
    volume_id = user.region.add_volume(size_gib=1)
    instance_id, snapshot_id = user.instance(), user.snapshot(volume_id=volume_id)
    named = ["--instance", instance_id, "--on-instance", "--volume", volume_id, "--snapshot", snapshot_id]
    status, shown, errors = rewarm("doctor", *named, "--output", "json")
    assert status == DONE, shown
    assert f"Running a command on {instance_id}" in errors
    others = {
        finding["check"]: finding["status"]
        for finding in json.loads(shown)["findings"]
        # Lambda's concurrency is what this machine has.
        if finding["status"] != "ok" and finding["check"] != "Lambda"
    }
    assert others == {
        "caller": "unknown",  # the root user
        "Price List": "warning",  # it has no row of the initialization rate, and none at all in China
        "subnet": "unknown",  # the Region has no VPC
        "EBS volumes": "warning",  # the root volume holds no data
    }, shown


def test_the_doctors_commands_run_as_the_documents_show_them(user: RestoreUser, rewarm: Rewarm) -> None:
    places = {"i-…": user.instance(), "vol-…": user.region.add_volume(size_gib=1)}
    user.snapshot(volume_id=places["vol-…"])
    documents = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))]
    shown = {
        line for text in documents for line in re.findall(r"^ *(rewarm doctor[^#\n]*)", text, re.MULTILINE)
    }
    assert len(shown) >= 3
    for line in shown:
        status, _, errors = rewarm(*[places.get(word, word) for word in shlex.split(line)[1:]])
        assert status == DONE, f"{line}: {errors}"
