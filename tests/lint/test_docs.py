"""The documents are true to the tree: links, targets, states, errors and outputs that they name exist."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
import yaml
from samtranslator.yaml_helper import yaml_parse

from rewarm.domain import errors
from tests.support.tree import ROOT, files

DOCUMENTS = [path for path in files("*.md") if ".venv" not in path.parts]
STATE_MACHINES = ("restore", "restore_volume", "change_performance")
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


def test_every_error_is_explained():
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`([A-Z][A-Za-z]+Error)`", text))
    names = {name for name in vars(errors) if name.endswith("Error") and name != "RestoreError"}
    assert told <= names
    # These two are retried; what they mean is in their names.
    # The last two are answers of the API, or cannot end an execution.
    quiet = {"ThrottledError", "ServiceUnavailableError", "RestoreNotFoundError", "RequestRefusedError"}
    assert names - quiet - {"VolumeNotFoundError", "VolumeFailedError"} <= told


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
    source = (ROOT / "local" / command / "options.py").read_text(encoding="utf-8")
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
