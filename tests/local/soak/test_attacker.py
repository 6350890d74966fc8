"""Somebody who may set every tag in the account puts ours on things of others: nothing happens to them."""

from __future__ import annotations

import pytest

from local.soak.lab.lab import FastLab
from local.soak.runner import scenario
from local.soak.trouble.attacker import Attacker
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.fleet_paths import PATHS
from tests.support.amount import LONG

TAGGINGS = 50
SEEDS = range(200 if LONG else 2)
"""With the paths below 10,000 taggings in `make test-long`, and some 300 in `make test`."""
WAYS = ("drill", "another-region", "replace-stopped", "boost-stopped", "rewind", "fleet-cancelled")
"""Ways to other states, for random scenarios have few of them."""
LEASED = "calibration-0123456789abcdef"


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_of_others_is_touched_whatever_tags_it_has(seed: int) -> None:
    found = scenario(seed, taggings=TAGGINGS)
    assert (found.leaks, found.wrong, found.stuck) == ([], [], []), (found.endings, found.told)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_others_is_touched_on_any_way(way: str) -> None:
    """A calibration was killed meanwhile, and its lease names things of others, too."""
    with FastLab(1) as lab:
        attacker = Attacker(lab, 1)
        attacker.calibrations.append(LEASED)
        attacker.begin(TAGGINGS)
        volumes, snapshots = (
            [one for one in attacker.theirs if one.startswith(kind)] for kind in ("vol", "snap")
        )
        lab.api("PUT", f"/calibrations/{LEASED}", {"volumeIds": volumes, "snapshotIds": snapshots})
        PATHS[way].play(lab)
        lab.pass_time(SWEPT_SECONDS)
        assert attacker.taggings > TAGGINGS / 2
        assert attacker.findings() == []
