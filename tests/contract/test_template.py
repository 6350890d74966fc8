"""template.yaml: permissions, events, the API's own checks, alarms, and the SSM document's script at work."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract import repository
from tests.contract.repository import ROOT, Json, actions, functions, listed, statements

STACK_TAG = "aws:ResourceTag/rewarm:stack"
NO_RESOURCE = (
    "ec2:Describe", "ssm:DescribeInstanceInformation", "ssm:GetCommandInvocation", "ssm:CancelCommand",
    "cloudwatch:GetMetricData", "pricing:GetProducts", "servicequotas:Get", "logs:",
)  # fmt: skip
"""Calls for which IAM knows no resource (service authorization reference)."""
EVENTS = ROOT / "events/aws"


class TestPermissions:
    @pytest.mark.parametrize("name", sorted(functions()))
    def test_every_function_has_statements_of_its_own_and_no_wildcard(self, name: str) -> None:
        for statement in statements(functions()[name]):
            for action in actions(statement):
                assert "*" not in action, name
                if statement["Resource"] == "*":
                    assert action.startswith(NO_RESOURCE), f"{name}: {action} on *"

    @pytest.mark.parametrize("name", ["RestoreStateMachine", "RestoreVolumeStateMachine"])
    def test_a_state_machine_may_call_what_its_definition_calls(self, name: str) -> None:
        machine = repository.resources("AWS::Serverless::StateMachine")[name]
        allowed = {
            json.dumps(resource)
            for statement in statements(machine)
            if actions(statement)[0] in ("lambda:InvokeFunction", "states:StartExecution")
            for resource in listed(statement["Resource"])
        }
        called = {json.dumps(value) for value in machine["DefinitionSubstitutions"].values()}
        assert called == allowed

    def test_a_child_execution_can_be_watched_and_stopped(self) -> None:
        machine = repository.resources("AWS::Serverless::StateMachine")["RestoreStateMachine"]
        granted = {action for statement in statements(machine) for action in actions(statement)}
        needed = {
            "states:StartExecution", "states:DescribeExecution", "states:StopExecution",
            "events:PutTargets", "events:PutRule", "events:DescribeRule",
        }  # fmt: skip
        assert needed <= granted

    @pytest.mark.parametrize("action", ["ec2:DeleteVolume", "ec2:DetachVolume", "ec2:AttachVolume"])
    def test_only_volumes_of_this_stack_are_touched(self, action: str) -> None:
        found = 0
        for properties in functions().values():
            for statement in statements(properties):
                if action in actions(statement) and "volume/" in json.dumps(statement["Resource"]):
                    assert statement["Condition"]["StringEquals"][STACK_TAG] == {"Ref": "AWS::StackName"}
                    found += 1
        assert found

    def test_tags_are_written_at_creation_or_on_our_own_volumes_only(self) -> None:
        for properties in functions().values():
            for statement in statements(properties):
                if "ec2:CreateTags" in actions(statement):
                    condition = statement["Condition"]["StringEquals"]
                    assert STACK_TAG in condition or condition["ec2:CreateAction"] == "CreateVolume"

    def test_every_permission_says_why(self) -> None:
        lines = (ROOT / "template.yaml").read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if line.strip() == "- Effect: Allow":
                above = [lines[number - 1].strip(), lines[number - 2].strip()]
                assert any(text.startswith("#") for text in above) or above[0] == "- HasSlack", number + 1

    def test_what_a_handler_is_wired_to_it_may_use(self) -> None:
        needed = {
            "snapshots": "ec2:DescribeSnapshots", "instances": "ec2:DescribeInstance", "volumes": "ec2:",
            "fast_restores": "ec2:DescribeFastSnapshotRestores", "commands": "ssm:", "prices": "pricing:",
            "metrics": "cloudwatch:GetMetricData", "quotas": "servicequotas:", "artifacts": "s3:",
            "table": "dynamodb:", "messages": "sns:Publish", "executions": "states:StartExecution",
        }  # fmt: skip
        for name, properties in functions().items():
            source = ROOT / "functions" / (properties["Handler"].rsplit(".", 1)[0].replace(".", "/") + ".py")
            granted = [action for statement in statements(properties) for action in actions(statement)]
            for port in re.findall(r"wiring\.(\w+)\(\)", source.read_text(encoding="utf-8")):
                assert any(action.startswith(needed[port]) for action in granted), (
                    f"{name} lacks {needed[port]}"
                )


class TestFunctions:
    @pytest.mark.parametrize("name", sorted(functions()))
    def test_each_is_packaged_and_logged_alike(self, name: str) -> None:
        properties = functions()[name]
        assert properties["CodeUri"] == "functions/"
        group = properties["LoggingConfig"]["LogGroup"]["Ref"]
        retention = repository.resources("AWS::Logs::LogGroup")[group]["RetentionInDays"]
        assert retention == {"Ref": "LogRetentionDays"}
        handler = ROOT / "functions" / (properties["Handler"].rsplit(".", 1)[0].replace(".", "/") + ".py")
        assert handler.is_file()

    def test_every_handler_is_deployed(self) -> None:
        deployed = {properties["Handler"].split(".")[2] for properties in functions().values()}
        files = {path.stem for path in repository.HANDLERS.glob("*.py")} - {"__init__", "wiring"}
        assert deployed == files

    def test_settings_know_every_variable(self) -> None:
        settings = (ROOT / "functions/rewarm/settings.py").read_text(encoding="utf-8")
        given = set(repository.template()["Globals"]["Function"]["Environment"]["Variables"])
        for properties in functions().values():
            given |= set(properties.get("Environment", {}).get("Variables", {}))
        own = {name for name in given if not name.startswith("POWERTOOLS_")}
        assert all(f'"{name}"' in settings for name in own)
        read = set(re.findall(r'(?:_required|get)\("([A-Z_]+)"', settings))
        assert read - own == {"AWS_REGION", "AWS_DEFAULT_REGION"}


class TestEvents:
    def pattern(self) -> Json:
        machine = repository.resources("AWS::Serverless::StateMachine")["RestoreStateMachine"]
        found: Json = machine["Events"]["AlarmRaised"]["Properties"]
        return found

    def test_the_rule_takes_awss_alarm_event(self) -> None:
        event = json.loads((EVENTS / "cloudwatch-alarm-state-change.json").read_text(encoding="utf-8"))
        pattern = self.pattern()["Pattern"]
        assert event["source"] in pattern["source"]
        assert event["detail-type"] in pattern["detail-type"]
        assert event["detail"]["state"]["value"] in pattern["detail"]["state"]["value"]
        prefix = repository.template()["Parameters"]["AlarmNamePrefix"]["Default"]
        assert pattern["detail"]["alarmName"] == [{"prefix": {"Ref": "AlarmNamePrefix"}}]
        assert event["detail"]["alarmName"].startswith(prefix)

    def test_a_lost_event_is_kept_and_noticed(self) -> None:
        assert self.pattern()["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0] == "AlarmEventsDeadLetterQueue"
        assert self.pattern()["RetryPolicy"]["MaximumRetryAttempts"] > 0
        watched = json.dumps(repository.resources("AWS::CloudWatch::Alarm"))
        for queue in repository.resources("AWS::SQS::Queue"):
            assert queue in watched

    def test_no_alarm_of_the_stack_starts_a_restore(self) -> None:
        prefix = re.compile(repository.template()["Parameters"]["AlarmNamePrefix"]["AllowedPattern"])
        refused = repository.template()["Rules"]["OwnAlarmsStartNoRestore"]["Assertions"][0]["Assert"]
        names = refused["Fn::Not"][0]["Fn::Contains"][0]
        assert prefix.match("rewarm-")
        assert not prefix.match("")
        for alarm in repository.resources("AWS::CloudWatch::Alarm").values():
            name = alarm["AlarmName"]["Fn::Sub"]
            assert name.startswith("operations-of-${AWS::StackName}-")
            assert alarm["AlarmActions"] == [{"Ref": "NotificationTopic"}]
        assert {"o", "operations-of-"} <= set(names)


class TestApi:
    def test_only_signed_calls_are_answered(self) -> None:
        auth = repository.resources("AWS::Serverless::Api")["RestApi"]["Auth"]
        assert auth["DefaultAuthorizer"] == "AWS_IAM"

    def test_routes_and_resolver_agree(self) -> None:
        told = {
            (event["Properties"]["Method"].upper(), event["Properties"]["Path"])
            for event in functions()["ApiFunction"]["Events"].values()
        }
        source = (repository.HANDLERS / "api.py").read_text(encoding="utf-8")
        names = {"restore_id": "restoreId", "alarm_name": "alarmName"}
        answered = {
            (method.upper(), re.sub(r"<(\w+)>", lambda match: f"{{{names[match[1]]}}}", path))
            for method, path in re.findall(r'@app\.(get|post|put|delete)\("([^"]+)"\)', source)
        }
        assert told == answered

    def test_a_body_is_checked_before_the_function_runs(self) -> None:
        events = functions()["ApiFunction"]["Events"].values()
        for event in events:
            takes_body = event["Properties"]["Method"] in ("post", "put")
            assert ("RequestModel" in event["Properties"]) == takes_body
        api = repository.resources("AWS::Serverless::Api")["RestApi"]
        assert api["Models"]["RestoreRequest"]["required"] == ["source", "target"]
        response = api["GatewayResponses"]["BAD_REQUEST_BODY"]["ResponseTemplates"]["application/json"]
        assert "$context.error.validationErrorString" in response
        filled = re.sub(r"\$context\.error\.messageString", '"Invalid request body"', response)
        filled = filled.replace("$context.error.validationErrorString", "[object has missing properties]")
        assert set(json.loads(filled)) == {"error", "field", "message", "details"}


def document() -> Json:
    content: Json = repository.resources("AWS::SSM::Document")["WarmerDocument"]["Content"]
    return content


def script() -> str:
    steps = document()["mainSteps"]
    assert len(steps) == 1
    return "\n".join(steps[0]["inputs"]["runCommand"])


class TestDocument:
    def test_every_parameter_is_bounded_and_used(self) -> None:
        parameters, text = document()["parameters"], json.dumps(document()["mainSteps"])
        assert set(re.findall(r"{{ (\w+) }}", text)) == set(parameters)
        for name, parameter in parameters.items():
            pattern = parameter["allowedPattern"]
            assert pattern.startswith("^"), name
            assert pattern.endswith("$"), name
            for hostile in ("';rm -rf /;'", "$(id)", "a`id`", "a|b", "a\nb", '"'):
                assert not re.search(pattern, hostile), f"{name} lets {hostile!r} in"

    def test_real_values_fit(self) -> None:
        parameters = document()["parameters"]
        url = (
            "https://b.s3.us-east-1.amazonaws.com/restores/restore-1/0/blocks.map?X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIA%2F20261121%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Security-Token=IQo%2Fa%2B%3D"
        )
        values = {
            "action": "verify", "volumeId": "vol-00000000000000001", "agentUrl": url, "mapUrl": url,
            "agentSha256": "0" * 64, "progressUrl": "none", "executionTimeout": "172800",
            "arguments": "--samples 64 --max-p99-ms 20.5 --depth auto",
        }  # fmt: skip
        for name, value in values.items():
            assert re.search(parameters[name]["allowedPattern"], value), name
        assert re.search(parameters["progressUrl"]["allowedPattern"], url)

    def test_it_stays_below_the_size_limit(self) -> None:
        assert len(json.dumps(document())) < 48 * 1024, "64 KB with run-time parameters"

    def test_shellcheck_finds_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "warmer.sh"
        path.write_text(script(), encoding="utf-8")
        shellcheck = shutil.which("shellcheck", path=str(ROOT / ".venv/bin")) or shutil.which("shellcheck")
        assert shellcheck, "shellcheck is part of requirements/dev.txt"
        done = subprocess.run(
            [shellcheck, "--shell=sh", str(path)], capture_output=True, text=True, check=False
        )
        assert done.stdout == ""
        assert done.returncode == 0


AGENT = r"""#!/bin/sh
echo "$@" >"{home}/called"
echo 'warmer: a note' >&2
if [ "$1" = verify ]; then
  echo '{{"event":"result","command":"verify","verdict":"slow"}}'
  exit 1
fi
echo '{{"event":"progress","bytesDone":1}}'
sleep {seconds}
echo '{{"event":"result","command":"warm","verdict":"complete"}}'
"""


class Store:
    """Downloads and uploads on loopback."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.gets: list[str] = []
        self.puts: list[bytes] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.gets.append(self.path)
                body = outer.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.end_headers()
                self.wfile.write(body or b"")

            def do_PUT(self) -> None:
                outer.puts.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def store() -> Iterator[Store]:
    found = Store()
    yield found
    found.close()


class Command:
    """The document's script on a machine of its own below a folder."""

    def __init__(self, home: Path, store: Store, *, seconds: int = 0) -> None:
        self.home, self.store = home, store
        agent = AGENT.format(home=home, seconds=seconds).encode()
        store.files = {"/agent?X=1&Y=2": agent, "/map": b"0 4\n"}
        (home / "device").mkdir()
        (home / "device/nvme-Amazon_Elastic_Block_Store_vol00000000000000001").write_bytes(b"")
        (home / "tmp").mkdir()
        self.values = {
            "action": "warm", "volumeId": "vol-00000000000000001", "agentUrl": f"{store.url}/agent?X=1&Y=2",
            "agentSha256": hashlib.sha256(agent).hexdigest(), "mapUrl": f"{store.url}/map",
            "progressUrl": f"{store.url}/progress", "arguments": "--depth auto", "executionTimeout": "3600",
        }  # fmt: skip

    def start(self, **values: str) -> subprocess.Popen[str]:
        text = (
            script()
            .replace("/dev/disk/by-id", f"{self.home}/device")
            .replace("/var/lib", str(self.home / "lib"))
        )
        for name, value in {**self.values, **values}.items():
            assert re.search(document()["parameters"][name]["allowedPattern"], value)
            text = text.replace(f"{{{{ {name} }}}}", value)
        return subprocess.Popen(
            ["/bin/sh", "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.home / "tmp")},
        )

    def run(self, **values: str) -> tuple[int, str, str]:
        process = self.start(**values)
        out, err = process.communicate(timeout=60)
        assert list((self.home / "tmp").iterdir()) == [], "temporary files stay behind"
        return process.returncode, out, err


@pytest.fixture
def command(tmp_path: Path, store: Store) -> Command:
    return Command(tmp_path, store)


class TestScript:
    def test_warms_and_answers_with_the_result_alone(self, command: Command) -> None:
        status, out, err = command.run()
        assert (status, json.loads(out)) == (0, {"event": "result", "command": "warm", "verdict": "complete"})
        assert err == "warmer: a note\n"
        called = (command.home / "called").read_text(encoding="utf-8").split()
        assert called[0] == "warm"
        assert called[1].endswith("/nvme-Amazon_Elastic_Block_Store_vol00000000000000001")
        assert called[-4:] == ["--progress", "json", "--depth", "auto"]
        assert json.loads(command.store.puts[-1])["event"] == "result"

    def test_publishes_progress_while_it_runs(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, seconds=3)
        status, _, _ = command.run()
        assert status == 0
        assert json.loads(store.puts[0]) == {"event": "progress", "bytesDone": 1}

    def test_verifies_with_the_agents_status_and_without_progress(self, command: Command) -> None:
        status, out, _ = command.run(action="verify", progressUrl="none", arguments="--samples 8")
        assert (status, json.loads(out)["verdict"]) == (1, "slow")
        assert command.store.puts == []

    def test_downloads_the_agent_once(self, command: Command) -> None:
        for _ in range(2):
            assert command.run(progressUrl="none")[0] == 0
        assert command.store.gets.count("/agent?X=1&Y=2") == 1

    def test_refuses_another_binary(self, command: Command) -> None:
        status, out, err = command.run(agentSha256="0" * 64)
        assert (status, out) == (65, "")
        assert "checksum" in err
        assert not (command.home / "called").exists()

    def test_says_what_it_could_not_download_and_hides_the_signature(self, command: Command) -> None:
        status, _, err = command.run(mapUrl=f"{command.store.url}/gone?X-Amz-Signature=secret")
        assert status == 69
        assert "block map" in err
        assert "secret" not in err

    def test_takes_the_agent_along_when_it_is_stopped(self, tmp_path: Path, store: Store) -> None:
        command = Command(tmp_path, store, seconds=30)
        process = command.start()
        give_up = time.monotonic() + 20
        while not (tmp_path / "called").exists():
            assert time.monotonic() < give_up
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode == 143
        assert list((tmp_path / "tmp").iterdir()) == []
