"""Somebody else enables and disables fast snapshot restore of the same snapshot beside a restore."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from local.aws.region import ApiError
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.paths import request, restored
from tests.support.amount import LONG

ZONE = "us-east-1a"
SEEDS = range(200 if LONG else 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_stays_enabled_only_where_they_have_enabled_it_last(seed: int) -> None:
    chance = Random(seed)
    with FastLab(seed) as lab:
        asked = request(lab, "fast-snapshot-restore")
        snapshot_id, done = asked["source"]["snapshotId"], list[str]()

        def call(name: str) -> None:
            where = {"AvailabilityZones": [ZONE], "SourceSnapshotIds": [snapshot_id]}
            try:
                answer = lab.region.call("ec2", f"{name}FastSnapshotRestores", where)
            except ApiError:
                return
            if answer["Successful"]:
                done.append(name)

        for _ in range(chance.choice((1, 2, 3, 6))):
            name, seconds = chance.choice(("Enable", "Disable")), chance.choice((120, 2_000))
            lab.scheduler.after(chance.uniform(0, seconds), partial(call, name))
        restored(lab, asked)
        lab.pass_time(SWEPT_SECONDS)
        of_snapshot = {"Filters": [{"Name": "snapshot-id", "Values": [snapshot_id]}]}
        found = lab.region.call("ec2", "DescribeFastSnapshotRestores", of_snapshot)["FastSnapshotRestores"]
    is_on = any(one["State"] in ("enabling", "optimizing", "enabled") for one in found)
    assert not is_on or done[-1:] == ["Enable"]
