"""Tables for people (rewarm_cli/output.py)."""

import io

from rich.console import Console

from rewarm_cli.views import show_restores


def test_a_narrow_terminal_breaks_no_id_of_a_restore():
    ids = ["restore-881959d48f24d5a9", "52b577c0-46f4-48d5-bf8f-12b45be90cef"]
    printed = io.StringIO()
    restores = [
        {
            "restoreId": restore_id,
            "status": "awaiting-approval",
            "startedAt": "2026-11-22T10:00:00Z",
            "finishedAt": "2026-11-22T10:04:00Z",
            "trigger": {"kind": "alarm", "alarmName": "rewarm-orders-database-volume-lost"},
            "instanceId": "i-0123456789abcdef0",
            "volumeCount": 1,
        }
        for restore_id in ids
    ]
    show_restores(Console(file=printed, width=110), restores)
    lines = printed.getvalue().splitlines()
    assert [line.split()[0] for line in lines if "awaiting-approval" in line] == ids
