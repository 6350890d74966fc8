"""Every command on a narrow terminal: no word is broken, no figure is cut, and nothing is left out."""

from __future__ import annotations

import re

import pytest

from rewarm_cli import output
from rewarm_cli.problems import DONE
from tests.cli.commands.test_restores import JOINT, PLAN, REQUEST
from tests.cli.conftest import APPROVAL
from tests.support.commands.every import commands, too_wide
from tests.support.commands.stack_api import FLEET_PLAN
from tests.support.stack import calibrating

FIGURE = re.compile(r"\$[\d,.]*\d|\d+ (?:min|MiB/s|h|s)\b|(?:\d\d-){2}\d\d \d\d:\d\d|[░▒█▓]+|[\w/-]{5,}")
HEADINGS = {"strategy", "schedule", "people", "right"}
"""Columns that need no name where each row is lines of its own."""
BY_HAND = {
    "program": "fio", "command": "sudo fio --name=read --filename=/dev/nvme1n1", "readySeconds": 3_247,
    "costUsd": "0", "effort": "a person, who is there and knows the device",
}  # fmt: skip
SHOWN = {
    "one volume": {**PLAN, "summary": {**PLAN["summary"], "byHand": [BY_HAND]}},
    "several volumes": {**JOINT, "frontier": PLAN["frontier"]},
}


@pytest.fixture
def shown(rewarm, monkeypatch):
    def printed(width, *command):
        monkeypatch.setattr(output, "WIDE", width)
        return rewarm(*command).out

    return printed


def figures(text):
    return set(FIGURE.findall(" ".join(text.split()))) - HEADINGS


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("kind", SHOWN)
def test_no_figure_of_a_plan_is_cut(shown, stack, kind, width):
    stack.answers["POST", "/plans"] = 200, SHOWN[kind]
    command = ("plan", *REQUEST, "--what-if", "--explain")
    narrow = shown(width, *command)
    assert figures(shown(400, *command)) <= figures(narrow)
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80])
def test_no_figure_of_a_fleets_plan_is_cut(shown, tmp_path, width):
    file = tmp_path / "fleet.yaml"
    file.write_text("source: {items: []}", encoding="utf-8")
    command = ("fleet", "plan", "-f", str(file))
    narrow = shown(width, *command)
    assert figures(shown(400, *command)) <= figures(narrow)
    assert max(map(len, narrow.splitlines())) <= width
    assert FLEET_PLAN["summary"]["notes"][0] in " ".join(narrow.split())


RUNBOOK = {"source": {"volumeId": "vol-0123456789abcdef0"}, "target": {"instanceId": "i-0123456789abcdef0"}}
DRILL = {
    "restoreId": "restore-0123456789abcdef", "runbook": "rewarm-a", "at": "2026-11-20T03:00:00Z",
    "outcome": "passed", "recoverySeconds": 4_530, "recoveryObjectiveSeconds": 7_200,
    "recoveryOf": "application", "pointSeconds": 86_400, "pointObjectiveSeconds": 172_800,
}  # fmt: skip
VOLUME = {"index": 0, "volume": {"volumeId": "vol-0123456789abcdef0", "device": "/dev/sdf"}, "proven": True}
RECORD = {
    "restoreId": "restore-0123456789abcdef", "status": "initializing", "startedAt": "2026-11-20T03:00:00Z",
    "request": RUNBOOK, "volumes": [VOLUME], "trigger": {"kind": "alarm", "alarmName": "rewarm-orders"},
}  # fmt: skip
NAME = "rewarm-orders-database-volume-lost"
LISTS = ("list", "fleet list", "runbook list", f"drill list {NAME}", "status restore-0123456789abcdef")


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("command", LISTS)
def test_no_word_of_a_list_is_broken_and_no_column_is_dropped(shown, rewarm, stack, tmp_path, command, width):
    stack.runbooks[NAME] = RUNBOOK
    stack.answers["GET", f"/runbooks/{NAME}"] = 200, {"alarmName": NAME, "request": {}, "drills": [DRILL] * 2}
    stack.put(RECORD)
    file = tmp_path / "fleet.yaml"
    file.write_text("source: {items: []}", encoding="utf-8")
    rewarm("fleet", "start", "--yes", "-f", str(file))
    narrow = shown(width, *command.split())
    cells = {word for line in shown(400, *command.split()).splitlines()[1:] for word in line.split()}
    # Lines leave out what has no value.
    assert cells - {word.strip(",") for word in narrow.split()} - {"-"} == set()
    assert max(map(len, narrow.splitlines())) <= width


LONG = {
    "volume": "vol-0123456789abcdef0",
    "instance": "i-0123456789abcdef0",
    "restore": "restore-0123456789abcdef",
}
LOG = {
    "restoreId": LONG["restore"], "index": 0, "volumeId": LONG["volume"], "packs": 3,
    "snapshotId": "snap-0123456789abcdef0",
    "startedAt": "2026-11-21T03:10:00Z", "bytes": 134_217_728, "usdPerMonth": "0.002875",
    "expiresAt": "2026-12-22T00:00:00Z", "blocks": 1_204, "completedAt": "2026-11-21T03:12:00Z",
}  # fmt: skip
RUN = {
    "pattern": "cache", "target": "/srv/orders", "rank": 1, "totalIops": 12_345.6, "totalMibS": 1_234.5,
    "read": {"p50Ms": 0.61, "p99Ms": 20}, "write": {"p50Ms": 0.71, "p99Ms": 30}, "provisionedIops": 16_000,
    "provisionedMibS": 1_000, "problem": None, "limit": {"text": "the limit of the volume's throughput"},
}  # fmt: skip
HOT_SET = {
    "lineage": LONG["volume"], "recordings": 3, "newestAt": "2026-11-21T03:10:00Z", "bytes": 1_073_741_824,
}  # fmt: skip
RECORDING = {
    "restoreId": LONG["restore"], "index": 0, "beganAt": "2026-11-21T03:10:00Z", "seconds": 1_800,
    "blocks": 2_048, "complete": True, "leftOutBecause": None,
}  # fmt: skip
LEFT_OUT = {
    **RECORDING,
    "seconds": None,
    "blocks": None,
    "leftOutBecause": "line 17 is not `block reads second`",
}
RULE = {"match": {"volumeTags": {"ebs.csi.aws.com/cluster": "true"}}, "mode": "act"}
ADOPTION = {
    "instanceId": LONG["instance"], "volumeIds": [LONG["volume"]] * 3, "request": {"source": {}},
}  # fmt: skip
PASSED = {
    "volumeId": LONG["volume"],
    "reason": f"{LONG['volume']} is attached to no instance; attach it first",
}
PAGE = "https://example.com/" + 80 * "a"
OF_FILE = ("-f", "request.yaml")
OF_RESTORE = ("--volume", LONG["volume"], "--instance", LONG["instance"])
RUNS = {
    ("plan",): (*OF_RESTORE, "--what-if", "--explain"),
    ("restore",): (*OF_RESTORE, "--yes"),
    ("status",): (LONG["restore"],),
    ("list",): (),
    ("approve",): (LONG["restore"], "--yes"),
    ("cancel",): (LONG["restore"], "--yes"),
    ("report",): (LONG["restore"],),
    ("warm",): (LONG["volume"], "--yes"),
    ("wait",): (LONG["volume"],),
    ("launch",): ("--like", LONG["instance"], "--yes"),
    ("fleet", "start"): (*OF_FILE, "--yes"),
    ("fleet", "plan"): OF_FILE,
    ("fleet", "redrive"): ("fleet-1", "--yes"),
    ("fleet", "status"): ("fleet-1",),
    ("fleet", "list"): (),
    ("fleet", "cancel"): ("fleet-1", "--yes"),
    ("fleet", "report"): ("fleet-1",),
    ("runbook", "put"): (NAME, *OF_FILE),
    ("runbook", "get"): (NAME,),
    ("runbook", "list"): (),
    ("runbook", "delete"): (NAME, "--yes"),
    ("runbook", "check"): (NAME,),
    ("runbook", "test"): (NAME,),
    ("drill", "start"): (NAME, "--yes"),
    ("drill", "list"): (NAME,),
    ("drill", "report"): (NAME,),
    ("rule", "put"): (NAME, *OF_FILE),
    ("rule", "get"): (NAME,),
    ("rule", "list"): (),
    ("rule", "delete"): (NAME, "--yes"),
    ("rule", "check"): (NAME,),
    ("volume", "get"): (LONG["volume"],),
    ("volume", "set"): (LONG["volume"], "--iops", "6000", "--yes"),
    ("observe",): (LONG["volume"], "--yes"),
    ("hot", "list"): (),
    ("hot", "show"): (LONG["volume"],),
    ("hot", "delete"): (LONG["volume"], "--yes"),
    ("undo-log", "list"): (),
    ("undo-log", "delete"): (LONG["restore"], "--yes"),
    ("bench",): ("--instance", LONG["instance"], "--mount", "/srv/orders"),
    ("calibrate",): ("--instance", calibrating.INSTANCE, "--yes", "--ways", "volume"),
    ("completion",): ("bash",),
    ("version",): (),
    ("doctor",): (),
}
"""Words of each command -> what it is run with here."""
MADE_FOR_PROGRAMS = {
    ("completion",): "a shell reads it",
    ("runbook", "get"): "YAML for a file",
    ("rule", "get"): "YAML for a file",
}


NAMES = HEADINGS | {
    "met", "consequence", "id", "alarm", "why", "fits", "what", "finished", "step", "volumes", "instance",
    "-",
}  # fmt: skip
"""Of columns: lines leave those out that have no value, or a value that needs no name."""


def test_every_command_is_run_here():
    assert set(RUNS) == {path for path, _ in commands()}


@pytest.mark.parametrize("path", sorted(set(RUNS) - set(MADE_FOR_PROGRAMS)), ids=" ".join)
def test_no_command_has_a_line_that_a_terminal_of_60_columns_breaks(
    answering, rewarm, monkeypatch, request, path
):
    if path == ("doctor",):
        request.getfixturevalue("account")
    answering.answers |= {
        ("POST", "/plans"): (200, SHOWN["one volume"]),
        ("GET", f"/runbooks/{NAME}"): (200, {"alarmName": NAME, "request": RUNBOOK, "drills": [DRILL] * 2}),
        ("GET", f"/rules/{NAME}/check"): (200, {"adoptions": [dict(ADOPTION)], "passedOver": [PASSED]}),
        ("GET", "/undo-logs"): (200, {"undoLogs": [LOG, {**LOG, "volumeId": None, "completedAt": None}]}),
        ("DELETE", f"/undo-logs/{LOG['restoreId']}"): (200, {**LOG, "deletedObjects": 1_004}),
        ("GET", "/hot-sets"): (200, {"hotSets": [HOT_SET] * 2}),
        ("GET", f"/hot-sets/{LONG['volume']}"): (200, {**HOT_SET, "recordings": [RECORDING, LEFT_OUT]}),
        ("GET", "/benchmarks/b"): (200, {"status": "completed", "runs": [RUN] * 2, "copied": None}),
    }
    if path == ("runbook", "test"):  # It waits for the end of its dry run.
        answering.before = lambda _call: [
            answering.put({**record, "status": "planned"}) for record in [*answering.restores.values()]
        ]
    said = []
    for width in (400, 60):
        answering.restores.clear()
        answering.fleets.clear()
        answering.put({**RECORD, "approval": APPROVAL, "reportUrl": PAGE})
        rewarm("fleet", "start", "--yes", *OF_FILE)
        answering.fleets["fleet-1"]["reportUrl"] = PAGE
        answering.runbooks[NAME] = RUNBOOK
        answering.rules[NAME] = RULE
        monkeypatch.setattr(output, "WIDE", width)
        ended = rewarm(*path, *RUNS[path])
        said.append(ended.out + ended.err)
    wide, narrow = said
    assert ended.status == DONE, ended.err
    assert too_wide(narrow, 60) == []
    assert words_of(wide) - words_of(narrow) - NAMES == set()


@pytest.mark.parametrize("path", [(), *(path for path, _ in commands())], ids=" ".join)
def test_no_help_has_a_line_that_a_terminal_of_60_columns_breaks(rewarm, monkeypatch, path):
    said = []
    for width in (100, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        said.append(rewarm(*path, "--help").out)
    assert too_wide(said[1], 60) == []
    assert words_of(said[0]) - words_of(said[1]) == set()


def words_of(text):
    """Without what differs between two runs."""
    return {re.sub(r"[0-9a-f]*\d[0-9a-f]*", "0", word.strip(",")) for word in text.split()}
