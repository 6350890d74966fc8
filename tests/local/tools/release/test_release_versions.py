"""One version in all that ships (local/tools/release/versions.py)."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from local import ROOT
from local.tools import openapi
from local.tools.release import versions
from rewarm import __version__
from rewarm.adapters import clients


def test_every_place_has_the_version_of_pyproject_toml():
    assert set(versions.copies().values()) == {versions.current()}
    assert openapi.document()["info"]["version"] == versions.current()
    assert openapi.definition()["info"]["version"] == versions.current()
    published = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    assert published["info"]["version"] == versions.current()


@pytest.mark.agent
def test_the_agent_says_it():
    said = subprocess.run(
        [ROOT / "warmer" / "build" / "warmer", "--version"], capture_output=True, text=True, check=True
    )
    assert versions.current() in said.stdout


def test_aws_sees_it_in_the_functions_calls():
    assert clients.config().user_agent_extra == f"rewarm/{__version__}"


def test_another_version_is_written_to_every_place(tmp_path):
    for name in versions.COPIES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    versions.write("10.2.33", tmp_path)
    assert versions.current(tmp_path) == "10.2.33"
    assert versions.copies(tmp_path) == dict.fromkeys(versions.COPIES, "10.2.33")


@pytest.mark.parametrize("text", ["", "1.2", "v1.2.3", "1.2.3-rc1"])
def test_what_is_no_version_is_refused(tmp_path, text):
    with pytest.raises(versions.VersionError, match="three numbers such as"):
        versions.write(text, tmp_path)


def test_a_file_without_its_place_is_named(tmp_path):
    for name in versions.COPIES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("nothing\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n', encoding="utf-8")
    with pytest.raises(versions.VersionError, match=r"cli/pyproject.toml names no version"):
        versions.copies(tmp_path)
