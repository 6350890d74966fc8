"""What is built for a release: packages, layers and checksums (local/tools/release/files.py)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import zipfile
from io import BytesIO

import pytest

from local import ROOT
from local.tools.release import files, terraform
from tests.support.tree import BIN


def test_the_packages_of_the_command_have_the_same_bytes_every_time(tmp_path):
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        files.distributions(ROOT, tmp_path / name, 1_700_000_000)
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
        os.utime(ROOT / "cli" / "pyproject.toml")
    assert made[0] == made[1]
    assert sorted(name.rpartition(".")[2] for name in made[0]) == ["gz", "whl"]


def test_the_wheel_can_be_installed_without_an_index(tmp_path):
    """Into an environment of its own; what it needs is there."""
    files.distributions(ROOT, tmp_path, 0)
    (wheel,) = tmp_path.glob("*.whl")
    home = tmp_path / "environment"
    files.run([BIN / "uv", "venv", "--system-site-packages", "--offline", home], tmp_path)
    files.run([BIN / "uv", "pip", "install", "--offline", "--no-deps", "--python", home, wheel], tmp_path)
    shown = "import rewarm_cli; print(rewarm_cli.__version__, rewarm_cli.__file__)"
    version, place = files.run([home / "bin" / "python", "-c", shown], tmp_path, PYTHONPATH="").split()
    assert version in wheel.name
    assert place.startswith(str(home))
    assert (home / "bin" / "rewarm").is_file()


@pytest.mark.network
@pytest.mark.long
def test_pipx_installs_the_wheel_and_what_it_needs(tmp_path):
    """What pipx does: a virtual environment of its own, the wheel by its path, the rest from the index."""
    files.distributions(ROOT, tmp_path, 0)
    (wheel,) = tmp_path.glob("*.whl")
    home = tmp_path / "environment"
    files.run(["python3", "-m", "venv", home], tmp_path)
    files.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", wheel], tmp_path, PYTHONPATH="")
    rewarm = home / "bin" / "rewarm"
    assert files.run([rewarm, "--version"], tmp_path, PYTHONPATH="").split()[-1] in wheel.name
    assert "Restore EBS snapshots" in files.run([rewarm, "--help"], tmp_path, PYTHONPATH="")


def test_the_source_distribution_holds_the_command(tmp_path):
    files.distributions(ROOT, tmp_path, 0)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert any(name.endswith("rewarm_cli/main.py") for name in names)
    assert any(name.endswith("pyproject.toml") for name in names)


def test_a_layer_names_no_python_of_whoever_built_it(tmp_path):
    record = tmp_path / "python" / "some-1.0.dist-info" / "RECORD"
    command = tmp_path / "python" / "bin" / "some"
    for path in (record, command):
        path.parent.mkdir(parents=True)
    command.write_text("#!/home/me/.venv/bin/python\n", encoding="utf-8")
    record.write_text("../bin/some,sha256=x,1\nbin/some,sha256=x,1\nsome.py,,\n", encoding="utf-8")
    assert files.without_programs(tmp_path) == {"python/some-1.0.dist-info/RECORD": b"some.py,,\n"}


def test_the_checksums_are_what_sha256sum_checks(tmp_path):
    (tmp_path / "rewarm-1").mkdir()
    (tmp_path / "rewarm-1" / "a.zip").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    (tmp_path / files.CHECKSUMS).write_text(files.checksums(tmp_path), encoding="utf-8")
    subprocess.run(["sha256sum", "--check", "--strict", files.CHECKSUMS], cwd=tmp_path, check=True)
    assert hashlib.sha256(b"a").hexdigest() in files.checksums(tmp_path)
    assert files.CHECKSUMS not in files.checksums(tmp_path)


def test_the_module_is_packed_whole():
    names = zipfile.ZipFile(BytesIO(files.module(ROOT, terraform.FILES))).namelist()
    there = {path.relative_to(ROOT / "terraform").as_posix() for path in (ROOT / "terraform").rglob("*.*")}
    assert set(names) == there


def test_a_tool_that_fails_is_shown_with_what_it_said(tmp_path):
    with pytest.raises(files.BuildError, match=r"(?s)ls nowhere ended with 2.*No such file"):
        files.run(["ls", "nowhere"], tmp_path, LC_ALL="C")
