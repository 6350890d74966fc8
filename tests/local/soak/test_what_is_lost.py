"""Objects, items and outputs that are lost beside a restore: nothing stays held, and what is said is true.

Somebody deletes objects of the bucket, or puts the table back to an earlier moment (DynamoDB's point-in-time
recovery); Run Command loses what a command of the agent came to.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from local import Json
from local.aws.clock import ManualClock
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import RESTORE, VOLUME
from local.soak.lab.lab import FastLab
from local.soak.trouble.matrix import API, SWEPT_SECONDS
from local.soak.trouble.paths.paths import PATHS, request, restored
from local.soak.trouble.random_faults import CallFault, RandomFaults
from tests.support.amount import LONG

STRATEGIES = ("warm-up-agent", "provisioned-rate", "boosted-warm-up", "background", "direct-write")
KEPT = ("agents/", "rewound/", "undo/")
"""Without an agent nothing can be warmed up, and what a rewind keeps is its own matter."""
MANY = range(200)
SECONDS = 60.0


@pytest.mark.parametrize("seed", MANY if LONG else (0, 41, 50))
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


PUT_BACK = ("warm-up-agent", "provisioned-rate", "fast-snapshot-restore", "fast-snapshot-restore")


def put_back(lab: FastLab, seconds: float, back: float) -> None:
    """After `back` seconds more, the table is again what it will be in some seconds."""
    table, kept = lab.table("RestoresTable"), dict[str, dict[str, str]]()

    def keep() -> None:
        kept.update({key: dict(row) for key, row in table.rows.items()})

    def put() -> None:
        changed = {key for key in {*table.rows, *kept} if kept.get(key) != table.rows.get(key)}
        lab.outside.lost.update(json.loads(key)["S"] for key in changed)
        table.rows.clear()
        table.rows.update(kept)

    lab.scheduler.after(seconds, keep)
    lab.scheduler.after(seconds + back, put)


@pytest.mark.parametrize("seed", MANY if LONG else (6, 11))
def test_though_the_table_is_put_back_nothing_is_held_and_nothing_is_called_ready_again(seed: int) -> None:
    chance = Random(seed)
    with FastLab(seed) as lab:
        seconds, back = chance.uniform(0, chance.choice((10, 60, 400, 600))), chance.choice((1, 5, 30, 300))
        put_back(lab, seconds, back)
        ending = restored(lab, request(lab, chance.choice(PUT_BACK)))
        lab.pass_time(seconds + back)
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []
        titles = [posted["text"] for posted in lab.slack if "is at full speed" in posted["text"]]
        assert len(titles) == len(ending.ready)


@pytest.mark.parametrize("seed", MANY if LONG else range(3))
def test_though_the_table_is_put_back_a_failure_is_announced_once(seed: int) -> None:
    """Somebody cancels the restore or stops its execution. The auditor counts the messages."""
    chance = Random(seed)
    with FastLab(seed) as lab:
        seconds, back = chance.uniform(0, chance.choice((10, 60, 200))), chance.choice((5, 30, 300))

        def end() -> None:
            for execution in lab.executions(RESTORE):
                if chance.random() < 0.5:
                    lab.states.stop(execution.arn)
                else:
                    lab.begin_api("DELETE", f"/restores/{execution.name}")

        put_back(lab, seconds, back)
        lab.scheduler.after(seconds + chance.random() * back, end)
        ending = restored(lab, request(lab, chance.choice(PUT_BACK)))
        lab.pass_time(seconds + back)
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []


RUNNING: Json = {"Status": "InProgress", "StatusDetails": "InProgress", "ResponseCode": -1}
SPOILED: dict[str, Json] = {
    "running": {**RUNNING, "StandardOutputContent": ""},
    "empty": {"StandardOutputContent": ""},
}
UNKNOWN = b'{"__type": "InvocationDoesNotExist", "message": ""}'
MEASURED = ("warm-up-agent", "provisioned-rate", "boosted-warm-up", "volume-clone")


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
@pytest.mark.parametrize("seed", MANY if LONG else range(2))
def test_lost_output_is_said_and_what_is_whole_is_not_called_stalled(how: str, seed: int) -> None:
    chance = Random(seed)
    with FastLab(seed) as lab:
        spoil(lab, how, lab.scheduler.now + chance.choice((0, 0, chance.uniform(0, 60))))
        ending = PATHS[MEASURED[seed % len(MEASURED)]].play(lab)
        (of_volume,) = lab.executions(VOLUME)
        polled = [answer for state, answer in of_volume.answers if state == "Poll Initialization"]
        lab.pass_time(SWEPT_SECONDS)
        assert Auditor(lab).findings(ending) == []
    if ending.status != "ready":
        assert polled[-1]["progressPercent"] == 100
        assert ending.error == "AgentUnreachableError"
        assert "has all of its data; how fast it is read could not be measured: SSM" in ending.cause


WRITES = (("dynamodb", "PutItem"), ("dynamodb", "UpdateItem"), ("stepfunctions", "StartExecution"))


@pytest.mark.parametrize("seed", MANY if LONG else (0, 6, 7, 9))
def test_a_start_that_was_not_answered_is_found_by_its_key(seed: int) -> None:
    """Writes of the API's function fail, or their answers are lost, while its first call takes its time."""
    chance = Random(seed)
    faults, now = RandomFaults(Random(seed)), ManualClock().now()
    kind, share = chance.choice(("lost", "internal", "denied")), chance.choice((1.0, 0.5))
    faults.call_faults.append(CallFault(kind, API, *WRITES[seed % len(WRITES)], now, now + SECONDS, share))
    with FastLab(seed, interference=faults) as lab:
        asked, key = request(lab, "warm-up-agent"), {"Idempotency-Key": "once"}
        status, body = lab.api("POST", "/restores", asked, **key)
        assert status in (202, 403, 409, 502, 503)
        assert status != 503 or "again with the same Idempotency-Key" in body["message"]
        assert status != 502 or "Sandbox.Timedout" in body["message"]
        lab.pass_time(SECONDS)
        keys = lab.table("IdempotencyTable")
        for row in keys.items():  # Powertools' clock is this machine's, and not the lab's
            keys.put({**row, "in_progress_expiration": {"N": "0"}})
        status, body = lab.api("POST", "/restores", asked, **key)
        assert (status, [one.name for one in lab.executions(RESTORE)]) == (202, [body["restoreId"]])
