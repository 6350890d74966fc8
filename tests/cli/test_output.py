"""Tables for people (rewarm_cli/output.py)."""

import io

from rich.console import Console

from rewarm_cli.views import rewind_lines, show_restores


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
    assert [line.split()[0].strip(",") for line in lines if "awaiting-approval" in line] == ids


def test_a_rewind_is_one_sentence_with_the_way_back_or_the_reason_against_it():
    possible = {
        "volumeId": "vol-1", "possible": True, "reason": None, "blocks": 1_200, "mostBlocks": 1_500,
        "costUsd": "0.0036", "mostUsd": "0.0045", "secondsP50": 915, "secondsP90": 7_320,
        "evidence": "A rewind to it undoes the rewind.", "notes": ["The list was long."],
        "why": "The way is an undo log.",
    }  # fmt: skip
    refused = {"possible": False, "reason": "the snapshots are not related."}
    said, why, note, against = rewind_lines([{"rewind": possible}, {"rewind": refused}, {"rewind": None}, {}])
    assert said == (
        "A rewind would put vol-1 itself back: 1,200 blocks for $0.0036 (at most 1,500 for $0.0045), 16 min, "
        "P90 2 h 02 min. A rewind to it undoes the rewind."
    )
    assert why == possible["why"]
    assert note == "Note: The list was long."
    assert against == "A rewind is not possible: the snapshots are not related."
