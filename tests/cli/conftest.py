"""A stack's API on this machine, and `rewarm` with credentials for it."""

from __future__ import annotations

import io
import os
from functools import cache
from types import SimpleNamespace

import botocore.session
import pytest

from rewarm_cli import api as calls
from rewarm_cli import watching
from rewarm_cli.calibrate import cloud
from rewarm_cli.calibrate import command as calibration
from rewarm_cli.commands import launch, volumes
from rewarm_cli.doctor import examination
from rewarm_cli.doctor.reach import on_instance
from rewarm_cli.main import run
from rewarm_cli.waiting import named, watch
from tests.support.commands import launching
from tests.support.commands.aws_account import AwsAccount
from tests.support.commands.shown import VOLUME
from tests.support.commands.stack_api import KEY_ID, SECRET, Served, StackApi
from tests.support.commands.sysfs import sysfs
from tests.support.stack import calibrating
from tests.support.tree import ROOT

SUMMARY = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0", "deadlineMissed": False, "notes": []}
STORED = {"source": {"volumeId": "vol-1"}, "target": {"instanceId": "i-1"}}
FILE = "source: {volumeId: vol-0123456789abcdef0}\ntarget: {instanceId: i-0123456789abcdef0}\n"


@pytest.fixture
def stack():
    """The API as the commands meet it."""
    return StackApi()


@pytest.fixture
def rewarm(stack, monkeypatch, tmp_path, capsys):
    """Runs a command on that API: its exit status and what it printed."""
    settings = ("STACK", "OUTPUT", "LOCAL", "TYPED_AS")
    for name in (
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_SHARED_CREDENTIALS_FILE",
        *(f"REWARM_{setting}" for setting in settings),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(calls, "PAUSES_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(watching, "LEAST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(watch, "FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(named, "SYS", sysfs(tmp_path / "sys"))
    # tests/cli/commands/test_alarms.py looks at an account; the other tests have none.
    monkeypatch.setattr(examination, "examine_alarm", lambda *_args, **_options: [])
    served = Served(stack)
    monkeypatch.setenv("REWARM_API_URL", served.url)

    def called(*words):
        status = run(list(words))
        said = capsys.readouterr()
        return SimpleNamespace(status=status, out=said.out, err=said.err)

    called.url = served.url
    yield called
    served.close()


@pytest.fixture
def account(stack, rewarm, monkeypatch):
    """A sound account, whose stack has the API of `stack`."""
    url = os.environ["REWARM_API_URL"]
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.delenv("REWARM_API_URL")
    monkeypatch.setattr(on_instance, "PAUSE_SECONDS", 0.0)
    made = AwsAccount(url)
    monkeypatch.setattr(botocore.session, "Session", made.session)
    return made


APPROVAL = {
    "askedAt": "2026-11-22T10:00:00Z",
    "until": "2026-11-22T11:00:00Z",
    "usd": "3.20",
    "reason": "The plan costs $3.20.",
}
RECORD = {
    "restoreId": "restore-1", "status": "initializing", "approval": APPROVAL,
    "volumes": [{"index": 0, "volume": {"volumeId": VOLUME}}],
}  # fmt: skip


HOT_SETS = {
    ("GET", "/hot-sets"): (200, {"hotSets": []}),
    ("GET", f"/hot-sets/{VOLUME}"): (200, {"lineage": VOLUME, "bytes": 0, "recordings": []}),
    ("DELETE", f"/hot-sets/{VOLUME}"): (200, {"lineage": VOLUME, "deletedObjects": 3}),
}


@pytest.fixture
def answering(stack, monkeypatch, tmp_path):
    """An API with everything that the documents' commands name, and a folder with their files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _url: True)
    monkeypatch.setattr(volumes, "PAUSE_SECONDS", 0.0)
    for name in ("request.yaml", "rewarm-orders-database.yaml"):
        (tmp_path / name).write_text(FILE, encoding="utf-8")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    settings = {"volumeType": "gp3", "iops": 3000, "throughputMibS": 125}
    change = {"changeId": "performance-1", "status": "changed"}
    facts = {"volumeId": "vol-1", "performance": settings, "change": change, "slots": {"nextFreeAt": None}}
    nothing = dict.fromkeys(("rank", "read", "write", "provisionedIops", "provisionedMibS", "problem"))
    run = {**nothing, "pattern": "cache", "target": "/data", "totalIops": 1.0, "totalMibS": 1.0}
    run["limit"] = {"text": "the cache"}
    stack.answers |= HOT_SETS | {
        ("POST", "/plans"): (200, {"plans": [], "summary": SUMMARY, "frontier": []}),
        ("POST", "/volumes/vol-0123456789abcdef0/performance"): (202, {**change, "target": settings}),
        ("GET", "/volumes/vol-0123456789abcdef0/performance"): (200, facts),
        ("POST", "/restores/restore-1/approve"): (202, {"approval": {"by": "alice"}}),
        ("POST", "/benchmarks"): (202, {"benchmarkId": "b"}),
        ("GET", "/benchmarks/b"): (200, {"status": "completed", "runs": [run], "copied": None}),
    }
    stack.answers |= {(method, "/calibration"): (200, calibrating.TOLD) for method in ("GET", "PUT")}
    # Each is made by the first command that needs it; most blocks have none.
    lab = cache(lambda: calibrating.CalibrationLab(calibrating.Hidden.drawn(0)))
    monkeypatch.setattr(
        calibration, "_account", lambda _settings, _region: (lab().clients, calibrating.DOCUMENT)
    )
    launches = cache(launching.Account)

    def pause(seconds):
        launches().lab.wait(seconds)

    monkeypatch.setattr(launch, "_ec2", lambda _settings: launches().ec2)
    monkeypatch.setattr(named, "on_instance", lambda _settings, _instance_id: [VOLUME])
    monkeypatch.setattr("rewarm_cli.launching.pause", pause)
    monkeypatch.setattr(cloud, "clock_of", lambda _clients: lab().clock)
    monkeypatch.setattr("rewarm_cli.asking.is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 20))
    stack.runbooks |= dict.fromkeys(("rewarm-orders-database", "rewarm-game-day"), STORED)
    return stack
