"""Who may import whom: handlers, steps, domain; adapters, ports; never functions/ from local/ or tests/."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.support.tree import ROOT, files
from tests.support.wired import steps

PACKAGE = ROOT / "functions" / "rewarm"
MAY_IMPORT = {
    "domain": {"domain"},
    "ports": {"domain", "ports"},
    "contracts": {"contracts", "domain"},
    "steps": {"contracts", "domain", "ports", "steps"},
    "adapters": {"adapters", "domain", "ports"},
    "charts": {"charts", "contracts", "domain"},
    "page": {"charts", "contracts", "domain", "page"},
}
"""Layer -> layers of this package that it may import. Handlers wire all together and may import all."""

PART_OF = {"pydantic_core": "pydantic", "referencing": "jsonschema"}
OWN = {
    "functions",
    "local",
    "rewarm",
    "rewarm_cli",
    "rewarm_client",
    "tests",
    "types_boto3",
    "botocore_stubs",
}
ONLY_IN = {
    "boto3": {"adapters"},
    "botocore": {"adapters"},
    "matplotlib": {"charts"},
    "jinja2": {"page"},
}
"""Third party package -> the layers that may import it."""

NO_CLOCK = {"domain", "steps"}
NO_ENVIRONMENT = {"logging", "os", "random", "socket", "time", "uuid"}
"""What neither the domain nor a step imports: the time and every chance value come in the event."""

ROOM_MAY_USE = {
    "domain": {
        "benchmark": {"ready", "volume"},
        "blocks": {"plan", "time", "volume"},
        "plan": {"time", "volume"},
        "ready": {"volume"},
        "time": set(),
        "volume": set(),
        "words": {"time", "volume"},
    },
    "steps": {
        "adopt": {"record", "request", "select"},
        "announce": {"performance", "record", "report"},
        "clean_up": {
            "announce",
            "fleet",
            "record",
            "replace",
            "report",
            "select",
            "volume",
            "warm",
        },
        "blocks": {"record"},
        "fleet": {"plan", "record", "select"},
        "performance": {"record"},
        "plan": {"record", "request", "select"},
        "record": set(),
        "replace": {"record"},
        "rewind": {"record", "replace", "warm"},
        "report": {"record"},
        "request": {"record", "select", "warm"},
        "select": {"record"},
        "verify": {"record", "warm"},
        "volume": {"record", "replace", "select", "warm"},
        "warm": {"record"},
    },
}
"""Layer -> room -> the other rooms of the layer that it may import."""

LOCAL_MAY_USE = {
    "aws": set(),
    "soak": {"aws"},
    "tools": {"aws", "soak"},
    "aws/emulator": {"aws/region"},
    "aws/front": {"aws/permissions", "aws/region", "aws/wire"},
    "aws/machines": set(),
    "aws/permissions": {"aws/region"},
    "aws/region": {"aws/machines"},
    "aws/wire": {"aws/region"},
    "soak/lab": set(),
    "soak/audit": {"soak/lab"},
    "soak/trouble": {"soak/audit", "soak/lab"},
    "tools/bench": {"tools/plan"},
    "tools/messages": set(),
    "tools/plan": set(),
    "tools/release": set(),
    "tools/run": set(),
    "tools/scale": set(),
    "tools/measurements": {"tools/bench", "tools/run"},
}
"""Room of local/ -> the rooms beside it that it uses; any may use cli/."""
FEWEST_LINES = 40
SMALL_FOR_A_REASON = {
    "ports/messages.py": "no other port speaks to people",
    "ports/prices.py": "no other port is about the account's prices and quotas",
    "adapters/blocks/side_by_side.py": "four adapters use it, and the fast lab replaces its threads",
    "domain/time/patience.py": "steps of five rooms ask it",
    "restore_page.py": "only functions that draw may import it",
    "domain/tags.py": "three adapters, rules and fleets share it, and few functions ask for tags",
}
"""Module -> why it stands alone though it is short."""
SHARED_BY_STATES = {
    "clean_up": {"remove"},
    "release_target": {"give_back"},
    "report": {"figures", "report_of"},
}
"""The sweeper does for a restore that was stopped what the state does; so does a start that fails."""


def modules() -> list[Path]:
    return files("*.py", below="functions/rewarm")


def layer(path: Path) -> str:
    """The first part of the module's name below the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names of the modules that a file imports, in functions and `TYPE_CHECKING` blocks too."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by a relative name"
            assert node.module is not None
            if node.module == "rewarm":
                yield from (f"rewarm.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_inwards(path):
    own = layer(path)
    for name in imported(path):
        top, _, rest = name.partition(".")
        assert top not in {"local", "rewarm_cli", "tests"}, f"{path} ships, {name} doesn't"
        if top == "rewarm" and own in MAY_IMPORT:
            target = rest.partition(".")[0]
            shared = target in {"", "__version__", "errors", "observability", "settings"} and own != "domain"
            assert target in MAY_IMPORT[own] or shared, f"{own} must not import {name}"


@pytest.mark.parametrize(
    "path", [path for path in modules() if layer(path) == "domain"], ids=lambda path: path.name
)
def test_the_domain_uses_only_the_standard_library(path):
    for name in imported(path):
        top = name.partition(".")[0]
        assert top == "rewarm" or top in sys.stdlib_module_names, f"the domain must not import {name}"


@pytest.mark.parametrize(
    "path", [path for path in modules() if layer(path) in NO_CLOCK], ids=lambda path: path.stem
)
def test_the_domain_and_the_steps_read_no_clock_and_no_environment(path):
    for name in imported(path):
        assert name.partition(".")[0] not in NO_ENVIRONMENT, f"{layer(path)} must not use {name}"
    text = path.read_text(encoding="utf-8")
    assert ".now(" not in text
    assert "utcnow" not in text


def room_of(name: str, within: str) -> str:
    """The room of a module of a layer; empty for what lies beside the rooms."""
    first = name.removeprefix(f"rewarm.{within}").lstrip(".").partition(".")[0]
    return first if first in ROOM_MAY_USE[within] else ""


def used_rooms(within: str) -> dict[str, set[str]]:
    """Room -> the other rooms of the layer that its modules import."""
    rooms: dict[str, set[str]] = {}
    for path in files("*.py", below=f"functions/rewarm/{within}"):
        own, *inside = path.relative_to(PACKAGE / within).parts
        if not inside:
            continue
        used = {room_of(name, within) for name in imported(path) if name.startswith(f"rewarm.{within}.")}
        rooms.setdefault(own, set()).update(used - {own, ""})
    return rooms


@pytest.mark.parametrize("within", sorted(ROOM_MAY_USE))
def test_each_room_uses_just_the_rooms_of_the_table(within):
    assert used_rooms(within) == ROOM_MAY_USE[within]


@pytest.mark.parametrize("within", sorted(ROOM_MAY_USE))
def test_rooms_form_no_circle(within):
    TopologicalSorter(ROOM_MAY_USE[within]).prepare()


def local_rooms(path: Path) -> list[str]:
    """The rooms of local/ that a module is in: `aws`, `aws/region`."""
    parts = path.relative_to(ROOT / "local").parts[:-1]
    return ["/".join(parts[:depth]) for depth in (1, 2)[: len(parts)]]


def used_beside(room: str) -> set[str]:
    """The rooms beside a room of local/ that its modules import."""
    beside = {other for other in LOCAL_MAY_USE if Path(other).parent == Path(room).parent} - {room}
    used = {
        name.replace(".", "/").removeprefix("local/")
        for path in files("*.py", below=f"local/{room}")
        for name in imported(path)
    }
    return {other for other in beside if any(f"{name}/".startswith(f"{other}/") for name in used)}


@pytest.mark.parametrize("room", sorted(LOCAL_MAY_USE))
def test_each_room_of_local_uses_just_the_rooms_of_the_table(room):
    assert used_beside(room) == LOCAL_MAY_USE[room]


def test_every_room_of_local_is_in_the_table_and_rooms_form_no_circle():
    there = {room for path in files("*.py", below="local") for room in local_rooms(path)}
    assert there == LOCAL_MAY_USE.keys()
    TopologicalSorter(LOCAL_MAY_USE).prepare()


def test_what_users_run_imports_nothing_of_local_or_the_tests():
    for path in files("*.py", below="cli"):
        names = [name for name in imported(path) if name.partition(".")[0] in {"local", "tests"}]
        assert names == [], f"{path} is for a real account"


def test_only_steps_and_what_aws_calls_beside_them_are_short_modules():
    entrances = {"__init__", *steps()} | {path.stem for path in (PACKAGE / "handlers").glob("*.py")}
    short = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        if path.stem not in entrances and len(path.read_text(encoding="utf-8").splitlines()) < FEWEST_LINES
    }
    assert short == SMALL_FOR_A_REASON.keys()


@pytest.mark.parametrize("room", sorted(ROOM_MAY_USE["steps"]))
def test_each_module_of_a_room_is_a_state_a_route_or_named_in_its_room(room):
    text = (PACKAGE / "steps" / room / "__init__.py").read_text(encoding="utf-8")
    head = re.findall(r"^(?:Routes?|Called [a-z ]+): (.*)\.$", text, re.MULTILINE)
    entrances = {name.strip() for names in head for name in re.split(r"[,.(]", names)} | steps().keys()
    named = set(re.findall(r"^- ([a-z_]+): ", text, re.MULTILINE))
    there = {path.stem for path in (PACKAGE / "steps" / room).glob("*.py")} - {"__init__"}
    assert named <= there, "the room names a module that is not there"
    assert there - named <= entrances | {room}, "the room does not name a module"


def test_a_state_exports_its_step_only():
    """And the bundle of ports that it takes. What others need is in a helper's module."""
    for path in modules():
        for module, names in imported_names(path):
            state = module.rpartition(".")[2]
            if module.startswith("rewarm.steps.") and module.count(".") == 3 and state in steps():
                ports = {name for name in names if name.endswith("Ports")}
                others = names - {state} - ports - SHARED_BY_STATES.get(state, set())
                assert not others, f"{path.relative_to(PACKAGE)} imports {sorted(others)} of {module}"


def imported_names(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Module -> what a file imports of it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module, {alias.name for alias in node.names}


def test_each_module_has_a_name_that_no_other_one_of_its_layer_has():
    """In two layers it is one thing seen from both, such as a port and its adapter.

    Messages are such a layer twice: what they say (`domain/words`), and of what (`steps/announce`).
    """
    places: dict[tuple[str, str], list[str]] = {}
    for path in modules():
        *rooms, name = path.relative_to(PACKAGE).parts
        aspect = "/".join(rooms) if rooms and rooms[-1] in {"words", "announce"} else "/".join(rooms[:1])
        if name not in {"__init__.py", "routes.py"}:
            places.setdefault((aspect, name), []).append("/".join(rooms))
    assert {name: rooms for name, rooms in places.items() if len(rooms) > 1} == {}


def test_each_class_name_means_one_thing():
    places: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("package", sorted(ONLY_IN))
def test_aws_clients_live_in_adapters(package):
    users = {
        layer(path) for path in modules() if any(name.split(".")[0] == package for name in imported(path))
    }
    assert users <= ONLY_IN[package] | {"aws_clients"}, f"{package} is used in {users}"


def test_every_imported_package_is_pinned():
    """By name in a list of what we ask for: what only another package brings along may go away with it."""
    wanted = set(re.findall(r"^([a-z0-9-]+)", _requirements(), re.MULTILINE))
    distributions = packages_distributions()
    sources = [
        *files("*.py", below="functions"),
        *files("*.py", below="cli"),
        *files("*.py", below="local"),
        *files("*.py", below="tests"),
    ]
    for path in sources:
        for name in imported(path):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top in OWN or top.startswith("mypy_boto3_"):
                continue
            top = PART_OF.get(top, top)
            names = {one.lower().replace("_", "-") for one in distributions.get(top, [top])}
            assert names & wanted, f"{path.relative_to(ROOT)} imports {top}, which no requirements/*.in names"


def _requirements() -> str:
    lists = [*files("*.in", below="functions"), *files("*.in", below="requirements")]
    return "\n".join(path.read_text(encoding="utf-8") for path in lists)


def test_the_region_simulator_knows_no_emulator():
    for path in [*files("*.py", below="local/aws/region"), *files("*.py", below="local/aws/wire")]:
        names = set(imported(path))
        assert not [
            name for name in names if name.startswith(("ministack", "local.aws.emulator", "local.aws.host"))
        ], path
