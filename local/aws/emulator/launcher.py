"""Start the emulator in this process, mended; hand it requests; end it without leaving anything behind."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from local.aws.clock import LabClock
from local.aws.emulator import seam
from local.aws.emulator.executions import Executions
from local.aws.emulator.lab_time import Activity
from local.aws.emulator.lambda_starter import LambdaStarter
from local.aws.emulator.patches.functions import (
    compat_lambda_code,
    compat_lambda_end,
    compat_lambda_environment,
    compat_lambda_errors,
    compat_lambda_layers,
    compat_lambda_logs,
    compat_lambda_time,
)
from local.aws.emulator.patches.stack import (
    compat_addresses,
    compat_alarm_events,
    compat_caller,
    compat_rest_api_body,
    compat_rule_name,
    compat_secret_ref,
    compat_service_roles,
    compat_simulation,
    compat_ssm_document,
)
from local.aws.emulator.patches.states import (
    compat_callbacks,
    compat_child_executions,
    compat_distributed_map,
    compat_jsonata_time_limit,
    compat_lab_time,
    compat_payload_limit,
    compat_sdk_integrations,
    compat_start_execution,
    compat_state_timeouts,
    compat_states_metrics,
    compat_stop_execution,
    compat_succeed_output,
)

ACCOUNT_ID = "123456789012"
"""AWS documentation's example account. The emulator takes a 12-digit access key id as the account."""

START_TIMEOUT_SECONDS, END_TIMEOUT_SECONDS = 60.0, 15.0
FunctionKeys = compat_lambda_environment.FunctionKeys
Headers = tuple[tuple[str, str], ...]

_REFUSED = {
    "AccessDeniedException": "ACCESS_DENIED",
    "InvalidSignatureException": "INVALID_SIGNATURE",
    "MissingAuthenticationTokenException": "MISSING_AUTHENTICATION_TOKEN",
}
"""How API Gateway names a refusal -> the type of its response."""

LOG = logging.getLogger(__name__)


class EmulatorError(RuntimeError):
    """The emulator didn't start or refused what only AWS itself may do."""


def environment(state_dir: Path, region: str) -> dict[str, str]:
    """What the emulator must find in the environment before the first import."""
    temporary = state_dir / "tmp"
    return {
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_ACCOUNT_ID": ACCOUNT_ID,
        "MINISTACK_REGION": region,
        # Each of these would open a port on every interface, or talk to a container engine that isn't ours.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": f"unix://{state_dir}/no-container-engine.sock",
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(temporary),
        "S3_DATA_DIR": str(state_dir / "s3"),
        "AWS_ACCESS_KEY_ID": ACCOUNT_ID,
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


class Iam(compat_service_roles.ServiceRoles, compat_simulation.Simulator, Protocol):
    """IAM, as the emulator's services and its simulator ask it."""


class Emulator:
    """The running emulator. Only one at a time in a process: its state is in its modules."""

    def __init__(
        self, clock: LabClock, settings: Mapping[str, str], client: Callable[[str], Any], keys: FunctionKeys
    ) -> None:
        """`settings` are those of `environment`; `client` makes the clients of CloudFormation."""
        self._settings = settings
        self._client = client
        self._region = settings["AWS_DEFAULT_REGION"]
        self._keys = keys
        self._activity = Activity(clock)
        self._executions = Executions()
        self._starter = LambdaStarter()
        self._ended = threading.Event()
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None

    def start(self, roles: Iam) -> None:
        """Mend, and return once it can answer. `environment` must be in os.environ already."""
        tempfile.tempdir = None  # the module keeps the folder of its first use
        Path(tempfile.gettempdir()).mkdir(parents=True, exist_ok=True)
        seam.check_version()
        seam.settle_in(self._region)
        self._mend()
        compat_service_roles.apply(roles)
        compat_simulation.apply(roles)
        self._thread = threading.Thread(target=self._run, name="emulator", daemon=True)
        self._thread.start()
        if not self._started.wait(START_TIMEOUT_SECONDS) or self._failure is not None:
            raise EmulatorError(f"the emulator did not start: {self._failure}") from self._failure

    def answer(
        self,
        method: str,
        path: str,
        query: str,
        headers: Headers,
        body: bytes,
        signer: tuple[str, str] | None = None,
    ) -> tuple[int, Headers, bytes]:
        """The answer to an HTTP request, from any thread but the emulator's own.

        `signer` has the id of the access key, and the ARN of who has it.
        """
        scope = {
            "type": "http", "http_version": "1.1", "scheme": "https", "client": ("127.0.0.1", 0),
            "method": method, "path": unquote(path), "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        }  # fmt: skip

        def exchange() -> tuple[int, Headers, bytes]:
            # The loop runs the request in a copy of this thread's context.
            compat_caller.SIGNED_BY.set(signer)
            return self._await(_exchange(seam.module("app").app, scope, body))

        return contextvars.copy_context().run(exchange)

    def access_key(self, access_key_id: str) -> tuple[str, str] | None:
        """Secret and user's ARN of an active key that IAM's API has made (CreateAccessKey)."""
        iam = seam.module("services.iam")

        def read() -> tuple[str, str] | None:
            key = iam._access_keys.get(access_key_id) or {}
            user = iam._users.get(key.get("UserName")) if key.get("Status") == "Active" else None
            return None if user is None else (key["SecretAccessKey"], user["Arn"])

        found: tuple[str, str] | None = self._as_account(read)
        return found

    def has_bucket(self, name: str) -> bool:
        """S3 has a bucket of this name."""
        return seam.module("services.s3")._bucket_owner_account(name) is not None

    def is_open(self, api_id: str, method: str, path: str) -> bool:
        """The REST API's method asks for no signature."""
        gateway = seam.module("services.apigateway_v1")
        stage, _, rest = path.lstrip("/").partition("/")
        found = self._as_account(gateway.method_authorization_type, api_id, stage, method, f"/{rest}")
        return str(found) != "AWS_IAM"

    def is_http_api(self, api_id: str) -> bool:
        """An HTTP API, whose stage $default is not in its addresses, and no REST API."""
        return bool(seam.module("services.apigateway").find_api_scope(api_id))

    def gateway_response(
        self, api_id: str, path: str, error: str, message: str
    ) -> tuple[int, Headers, bytes] | None:
        """API Gateway's own answer to a call that it refuses; None where the API has no such stage.

        API Gateway developer guide, "Gateway response types". What is not named there takes DEFAULT_4XX.
        """
        gateway = seam.module("services.apigateway_v1")
        stage_name = path.lstrip("/").partition("/")[0]

        def answer() -> tuple[int, dict[str, str], bytes] | None:
            stage = gateway.stages_for_api(api_id).get(stage_name)
            if stage is None:
                return None
            request = {
                "api_id": api_id, "stage_name": stage_name, "stage": stage, "headers": {}, "query_params": {},
                "path_params": {}, "resource_path": "", "request_id": str(uuid.uuid4()),
            }  # fmt: skip
            kind = _REFUSED.get(error, "DEFAULT_4XX")
            found: tuple[int, dict[str, str], bytes] = gateway._gateway_error_response(
                gateway._GatewayError(kind, message, error), request
            )
            return found

        made = self._as_account(answer)
        return None if made is None else (made[0], tuple(made[1].items()), made[2])

    def policies(self, principal: str) -> dict[str, str]:
        """The policies of a role or a user by its ARN, as JSON; none where there is no such principal."""
        iam = seam.module("services.iam")
        kind, _, name = principal.rpartition(":")[2].partition("/")
        name = name.rpartition("/")[2]

        def read() -> dict[str, str]:
            role, user = iam._roles.get(name, {}), iam._users.get(name, {})
            own = (
                role.get("InlinePolicies", {}) if kind == "role" else iam._user_inline_policies.get(name, {})
            )
            attached = (role if kind == "role" else user).get("AttachedPolicies", [])
            known = {arn: iam._lookup_policy(arn) for arn in attached}
            return {**own, **{arn: _document(policy) for arn, policy in known.items() if policy}}

        found: dict[str, str] = self._as_account(read)
        return found

    def resource_policies(self, arn: str) -> dict[str, str]:
        """The policy of a function, or who may take a role, as JSON."""
        functions, iam = seam.module("services.lambda_svc"), seam.module("services.iam")

        def read() -> dict[str, str]:
            if ":role/" in arn:
                role = iam._roles.get(arn.rpartition("/")[2])
                return {f"{arn} trust": role["AssumeRolePolicyDocument"]} if role else {}
            function, _config, _name = functions._get_func_record_for_ref(arn)
            return {arn: json.dumps(function["policy"])} if function else {}

        found: dict[str, str] = self._as_account(read)
        return found

    def process_of(self, function: str) -> int | None:
        """The id of a process that runs the function of this name; None where there is none."""
        pools = seam.module("core.lambda_runtime")._workers
        named = [worker for key, pool in pools.items() if f":{function}:" in key for worker in pool]
        return next((worker._proc.pid for worker in named if worker._proc is not None), None)

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

    def begin_end(self) -> None:
        """Start nothing more, and let executions end at their next state."""
        self._ended.set()
        self._executions.stop_all()

    def close(self) -> None:
        """End executions and Lambda workers; take the patches back. Safe to call twice."""
        self.begin_end()
        if self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=20)
        app = seam.module("app")
        app._reset_all_state()
        seam.restore_all()
        self._starter.close()
        self._thread = None

    def _mend(self) -> None:
        activity, executions = self._activity, self._executions
        seam.module("app")
        compat_addresses.apply(self._region)
        compat_lab_time.apply(activity)
        compat_state_timeouts.apply(activity, executions)
        compat_callbacks.apply(activity)
        compat_stop_execution.apply(executions)
        compat_child_executions.apply(activity, executions)
        compat_distributed_map.apply()
        compat_start_execution.apply()
        compat_sdk_integrations.apply(self._keys)
        compat_payload_limit.apply()
        compat_succeed_output.apply()
        compat_jsonata_time_limit.apply()
        compat_states_metrics.apply(self.put_metrics)
        compat_alarm_events.apply(self.put_event)
        compat_lambda_time.apply(activity)
        compat_lambda_errors.apply()
        compat_lambda_code.apply(Path(self._settings["TMPDIR"]) / "code")
        compat_lambda_end.apply(self._ended)
        compat_lambda_environment.apply(self._settings, self._keys, self._starter)
        compat_lambda_layers.apply()
        compat_lambda_logs.apply()
        compat_caller.apply()
        compat_rest_api_body.apply()
        compat_rule_name.apply()
        compat_secret_ref.apply()
        compat_ssm_document.apply(lambda: self._client("ssm"))

    def _run(self) -> None:
        """The emulator's loop, from its start to its end (ASGI's lifespan protocol)."""
        asyncio.set_event_loop(self._loop)
        received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        received.put_nowait({"type": "lifespan.startup"})

        async def said(message: dict[str, str]) -> None:
            if message["type"] == "lifespan.startup.complete":
                self._started.set()

        try:
            lifespan = self._loop.create_task(
                seam.module("app").app({"type": "lifespan"}, received.get, said)
            )
            self._loop.run_forever()
            for task in asyncio.all_tasks(self._loop) - {lifespan}:
                task.cancel()
            received.put_nowait({"type": "lifespan.shutdown"})
            self._loop.run_until_complete(asyncio.wait_for(lifespan, END_TIMEOUT_SECONDS))
        except BaseException as failure:
            self._failure = failure
            self._started.set()

    def _await(self, work: Coroutine[Any, Any, tuple[int, Headers, bytes]]) -> tuple[int, Headers, bytes]:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _as_account(self, function: Any, *args: Any) -> Any:
        responses = seam.module("core.responses")

        def call() -> Any:
            responses.set_request_account_id(ACCOUNT_ID)
            responses.set_request_region(self._region)
            return function(*args)

        return contextvars.copy_context().run(call)


def _document(policy: dict[str, Any]) -> str:
    """A managed policy's text in its default version."""
    return str(policy["Versions"][policy["DefaultVersionId"]]["Document"])


async def _exchange(app: Any, scope: dict[str, Any], body: bytes) -> tuple[int, Headers, bytes]:
    """One request to an ASGI application, and its whole answer."""
    requests = iter([{"type": "http.request", "body": body, "more_body": False}])
    answers: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        message = next(requests, None)
        if message is None:
            await asyncio.Event().wait()  # nobody hangs up before the answer
        assert message is not None
        return message

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    await app(scope, receive, send)
    start = next(one for one in answers if one["type"] == "http.response.start")
    content = b"".join(one.get("body", b"") for one in answers if one["type"] == "http.response.body")
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])
    return start["status"], headers, content
