"""The documents are true to the tree: links, targets, states, errors and outputs that they name exist."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from decimal import Decimal

import pytest

from local import parts, state_machines, yaml_text
from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain import errors
from rewarm.domain.words.failures import PLAIN
from rewarm.steps.record.restore import Status
from tests.lint.test_imports import ROOM_MAY_USE
from tests.support.tree import ROOT, files

DOCUMENTS = [path for path in files("*.md") if ".venv" not in path.parts]
SHOWN = ("RestoreStateMachine", "RestoreVolumeStateMachine", "ChangePerformanceStateMachine")
"""State machines in the picture."""
NO_ACCOUNT = "ExecutionAborted"
"""What the sweeper writes where an execution ended without telling why."""
SOURCES = {"soak": "local/soak", "undeploy": "cli/rewarm_cli"}
"""Target of make -> where its options are, if that is not local/tools/<target>."""
WITH_ROOMS = (
    "functions/rewarm", "functions/rewarm/steps", "functions/rewarm/domain", "warmer/src",
    "local", "local/aws", "local/tools", "local/soak", "tests",
)  # fmt: skip
"""Folders whose own folders the README names."""


def states():
    definitions = state_machines.definitions()
    return {name for machine in SHOWN for name in definitions[machine]["States"]}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(r' src(?:set)?="([^"]+)"', text)
    broken = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert broken == []


def anchors(path):
    """As GitHub names the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(path):
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", path.read_text(encoding="utf-8"))
    broken = [
        f"{name}#{anchor}"
        for name, anchor in links
        if anchor not in anchors(path.parent / name if name else path)
    ]
    assert broken == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_exist(path):
    named = re.findall(
        r"`([\w.-]+/[\w./*-]+\.(?:py|yaml|json|sh|c|h|md|svg))`", path.read_text(encoding="utf-8")
    )
    roots = (ROOT, ROOT / "functions" / "rewarm", path.parent)
    assert [name for name in named if not any(next(root.glob(name), None) for root in roots)] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_exist(path):
    folder = ROOT / ("warmer" if "warmer" in path.parts else "")
    text = "\n".join(one.read_text(encoding="utf-8") for one in (folder / "Makefile", *folder.glob("*.mk")))
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    shown = path.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```", shown, re.MULTILINE | re.DOTALL))
    named = re.findall(r"`make ([a-z][a-z-]*)", shown)
    named += re.findall(r"^(?:\$ )?make ([a-z][a-z-]*)", blocks, re.MULTILINE)
    assert set(named) <= targets


@pytest.mark.parametrize("name", ["workflow.svg", "workflow-narrow.svg"])
def test_the_picture_shows_states_that_exist(name):
    picture = ET.parse(ROOT / "docs" / name)
    shown = set()
    for group in picture.iter("{http://www.w3.org/2000/svg}g"):
        if group.get("class") == "trigger":
            continue
        words = [text.text for text in group if text.tag.endswith("}text") and text.get("class") != "sub"]
        shown.add(" ".join(words))
    assert shown <= states()
    quiet = {
        name for name in states() if name.endswith("?") or name.startswith(("Wait For", "Await", "Take"))
    }
    rare = {
        "Replace Detachment",
        "Replace Root",
        "Start Instance",
        "Start Instance Check",
        "Announce Available",
        "Boost Volume",
        "Announce Hot",
        "Dispatch Warmer To Observe",
        "Duplicate Ignored",
        "Dry Run Completed",
        "Choose Fallback",
        "Clean Up Attempt",
        "Clean Up Drill",
        "Announce Drill",
        "Announce Application",
        "No Fallback",
        "Announce Fallback",
        "Announce Unreported",
        "Announce Approval",
        "Release Target",
        "Release Target After Failure",
    }
    assert states() - quiet - rare == shown


def first_cells(heading):
    """What is in backticks in the first column of the tables below a heading of operations.md."""
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ", 1)[0])]


def test_every_error_has_a_row_in_when_it_fails():
    rows = first_cells("When it fails")
    names = {one.__name__ for one in subclasses(errors.RestoreError)}
    assert sorted(rows) == sorted(set(rows)), "a name has two rows"
    assert set(rows) == names | set(PLAIN) | {NO_ACCOUNT}


def subclasses(base):
    for one in base.__subclasses__():
        if one.__module__ == errors.__name__:
            yield one
        yield from subclasses(one)


def test_errors_that_are_named_elsewhere_exist():
    names = {one.__name__ for one in subclasses(errors.RestoreError)}
    for document in ("operations.md", "game-day.md"):
        text = (ROOT / "docs" / document).read_text(encoding="utf-8")
        assert set(re.findall(r"`([A-Z][A-Za-z]+Error)`", text)) <= names


def test_every_status_is_explained():
    assert sorted(first_cells("Watching")) == sorted(one.value for one in Status)


def test_every_alarm_of_the_stack_is_explained():
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    alarms = re.findall(r'AlarmName: !Sub "?operations-of-\$\{AWS::StackName\}-([a-z-]+)', text)
    assert sorted(first_cells("Dashboard and alarms")) == sorted(alarms)


def test_requests_that_are_shown_are_accepted():
    """Those for curl; tests/cli/test_shown_commands.py has those that `rewarm` makes."""
    shown = []
    for name in ("README.md", "docs/operations.md", "docs/game-day.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for body in re.findall(r"(?:-d |request=)'(\{.*?\})'", text, re.DOTALL):
            request = json.loads(body.replace("-…", "-0123456789abcdef0"))
            if "source" in request and "alarm" not in request["source"]:
                shown.append(parse_restore_request(request))
    assert shown
    assert all(request.source.snapshot_id is None for request in shown), "a frozen snapshot as an example"


def test_stack_outputs_that_commands_read_exist():
    template = yaml_text.template()
    for name in ("operations.md", "game-day.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\boutput ([A-Z]\w+)", text)) <= set(template["Outputs"])


def test_stack_outputs_and_parameters_that_are_named_exist():
    template = yaml_text.template()
    known = {*template["Outputs"], *template["Parameters"]}
    wanted = {
        "ApiUrl",
        "AlarmEventsDeadLetterQueueUrl",
        "AlarmNamePrefix",
        "PriceOverrides",
        "LogRetentionDays",
    }
    assert wanted <= known
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(\w+)=(?:https|you@)", readme)) <= known


def shown_options():
    """Each `make target ARGS=…` of a document -> the options in it."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for target, options in re.findall(r"""make ([a-z-]+) ARGS=("[^"\n]*"|'[^'\n]*'|[^\s`"']+)""", text):
            yield from ((target, option) for option in re.findall(r"(?<!\S)[\"']?(--[a-z-]+)", options))


@pytest.mark.parametrize("target", sorted({target for target, _ in shown_options()} - {"deploy"}))
def test_the_options_that_are_named_exist(target):
    sources = files("*.py", below=SOURCES.get(target, f"local/tools/{target}"))
    known = set(re.findall(r'"(--[a-z-]+)"', "".join(path.read_text(encoding="utf-8") for path in sources)))
    assert {option for name, option in shown_options() if name == target} - {"--help"} - known == set()


def map_of_the_tree():
    """Folder of each row of the README's map -> the row."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Map of the tree\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| [")]
    return {re.search(r"\]\(([^)]+)\)", row)[1]: row for row in rows}


def folders():
    """Each folder with a file in it, and each folder above one."""
    found = {parent for path in files("*") for parent in path.relative_to(ROOT).parents}
    return {str(folder) for folder in found if not any(part.startswith(".") for part in folder.parts)} - {"."}


def test_the_readme_maps_every_top_level_folder():
    mapped = {path.split("/", 1)[0] for path in map_of_the_tree()}
    assert {folder for folder in folders() if "/" not in folder} - mapped == set()


@pytest.mark.parametrize("parent", WITH_ROOMS)
def test_the_readme_names_each_room(parent):
    shown = map_of_the_tree()
    rooms = {folder for folder in folders() if folder.rpartition("/")[0] == parent}
    named = set(re.findall(r"`([a-z_]+)`", shown.get(parent, "")))
    assert {room for room in rooms if room not in shown and room.rpartition("/")[2] not in named} == set()


def test_the_architecture_says_which_room_uses_which():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.split("\n| room | uses |\n", 1)[1].split("\n\n", 1)[0]
    rows = [
        [set(re.findall(r"`(\w+)`", cell)) for cell in row.split(" | ")] for row in table.splitlines()[1:]
    ]
    assert {room: used for rooms, used in rows for room in rooms} == ROOM_MAY_USE["steps"]


@pytest.mark.parametrize(
    ("requirements", "said"), [("run", "and {} Python packages"), ("cli", "only {} Python packages")]
)
def test_the_readme_counts_what_set_up_installs(requirements, said):
    pinned = (ROOT / "requirements" / f"{requirements}.txt").read_text(encoding="utf-8")
    packages = len(re.findall(r"^[a-z].*==", pinned, re.MULTILINE))
    assert said.format(packages) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_counts_what_an_idle_stack_pays_for():
    whole = yaml_text.template()
    types, every_type = (
        [resource["Type"] for resource in resources.values()]
        for resources in (parts.chosen(whole)["Resources"], whole["Resources"])
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    more = every_type.count("AWS::CloudWatch::Alarm") - types.count("AWS::CloudWatch::Alarm")
    assert f"adds {more} alarms, {more * Decimal('0.10')} USD a month" in readme
    rows = re.findall(r"^\| (\w+)[^|]* \| (\d+) \| (\d\.\d\d) \| (\d\.\d\d) \|$", readme, re.MULTILINE)
    assert len(rows) == 4
    assert f"| CloudWatch alarms | {types.count('AWS::CloudWatch::Alarm')} |" in readme
    assert f"| CloudWatch dashboard | {types.count('AWS::CloudWatch::Dashboard')} |" in readme
    assert f"with Slack | {types.count('AWS::SecretsManager::Secret')} |" in readme
    assert all(int(number) * Decimal(each) == Decimal(month) for _, number, each, month in rows)
    assert f"about {sum(Decimal(month) for *_, month in rows)} USD a month" in readme


def test_the_changelog_says_nothing_twice():
    """It is merged as a union of lines, which keeps a section twice where another branch has moved it."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in re.split(r"(?m)^## ", text)[1:]:
        titles = re.findall(r"(?m)^(?:### |- ).*", version)
        assert [title for title, count in Counter(titles).items() if count > 1] == []
    assert not re.search(r"[^\n]\n### ", text)
