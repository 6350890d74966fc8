"""The embedded AWS as one thing: start it, deploy to it, end it without leaving anything behind."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local import ROOT, parts, yaml_text
from local.aws import namespace
from local.aws.clock import LabClock
from local.aws.command_output import CommandOutput
from local.aws.emulator import launcher
from local.aws.emulator.deploy import DeploymentError, Source, deploy
from local.aws.front.addresses import Addresses, NameServer
from local.aws.front.authorization import AccessKeys, Authorization, session_of
from local.aws.front.front import Front
from local.aws.front.listener import Authority, HttpAnswer, HttpRequest, Listener
from local.aws.front.signatures import AccessKey
from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.first_touch_process import FirstTouchSettings
from local.aws.machines.machine import Machine
from local.aws.permissions.region_state import RegionState
from local.aws.permissions.requests import Place
from local.aws.permissions.service_calls import ServiceCalls
from local.aws.region import Region, RegionSettings
from local.aws.slack_sink import SlackSink
from local.aws.slack_workspace import HOSTS as SLACK_HOSTS
from local.aws.state_dir import MARKER, StateDir, StateDirError

DEFAULT_STATE_DIR = ROOT / ".local" / "run"
DEFAULT_IDLE_SPEED = 1_800.0
STACK = "rewarm"
HOST_ERRORS = (
    BotoCoreError,
    ClientError,
    DataPlaneError,
    DeploymentError,
    launcher.EmulatorError,
    StateDirError,
)
"""What may go wrong here without a fault in the program: a sentence is enough, no traceback."""
_PULSE_SECONDS = 0.05

LOG = logging.getLogger(__name__)


class Host:
    """Emulator, Region simulator, machine and Slack, on one lab clock, in a network with AWS's names.

    The thread that starts it and all that this thread starts later are in that network, and stay there.
    """

    def __init__(
        self,
        state_dir: Path = DEFAULT_STATE_DIR,
        *,
        idle_speed: float = DEFAULT_IDLE_SPEED,
        region_settings: RegionSettings | None = None,
        machine_settings: FirstTouchSettings | None = None,
    ) -> None:
        self.outputs: dict[str, str] = {}
        self.clock = LabClock(idle_speed)
        self._state_dir = state_dir
        self._region_settings = region_settings or RegionSettings()
        self._machine_settings = machine_settings or FirstTouchSettings()
        self.access_keys: dict[str, AccessKey] = {}
        self.keys = AccessKeys(self.access_keys)
        """Access keys by principal."""
        self.addresses = Addresses(self._region_settings.region)
        self._making_client = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._close = ExitStack()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def take_state_dir(self) -> None:
        """Lock the state directory and sweep it: cheap, so a job does it first. Raises StateDirError."""
        if not hasattr(self, "state"):
            self.state = StateDir(self._state_dir)
            self._close.callback(self.state.close)

    def start(self) -> None:
        """Start everything; when one part fails, end the others and raise one of HOST_ERRORS."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def deploy(self, parameters: Mapping[str, str] | None = None) -> dict[str, str]:
        """Deploy template.yaml, with all its parts and Slack's webhook, and return the stack's outputs."""
        source = Source(ROOT, ROOT / "warmer" / "build" / "warmer")
        self.outputs = deploy(self.client, source, STACK, self._parameters(parameters or {}))
        return self.outputs

    @property
    def api_url(self) -> str:
        """Where the stack's REST API listens."""
        return self.outputs["ApiUrl"]

    def client(self, service: str, config: Config | None = None) -> Any:
        """A boto3 client for the emulator or the Region simulator, whichever has the service.

        A client without `config` is made once and used again.
        """
        with self._making_client:
            if config is not None:
                return self._make_client(service, config)
            if service not in self._clients:
                self._clients[service] = self._make_client(service, Config())
            return self._clients[service]

    def _make_client(self, service: str, config: Config) -> Any:
        make: Any = self._session.client  # the name is known only to the caller
        # Otherwise botocore presigns for S3 with version 2 and for the global name; no new bucket takes that.
        signature = "s3v4" if service == "s3" else None
        retries: Any = {"total_max_attempts": 2, "mode": "standard"}
        style: Any = {"addressing_style": "virtual"}
        usual = Config(retries=retries, signature_version=signature, s3=style)
        return make(service, verify=self.environment["AWS_CA_BUNDLE"], config=usual.merge(config))

    @property
    def aws_environment(self) -> dict[str, str]:
        """The settings of AWS's SDKs and command line."""
        return {name: value for name, value in self.environment.items() if name.startswith("AWS_")}

    @property
    def shell(self) -> Path:
        """A program that runs a command, or a shell, where AWS's names lead to this embedded AWS."""
        path = self.state.path / "shell"
        more = {"API_URL": self.api_url, "STACK": STACK} if self.outputs else {}
        namespace.write_shell(path, {**self.aws_environment, **more})
        return path

    def facts(self) -> dict[str, Any]:
        """What another process needs to use this embedded AWS."""
        return {
            "environment": self.aws_environment,
            "shell": str(self.shell),
            "outputs": self.outputs,
            "apiUrl": self.api_url if self.outputs else None,
            "machineNote": self.machine.note,
            "slackUrl": self.slack.url,
            "stateDir": str(self.state.path),
            "pid": os.getpid(),
        }

    def close(self) -> None:
        """End everything. Safe to call twice."""
        self._ended.set()
        if hasattr(self, "state"):
            self.state.begin_end()
        self._close.close()

    def _start(self) -> None:
        self.take_state_dir()
        authority = Authority()
        namespace.enter(self.state.path / "network", authority.pem)
        self.slack = SlackSink(self.state.path)
        self._close.callback(self.slack.close)
        self._set_environment()
        self.machine = Machine(self.state.path / "machine", self._machine_settings)
        self._close.callback(self.machine.close)
        self.emulator = launcher.Emulator(self.clock, self.environment, self.client, self._function_keys)
        self.region = Region(
            self.clock,
            self.machine,
            self._region_settings,
            on_event=self.emulator.put_event,
            publish=self.emulator.put_metrics,
            output=CommandOutput(self.client),
        )
        self.region.pause = lambda seconds: self.clock.observe_until(self.clock.now() + seconds)
        self._close.callback(self.emulator.close)
        place = Place(launcher.ACCOUNT_ID, self.addresses.region, self.addresses.partition)
        iam = ServiceCalls(place, self.emulator.policies, self.emulator.resource_policies)
        self.emulator.start(iam)
        self._listen(authority, Authorization(place, RegionState(self.region), iam))
        self._close.callback(self.emulator.begin_end)
        pulse = threading.Thread(target=self._pulse, name="region-pulse", daemon=True)
        pulse.start()
        self._close.callback(pulse.join, 10)
        self._close.callback(self._ended.set)

    def _listen(self, authority: Authority, authorization: Authorization) -> None:
        names = NameServer(self.addresses, others=SLACK_HOSTS)
        self._close.callback(names.close)
        self.front = Front(self.addresses, self.region, self.emulator, self.access_keys)
        self.front.authorize, self.front.unlisted = authorization.refusal, authorization.unlisted
        self.front.others = dict.fromkeys(SLACK_HOSTS, self._by_slack)
        listener = Listener(self.front, authority)
        self._close.callback(listener.close)

    def _by_slack(self, request: HttpRequest) -> HttpAnswer:
        """A function's call of Slack's Web API, or of a response URL."""
        answer = self.slack.workspace.take(request.path, request.body, request.header("authorization"))
        if answer is None:
            return HttpAnswer(502, (), b"")
        status, body, headers = answer
        return HttpAnswer(status, tuple(headers.items()), body.encode())

    def _function_keys(self, role: str, name: str) -> dict[str, str]:
        key = self.keys.of(session_of(role, name))
        return {
            "AWS_ACCESS_KEY_ID": key.access_key_id,
            "AWS_SECRET_ACCESS_KEY": key.secret,
            "AWS_SESSION_TOKEN": key.session_token,
        }

    def _set_environment(self) -> None:
        self.environment = {
            **launcher.environment(self.state.path, self.addresses.region),
            "AWS_CA_BUNDLE": str(namespace.CA_BUNDLE),
            MARKER: str(self.state.path),
        }
        root = AccessKey(
            self.environment["AWS_ACCESS_KEY_ID"],
            self.environment["AWS_SECRET_ACCESS_KEY"],
            f"arn:{self.addresses.partition}:iam::{launcher.ACCOUNT_ID}:root",
        )
        self.access_keys[root.access_key_id] = root
        # A separate session, so that nothing depends on what else this process does with its environment.
        self._session = boto3.Session(root.access_key_id, root.secret, region_name=self.addresses.region)
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        self._close.callback(_restore_environment, before)

    def _parameters(self, given: Mapping[str, str]) -> dict[str, str]:
        return {**parts.every(yaml_text.template()), "SlackWebhookUrl": self.slack.url, **given}

    def _pulse(self) -> None:
        """Let the Region do what is due and publish its metrics, whether or not anybody calls it."""
        while not self._ended.wait(_PULSE_SECONDS):
            try:
                self.region.tick()
            except Exception:
                LOG.exception("the Region's pulse failed")


def _restore_environment(before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
