"""Somebody puts the table back to an earlier moment (DynamoDB's point-in-time recovery) beside a restore."""

from __future__ import annotations

import json
from random import Random

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.paths import request, restored
from tests.support.amount import LONG

STRATEGIES = ("warm-up-agent", "provisioned-rate", "fast-snapshot-restore", "fast-snapshot-restore")
SEEDS = range(200) if LONG else (6, 11)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_held_or_on_and_nothing_is_called_ready_again(seed: int) -> None:
    """A failure may be told twice: nothing but the table knows that it was told."""
    chance = Random(seed)
    with FastLab(seed) as lab:
        table, kept = lab.table("RestoresTable"), dict[str, dict[str, str]]()

        def keep() -> None:
            kept.update({key: dict(row) for key, row in table.rows.items()})

        def put_back() -> None:
            changed = {key for key in {*table.rows, *kept} if kept.get(key) != table.rows.get(key)}
            lab.outside.lost.update(json.loads(key)["S"] for key in changed)
            table.rows.clear()
            table.rows.update(kept)

        seconds, back = chance.uniform(0, chance.choice((10, 60, 400, 600))), chance.choice((1, 5, 30, 300))
        lab.scheduler.after(seconds, keep)
        lab.scheduler.after(seconds + back, put_back)
        ending = restored(lab, request(lab, chance.choice(STRATEGIES)))
        lab.pass_time(seconds + back)
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []
        titles = [posted["text"] for posted in lab.slack if "is at full speed" in posted["text"]]
        assert len(titles) == len(ending.ready)
