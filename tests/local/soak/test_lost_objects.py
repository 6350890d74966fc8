"""Somebody deletes objects of the bucket while a restore runs: whatever it ends as, nothing stays held."""

from __future__ import annotations

from random import Random

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.paths import request, restored
from tests.support.amount import LONG

STRATEGIES = ("warm-up-agent", "provisioned-rate", "boosted-warm-up", "background", "direct-write")
KEPT = ("agents/", "rewound/", "undo/")
"""Without an agent nothing can be warmed up, and what a rewind keeps is its own matter."""
SEEDS = range(200) if LONG else (0, 41, 50)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restore_whose_objects_are_deleted_holds_nothing_when_it_has_ended(seed: int) -> None:
    """One of them or all, once or for two minutes."""
    chance = Random(seed)
    with FastLab(seed) as lab:
        objects = lab.buckets[lab.stack.buckets[0]]
        is_one, times = chance.random() < 0.5, chance.choice((1, 1, 120))

        def delete(left: int) -> None:
            keys = sorted(key for key in objects if not key.startswith(KEPT))
            for key in chance.sample(keys, min(1, len(keys))) if is_one else keys:
                del objects[key]
            if left > 1:
                lab.scheduler.after(1.0, lambda: delete(left - 1))

        lab.scheduler.after(chance.uniform(0, chance.choice((10, 60, 400))), lambda: delete(times))
        ending = restored(lab, request(lab, chance.choice(STRATEGIES)))
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []
