"""A restore whose entry in `running#…` somebody deletes keeps its device while it runs, and gives it back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from local import Json
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import ended
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.adopt_paths import DEVICE, READS, adoption, in_use
from local.soak.trouble.paths.paths import awaiting, in_state, request, restored

BEYOND_GRACE_SECONDS = 600.0
"""After the start a restore counts as running in any case, for five minutes."""


def held(lab: FastLab, kind: str) -> list[Json]:
    """The items of the table whose keys begin so and that name a restore."""
    items = [item for item in lab.table("RestoresTable").items() if item["pk"]["S"].startswith(kind)]
    return [item for item in items if "holds" in item or any("restore:" in name for name in item)]


def delete_entry(lab: FastLab) -> None:
    entries = held(lab, "running#")
    assert entries
    for item in entries:
        lab.table("RestoresTable").delete({"pk": item["pk"]})


def of_snapshot(lab: FastLab) -> Json:
    return request(lab, "warm-up-agent")


def of_adoption(lab: FastLab) -> Json:
    """Its request does not name the instance."""
    return adoption(in_use(lab))


@pytest.mark.parametrize("asked", [of_snapshot, of_adoption])
def test_a_restore_that_comes_to_full_speed_gives_its_device_back(asked: Callable[[FastLab], Json]) -> None:
    def during(restore_id: str) -> None:
        assert in_state(lab, restore_id, *READS)
        assert held(lab, "target#")
        delete_entry(lab)

    with FastLab(1) as lab:
        ending = restored(lab, asked(lab), during=during)
        assert ending.status == "ready"
        assert (held(lab, "target#"), held(lab, "running#")) == ([], [])
        assert Auditor(lab).findings(ending) == []


def test_a_restore_that_waits_keeps_its_device_until_it_is_cancelled() -> None:
    with FastLab(1) as lab:
        asked = request(lab, "warm-up-agent")
        asked["target"]["device"] = DEVICE
        waits = {**asked, "objective": {"strategy": "provisioned-rate", "approveAboveUsd": 0}}
        first = str(lab.api("POST", "/restores", waits)[1]["restoreId"])
        awaiting(lab, first)
        lab.pass_time(BEYOND_GRACE_SECONDS)
        delete_entry(lab)
        status, answer = lab.api("POST", "/restores", asked)
        assert (status, first in answer.get("message", "")) == (409, True)
        assert lab.api("DELETE", f"/restores/{first}")[0] == 202
        ending = ended(lab, first)
        assert ending.status == "failed"
        assert (held(lab, "target#"), held(lab, "running#")) == ([], [])
        assert lab.api("POST", "/restores", asked)[0] == 202
