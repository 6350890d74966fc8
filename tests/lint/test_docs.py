"""The documents are true to the tree: links, targets, states, errors and outputs that they name exist."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
import yaml
from samtranslator.yaml_helper import yaml_parse

from rewarm.contracts import parse_restore_request
from rewarm.domain import errors
from rewarm.domain.words.failures import PLAIN
from rewarm.steps.record.records import Status
from tests.support.tree import ROOT, files

DOCUMENTS = [path for path in files("*.md") if ".venv" not in path.parts]
STATE_MACHINES = ("restore", "restore_volume", "change_performance")
NO_ACCOUNT = "ExecutionAborted"
"""What the sweeper writes where an execution ended without telling why."""
TRIGGERS = {"CloudWatch alarm", "POST /restores", "Schedule", "POST /volumes/ {id}/performance"}


def states():
    names = set()
    for machine in STATE_MACHINES:
        text = (ROOT / "statemachine" / f"{machine}.asl.yaml").read_text(encoding="utf-8")
        names |= set(yaml.safe_load(text)["States"])
    return names


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
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
def test_make_targets_exist(path):
    folder = ROOT / ("warmer" if "warmer" in path.parts else "")
    text = "\n".join(one.read_text(encoding="utf-8") for one in (folder / "Makefile", *folder.glob("*.mk")))
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z][a-z-]*)", path.read_text(encoding="utf-8")))
    assert named <= targets


def test_the_picture_shows_states_that_exist():
    picture = ET.parse(ROOT / "docs" / "workflow.svg")
    shown = set()
    for group in picture.iter("{http://www.w3.org/2000/svg}g"):
        words = [text.text for text in group if text.tag.endswith("}text") and text.get("class") != "sub"]
        shown.add(" ".join(words))
    assert shown - TRIGGERS <= states()
    quiet = {
        name for name in states() if name.endswith("?") or name.startswith(("Wait For", "Await", "Take"))
    }
    rare = {
        "Replace Check",
        "Replace Detachment",
        "Announce Available",
        "Duplicate Ignored",
        "Dry Run Completed",
        "Choose Fallback",
        "Clean Up Attempt",
        "No Fallback",
        "Announce Fallback",
        "Announce Unreported",
        "Release Target",
        "Release Target After Failure",
    }
    assert states() - quiet - rare == shown - TRIGGERS


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
    alarms = re.findall(r"AlarmName: !Sub operations-of-\$\{AWS::StackName\}-([a-z-]+)", text)
    assert sorted(first_cells("Dashboard and alarms")) == sorted(alarms)


def test_requests_that_are_shown_are_accepted():
    shown = []
    for name in ("README.md", "docs/operations.md", "docs/game-day.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for body in re.findall(r"(?:-d |request=)'(\{.*?\})'", text, re.DOTALL):
            request = json.loads(body.replace("-…", "-0123456789abcdef0"))
            if "source" in request and "alarm" not in request["source"]:
                shown.append(parse_restore_request(request))
    assert len(shown) >= 4
    assert all(request.source.snapshot_id is None for request in shown), "a frozen snapshot as an example"


def test_stack_outputs_that_commands_read_exist():
    template = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
    for name in ("operations.md", "game-day.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\boutput ([A-Z]\w+)", text)) <= set(template["Outputs"])


def test_stack_outputs_and_parameters_that_are_named_exist():
    template = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
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


@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_options_that_are_named_exist(command):
    source = (ROOT / "local" / "tools" / command / "options.py").read_text(encoding="utf-8")
    for name in ("README.md", "docs/operations.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for options in re.findall(rf"make {command} ARGS=([^`]+)`", text):
            for option in re.findall(r"--[a-z-]+", options):
                assert option in source, option


def test_the_readme_maps_every_top_level_folder():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    folders = {path.relative_to(ROOT).parts[0] for path in files("*") if path.parent != ROOT}
    shown = {name for name in folders if not name.startswith(".")}
    missing = [name for name in sorted(shown - {"requirements"}) if f"({name})" not in readme]
    assert missing == []
