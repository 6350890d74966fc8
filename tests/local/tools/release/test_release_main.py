"""`make release` refuses what is no release, and says why (local/tools/release/__main__.py)."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from local import ROOT
from local.tools.release import __main__ as command
from local.tools.release import files, versions


@pytest.fixture
def clone(tmp_path):
    """A small clone that is ready for a release."""
    for name in versions.COPIES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    heading = f"## [{versions.current()}] - 2026-11-23\n"
    (tmp_path / "CHANGELOG.md").write_text(heading, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "All")


def test_a_commit_with_its_version_in_the_changelog_is_ready(clone):
    command.check(clone)


def test_files_that_differ_from_the_commit_are_named(clone):
    (clone / "CHANGELOG.md").write_text("", encoding="utf-8")
    (clone / "new.txt").write_text("", encoding="utf-8")
    with pytest.raises(
        command.NotReadyError, match=r"2 files differ from the commit \(CHANGELOG.md, new.txt\)"
    ):
        command.check(clone)


def test_a_version_that_the_changelog_does_not_have_is_named(clone):
    versions.write("7.0.0", clone)
    commit(clone)
    with pytest.raises(
        command.NotReadyError, match=r"no heading for 7.0.0; put .* `## \[7.0.0\] - YYYY-MM-DD`"
    ):
        command.check(clone)


def test_a_copy_of_the_version_that_differs_is_named(clone):
    (clone / "warmer" / "VERSION").write_text("6.6.6\n", encoding="utf-8")
    commit(clone)
    with pytest.raises(command.NotReadyError, match=r"'warmer/VERSION': '6.6.6'.*make version VERSION="):
        command.check(clone)


def test_a_folder_that_is_no_clone_is_refused(clone):
    shutil.rmtree(clone / ".git")
    with pytest.raises(command.NotReadyError, match="built from a commit, in a clone"):
        command.check(clone)


def test_the_changelog_has_the_version_of_this_tree():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{versions.current()}] - 20" in changes


def test_what_is_wrong_is_one_line_and_an_exit_status(monkeypatch, capsys):
    def not_ready(_root):
        raise command.NotReadyError("so it is")

    def broken(_root, _folder):
        raise files.BuildError("a tool said no")

    monkeypatch.setattr(command, "check", not_ready)
    assert command.main([]) == command.NOT_READY
    assert capsys.readouterr().err == "make release: so it is\n"
    monkeypatch.setattr(command, "check", lambda _root: None)
    monkeypatch.setattr(command, "build", broken)
    assert command.main([]) == command.FAILED
    assert capsys.readouterr().err == "make release: a tool said no\n"


@pytest.mark.network
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_whole_release_from_two_clones_has_the_same_bytes(tmp_path):
    """With packages from the index, and the agent compiled in each."""
    sums = []
    for name in ("one", "another/deeper"):
        clone = tmp_path / name
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        program = [ROOT / ".venv" / "bin" / "python", "-m", "local.tools.release", "--folder", clone / "dist"]
        ended = subprocess.run(program, cwd=clone, capture_output=True, text=True, check=False)
        assert ended.returncode == command.BUILT, ended.stderr
        subprocess.run(["sha256sum", "--check", "--quiet", files.CHECKSUMS], cwd=clone / "dist", check=True)
        sums.append(ended.stdout)
    assert sums[0] == sums[1]
    assert len(sums[0].splitlines()) >= 15
