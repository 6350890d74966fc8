"""A stack's API on this machine, and `rewarm` with credentials for it."""

from __future__ import annotations

import os
from types import SimpleNamespace

import botocore.session
import pytest

from rewarm_cli import api as calls
from rewarm_cli import watching
from rewarm_cli.doctor import examination
from rewarm_cli.doctor.reach import on_instance
from rewarm_cli.main import run
from tests.support.commands.aws_account import AwsAccount
from tests.support.commands.stack_api import Served, StackApi


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
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "123456789012")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(calls, "PAUSES_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(watching, "LEAST_PAUSE_SECONDS", 0.0)
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
