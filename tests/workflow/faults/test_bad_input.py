"""Bad input: refused at the API by field; after an alarm a message says why; nothing is created."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pytest

from rewarm.contracts.answers import Problem
from rewarm_cli.api import Answer
from tests.support.stack.restores import RestoreUser, request_for, texts, unique

Json = dict[str, Any]


@dataclass(frozen=True)
class Bad:
    """A request that cannot be met: what is put in, and what the answer must say."""

    name: str
    change: Callable[[RestoreUser], Json]
    status: int
    error: str
    field: str
    words: tuple[str, ...]

    def words_in(self, user: RestoreUser) -> list[str]:
        """The words, with the user's Region."""
        return [word.replace("{region}", user.region.settings.region) for word in self.words]


def source(**fields: Any) -> Callable[[RestoreUser], Json]:
    return lambda user: {"source": {"snapshotId": user.snapshot(**fields)}}


def target(**fields: Any) -> Callable[[RestoreUser], Json]:
    return lambda user: {"target": {"instanceId": user.instance(**fields)}}


def taken_device(user: RestoreUser) -> Json:
    instance_id = user.instance()
    user.region.add_volume(size_gib=1, attach_to=instance_id, device="/dev/sdg", has_data=False)
    return {"target": {"instanceId": instance_id, "device": "/dev/sdg"}}


LOST = "0123456789abcdef0"
NOT_USABLE = "allowed is a completed snapshot in the Region's standard tier"


def rewound(*, gib_now: int = 8, machine: Json | None = None) -> Callable[[RestoreUser], Json]:
    """A rewind to a snapshot of 8 GiB."""

    def change(user: RestoreUser) -> Json:
        instance_id = user.instance(**(machine or {}))
        place = {"attach_to": instance_id, "device": "/dev/sdg", "has_data": False}
        volume_id = user.region.add_volume(size_gib=gib_now, **place)
        good = user.snapshot(size_gib=8, volume_id=volume_id)
        target = {"instanceId": instance_id, "mode": "rewind"}
        return {"source": {"snapshotId": good}, "target": target, "volume": {}}

    return change


def rewound_root(user: RestoreUser) -> Json:
    instance_id = user.instance()
    volumes = user.region.call("ec2", "DescribeVolumes", {})["Volumes"]
    root = next(
        one["VolumeId"]
        for one in volumes
        if any(at["InstanceId"] == instance_id for at in one.get("Attachments", []))
    )
    good = user.snapshot(size_gib=8, volume_id=root)
    target = {"instanceId": instance_id, "mode": "rewind"}
    return {"source": {"snapshotId": good}, "target": target, "volume": {}}


UNMET = [
    Bad(
        "a snapshot that does not exist",
        lambda _: {"source": {"snapshotId": f"snap-{LOST}"}},
        404,
        "SnapshotNotFoundError",
        "source.snapshotId",
        (f"snap-{LOST}",),
    ),
    Bad(
        "a pending snapshot",
        source(state="pending", progress=40),
        422,
        "SnapshotNotUsableError",
        "source.snapshotId",
        ("pending (40 % done)", NOT_USABLE),
    ),
    Bad(
        "a snapshot in error",
        source(state="error", state_message="the volume was lost"),
        422,
        "SnapshotNotUsableError",
        "source.snapshotId",
        ("in error (the volume was lost)", NOT_USABLE),
    ),
    Bad(
        "an archived snapshot",
        source(storage_tier="archive"),
        422,
        "SnapshotNotUsableError",
        "source.snapshotId",
        ("archived", "up to 72 hours", NOT_USABLE),
    ),
    Bad(
        "a volume without snapshots",
        lambda _: {"source": {"volumeId": f"vol-{LOST}"}},
        404,
        "SnapshotNotFoundError",
        "source.volumeId",
        (f"vol-{LOST}",),
    ),
    Bad(
        "a zone that does not exist",
        lambda user: {"target": {"availabilityZone": f"{user.region.settings.region}f"}},
        404,
        "TargetNotFoundError",
        "target.availabilityZone",
        ("{region}f", "allowed are {region}a, {region}b, {region}c"),
    ),
    Bad(
        "an instance that does not exist",
        lambda _: {"target": {"instanceId": f"i-{LOST}"}},
        404,
        "TargetNotFoundError",
        "target.instanceId",
        (f"i-{LOST}",),
    ),
    Bad(
        "a stopped instance",
        target(state="stopped"),
        422,
        "TargetNotUsableError",
        "target.instanceId",
        ("stopped", "allowed is an instance that is running"),
    ),
    Bad(
        "an instance without Systems Manager",
        target(managed=False),
        422,
        "TargetNotUsableError",
        "target.instanceId",
        ("not online in Systems Manager", "allowed is an instance with a running SSM agent"),
    ),
    Bad(
        "a device in use",
        taken_device,
        409,
        "DeviceInUseError",
        "target.device",
        ("/dev/sdg already holds vol-", "free names are /dev/sdf, /dev/sdh"),
    ),
    Bad(
        "a device name that EC2 does not know",
        lambda user: {"target": {"instanceId": user.instance(), "device": "/dev/nvme1n1"}},
        400,
        "InvalidRequestError",
        "target.device",
        ("/dev/nvme1n1", "allowed on a linux instance is /dev/sd[b-z]"),
    ),
    Bad(
        "a volume smaller than its snapshot",
        lambda user: {"source": {"snapshotId": user.snapshot(size_gib=8)}, "volume": {"sizeGib": 4}},
        400,
        "InvalidRequestError",
        "volume.sizeGib",
        ("8",),
    ),
    Bad(
        "a rewind of a volume that has grown",
        rewound(gib_now=16),
        422,
        "TargetNotUsableError",
        "target.mode",
        ("has 16 GiB now and had 8 then", "target.mode replace"),
    ),
    Bad(
        "a rewind of a root volume",
        rewound_root,
        422,
        "TargetNotUsableError",
        "target.mode",
        ("is the root volume", "target.reboot"),
    ),
    Bad(
        "a rewind of a volume of Windows",
        rewound(machine={"platform": "Windows"}),
        422,
        "TargetNotUsableError",
        "target.mode",
        ("runs Windows, where writing was never tried",),
    ),
    Bad(
        "a rewind of a volume without NVMe",
        rewound(machine={"instance_type": "c4.large"}),
        422,
        "TargetNotUsableError",
        "target.mode",
        ("which has no NVMe",),
    ),
    Bad(
        "a rewind of a volume that does not exist",
        lambda user: {
            "source": {"snapshotId": user.snapshot()},
            "target": {"instanceId": user.instance(), "mode": "rewind", "volumeId": f"vol-{LOST}"},
            "volume": {},
        },
        422,
        "TargetNotUsableError",
        "target.volumeId",
        ("there is no such volume",),
    ),
    Bad(
        "an undo without a log",
        lambda user: {
            "source": {"undoOf": "restore-0123456789abcdef"},
            "target": {"instanceId": user.instance(), "mode": "rewind"},
            "volume": {},
        },
        400,
        "InvalidRequestError",
        "source.undoOf",
        ("which has no undo log",),
    ),
]
MALFORMED: list[tuple[str, Json, str, tuple[str, ...]]] = [
    ("unknown field", {"colour": "red"}, "colour", ("unknown field", "allowed are source, target, volume")),
    (
        "unknown field inside",
        {"objective": {"readyInMinutes": 5}},
        "objective.readyInMinutes",
        ("unknown field", "readyWithinMinutes"),
    ),
    (
        "number out of range",
        {"objective": {"readyWithinMinutes": 0}},
        "objective.readyWithinMinutes",
        ("found 0", "at least 1"),
    ),
    (
        "unknown strategy",
        {"objective": {"strategy": "magic"}},
        "objective.strategy",
        ("magic", "warm-up-agent"),
    ),
    (
        "id that is none",
        {"source": {"snapshotId": "snapshot-1"}},
        "source.snapshotId",
        ("snapshot-1", "such as snap-0123456789abcdef0"),
    ),
    (
        "two sources",
        {"source": {"snapshotId": f"snap-{LOST}", "imageId": f"ami-{LOST}"}},
        "source",
        ("exactly one of",),
    ),
    (
        "an instance in another zone",
        {"target": {"instanceId": f"i-{LOST}", "availabilityZone": "us-east-1b"}},
        "target",
        ("instanceId", "availabilityZone"),
    ),
]


def first_of_each_error() -> Iterator[Any]:
    """The others are for `make test-long`: the API's test has their words as well."""
    seen: set[str] = set()
    for bad in UNMET:
        yield pytest.param(bad, marks=pytest.mark.long) if bad.error in seen else bad
        seen.add(bad.error)


@pytest.mark.parametrize("bad", UNMET, ids=lambda bad: bad.name)
def test_the_api_refuses_what_cannot_be_met(user: RestoreUser, bad: Bad) -> None:
    request = request_for(user, "auto") | bad.change(user)
    before, executions = user.region.inventory(), user.executions()
    for path in ("/restores", "/plans"):
        answer = user.call("POST", path, request)
        assert (answer.status, answer.body["error"], answer.body["field"]) == (
            bad.status,
            bad.error,
            bad.field,
        ), answer
        assert [word for word in bad.words_in(user) if word not in answer.body["message"]] == [], answer
    assert (user.region.inventory(), user.executions()) == (before, executions)


@pytest.mark.parametrize("bad", first_of_each_error(), ids=lambda bad: bad.name)
def test_an_alarm_whose_runbook_cannot_be_met_says_why(user: RestoreUser, bad: Bad) -> None:
    alarm = unique("rewarm-orders")
    user.runbook(alarm, request_for(user, "auto") | bad.change(user))
    user.mark()
    (restore_id,) = user.alarm(alarm)
    done = user.finished(restore_id)
    assert (done.main.status, done.main.error, done.volumes) == ("FAILED", bad.error, ())
    assert done.main.states[-5:] == [
        "Select Snapshot",
        "Report Failure",
        "Announce Failure",
        "Release Target After Failure",
        "Restore Failed",
    ]
    (message,) = user.messages(restore_id)
    said = texts(message)
    assert said.startswith("❌ Restore failed")
    assert [word for word in (bad.field, *bad.words_in(user)) if word not in said] == [], said
    assert "Nothing was left behind." in said
    assert (done.record["status"], done.record["failure"]["error"]) == ("failed", bad.error)
    assert user.left() == {}


@pytest.mark.parametrize(("name", "change", "field", "words"), MALFORMED, ids=lambda value: str(value)[:30])
def test_the_api_refuses_what_is_malformed(
    user: RestoreUser, name: str, change: Json, field: str, words: tuple[str, ...]
) -> None:
    request = request_for(user, "auto")
    request.pop("volume")
    before, executions = user.region.inventory(), user.executions()
    for method, path in (("POST", "/restores"), ("POST", "/plans"), ("PUT", "/runbooks/rewarm-bad")):
        answer = user.call(method, path, request | change)
        assert (answer.status, answer.body["error"], answer.body["field"]) == (
            400,
            "InvalidRequestError",
            field,
        ), (name, answer)
        assert [word for word in words if word not in answer.body["message"]] == [], answer
    assert user.call("GET", "/runbooks/rewarm-bad").status == 404
    assert (user.region.inventory(), user.executions()) == (before, executions)


def test_a_source_is_needed(user: RestoreUser) -> None:
    answer = user.call("POST", "/restores", {"target": {"instanceId": f"i-{LOST}"}})
    assert answer.status == 400, answer
    assert "source" in str(answer.body)


def test_every_refusal_has_the_same_form(user: RestoreUser) -> None:
    """Also those that API Gateway gives itself: for a request that is not signed, and for a wrong secret."""
    nobody = replace(user._api, secret_access_key="wrong")
    answers = [
        user.call("POST", "/restores", {"source": f"snap-{LOST}", "target": {}}),
        user.call("POST", "/restores", []),
        user.call("GET", "/restores/restore-0000000000000000"),
        user.call("GET", "/elsewhere"),
        user.call("PATCH", "/restores"),
        nobody.call("GET", "/restores"),
        unsigned(f"{user.lab.api_url}/restores"),
        unsigned(f"{user.lab.api_url}/elsewhere"),
    ]
    assert [answer.status for answer in answers] == [400, 400, 404, 404, 405, 403, 401, 401]
    for answer in answers:
        problem = Problem.model_validate(answer.body)
        assert (problem.status, problem.detail) == (answer.status, problem.message)
        assert (problem.instance or "").startswith("urn:rewarm:request:")
    assert [answer.body["error"] for answer in answers[-3:]] == [
        "INVALID_SIGNATURE",
        "MISSING_AUTHENTICATION_TOKEN",
        "MISSING_AUTHENTICATION_TOKEN",
    ]


def unsigned(url: str) -> Answer:
    """The answer to somebody without credentials."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url)
    with refused.value as answer:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.headers["WWW-Authenticate"] == "AWS4-HMAC-SHA256"
        return Answer(answer.code, json.loads(answer.read()))


def test_lists_name_what_there_is(user: RestoreUser) -> None:
    request = request_for(user, "auto") | user.to_zone
    names = [user.start(request | {"dryRun": True}) for _ in range(3)]
    for name in names:
        user.finished(name)
    first = user.call("GET", "/restores?limit=2").body
    second = user.call("GET", f"/restores?limit=1&nextToken={quote(first['nextToken'])}").body
    listed = [one["restoreId"] for one in [*first["restores"], *second["restores"]]]
    assert sorted(listed) == sorted(names)
    known = user.call("GET", f"/restores/{names[0]}").body
    waited = user.call("GET", f"/restores/{names[0]}?wait=1&version={known['version']}").body
    # Each answer links the page anew.
    assert {**waited, "reportUrl": None} == {**known, "reportUrl": None}


@pytest.mark.parametrize(
    "rest", ["#", '"it"', "?", "a\\b", "`", "\u2013", "\U0001f525", "a/b", "100%", "%41", " "]
)
def test_an_alarm_of_any_legal_name_has_its_runbook(user: RestoreUser, rest: str) -> None:
    name = unique("rewarm") + rest
    user.runbook(quote(name, safe=""), request_for(user, "auto"))
    assert user.call("GET", f"/runbooks/{quote(name, safe='')}").body["alarmName"] == name
    assert name in [one["alarmName"] for one in user.call("GET", "/runbooks").body["runbooks"]]
    assert user.call("DELETE", f"/runbooks/{quote(name, safe='')}").status == 200


def test_an_alarm_of_a_strange_name_restores(user: RestoreUser) -> None:
    name = unique("rewarm") + ' "orders/db" 100%?'
    user.runbook(
        quote(name, safe=""),
        request_for(user, "auto") | user.to_zone | {"objective": {"strategy": "background"}},
    )
    (restore_id,) = user.alarm(name)
    assert user.finished(restore_id).main.status == "SUCCEEDED"
    (listed,) = user.call("GET", f"/restores?alarmName={quote(name, safe='')}").body["restores"]
    assert (listed["restoreId"], listed["status"]) == (restore_id, "ready")


def test_an_unknown_field_in_a_scheduled_request_fails_with_a_message(user: RestoreUser) -> None:
    """Schedules start the state machine without the API's check."""
    request = request_for(user, "auto") | {"colour": "red"}
    restore_id = user.start_execution({"request": request, "trigger": {"kind": "schedule"}})
    done = user.finished(restore_id)
    assert (done.main.status, done.main.error, done.volumes) == ("FAILED", "InvalidRequestError", ())
    assert done.main.states[-5:] == [
        "Parse Request",
        "Report Failure",
        "Announce Failure",
        "Release Target After Failure",
        "Restore Failed",
    ]
    said = texts(user.messages(restore_id)[-1])
    assert "colour: unknown field; allowed are source, target, volume" in said
    assert user.left() == {}


def test_an_alarm_without_runbook_says_so(user: RestoreUser) -> None:
    alarm = unique("rewarm-nobody")
    user.mark()
    (restore_id,) = user.alarm(alarm)
    done = user.finished(restore_id)
    assert (done.main.status, done.main.error) == ("FAILED", "RunbookNotFoundError")
    said = texts(user.messages(restore_id)[-1])
    assert f"Nothing was restored: the alarm {alarm} has no runbook" in said
    assert "To restore now: rewarm restore --volume vol-… --instance i-…" in said
    assert f"For the next time: rewarm runbook put {alarm} --volume" in said
    assert "The alarm starts no restore until " in said
    assert user.left() == {}


def test_only_alarms_that_go_off_and_have_the_prefix_start_a_restore(user: RestoreUser) -> None:
    alarm = unique("rewarm-orders")
    user.runbook(alarm, request_for(user, "auto"))
    assert user.alarm(alarm, "OK") == []
    assert user.alarm(alarm, "INSUFFICIENT_DATA") == []
    billing = unique("billing")
    assert user.alarm(billing) == []
    refused = user.call("PUT", f"/runbooks/{billing}", request_for(user, "auto"))
    assert (refused.status, refused.body["field"]) == (400, "alarmName")
    assert user.alarm(unique("operations-of")) == []


def test_a_restore_that_nobody_knows_is_not_found(user: RestoreUser) -> None:
    for method in ("GET", "DELETE"):
        answer = user.call(method, "/restores/restore-0000000000000000")
        assert (answer.status, answer.body["error"]) == (404, "RestoreNotFoundError")
