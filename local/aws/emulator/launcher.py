"""Start the emulator in this process, mended, on a loopback port; end it without leaving anything behind."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import os
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from local.aws.clock import LabClock
from local.aws.emulator import seam
from local.aws.emulator.executions import Executions
from local.aws.emulator.lab_time import Activity
from local.aws.emulator.patches import (
    compat_callbacks,
    compat_child_executions,
    compat_jsonata_time_limit,
    compat_lab_time,
    compat_lambda_end,
    compat_lambda_errors,
    compat_lambda_layers,
    compat_lambda_logs,
    compat_lambda_time,
    compat_payload_limit,
    compat_rest_api_body,
    compat_rule_name,
    compat_ssm_document,
    compat_start_execution,
    compat_state_timeouts,
    compat_states_metrics,
    compat_stop_execution,
    compat_succeed_output,
)

ACCOUNT_ID = "123456789012"
"""AWS documentation's example account. The emulator takes a 12-digit access key id as the account."""

REGION = "us-east-1"
START_TIMEOUT_SECONDS = 60.0

LOG = logging.getLogger(__name__)


class EmulatorError(RuntimeError):
    """The emulator didn't start or refused what only AWS itself may do."""


def environment(port: int, state_dir: Path) -> dict[str, str]:
    """What the emulator and every Lambda in it must find in the environment before the first import."""
    temporary = state_dir / "tmp"
    return {
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_ACCOUNT_ID": ACCOUNT_ID,
        "MINISTACK_REGION": REGION,
        "GATEWAY_PORT": str(port),
        # Each of these would open a port on every interface, or talk to a container engine that isn't ours.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": f"unix://{state_dir}/no-container-engine.sock",
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(temporary),
        "S3_DATA_DIR": str(state_dir / "s3"),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": ACCOUNT_ID,
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


class Emulator:
    """The running emulator. Only one at a time in a process: its state is in its modules."""

    def __init__(self, port: int, clock: LabClock) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._activity = Activity(clock)
        self._executions = Executions()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Mend, serve, and return once it answers. `environment` must be in os.environ already."""
        tempfile.tempdir = None  # the module keeps the folder of its first use
        Path(tempfile.gettempdir()).mkdir(parents=True, exist_ok=True)
        seam.check_version()
        self._mend()
        self._thread = threading.Thread(target=self._serve, name="emulator", daemon=True)
        self._thread.start()
        self._wait_until_healthy()

    def put_metrics(self, namespace: str, data: list[dict[str, Any]]) -> None:
        """Publish metric data (botocore shape MetricDatum, Timestamp in seconds) as AWS's own services do."""
        cloudwatch = seam.module("services.cloudwatch")
        request = {"Namespace": namespace, "MetricData": data}
        self._as_account(cloudwatch._put_metric_data, {}, request, False, True)

    def put_event(self, detail_type: str, source: str, detail: dict[str, Any], resources: list[str]) -> None:
        """Put an event on the default bus with a source that only AWS may use, such as `aws.ec2`."""
        entry = {
            "Source": source,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
            "Resources": resources,
        }
        events = seam.module("services.eventbridge")
        _status, _headers, body = self._as_account(events._put_events, {"Entries": [entry]}, True)
        answer = json.loads(body)
        if answer.get("FailedEntryCount"):
            raise EmulatorError(f"the event bus refused {detail_type!r}: {answer['Entries']}")

    def history(self, arn: str) -> tuple[str, list[dict[str, Any]]]:
        """Status of an execution and its events so far, without a call of the API; "" where there is none."""
        states = seam.module("services.stepfunctions")
        execution = self._as_account(states._executions.get, arn) or {"status": "", "events": []}
        return execution["status"], execution["events"]

    def events_written(self) -> int:
        """Events of all executions so far: while it grows, something moves."""
        states = seam.module("services.stepfunctions")
        return sum(len(execution["events"]) for execution in states._executions.all_values())

    def close(self) -> None:
        """End executions, Lambda workers and the server; take the patches back. Safe to call twice."""
        self._ended.set()
        self._executions.stop_all()
        if self._thread is None:
            return
        self._thread.join(timeout=20)
        app = seam.module("app")
        app._reset_all_state()
        seam.restore_all()
        self._thread = None

    def _mend(self) -> None:
        activity, executions = self._activity, self._executions
        seam.module("app")
        compat_lab_time.apply(activity)
        compat_state_timeouts.apply(activity, executions)
        compat_callbacks.apply(activity)
        compat_stop_execution.apply(executions)
        compat_child_executions.apply(activity, executions)
        compat_start_execution.apply()
        compat_payload_limit.apply()
        compat_succeed_output.apply()
        compat_jsonata_time_limit.apply()
        compat_states_metrics.apply(self.put_metrics)
        compat_lambda_time.apply(activity)
        compat_lambda_errors.apply()
        compat_lambda_end.apply(self._ended)
        compat_lambda_layers.apply()
        compat_lambda_logs.apply()
        compat_rest_api_body.apply()
        compat_rule_name.apply()
        compat_ssm_document.apply()

    def _serve(self) -> None:
        try:
            asyncio.run(self._serve_until_ended())
        except BaseException as failure:
            self._failure = failure

    async def _serve_until_ended(self) -> None:
        from hypercorn.asyncio import serve
        from hypercorn.config import Config

        config = Config()
        config.bind = [f"127.0.0.1:{self.port}"]
        config.keep_alive_timeout = 75
        config.loglevel = "WARNING"
        config.graceful_timeout = 1
        config.shutdown_timeout = 5
        await serve(seam.module("app").app, config, shutdown_trigger=self._until_ended)

    async def _until_ended(self) -> None:
        while not self._ended.is_set():
            await asyncio.sleep(0.05)

    def _wait_until_healthy(self) -> None:
        give_up = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < give_up:
            if self._failure is not None:
                raise EmulatorError(f"the emulator ended at once: {self._failure}") from self._failure
            try:
                with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise EmulatorError(f"the emulator didn't answer on {self.url} within {START_TIMEOUT_SECONDS:.0f} s")

    def _as_account(self, function: Any, *args: Any) -> Any:
        responses = seam.module("core.responses")

        def call() -> Any:
            responses.set_request_account_id(ACCOUNT_ID)
            responses.set_request_region(REGION)
            return function(*args)

        return contextvars.copy_context().run(call)
