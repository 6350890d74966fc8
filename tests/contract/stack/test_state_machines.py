"""The state machines against the code: names, errors, time limits, variables, payloads."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from jsonata import Jsonata

from local import built
from rewarm.adapters.table.holds import EXPIRY_SECONDS
from rewarm.domain import errors
from rewarm.domain.plan.estimates import LONGEST_RESTORE_SECONDS
from rewarm.steps.announce.announce import COMPOSERS, TRANSIENT, composer
from tests.contract import repository
from tests.contract.repository import ROOT, Graph, Json
from tests.support.wired import steps

LAMBDA_ERRORS = {
    "Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException",
    "Lambda.ClientExecutionTimeoutException", "Lambda.TooManyRequestsException",
    "Lambda.Unknown", "Runtime.ExitError", "Sandbox.Timedout",
}  # fmt: skip
"""Step Functions developer guide, "Handle transient Lambda service exceptions" and "Error handling"."""
PLATFORM_PREFIXES = ("States.", "StepFunctions.")
GOES_ON = {
    ("RestoreStateMachine", "Announce Plan"), ("RestoreVolumeStateMachine", "Announce Fallback"),
    ("RestoreVolumeStateMachine", "Announce Attached"), ("RestoreVolumeStateMachine", "Announce Ready"),
    ("RestoreVolumeStateMachine", "Announce Available"), ("RestoreVolumeStateMachine", "Run Hook"),
    ("RestoreVolumeStateMachine", "Announce Application"),
    ("ChangePerformanceStateMachine", "Announce Change"),
    ("RestoreVolumeStateMachine", "Verify Volume Before"), ("RestoreStateMachine", "Restore Volume"),
    ("RestoreVolumeStateMachine", "Release"), ("RestoreVolumeStateMachine", "Report Volume"),
    ("RestoreStateMachine", "Report"), ("RestoreStateMachine", "Announce Unreported"),
    ("RestoreStateMachine", "Release Target"), ("RestoreStateMachine", "Load Plan"),
    ("RestoreStateMachine", "Keep Result"), ("RestoreStateMachine", "Confirm Readiness"),
    ("RestoreStateMachine", "Report Confirmation"), ("RestoreStateMachine", "Announce Confirmation"),
    ("RestoreStateMachine", "Announce Drill"),
    ("RestoreStateMachine", "Announce Approval"), ("RestoreStateMachine", "Await Signal Of Approval"),
    ("FleetStateMachine", "Prepare Fleet"), ("FleetStateMachine", "Announce Fleet Plan"),
    ("FleetStateMachine", "Announce Fleet End"), ("FleetStateMachine", "Announce Approval"),
    ("FleetStateMachine", "Check Approval"), ("FleetStateMachine", "Await Signal Of Approval"),
    ("RestoreVolumeStateMachine", "Copy Blocks"), ("RestoreVolumeStateMachine", "Dispatch Warmer To Observe"),
    ("RestoreVolumeStateMachine", "Announce Hot"), ("RestoreVolumeStateMachine", "Boost Volume"),
    ("RestoreVolumeStateMachine", "Await Signal"), ("RestoreVolumeStateMachine", "Await Signal Of Snapshot"),
    *(("RestoreTestingStateMachine", name) for name in (
        "Look At Job", "Look At Volume", "Find Instance", "Attach Volume", "Restore", "Detach Volume",
    )),
}  # fmt: skip
"""A chat that does not answer, a measurement or boost that is nice to have, and a page never stop a restore.
Nor does what a volume at full speed could not give back or CloudWatch did not say; and Report tells which of
several volumes failed. Rewind says what became of a volume whose blocks could not be copied. Report Fleet
says how a fleet ended, by what became of its restores. Give Verdict says why a test came to no end."""
FAILS_WHOLE = {
    *(("CopyBlocksStateMachine", name) for name in ("List Blocks", "Copy Shard", "Join Parts")),
    ("FleetStateMachine", "Prepare Fleet Plan"),
}
"""Their errors are those of the execution, which `Copy Blocks` catches, or which GET /fleets/plans names."""
MAPS = {"Restore Fleet", "Copy Shards"}
"""The state behind each says what became of all its items."""
MACHINES = list(repository.MACHINES)
GRAPHS = [graph for name in MACHINES for graph in repository.graphs(name)]
TASKS = repository.tasks()
LAMBDA_TASKS = [task for task in TASKS if ":states:::lambda:invoke" in task[2]["Resource"]]


def ids(tasks: list[tuple[str, str, Json]]) -> list[str]:
    return [f"{machine}/{name}" for machine, name, _ in tasks]


def leaves() -> set[str]:
    return {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value)
        and issubclass(value, errors.RestoreError)
        and value is not errors.RestoreError
    }


def function_of(state: Json) -> str:
    """CreateVolume for ${CreateVolumeFunctionArn}; a drill runs its twin, DrillCreateVolume."""
    names = functions_of(state)
    assert names[:-1] in ([], [f"Drill{names[-1]}"]), names
    return names[-1].removeprefix("Drill")


def contract_of(step: Any) -> tuple[Any, Any]:
    """The event that a step takes and the result that it returns."""
    kinds = get_type_hints(step)
    return next(iter(kinds.values())), kinds["return"]


def functions_of(state: Json) -> list[str]:
    """The functions among which a state chooses, the ordinary one last."""
    return re.findall(r"\$\{(\w+)FunctionArn\}", state["Arguments"]["FunctionName"])


class TestErrors:
    def test_every_name_that_is_caught_exists(self) -> None:
        named = {
            error
            for _, _, state in repository.all_states()
            for block in [*state.get("Retry", []), *state.get("Catch", [])]
            for error in block["ErrorEquals"]
        }
        ours = {name for name in named if not name.startswith(PLATFORM_PREFIXES)} - LAMBDA_ERRORS
        assert ours <= leaves()

    def test_every_error_is_flat_documented_and_used(self) -> None:
        raised: set[str] = set()
        for path in (ROOT / "functions/rewarm").rglob("*.py"):
            if path.name != "errors.py":
                tree = ast.parse(path.read_text(encoding="utf-8"))
                raised |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
                raised |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for name in leaves():
            error = getattr(errors, name)
            assert error.__mro__[1] is errors.RestoreError, (
                f"{name}: Lambda reports the bare name, no inheritance"
            )
            assert error.__doc__, name
            assert name in raised, f"nothing raises {name}"

    @pytest.mark.parametrize(("machine", "name", "state"), TASKS, ids=ids(TASKS))
    def test_every_task_has_a_retry_a_catch_and_a_time_limit(
        self, machine: str, name: str, state: Json
    ) -> None:
        assert state["Retry"], machine
        assert state.get("Catch") or (machine, name) in FAILS_WHOLE, f"{machine}/{name}"
        limit = state["TimeoutSeconds"]
        of_wait = ("waitSeconds", "RestoreTestingMinutes")
        assert any(one in limit for one in of_wait) if isinstance(limit, str) else limit > 0, name

    @pytest.mark.parametrize(("machine", "name", "state"), TASKS, ids=ids(TASKS))
    def test_states_all_stands_alone_and_last(self, machine: str, name: str, state: Json) -> None:
        catches = [catch["ErrorEquals"] for catch in state.get("Catch", [])]
        if (machine, name) not in FAILS_WHOLE:
            assert catches.pop() == ["States.ALL"], f"{machine}/{name}"
        assert ["States.ALL"] not in catches
        for block in state["Retry"]:
            assert "States.ALL" not in block["ErrorEquals"]

    @pytest.mark.parametrize(("machine", "name", "state"), LAMBDA_TASKS, ids=ids(LAMBDA_TASKS))
    def test_the_functions_own_time_limit_comes_first(self, machine: str, name: str, state: Json) -> None:
        limit = repository.template()["Globals"]["Function"]["Timeout"]
        function = repository.functions()[f"{function_of(state)}Function"]
        if state["Resource"].endswith(".waitForTaskToken"):
            return  # its time limit is that of the wait; the function may well end after it
        assert function.get("Timeout", limit) < state["TimeoutSeconds"], f"{machine}/{name}"

    def test_a_restore_has_as_long_as_the_longest_plan(self) -> None:
        tasks = [state["TimeoutSeconds"] for _, name, state in TASKS if name == "Restore Volume"]
        limits = [
            repository.MACHINES[name]["TimeoutSeconds"]
            for name in ("RestoreStateMachine", "RestoreVolumeStateMachine")
        ]
        assert {*tasks, *limits} == {LONGEST_RESTORE_SECONDS}
        assert EXPIRY_SECONDS > LONGEST_RESTORE_SECONDS

    def test_the_last_try_of_announce_ready_is_known_as_such(self) -> None:
        """Also of a Retry with more attempts: each of those after it would be the last one, too."""
        state = next(state for _, name, state in TASKS if name == "Announce Ready")
        passing = {error.__name__ for error in TRANSIENT}
        least = min(one["MaxAttempts"] for one in state["Retry"] if passing & {*one["ErrorEquals"]})
        last_try = state["Arguments"]["Payload"]["details"]["lastTry"]
        assert last_try == f"{{% $states.context.State.RetryCount >= {least} %}}"

    @pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.start)
    def test_every_caught_error_ends_in_fail(self, graph: Graph) -> None:
        for name, state in graph.states.items():
            for catch in state.get("Catch", []):
                goes_on = (graph.machine, name) in GOES_ON or name in MAPS
                if catch["ErrorEquals"] != ["States.ALL"] or goes_on:
                    continue
                ends = set(terminals(graph, catch["Next"]))
                assert ends == {"Fail"}, f"{graph.machine}/{name} ends as {ends}"

    def test_what_goes_on_is_there(self) -> None:
        assert {(machine, name) for machine, name, _ in TASKS} >= GOES_ON | FAILS_WHOLE


def terminals(graph: Graph, start: str) -> Iterator[str]:
    """Types of the states in which a way from `start` may end."""
    seen, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        state = graph.states[name]
        if state.get("End") or state["Type"] in ("Fail", "Succeed"):
            yield state["Type"]
        waiting += [target for target, _ in repository.edges(state)]


class TestShape:
    @pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.start)
    def test_every_way_leads_somewhere_and_every_state_is_reached(self, graph: Graph) -> None:
        reached, waiting = set(), [graph.start]
        while waiting:
            name = waiting.pop()
            assert name in graph.states, f"{graph.machine}: no state {name}"
            if name not in reached:
                reached.add(name)
                waiting += [target for target, _ in repository.edges(graph.states[name])]
        assert reached == set(graph.states)

    def test_state_names_are_unique_within_a_machine(self) -> None:
        for machine in MACHINES:
            names = [name for graph in repository.graphs(machine) for name in graph.states]
            assert len(names) == len(set(names))

    def test_the_definition_has_a_time_limit_and_jsonata(self) -> None:
        for machine in MACHINES:
            definition = repository.MACHINES[machine]
            assert definition["QueryLanguage"] == "JSONata"
            assert definition["TimeoutSeconds"] > 0


class TestNames:
    def test_the_template_names_each_definition_where_the_build_writes_it(self, tmp_path: Path) -> None:
        machines = repository.resources("AWS::Serverless::StateMachine")
        named = {name: properties["DefinitionUri"] for name, properties in machines.items()}
        assert named == {name: f"statemachine/build/{name}.json" for name in MACHINES}
        built.build(tmp_path, {})
        for name, path in named.items():
            assert json.loads((tmp_path / path).read_text(encoding="utf-8")) == repository.MACHINES[name]

    @pytest.mark.parametrize(("machine", "name", "state"), LAMBDA_TASKS, ids=ids(LAMBDA_TASKS))
    def test_one_name_through_state_handler_step_resource_and_test(
        self, machine: str, name: str, state: Json
    ) -> None:
        function = function_of(state)
        step = repository.snake(function)
        assert name.replace(" ", "").startswith(function), f"{machine}/{name} runs {function}"
        assert len(list(ROOT.glob(f"functions/rewarm/steps/*/{step}.py"))) == 1
        assert len(list(ROOT.glob(f"tests/unit/steps/*/test_{step}.py"))) == 1
        resource = repository.functions()[f"{function}Function"]
        assert resource["Handler"] == f"rewarm.runtime.{step}"

    def test_each_state_is_registered_by_the_step_in_the_file_with_its_name(self) -> None:
        """The file's name is the state's, or how it begins: `Verify Volume After` is in verify_volume.py."""
        registered = {(one, step) for step, registration in steps().items() for one in registration.states}
        assert registered == {(name, repository.snake(function_of(state))) for _, name, state in LAMBDA_TASKS}
        for name, step in registered:
            words = name.lower().replace(" ", "_")
            assert step == max((one for one in steps() if f"{words}_".startswith(f"{one}_")), key=len), name

    def test_each_message_is_made_by_the_function_with_the_name_of_its_state(self) -> None:
        """The sweeper sends progress, and a change of performance fails by its own Announce Failure."""
        found = {
            (name.lower().replace(" ", "_"), composer(state["Arguments"]["Payload"]["event"]).__name__)
            for _, name, state in LAMBDA_TASKS
            if name.startswith("Announce ")
        }
        others = {pair for pair in found if pair[0] != pair[1]}
        assert others == {("announce_failure", "announce_change_failure")}
        composers = {composer(event).__name__ for event in COMPOSERS}
        assert composers - {composer for _, composer in found} == {"announce_fleet_progress"}

    def test_a_state_that_runs_a_state_machine_has_the_name_of_its_file(self) -> None:
        for _, name, state in TASKS:
            if ":states:startExecution" in state["Resource"]:
                (machine,) = re.findall(r"\$\{(\w+)StateMachineArn\}", json.dumps(state["Arguments"]))
                assert machine == name.replace(" ", "")
                assert (ROOT / f"statemachine/{repository.snake(machine)}.asl.yaml").is_file()

    @pytest.mark.parametrize("machine", MACHINES)
    def test_the_template_gives_exactly_the_substitutions_that_the_definition_takes(
        self, machine: str
    ) -> None:
        text = json.dumps(repository.MACHINES[machine])
        taken = {part.split("}", 1)[0] for part in text.split("${")[1:]}
        given = repository.resources("AWS::Serverless::StateMachine")[machine]["DefinitionSubstitutions"]
        assert set(given) == taken
        for name, value in given.items():
            if "Ref" in value and value["Ref"] in repository.template()["Parameters"]:
                assert name == value["Ref"]
            elif name != "Partition":
                resource = value.get("Ref") or value["Fn::GetAtt"][0]
                assert name == f"{resource}Arn"

    @pytest.mark.parametrize("machine", MACHINES)
    def test_every_resource_is_of_the_stacks_own_partition(self, machine: str) -> None:
        """Another one is a States.Runtime error, which no Catch sees."""
        for _, _, state in TASKS:
            assert state["Resource"].startswith("arn:${Partition}:states:::")
        assert "arn:aws" not in json.dumps(repository.MACHINES[machine])

    @pytest.mark.parametrize(("machine", "name", "state"), LAMBDA_TASKS, ids=ids(LAMBDA_TASKS))
    def test_the_payload_is_the_steps_event(self, machine: str, name: str, state: Json) -> None:
        model, _ = contract_of(steps()[repository.snake(function_of(state))].step)
        fields = {field.alias for field in model.model_fields.values()}
        assert set(state["Arguments"]["Payload"]) == fields, f"{machine}/{name}"

    @pytest.mark.parametrize(("machine", "name", "state"), LAMBDA_TASKS, ids=ids(LAMBDA_TASKS))
    def test_what_is_read_of_the_result_is_in_it(self, machine: str, name: str, state: Json) -> None:
        _, model = contract_of(steps()[repository.snake(function_of(state))].step)
        fields = {field.alias for field in model.model_fields.values()}
        for expression in repository.expressions(state.get("Assign", {})):
            read = set(re.findall(r"\$states\.result\.Payload\.(\w+)", expression))
            assert read <= fields, f"{machine}/{name}: {expression}"


class TestExpressions:
    def test_every_expression_parses(self) -> None:
        found = [one for machine in MACHINES for one in repository.expressions(repository.MACHINES[machine])]
        assert len(found) > 100
        for expression in found:
            Jsonata(expression)

    @pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.start)
    def test_every_variable_is_assigned_on_every_way(self, graph: Graph) -> None:
        before = assigned_before(graph)
        for name, state in graph.states.items():
            for expression in repository.expressions(state):
                missing = variables(expression) - before[name] - {"states"}
                assert not missing, f"{graph.machine}/{name}: {missing} in {expression}"


def assigned_before(graph: Graph) -> dict[str, frozenset[str]]:
    """The variables that every way to a state has assigned."""
    before = {graph.start: graph.outer}
    waiting = [graph.start]
    while waiting:
        name = waiting.pop()
        for target, new in repository.edges(graph.states[name]):
            known = before[name] | new
            met = known if target not in before else before[target] & known
            if before.get(target) != met:
                before[target] = met
                waiting.append(target)
    return before


def variables(expression: str) -> set[str]:
    """Free variables: neither built-in functions that are called nor parameters of a function inside."""
    found: set[str] = set()
    _collect(Jsonata(expression).ast, frozenset(), found, set())
    return found


def _collect(node: Any, bound: frozenset[str], found: set[str], seen: set[int]) -> None:
    if isinstance(node, (list, tuple)):
        for one in node:
            _collect(one, bound, found, seen)
        return
    if not hasattr(node, "type") or id(node) in seen:
        return
    seen.add(id(node))
    if node.type == "variable" and node.value and node.value not in bound:
        found.add(node.value)
    if node.type == "block":
        bound = bound | {one.lhs.value for one in node.expressions if one.type == "bind"}
    if node.type == "lambda":
        bound = bound | {argument.value for argument in node.arguments}
        _collect(node.body, bound, found, seen)
        return
    for name, value in vars(node).items():
        if name == "procedure" and getattr(value, "type", None) == "variable":
            continue
        if name not in ("_outer_instance", "seeking_parent"):
            _collect(value, bound, found, seen)


def test_free_variables_are_found() -> None:
    expression = (
        "$count($fallbacks) > 0 and [$filter($list, function($one, $at) { $at > $least })][0] = $merge([$a])"
    )
    assert variables(expression) == {"fallbacks", "list", "least", "a"}
    assert variables("($own := $a; $own + $other)") == {"a", "other"}
