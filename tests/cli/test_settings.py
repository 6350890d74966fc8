"""Which stack a command works on: profile, Region, stack, address, and the embedded AWS."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.httpsession import URLLib3Session
from moto import mock_aws

from rewarm_cli import settings
from rewarm_cli.account import StackUnreachableError, api_of
from rewarm_cli.main import run
from rewarm_cli.problems import DONE, FAILED, USAGE, CommandFailedError
from tests.support.tree import ROOT

URL = "https://a1b2c3.execute-api.eu-central-1.amazonaws.com/v1"
TEMPLATE = """{
  "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
  "Outputs": {"%s": {"Value": "%s"}}
}"""


@pytest.fixture
def account(monkeypatch, tmp_path):
    """Credentials in a file with two profiles, and nothing else."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "REWARM_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key = x\n"
        "[night]\naws_access_key_id = AKIANIGHT\naws_secret_access_key = x\naws_session_token = token\n",
        encoding="utf-8",
    )
    (tmp_path / "config").write_text("[profile night]\nregion = eu-central-1\n", encoding="utf-8")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


class TestWhereOptionsStand:
    @pytest.mark.parametrize(
        "words",
        [
            "--api-url {url} list --output json",
            "--output=json --api-url={url} list",
            "--output json runbook --api-url {url} list",
            "-o json --api-url {url} runbook list",
        ],
    )
    def test_before_and_behind_the_command(self, account, capsys, words):
        asked = []

        def api(self):
            asked.append((self.api_url, self.output))
            raise CommandFailedError("far enough")

        account.setattr(settings.Settings, "api", api)
        assert run(words.format(url=URL).split()) == FAILED
        assert asked == [(URL, "json")]
        assert "far enough" in capsys.readouterr().err

    def test_a_value_that_is_missing_is_named(self, account, capsys):
        assert run(["--output"]) == USAGE
        assert run(["--unknown", "list"]) == USAGE
        assert "No such option '--unknown'" in capsys.readouterr().err


class TestStack:
    def test_a_region_without_cloudformation_is_said_to_be_none(self, account):
        def unreachable(_self, _request):
            raise EndpointConnectionError(endpoint_url="https://cloudformation.eu-mars-1.amazonaws.com/")

        account.setenv("AWS_MAX_ATTEMPTS", "1")
        account.setattr(URLLib3Session, "send", unreachable)
        with pytest.raises(StackUnreachableError, match="in eu-mars-1: a Region such as eu-central-1"):
            api_of("rewarm", None, "eu-mars-1", "night")
        account.setenv("AWS_REGION", "eu mars")
        with pytest.raises(StackUnreachableError, match="the Region is 'eu mars'; a Region such as"):
            api_of("rewarm", URL, None, "night")

    def test_a_profile_s_credentials_and_region(self, account):
        api = api_of("rewarm", f"{URL}/", None, "night")
        assert (api.access_key_id, api.session_token, api.region, api.url) == (
            "AKIANIGHT", "token", "eu-central-1", URL,
        )  # fmt: skip

    def test_the_region_is_the_option_s_then_the_environment_s_then_the_profile_s(self, account):
        account.setenv("AWS_PROFILE", "night")
        assert api_of("rewarm", URL, None).region == "eu-central-1"
        account.setenv("AWS_REGION", "eu-west-1")
        assert api_of("rewarm", URL, None).region == "eu-west-1"
        assert api_of("rewarm", URL, "us-east-1").region == "us-east-1"

    def test_the_address_is_the_stack_s_output(self, account):
        with mock_aws():
            cloudformation = boto3.client("cloudformation", "eu-central-1")
            cloudformation.create_stack(StackName="night", TemplateBody=TEMPLATE % ("ApiUrl", URL))
            cloudformation.create_stack(StackName="other", TemplateBody=TEMPLATE % ("Name", "x"))
            assert api_of("night", None, "eu-central-1").url == URL
            with pytest.raises(StackUnreachableError, match="has no output ApiUrl; is it Rewarm's"):
                api_of("other", None, "eu-central-1")
            with pytest.raises(
                StackUnreachableError, match="there is no stack gone in eu-central-1: deploy it"
            ):
                api_of("gone", None, "eu-central-1")

    @pytest.mark.parametrize(
        ("own", "other", "is_said"),
        [
            ("0.1.0", "0.1.7", False),
            ("0.1.0", "0.2.0", True),
            ("1.4.0", "1.0.3", False),
            ("1.4.0", "2.0.0", True),
            ("0.9.0", "1.0.0", True),
        ],
    )
    def test_a_stack_of_another_version_is_told_of(self, account, capsys, own, other, is_said):
        account.setattr(settings, "__version__", own)
        outputs = {"ApiUrl": {"Value": URL}, "Version": {"Value": other}}
        template = json.loads(TEMPLATE % ("ApiUrl", URL)) | {"Outputs": outputs}
        with mock_aws():
            cloudformation = boto3.client("cloudformation", "eu-central-1")
            cloudformation.create_stack(StackName="night", TemplateBody=json.dumps(template))
            assert (
                run(["version", "--stack", "night", "--region", "eu-central-1", "--query", "stack"]) == DONE
            )
        said = capsys.readouterr()
        assert said.out == f"{other}\n"
        assert (f"this is rewarm {own}, and the stack night runs {other}" in said.err) is is_said

    def test_a_stack_that_does_not_say_its_version_is_unknown(self, account, capsys):
        assert run(["version", "--api-url", URL, "--region", "eu-central-1"]) == DONE
        assert capsys.readouterr().out == f"rewarm {settings.__version__}\nstack  unknown\n"

    def test_what_is_missing_is_named(self, account, tmp_path):
        with pytest.raises(StackUnreachableError, match="there is no Region"):
            api_of("rewarm", URL, None)
        with pytest.raises(StackUnreachableError, match=r"profile \(day\) could not be found"):
            api_of("rewarm", URL, None, "day")
        account.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
        with pytest.raises(StackUnreachableError, match="there are no AWS credentials"):
            api_of("rewarm", URL, "us-east-1")

    def test_on_the_command_line_it_is_one_sentence(self, account, capsys):
        assert run(["list", "--api-url", URL]) == FAILED
        assert capsys.readouterr().err == "Error: there is no Region: set AWS_REGION, or use --region\n"


class TestLocal:
    @pytest.fixture
    def shell(self, tmp_path):
        """A shell of an embedded AWS that shows what it is to run."""
        path = tmp_path / settings.EMBEDDED_SHELL
        path.parent.mkdir(parents=True)
        path.write_text('#!/bin/sh\necho "${AWS_PROFILE-none}" "$@"\n', encoding="utf-8")
        path.chmod(0o700)
        return path

    def test_the_same_command_runs_in_the_embedded_aws_s_network(self, shell):
        below = shell.parents[2] / "below"
        below.mkdir()
        command = [sys.executable, "-m", "rewarm_cli", "plan", "--local", "--volume", "vol-1"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "cli"), "AWS_PROFILE": "production"}
        ended = subprocess.run(
            command, cwd=below, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.stdout == f"none {sys.executable} -m rewarm_cli plan --volume vol-1\n", ended.stderr

    def test_without_one_it_says_how_to_start_it(self, monkeypatch, tmp_path, capsys):
        monkeypatch.setattr(settings, "EMBEDDED_SHELL", tmp_path / "none")
        assert run(["list", "--local"]) == FAILED
        assert "make run ARGS=--keep-running" in capsys.readouterr().err

    def test_outside_a_clone_it_says_to_go_to_one(self, monkeypatch, tmp_path, capsys):
        monkeypatch.setattr(settings, "_folders", lambda: [tmp_path])
        assert run(["list", "--local"]) == FAILED
        assert "this folder is in no clone of Rewarm; cd to the clone" in capsys.readouterr().err


def test_an_unknown_command_is_a_wrong_argument(capsys):
    assert run(["restart"]) == USAGE
    assert "No such command 'restart'" in capsys.readouterr().err
