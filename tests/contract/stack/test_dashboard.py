"""The dashboard and the alarms: well-formed, and about metrics that are really there.

Rewarm's own metrics are those that the handlers write here, caught as CloudWatch would read them. AWS's are
the documented ones, of resources that this template has.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import jsonschema
import pytest
from moto import mock_aws

from local import dashboard as deployed_dashboard
from rewarm.adapters.channels.messages import MessageFanOut
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.domain.model import RunningFastRestore
from rewarm.runtime import state_function
from rewarm.steps.record.payloads import write_plans
from tests.contract import repository
from tests.contract.repository import ROOT, Json
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    ZONE,
    World,
    assignment,
    dispatch,
    plan,
    request,
    volume_plan,
)
from tests.support.stack.dashboard import Wanted, body, shown, watched
from tests.support.stack.emitted import Datapoint, datapoints
from tests.support.wired import steps, use
from tests.support.worlds.performance import ChangeWorld, FakeInventory, FakeRestoreExecutions
from tests.support.worlds.sweeping import SweepWorld
from tests.unit.handlers.conftest import ENVIRONMENT, Context

STACK, REGION = ENVIRONMENT["STACK_NAME"], "eu-west-1"
AWS_METRICS = {
    "AWS/States": (
        "StateMachineArn", "AWS::Serverless::StateMachine",
        {"ExecutionsStarted", "ExecutionsSucceeded", "ExecutionsFailed", "ExecutionsTimedOut",
         "ExecutionsAborted", "ExecutionThrottled"},
    ),
    "AWS/Lambda": ("FunctionName", "AWS::Serverless::Function", {"Invocations", "Errors", "Throttles"}),
    "AWS/SQS": ("QueueName", "AWS::SQS::Queue", {"ApproximateNumberOfMessagesVisible"}),
}  # fmt: skip
"""Namespace -> its one dimension here, whose resource it names, and documented metrics (Step Functions,
Lambda and SQS developer guides, "metrics")."""

SIZE = {"type": "integer", "minimum": 1, "maximum": 24}
AXIS = {
    "type": "object", "additionalProperties": False,
    "properties": {"min": {"type": "number"}, "max": {"type": "number"}, "label": {"type": "string"},
                   "showUnits": {"type": "boolean"}},
}  # fmt: skip
OPTIONS = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "label": {"type": "string"}, "id": {"type": "string", "pattern": "^[a-z][A-Za-z0-9_]*$"},
        "expression": {"type": "string"}, "stat": {"type": "string"}, "yAxis": {"enum": ["left", "right"]},
        "color": {"type": "string"}, "period": {"type": "integer"}, "visible": {"type": "boolean"},
        "region": {"type": "string"},
    },
}  # fmt: skip
METRIC = {
    "type": "object", "additionalProperties": False, "required": ["metrics", "region"],
    "properties": {
        "title": {"type": "string"}, "region": {"const": REGION},
        "view": {"enum": ["timeSeries", "singleValue", "gauge", "bar", "pie", "table"]},
        "stat": {"type": "string", "pattern": r"^(Sum|Average|Minimum|Maximum|SampleCount|p\d{1,2})$"},
        "period": {"type": "integer", "multipleOf": 60, "minimum": 60},
        "stacked": {"type": "boolean"}, "liveData": {"type": "boolean"},
        "setPeriodToTimeRange": {"type": "boolean"},
        "legend": {"type": "object", "additionalProperties": False,
                   "properties": {"position": {"enum": ["right", "bottom", "hidden"]}}},
        "yAxis": {"type": "object", "additionalProperties": False,
                  "properties": {"left": AXIS, "right": AXIS}},
        "annotations": {
            "type": "object", "additionalProperties": False,
            "properties": {"horizontal": {"type": "array", "items": {
                "type": "object", "required": ["value"], "additionalProperties": False,
                "properties": {"value": {"type": "number"}, "label": {"type": "string"}}}}},
        },
        "metrics": {"type": "array", "minItems": 1, "maxItems": 500, "items": {
            "type": "array", "minItems": 1,
            "items": {"anyOf": [{"type": "string", "minLength": 1}, OPTIONS]}}},
    },
}  # fmt: skip
TEXT = {
    "type": "object", "additionalProperties": False, "required": ["markdown"],
    "properties": {"markdown": {"type": "string"}, "background": {"enum": ["transparent", "solid"]}},
}  # fmt: skip
ALARMS = {
    "type": "object", "additionalProperties": False, "required": ["alarms"],
    "properties": {"title": {"type": "string"},
                   "alarms": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string"}}},
}  # fmt: skip
BODY = {
    "type": "object", "additionalProperties": False, "required": ["widgets"],
    "properties": {
        "start": {"type": "string", "pattern": "^-P"}, "periodOverride": {"enum": ["auto", "inherit"]},
        "widgets": {"type": "array", "minItems": 1, "maxItems": 500, "items": {
            "type": "object", "additionalProperties": False, "required": ["type", "properties"],
            "properties": {
                "type": {"enum": ["metric", "text", "alarm"]}, "x": {**SIZE, "minimum": 0, "maximum": 23},
                "y": {"type": "integer", "minimum": 0}, "width": SIZE, "height": {**SIZE, "maximum": 1000},
                "properties": {"type": "object"},
            },
        }},
    },
}  # fmt: skip
"""CloudWatch API reference, "Dashboard Body Structure and Syntax"; only the widgets that are used here."""
KINDS = {"metric": METRIC, "text": TEXT, "alarm": ALARMS}
RUN_BY_EACH_RESTORE = {"DeadlinesMissed", "CostAbovePlanUsd", "DrillsNotPassed", "MessagesRefused"}


def alarms() -> dict[str, Json]:
    return repository.resources("AWS::CloudWatch::Alarm")


@cache
def values() -> dict[str, str]:
    """What CloudFormation fills in: resources by their logical names, so that a test can say which it is."""
    names = repository.template()["Resources"]
    found = {name: name for name in names} | {f"{name}.Arn": f"{name}.Arn" for name in names}
    found |= {f"{name}.QueueName": name for name in repository.resources("AWS::SQS::Queue")}
    return {**found, "AWS::StackName": STACK, "AWS::Region": REGION}


@cache
def dashboard() -> Json:
    return body(deployed_dashboard.included()["Dashboard"], values())


def wanted() -> list[Wanted]:
    return [*shown(dashboard()), *watched(alarms(), values())]


# ------------------------------------------------------------------------------------ what the code emits
@pytest.fixture(scope="module")
def emitted() -> Iterator[list[Datapoint]]:
    """All that the handlers write in one restore that is ready, one that fails, and one sweep."""
    with mock_aws(), pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as text:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        for run in (report_ready, report_failed, announce_failures, refuse_a_message, poll_agent, run_sweep):
            run(patch)
        yield list(datapoints(text.getvalue().splitlines()))


def handle(patch: pytest.MonkeyPatch, name: str, event: Json, **ports: Any) -> None:
    """One call of a handler with these ports."""
    importlib.import_module("rewarm.wiring")._client.cache_clear()
    if name in steps():
        state_function(name, **ports)(event, Context())
        return
    handler = importlib.reload(importlib.import_module(f"rewarm.handlers.{name}"))
    use(patch, handler, **ports)
    handler.lambda_handler(event, Context())


def event(**fields: Any) -> Json:
    stamp = NOW.isoformat()
    return {"restoreId": RESTORE_ID, "now": stamp, **fields}


def report(patch: pytest.MonkeyPatch, result: Json, drill: Json | None = None) -> None:
    world = World()
    key = write_plans(RESTORE_ID, [volume_plan()], world.artifacts)
    handle(
        patch, "report",
        event(
            startedAt=(NOW - timedelta(minutes=20)).isoformat(),
            deadlineAt=(NOW + timedelta(minutes=10)).isoformat(),
            request=request(drill=drill).to_json(), trigger={"kind": "api"}, plansKey=key,
            results=[result],
        ),
        artifacts=world.artifacts, table=world.table, history=world.history,
    )  # fmt: skip


def report_ready(patch: pytest.MonkeyPatch) -> None:
    report(
        patch,
        {"index": 0, "verdict": "ready", "volumeId": VOLUME_ID, "plan": plan().to_json(),
         "readyAt": NOW.isoformat()},
        drill={"runbook": "rewarm-orders", "recoveryTimeMinutes": 5},
    )  # fmt: skip


def report_failed(patch: pytest.MonkeyPatch) -> None:
    report(patch, {"index": 0, "verdict": "failed", "error": "AgentFailedError", "cause": "12 blocks"})


def announce_failures(patch: pytest.MonkeyPatch) -> None:
    failure = {"state": "Create Volume", "error": "CapacityUnavailableError", "cause": "none left"}
    for kind, details in (
        ("failed", {"results": []}),
        ("fallback", {"volume": assignment().to_json(), "plan": plan().to_json()}),
    ):
        world = World()
        said = event(event=kind, request=request().to_json(), details={"failure": failure, **details})
        handle(patch, "announce", said, table=world.table, messages=world.messages)


def refuse_a_message(patch: pytest.MonkeyPatch) -> None:
    class Deaf:
        name, audience = "slack", "slack"

        def send(self, message: Json) -> None:
            raise ServiceUnavailableError("Slack did not answer")

    said = event(event="failed", request=request().to_json(), details={
        "results": [], "failure": {"state": "Create Volume", "error": "QuotaExceededError", "cause": ""},
    })  # fmt: skip
    refused = importlib.import_module("rewarm.wiring").message_refused
    with contextlib.suppress(ServiceUnavailableError):
        handle(patch, "announce", said, table=World().table, messages=MessageFanOut([Deaf()], refused))


def poll_agent(patch: pytest.MonkeyPatch) -> None:
    world, sent = World(), dispatch()
    settings = assignment().volume.settings()
    world.volumes.create(SNAPSHOT_ID, ZONE, settings, rate_mib_s=None, client_token="t")
    account = {"event": "progress", "bytesDone": 1, "bytesTotal": 2, "mibPerSecond": 31.7}
    world.artifacts.put_json(sent.progress_key, account)
    handle(
        patch, "poll_initialization",
        event(
            startedAt=NOW.isoformat(), request=request().to_json(), volume=assignment().to_json(),
            volumeId=VOLUME_ID, plan=plan().to_json(), dispatch=sent.to_json(),
        ),
        volumes=world.volumes, commands=world.commands, metrics=world.metrics, artifacts=world.artifacts,
        table=world.table,
    )  # fmt: skip


def run_sweep(patch: pytest.MonkeyPatch) -> None:
    world = ChangeWorld()
    settings = assignment().volume.settings()
    tags = {"rewarm:stack": STACK, "rewarm:boost": "gp3 iops=3000", "rewarm:restore-id": RESTORE_ID}
    boost = {"volumeId": VOLUME_ID, "state": "boosted", "targetSettings": "gp3 iops=3000"}
    world.table.update_volume(RESTORE_ID, 0, {"volume": {"volumeId": VOLUME_ID}, "boost": boost})
    world.put(type(settings)("gp3", 100, 4_000, 1_000, tags=tags))
    enabled = RunningFastRestore(SNAPSHOT_ID, ZONE, NOW - timedelta(hours=2), frozenset())
    rest = SweepWorld()
    handle(
        patch, "sweep", {}, commands=rest.commands, fast_restores=rest.fast_restores,
        holds=rest.holds, messages=rest.messages, waiters=rest.waiters, history=rest.history,
        tasks=rest.tasks, volumes=world.volumes, modifications=world.modifications, table=world.table,
        executions=FakeRestoreExecutions(), inventory=FakeInventory(running=[enabled]), prices=World().prices,
    )  # fmt: skip


class TestMetrics:
    @pytest.mark.parametrize("one", [pytest.param(one, id=f"{one.where}: {one.name}") for one in wanted()])
    def test_each_that_is_shown_or_watched_is_there(self, one: Wanted, emitted: list[Datapoint]) -> None:
        if one.namespace == "Rewarm":
            assert any(one.is_met_by(it.namespace, it.name, it.dimensions) for it in emitted), (
                f"{one} is never written; with this name there is "
                f"{[sorted(it.dimensions) for it in emitted if it.name == one.name]}"
            )
            return
        dimension, kind, names = AWS_METRICS[one.namespace]
        ((name, value),) = one.dimensions
        assert (name, one.name in names) == (dimension, True)
        assert value in repository.resources(kind)

    def test_a_wrong_dimension_is_noticed(self, emitted: list[Datapoint]) -> None:
        right = next(one for one in wanted() if one.name == "RestoresInFlight")
        further = Wanted("", right.namespace, right.name, right.dimensions | {("verdict", "ready")})
        lacking = Wanted("", right.namespace, right.name, frozenset({("service", "rewarm")}))
        for one in (further, lacking):
            assert not any(one.is_met_by(it.namespace, it.name, it.dimensions) for it in emitted)

    def test_what_the_sweeper_tells_of_money_is_shown(self, emitted: list[Datapoint]) -> None:
        told = {one.name for one in emitted} - {one.name for one in wanted()}
        assert told == {"RestoresFinished"}, "the console's own metrics show it by verdict"

    def test_values_are_what_happened(self, emitted: list[Datapoint]) -> None:
        def of(name: str) -> list[float]:
            return [one.value for one in emitted if one.name == name]

        assert of("DeadlineUsedPercent") == [pytest.approx(100 * 20 / 30)]
        assert of("DeadlinesMissed") == [0]
        assert of("DrillsNotPassed") == [1], "it took 20 minutes, and may take 5"
        assert of("AgentMibPerSecond") == [31.7]
        assert of("CostAbovePlanUsd") == [0, 0]
        assert of("RestoreSeconds") == [1_200, 1_200]
        assert of("FastSnapshotRestoresLeft") == of("BoostedVolumesLeft") == [1]
        assert of("FailedVolumes") == [0]
        reasons = {dict(one.dimensions)["reason"] for one in emitted if one.name == "RestoresFailed"}
        assert reasons == {"CapacityUnavailableError"}


class TestAlarms:
    @pytest.mark.parametrize("name", sorted(alarms()))
    def test_missing_data_means_what_it_means(self, name: str) -> None:
        alarm = alarms()[name]
        missing = alarm["TreatMissingData"]
        assert missing != "breaching", "a new alarm has no data: it would go off for being new"
        if name == "SweepSilentAlarm":
            assert missing == "missing", "where nothing runs there is no datapoint"
            assert alarm["InsufficientDataActions"] == alarm["AlarmActions"]
        elif alarm["Namespace"] == "Rewarm" and alarm["MetricName"] not in RUN_BY_EACH_RESTORE:
            assert missing == "ignore", "a gauge stays what it was until it is read again, as 0, too"
            assert alarm["Period"] == 900, "a sweep every 15 minutes"
        else:
            assert missing == "notBreaching", "nothing happened"

    def test_the_dashboard_has_every_alarm(self) -> None:
        (widget,) = [one for one in dashboard()["widgets"] if one["type"] == "alarm"]
        assert sorted(widget["properties"]["alarms"]) == sorted(f"{name}.Arn" for name in alarms())


class TestBody:
    def test_is_what_cloudwatch_documents(self) -> None:
        jsonschema.validate(dashboard(), BODY)
        for widget in dashboard()["widgets"]:
            jsonschema.validate(widget["properties"], KINDS[widget["type"]])

    def test_no_widget_lies_on_another_or_beyond_the_grid(self) -> None:
        taken: set[tuple[int, int]] = set()
        for one in dashboard()["widgets"]:
            cells = {
                (x, y)
                for x in range(one["x"], one["x"] + one["width"])
                for y in range(one["y"], one["y"] + one["height"])
            }
            assert max(x for x, _ in cells) < 24
            assert not cells & taken, one["properties"].get("title")
            taken |= cells

    @pytest.mark.parametrize("metric", ["Errors", "Throttles"])
    def test_no_function_is_left_out(self, metric: str) -> None:
        title = f"Lambda {metric.lower()}"
        names = {value for one in shown(dashboard()) if one.where == title for _, value in one.dimensions}
        assert names == set(repository.functions())

    def test_the_documentation_has_each_graph_and_alarm(self) -> None:
        text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
        titles = {one["properties"].get("title", "") for one in dashboard()["widgets"]} - {""}
        names = {one["AlarmName"]["Fn::Sub"].rpartition("${AWS::StackName}-")[2] for one in alarms().values()}
        assert [one for one in sorted(titles) if f"| {one} |" not in text] == []
        assert [one for one in sorted(names) if f"| `{one}` |" not in text] == []
