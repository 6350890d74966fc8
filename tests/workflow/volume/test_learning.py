"""Finished restores teach the next estimate: recorded by Report, read by Choose Strategy and POST /plans.

EBS loads for hours of lab time here, so that the speed of this machine is nothing beside it.
"""

from __future__ import annotations

from typing import Any

import pytest

from local.aws.region import Region
from local.aws.region.faults import FaultRule
from local.soak.lab.endings import ended
from local.soak.lab.lab import FastLab
from tests.support.stack.restores import Restore, RestoreUser, texts

Json = dict[str, Any]
BLOCKS_PER_GIB = 2_048
PRIOR_HOURS = 8
ROUNDING_SECONDS = 0.1
"""Each of two phases is rounded to a tenth of a second."""


def restore(user: RestoreUser, gib: int, strategy: str) -> Restore:
    done = user.restore(asked(user.region, gib, strategy))
    assert done.main.status == "SUCCEEDED", done.why
    return done


def asked(region: Region, gib: int, strategy: str) -> Json:
    snapshot_id = region.add_snapshot(size_gib=gib, extents=[(0, gib * BLOCKS_PER_GIB)])
    target = {"availabilityZone": region.settings.zones[0]}
    return {
        "source": {"snapshotId": snapshot_id},
        "target": target,
        "objective": {"strategy": strategy},
    }


def told(user: RestoreUser, done: Restore) -> tuple[Json, Json]:
    """The plan and the volume of the report."""
    report = user.report(done.restore_id)
    return report["plans"][0]["plan"], report["volumes"][0]


def test_estimates_become_those_of_the_account() -> None:
    errors, sizes = [], (12, 30, 16)
    with FastLab(seed=4) as fast:
        for number, gib in enumerate(sizes):
            restore_id = fast.start(asked(fast.region, gib, "background"))
            assert ended(fast, restore_id).kind == "ready"
            record = fast.api("GET", f"/restores/{restore_id}")[1]
            source = "history" if number else "priors"
            assert record["plans"][0]["plan"]["basis"] == {"source": source, "restores": number}
            measured = record["volumes"][0]["measured"]
            estimated = sum(one["estimatedP90Seconds"] for one in measured["phases"])
            assert measured["sincePlanSeconds"] <= estimated
            errors.append(abs(measured["errorPercent"]))
        plans = fast.api("POST", "/plans", asked(fast.region, 20, "background"))[1]["plans"]
    assert errors[0] > 100, "the prior knows nothing of this account"
    assert errors[-1] < 10, errors
    assert plans[0]["plan"]["basis"] == {"source": "history", "restores": len(sizes)}
    assert plans[0]["plan"]["readyP50Seconds"] < PRIOR_HOURS * 3_600


def test_estimate_against_actual_is_told_part_by_part(user: RestoreUser) -> None:
    done = restore(user, 30, "provisioned-rate")
    _, volume = told(user, done)
    phases = {one["phase"]: one for one in volume["phases"]}
    assert list(phases) == ["create", "load"]
    load = phases["load"]
    assert load["actualSeconds"] >= 30 * 1_024 / 100
    assert (
        sum(one["actualSeconds"] for one in phases.values()) <= volume["sincePlanSeconds"] + ROUNDING_SECONDS
    )
    assert done.record["volumes"][0]["measured"]["phases"] == volume["phases"]
    assert "Phases" in texts(user.messages(done.restore_id)[-1])
    points = user.report(done.restore_id)["results"][0]["initialization"]["points"]
    assert points[-1][1] == 30 << 30
    assert [done_bytes for _, done_bytes in points] == sorted(done_bytes for _, done_bytes in points)


@pytest.mark.long
def test_a_failed_restore_teaches_nothing(user: RestoreUser) -> None:
    user.region.faults.add(FaultRule("volume:creation", effect="volume-error"))
    done = user.restore(asked(user.region, 12, "provisioned-rate"))
    assert done.main.status == "FAILED"
    user.region.faults.clear()
    plan, _ = told(user, restore(user, 12, "provisioned-rate"))
    assert plan["basis"] == {"source": "priors", "restores": 0}
