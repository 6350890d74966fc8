"""A restore that is cancelled while it waits for its turn, in the fast lab."""

from __future__ import annotations

from local.soak.lab.endings import RESTORE, VOLUME
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.paths import request, restored

AHEAD_SECONDS = 600
"""Of restores that began before."""


def test_nothing_is_looked_for_and_no_volume_begins() -> None:
    with FastLab(1) as lab:
        until = {"N": str(round((lab.scheduler.now + AHEAD_SECONDS) * 1_000))}
        lab.table("RestoresTable").put({"pk": {"S": "pace#describe"}, "givenUntil": until})

        def cancel(restore_id: str) -> None:
            main = lab.execution(RESTORE, restore_id)
            assert main is not None
            assert lab.run(lambda: main.state == "Wait For Turn", most_seconds=60)
            assert lab.api("DELETE", f"/restores/{restore_id}")[0] == 202
            assert main.state == "Wait For Turn"

        ending = restored(lab, request(lab, "provisioned-rate"), cancel)
        assert ending.kind == "failed RestoreCancelledError"
        (restore_id,) = ending.restore_ids
        assert lab.execution(VOLUME, f"{restore_id}-0") is None
        services = {service for place, service, _ in lab.calls if place == "Select Snapshot"}
        assert services <= {"dynamodb", "lambda"}
        answer = lab.api("GET", f"/restores/{restore_id}")[1]
        assert (answer["status"], answer["volumes"]) == ("cancelled", [])
        assert "Nothing was left behind." in answer["events"][-1]["text"]
