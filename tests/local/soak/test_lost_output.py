"""Run Command loses what a command of the agent came to: what is whole is not called a failure of its own."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import VOLUME
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.paths import PATHS
from tests.support.amount import LONG

RUNNING = {"Status": "InProgress", "StatusDetails": "InProgress", "ResponseCode": -1}
SPOILED = {"running": {**RUNNING, "StandardOutputContent": ""}, "empty": {"StandardOutputContent": ""}}
UNKNOWN = b'{"__type": "InvocationDoesNotExist", "message": ""}'
STRATEGIES = ("warm-up-agent", "provisioned-rate", "boosted-warm-up", "volume-clone")
SEEDS = range(200) if LONG else range(2)


def spoil(lab: FastLab, how: str, begins: float) -> None:
    """From then on GetCommandInvocation knows less: nothing, no output, or no end."""
    whole = lab.respond

    def respond(region: str, service: str, operation: str, asked: Any) -> tuple[int, dict[str, str], bytes]:
        status, headers, body = whole(region, service, operation, asked)
        if operation != "GetCommandInvocation" or status != 200 or lab.scheduler.now < begins:
            return status, headers, body
        if how == "unknown":
            return 400, headers, UNKNOWN
        return status, headers, json.dumps({**json.loads(body), **SPOILED[how]}).encode()

    setattr(lab, "respond", respond)  # noqa: B010


@pytest.mark.parametrize("how", ["running", "unknown", "empty"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_lost_is_said_and_what_is_whole_is_not_called_stalled(how: str, seed: int) -> None:
    chance = Random(seed)
    path = STRATEGIES[seed % len(STRATEGIES)]
    with FastLab(seed) as lab:
        spoil(lab, how, lab.scheduler.now + chance.choice((0, 0, chance.uniform(0, 60))))
        ending = PATHS[path].play(lab)
        (of_volume,) = lab.executions(VOLUME)
        polled = [answer for state, answer in of_volume.answers if state == "Poll Initialization"]
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []
    if ending.status != "ready":
        assert polled[-1]["progressPercent"] == 100
        assert ending.error == "AgentUnreachableError"
        assert "has all of its data; how fast it is read could not be measured: SSM" in ending.cause
