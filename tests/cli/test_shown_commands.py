"""Every command of `rewarm` that a document shows, run word for word on an API that keeps the contract."""

from __future__ import annotations

import re
import shlex

import pytest

from rewarm.contracts import parse_restore_request
from rewarm_cli.commands import volumes
from rewarm_cli.problems import DONE
from tests.lint.test_docs import DOCUMENTS
from tests.support.tree import ROOT

SUMMARY = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0", "deadlineMissed": False, "notes": []}
STORED = {"source": {"volumeId": "vol-1"}, "target": {"instanceId": "i-1"}}
IDS = {"vol-…": "vol-0123456789abcdef0", "i-…": "i-0123456789abcdef0", "<restoreId>": "restore-1"}
FILE = "source: {volumeId: vol-0123456789abcdef0}\ntarget: {instanceId: i-0123456789abcdef0}\n"
ELSEWHERE = ("completion", "--local", "--picture", "-h", "--help")
"""Words of commands that other tests run: they need a shell or another machine, or only show help."""


def shown():
    """Command -> document and words, of each line of a block of code that begins with `rewarm`."""
    found = {}
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
            match = re.fullmatch(r"\s*(?:\./|id=\$\()?(rewarm [a-z][^)]*)\)?", line)
            words = shlex.split(match[1], comments=True) if match else []
            if words and not set(words) & set(ELSEWHERE):
                found.setdefault(" ".join(words), (path.relative_to(ROOT), words[1:]))
    return found


@pytest.fixture
def answering(stack, monkeypatch, tmp_path):
    """An API with everything that the documents' commands name, and a folder with their files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("click.launch", lambda _url: 0)
    monkeypatch.setattr(volumes, "PAUSE_SECONDS", 0.0)
    for name in ("request.yaml", "rewarm-orders-database.yaml"):
        (tmp_path / name).write_text(FILE, encoding="utf-8")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    settings = {"volumeType": "gp3", "iops": 3000, "throughputMibS": 125}
    change = {"changeId": "performance-1", "status": "changed"}
    facts = {"volumeId": "vol-1", "performance": settings, "change": change, "slots": {"nextFreeAt": None}}
    nothing = dict.fromkeys(("rank", "read", "write", "provisionedIops", "provisionedMibS", "problem"))
    run = {**nothing, "pattern": "cache", "target": "/data", "totalIops": 1.0, "totalMibS": 1.0}
    run["limit"] = {"text": "the cache"}
    stack.answers |= {
        ("POST", "/plans"): (200, {"plans": [], "summary": SUMMARY, "frontier": []}),
        ("POST", "/volumes/vol-0123456789abcdef0/performance"): (202, {**change, "target": settings}),
        ("GET", "/volumes/vol-0123456789abcdef0/performance"): (200, facts),
        ("POST", "/benchmarks"): (202, {"benchmarkId": "b"}),
        ("GET", "/benchmarks/b"): (200, {"status": "completed", "runs": [run], "copied": None}),
    }
    for alarm in ("rewarm-orders-database", "rewarm-game-day"):
        stack.runbooks[alarm] = STORED

    def proceed(call):
        if call.method == "GET":
            for record in list(stack.restores.values()):
                ends = "planned" if (record.get("request") or {}).get("dryRun") else "ready"
                stack.put({**record, "status": ends, "reportUrl": "https://example.com"})

    stack.before = proceed
    return stack


@pytest.mark.parametrize("command", sorted(shown()))
def test_it_works_as_shown(command, rewarm, answering):
    words = shown()[command][1]
    words = words[: words.index(">")] if ">" in words else words
    for placeholder, value in IDS.items():
        words = [word.replace(placeholder, value) for word in words]
    if "restore-1" in words:
        answering.put({"restoreId": "restore-1", "status": "initializing", "volumes": []})
    ended = rewarm(*words)
    assert ended.status == DONE, ended.err
    for call in answering.calls:
        source = (call.body or {}).get("source", {"alarm": None})
        if "alarm" not in source:
            parse_restore_request(call.body)


def test_each_command_is_shown_with_its_options_somewhere():
    documents = {path.name for path, _words in shown().values()}
    assert documents >= {"README.md", "operations.md", "game-day.md", "commands.md"}
    assert {words[0] for _path, words in shown().values()} >= {
        "plan", "restore", "status", "list", "cancel", "report", "runbook", "volume", "bench",
    }  # fmt: skip
