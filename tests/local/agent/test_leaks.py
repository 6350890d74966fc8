"""Nothing that is on a device leaves it: the agent prints and keeps counts, times and block numbers alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.tree import ROOT

AGENT = ROOT / "warmer" / "build" / "warmer"
BLOCK = 512 * 1024
BLOCKS = 16
SECRET = b"card=4929-1234-5678-9012;"
"""Whatever a user has there. A tenth of it would be noticed."""

pytestmark = [
    pytest.mark.agent,
    pytest.mark.skipif(not AGENT.is_file(), reason="the agent is not built"),
]


@pytest.mark.parametrize(
    "command",
    [
        ["warm", "disk", "--map", "map", "--state", "state", "--progress", "json"],
        ["warm", "disk", "--scope", "used", "--progress", "bar"],
        ["verify", "disk", "--map", "map", "--samples", "20", "--max-p99-ms", "10000"],
        ["inspect", "disk"],
        ["warm", "disk", "--map", "broken"],
    ],
    ids=" ".join,
)
def test_no_byte_of_what_is_read_is_printed_or_kept(tmp_path: Path, command: list[str]) -> None:
    text = SECRET * (BLOCK // len(SECRET) + 1)
    (tmp_path / "disk").write_bytes(b"".join(text[number:][:BLOCK] for number in range(BLOCKS)))
    (tmp_path / "map").write_text(f"0 {BLOCKS}\n", encoding="ascii")
    (tmp_path / "broken").write_text(f"0 {BLOCKS}\nx\n", encoding="ascii")
    before = {path.name for path in tmp_path.iterdir()}
    ended = subprocess.run([AGENT, *command], cwd=tmp_path, capture_output=True, check=False)
    assert ended.stdout + ended.stderr, ended
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.name not in before}
    tellings = [ended.stdout, ended.stderr, *kept.values()]
    pieces = {SECRET[at : at + 8] for at in range(len(SECRET) - 8)}
    assert [piece for piece in pieces for telling in tellings if piece in telling] == []
