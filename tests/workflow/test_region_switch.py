"""The step of a Region switch plan in docs/region-switch, on the embedded AWS; ARC's answers are stubbed.

No emulator has ARC. botocore's stub holds call and answers against the model of the service.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from botocore.validate import ParamValidator

from local import yaml_text
from tests.support.stack.restores import RestoreUser, unique
from tests.support.tree import ROOT, module_of

FOLDER = ROOT / "docs" / "region-switch"
PLAN = "arn:aws:arc-region-switch::123456789012:plan/orders:abc123"
NOW = datetime(2026, 11, 27, 3, tzinfo=UTC)
Step = Callable[..., dict[str, Any]]


def execution(execution_id: str, region: str, hour: int = 3) -> dict[str, Any]:
    return {
        "planArn": PLAN, "executionId": execution_id, "startTime": NOW.replace(hour=hour), "mode": "graceful",
        "executionState": "inProgress", "executionAction": "activate", "executionRegion": region,
    }  # fmt: skip


@pytest.fixture
def switch() -> ModuleType:
    return module_of(FOLDER / "region_switch.py")


@pytest.fixture
def step(user: RestoreUser, switch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Runs the function as one call of the executions that are in progress."""
    for name, value in user.lab.environment.items():
        monkeypatch.setenv(name, value)
    region = user.lab.addresses.region
    monkeypatch.setenv("AWS_REGION", region)
    monkeypatch.setenv("API_URL", user.lab.api_url)
    monkeypatch.setenv("PLAN_ARN", PLAN)
    arc = boto3.client("arc-region-switch", region_name=region)
    monkeypatch.setattr(switch.boto3, "client", {"arc-region-switch": arc}.__getitem__)

    def run(request: dict[str, Any], *running: dict[str, Any], kind: str = "restore") -> dict[str, Any]:
        monkeypatch.setenv("REQUEST", json.dumps(request))
        monkeypatch.setenv("KIND", kind)
        with Stubber(arc) as stub:
            answer = {"items": list(running)}
            stub.add_response("list_plan_executions", answer, {"planArn": PLAN, "state": "inProgress"})
            found: dict[str, Any] = switch.lambda_handler({"any": "thing"}, None)
            return found

    return run


def runbook(user: RestoreUser, **fields: Any) -> dict[str, Any]:
    """A request that names a runbook of this Region."""
    name = unique("rewarm-switch")
    user.runbook(name, {"source": {"snapshotId": user.snapshot()}, **user.to_zone, **fields})
    return {"source": {"alarm": name}}


def test_all_calls_of_an_execution_are_about_one_restore(
    user: RestoreUser, switch: ModuleType, step: Step
) -> None:
    region, request = user.lab.addresses.region, runbook(user)
    running = execution(unique("execution"), region)
    with pytest.raises(switch.NotReadyYetError, match=r"^restore-[0-9a-f]{16} is ") as waiting:
        step(request, running, execution("elsewhere", "eu-south-2", 4), execution("earlier", region, 2))
    restore_id = str(waiting.value).split()[0]
    assert user.finished(restore_id).record["status"] == "ready"
    for _ in range(2):
        assert step(request, running) == {"restoreId": restore_id, "status": "ready"}
    with pytest.raises(switch.NotReadyYetError) as another:
        step(request, execution(unique("execution"), region))
    assert str(another.value).split()[0] != restore_id
    user.finished(str(another.value).split()[0])


def test_all_calls_of_an_execution_are_about_one_fleet(
    user: RestoreUser, switch: ModuleType, step: Step
) -> None:
    background = {"objective": {"strategy": "background"}}
    items = [{"source": {"snapshotId": user.snapshot()}, **user.to_zone}]
    request = {"source": {"items": items}, **background}
    running = execution(unique("execution"), user.lab.addresses.region)
    with pytest.raises(switch.NotReadyYetError, match=r"^fleet-[0-9a-f]{16} is ") as waiting:
        step(request, running, kind="fleet")
    fleet_id = str(waiting.value).split()[0]
    user.wait_until(
        lambda: user.call("GET", f"/fleets/{fleet_id}").body["status"] == "ready", lambda: f"{fleet_id} runs"
    )
    assert step(request, running, kind="fleet") == {"fleetId": fleet_id, "status": "ready"}


def test_a_restore_that_failed_is_not_started_again(
    user: RestoreUser, switch: ModuleType, step: Step
) -> None:
    request = runbook(user, objective={"strategy": "background"})
    running = execution(unique("execution"), user.lab.addresses.region)
    with pytest.raises(switch.NotReadyYetError) as waiting:
        step(request, running)
    restore_id = str(waiting.value).split()[0]
    assert user.call("DELETE", f"/restores/{restore_id}").status == 202
    user.finished(restore_id)
    before = set(user.executions())
    for _ in range(2):
        with pytest.raises(switch.RestoreFailedError, match=f"^{restore_id} is cancelled"):
            step(request, running)
    assert set(user.executions()) == before


def test_nothing_starts_where_no_execution_runs_or_the_request_is_refused(
    user: RestoreUser, switch: ModuleType, step: Step
) -> None:
    before = set(user.executions())
    with pytest.raises(switch.NotStartedError, match=r"^no execution of "):
        step({"source": {"alarm": "rewarm-any"}}, execution("elsewhere", "eu-south-2"))
    with pytest.raises(switch.NotStartedError, match=r"POST /restores answered 4\d\d: .*rewarm-nobodys"):
        step({"source": {"alarm": "rewarm-nobodys"}}, execution("one", user.lab.addresses.region))
    assert set(user.executions()) == before


def test_the_template_says_the_environment_that_the_function_reads(switch: ModuleType) -> None:
    template = yaml_text.template(name="docs/region-switch/template.yaml")
    function = template["Resources"]["RegionSwitchFunction"]["Properties"]
    code = (FOLDER / "region_switch.py").read_text(encoding="utf-8")
    for name in function["Environment"]["Variables"]:
        assert f'os.environ["{name}"]' in code
    assert function["Handler"] == f"{switch.__name__}.lambda_handler"


def test_arc_takes_the_step_that_the_page_describes() -> None:
    model = boto3.client("arc-region-switch", region_name="eu-west-1").meta.service_model
    shape = model.shape_for("CustomActionLambdaConfiguration")
    arn = "arn:aws:lambda:eu-west-1:123456789012:function:rewarm-region-switch-RegionSwitchFunction-1"
    described = {
        "lambdas": [{"arn": arn}, {"arn": arn.replace("eu-west-1", "eu-central-1")}],
        "regionToRun": "activatingRegion", "retryIntervalMinutes": 1.0, "timeoutMinutes": 120,
    }  # fmt: skip
    assert not ParamValidator().validate(described, shape).has_errors()
    assert "activatingRegion" in model.shape_for("RegionToRunIn").enum
