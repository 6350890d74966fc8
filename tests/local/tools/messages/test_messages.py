"""The pictures in docs/ show the messages that the product sends today."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from local import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """In a process of their own, as the command makes them."""
    program = "import json; from local.tools.messages.payloads import pictures; print(json.dumps(pictures()))"
    path = os.pathsep.join(["functions", "cli", "."])
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, str] = json.loads(run.stdout.splitlines()[-1])
    return found


def words(svg: str) -> str:
    return " ".join(ET.fromstring(svg).itertext())


def test_the_committed_pictures_are_todays_messages(made: dict[str, str]) -> None:
    committed = {name: (DOCS / name).read_text(encoding="utf-8") for name in made}
    assert [name for name in made if committed[name] != made[name]] == [], "run `make messages-docs`"


def test_they_show_buttons_thread_and_failure(made: dict[str, str]) -> None:
    plan, ready, failed = (words(made[f"messages-{name}.svg"]) for name in ("plan", "ready", "failed"))
    assert all(f"{word}" in plan for word in ("Approve $", "Cancel", "Report"))
    assert "Thread: " in ready
    assert "is at full speed" in ready
    assert "Restore failed" in failed
    assert "Cancel" not in ready.partition("Thread")[0].replace("To cancel", "")


def test_each_is_shown(made: dict[str, str]) -> None:
    page = (DOCS / "messages.md").read_text(encoding="utf-8")
    for name in made:
        assert f"({name})" in page
