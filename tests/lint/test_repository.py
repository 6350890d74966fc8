"""What must not stand in this repository, and what must."""

from __future__ import annotations

import re

import pytest

from tests.support.tree import ROOT, files

TOP_LEVEL = (
    "functions", "statemachine", "documents", "warmer", "events", "tests", "local", "cli", "docs",
    "terraform", "template.yaml", "samconfig.toml", "Makefile", "README.md", "CONTRIBUTING.md",
    "CHANGELOG.md", "SECURITY.md", "LICENSE", "pyproject.toml", ".editorconfig", ".pre-commit-config.yaml",
    ".ci/run",
)  # fmt: skip
SHIPPED = [ROOT / "functions" / name for name in ("requirements.txt", "requirements-charts.txt")]
LOCKS = [*files("*.txt", below="requirements"), *SHIPPED]
FORBIDDEN = {
    "a package registry's address": re.compile(
        r"((?<!PackageURL\(\")pypi|pythonhosted|registry\.npmjs|--(extra-)?index-url|find-links)"
    ),
    "work that is left over": re.compile(r"\b(TODO|FIXME|XXX)\b"),
}
CORPUS = "corpus"
"""Folders of inputs that fuzzing has found; they are bytes, not text."""
BINARY = {".bin", ".gz", ".ico", ".jpg", ".png", ".woff2", ".zip"}


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_the_top_level_is_complete(name):
    assert (ROOT / name).exists()


@pytest.mark.parametrize("what", sorted(FORBIDDEN))
def test_nothing_forbidden(what):
    found = []
    for path in files("*"):
        if _is_binary(path) or path.name == "test_repository.py":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if FORBIDDEN[what].search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []


def test_each_mark_of_generated_files_finds_some():
    lines = (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    marks = [line.partition(" linguist-generated")[0] for line in lines if not line.startswith("#")]
    assert marks
    assert [mark for mark in marks if not list(ROOT.glob(mark.removeprefix("/")))] == []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_package_is_pinned_with_hashes(path):
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    packages = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert packages
    assert not [line for line in packages if "==" not in line or "--hash=sha256:" not in line]
    assert (path.with_suffix(".in")).is_file()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_ships_is_what_is_tested(path):
    pins = _pins(path)
    assert pins
    assert pins <= _pins(ROOT / "requirements" / "dev.txt")


@pytest.mark.parametrize(("smaller", "larger"), [("cli", "run"), ("run", "release"), ("release", "dev")])
def test_the_same_packages_are_installed_for_each_purpose(smaller, larger):
    """One virtual environment serves all of them, whichever is set up first."""
    assert _pins(ROOT / "requirements" / f"{smaller}.txt") < _pins(ROOT / "requirements" / f"{larger}.txt")


def _is_binary(path):
    return path.suffix in BINARY or CORPUS in path.parts


def _pins(path):
    """Packages with their versions; one may have another version on another Python."""
    found = re.findall(r"^([a-z0-9._-]+)(?:\[.*?\])?==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return set(found)


def test_text_files_end_with_one_line_feed_and_hold_no_trailing_blanks():
    wrong = []
    for path in files("*"):
        if _is_binary(path) or path.name in {"LICENSE", "package-lock.json"}:
            continue
        text = path.read_text(encoding="utf-8")
        if text and (
            not text.endswith("\n") or text.endswith("\n\n") or re.search(r"[ \t]+$", text, re.MULTILINE)
        ):
            wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []
