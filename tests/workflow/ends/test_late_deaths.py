"""A volume's execution that dies once its volume is at full speed, on the fast lab: the restore is ready."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import RESTORE, VOLUME, Ending
from local.soak.lab.lab import FastLab
from local.soak.lab.states.execution import MOST_EVENTS, Execution
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.interrupted_paths import replacing
from local.soak.trouble.paths.paths import FAST_INSTANCE, in_state, request, restored
from tests.support.amount import LONG

Death = Callable[[FastLab, Execution], None]
KEPT = ("Announce Ready",)
"""The states before which `Report Volume` has written what was measured."""


def stopped(lab: FastLab, volume: Execution) -> None:
    lab.states.stop(volume.arn)


def timed_out(lab: FastLab, volume: Execution) -> None:
    lab.states._end(volume, "TIMED_OUT", "States.Timeout", "")


def history_full(_lab: FastLab, volume: Execution) -> None:
    """The next state fails with States.Runtime, which no Catch sees."""
    volume.events = MOST_EVENTS


DEATHS: dict[str, Death] = {
    "stopped": stopped,
    "TIMED_OUT": timed_out,
    "States.Runtime": history_full,
}


def boosted(lab: FastLab) -> dict[str, Any]:
    """`Release` waits until EC2 has lowered the volume."""
    target = {"instanceId": lab.region.add_instance(instance_type=FAST_INSTANCE)}
    return request(lab, "boosted-warm-up", volume={"throughputMibS": 125}, target=target)


REQUESTS: dict[str, Callable[[FastLab], dict[str, Any]]] = {
    "warm-up-agent": lambda lab: request(lab, "warm-up-agent"),
    "boosted-warm-up": boosted,
    "fast-snapshot-restore": lambda lab: request(lab, "fast-snapshot-restore"),
    "replace": lambda lab: replacing(lab, "warm-up-agent"),
}


def dies_in(lab: FastLab, state: str, death: Death) -> Callable[[str], None]:
    """What kills the execution in this state, once its volume is marked as at full speed."""

    def kill(restore_id: str) -> None:
        assert in_state(lab, restore_id, state)
        settled = lambda: lab.api("GET", f"/restores/{restore_id}")[1]["volumes"][0].get("proven")  # noqa: E731
        lab.run(lambda: bool(settled()), most_seconds=60)
        volume = lab.execution(VOLUME, f"{restore_id}-0")
        assert volume is not None
        death(lab, volume)

    return kill


def ended(lab: FastLab, asked: dict[str, Any], kill: Callable[[str], None]) -> tuple[Ending, dict[str, Any]]:
    """The end, and the record once the sweeper has passed."""
    ending = restored(lab, asked, during=kill)
    lab.pass_time(SWEPT_SECONDS)
    (restore_id,) = ending.restore_ids
    record = lab.api("GET", f"/restores/{restore_id}")[1]
    return ending, record


def report_of(lab: FastLab, restore_id: str) -> dict[str, Any]:
    found = lab.buckets[lab.stack.buckets[0]][f"restores/{restore_id}/report.json"]
    return dict(json.loads(found.value))


CASES = [
    (name, state, death)
    for name in REQUESTS
    for state in ("Release", "Report Volume", "Announce Ready")
    for death in DEATHS
]


@pytest.mark.parametrize(("name", "state", "death"), CASES if LONG else CASES[::4])
def test_a_restore_is_ready_though_the_execution_of_its_volume_dies_late(
    name: str, state: str, death: str
) -> None:
    with FastLab(1) as lab:
        ending, record = ended(lab, REQUESTS[name](lab), dies_in(lab, state, DEATHS[death]))
        main = lab.execution(RESTORE, record["restoreId"])
        assert main is not None
        assert (main.status, record["status"], record["failure"]) == ("SUCCEEDED", "ready", None)
        said = [posted["text"] for posted in lab.slack]
        assert [text for text in said if "failed" in text] == []
        assert len([text for text in said if "at full speed" in text]) == 1
        assert Auditor(lab).findings(ending) == []
        if state in KEPT:
            assert report_of(lab, record["restoreId"])["volumes"][0]["latencyAfterMs"]["p99"]


def test_the_audit_finds_a_failure_of_a_restore_whose_volumes_are_all_at_full_speed() -> None:
    with FastLab(1) as lab:
        ending = restored(lab, request(lab, "provisioned-rate"))
        lab.pass_time(SWEPT_SECONDS)
        (restore_id,) = ending.restore_ids
        assert Auditor(lab).findings(ending) == []
        table = lab.table("RestoresTable")
        (row,) = [row for row in table.items() if row["pk"] == {"S": f"restore#{restore_id}"}]
        table.put({**row, "status": {"S": "failed"}})
        found = f"{restore_id} is failed, and all of its volumes are at full speed"
        assert found in Auditor(lab).findings(ending)
