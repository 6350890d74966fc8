"""`rewarm runbook put` and `check`: what keeps an alarm from restoring."""
# ruff: noqa: E501  # the rows of a table

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime, timedelta

import pytest

from rewarm_cli.doctor import examination
from rewarm_cli.problems import DONE, NOT_READY
from tests.cli.commands.test_doctor import POLICY
from tests.support.commands import aws_account as aws
from tests.support.commands.aws_account import ALARM, INSTANCE, VOLUME, Refused
from tests.support.commands.stack_api import RefusedError

LOOK = examination.examine_alarm
TO = ("--volume", VOLUME, "--instance", INSTANCE)
SUMMARY = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0.75", "deadlineMissed": False}
RUNBOOK = {"source": {"volumeId": VOLUME}, "target": {"instanceId": INSTANCE}}
PLANNED = {"plans": [], "summary": SUMMARY, "request": RUNBOOK}
BY_ALARM = {"kind": "alarm", "alarmName": ALARM}


def snapshots(*hours):
    return {"Snapshots": [aws.snapshot(StartTime=datetime.now(UTC) - timedelta(hours=age)) for age in hours]}


def restored(minutes_ago, **more):
    at = (datetime.now(UTC) - timedelta(minutes=minutes_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "restoreId": "restore-1",
        "status": "ready",
        "startedAt": at,
        "finishedAt": at,
        "trigger": BY_ALARM,
        **more,
    }


@pytest.fixture
def looking(account, rewarm, stack, monkeypatch):
    """`rewarm`, whose commands look at a sound account."""
    monkeypatch.setattr(examination, "examine_alarm", LOOK)
    stack.answers["POST", "/plans"] = 200, PLANNED
    return rewarm


@pytest.mark.parametrize("words", [("put", ALARM, *TO), ("check", ALARM)])
def test_a_sound_alarm_has_no_complaint(looking, words):
    shown = looking("runbook", *words)
    assert (shown.status, shown.err) == (DONE, "")


CASES = [
    # what AWS answers, then words of what is found and of what to do
    ("DescribeAlarms", {"MetricAlarms": [], "CompositeAlarms": []}, "there is no alarm rewarm-orders-database in", "list those"),
    ("DescribeAlarms", aws.alarm(ActionsEnabled=False), "are disabled", "enable-alarm-actions"),
    ("DescribeAlarms", aws.alarm(ActionsSuppressor="maintenance", ActionsSuppressorWaitPeriod=120), "waits for maintenance whenever it goes off, up to 120 s", "an alarm without a suppressor"),
    ("DescribeAlarms", aws.alarm(StateValue="ALARM"), "restores only when it has left ALARM", "rewarm restore --alarm"),
    ("DescribeAlarms", aws.alarm(StateValue="INSUFFICIENT_DATA"), "its metric has no data", "writes the metric"),
    ("DescribeRule", {"State": "DISABLED"}, "no alarm starts a restore", "aws events enable-rule"),
    ("DescribeSnapshots", {"Snapshots": []}, "has no usable snapshot", "aws ec2 create-snapshot"),
    ("DescribeSnapshots", snapshots(80, 104, 128), "is 3 d 8 h old, though one came every 24 h", "has stopped"),
    ("GetLifecyclePolicy", aws.lifecycle_policy("weekly"), "nothing that Rewarm knows of makes the next", "make a schedule"),
    ("DescribeInstanceInformation", aws.managed(PingStatus="ConnectionLost"), "ConnectionLost", "the SSM agent runs"),
    ("DescribeAlarms", Refused("AccessDenied"), "cloudwatch:DescribeAlarms: AccessDenied", "allow cloudwatch:DescribeAlarms"),
    ("GetCallerIdentity", Refused("ExpiredToken"), "ExpiredToken", "log in again"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]}")
@pytest.mark.parametrize("words", [("put", ALARM, *TO), ("check", ALARM)], ids=["put", "check"])
def test_what_keeps_the_alarm_from_restoring_is_said(looking, account, words, case):
    operation, answer, found, todo = case
    account.answers[operation] = answer
    said = " ".join(looking("runbook", *words).err.split())
    assert f"What {ALARM} needs before it restores:" in said
    assert found in said
    assert todo in said


def test_an_alarm_that_is_nearly_named_so_is_meant(looking, account):
    def answer(asked):
        listed = [] if asked.get("AlarmNames") else [{"AlarmName": ALARM}, {"AlarmName": "other"}]
        return {"MetricAlarms": listed, "CompositeAlarms": []}

    account.answers["DescribeAlarms"] = answer
    shown = looking("runbook", "check", "rewarm-orders-databse")
    assert shown.status == NOT_READY
    assert f"did you mean {ALARM}?" in shown.err
    assert f"rewarm runbook put {ALARM}" in shown.err


@pytest.mark.parametrize("known", [True, False], ids=["has a runbook", "nobody knows"])
def test_an_alarm_that_may_have_a_runbook_is_never_meant(looking, account, stack, known):
    """Whoever followed the advice would replace what that alarm restores."""

    def answer(asked):
        return {
            "MetricAlarms": [] if asked.get("AlarmNames") else [{"AlarmName": ALARM}],
            "CompositeAlarms": [],
        }

    def refuse(call):
        if call.path == "/runbooks" and not known:
            raise RefusedError(503, "ServiceUnavailableError", "later")

    account.answers["DescribeAlarms"], stack.before = answer, refuse
    stack.runbooks[ALARM] = RUNBOOK
    said = " ".join(looking("runbook", "put", f"{ALARM}s", *TO, "--rewind", "--unmount").err.split())
    assert f"there is no alarm {ALARM}s in" in said
    assert "did you mean" not in said
    assert "rewarm runbook put" not in said


HOSTILE = "rewarm-orders database'; touch /tmp/made #"


@pytest.mark.parametrize(
    ("found", "command"),
    [
        (aws.alarm(AlarmName=HOSTILE, StateValue="ALARM"), ["rewarm", "restore", "--alarm", HOSTILE]),
        (
            aws.alarm(AlarmName=HOSTILE, ActionsEnabled=False),
            ["aws", "cloudwatch", "enable-alarm-actions", "--alarm-names", HOSTILE],
        ),
        (None, ["rewarm", "runbook", "put", HOSTILE]),
    ],
    ids=["restore", "actions", "meant"],
)
def test_a_command_quotes_the_name_that_somebody_gave_an_alarm(looking, account, found, command):
    def answer(asked):
        listed = [] if asked.get("AlarmNames") else [{"AlarmName": HOSTILE}]
        return found or {"MetricAlarms": listed, "CompositeAlarms": []}

    account.answers["DescribeAlarms"] = answer
    said = looking("runbook", "check", HOSTILE if found else f"{HOSTILE}s").err.splitlines()
    shown = [
        line[line.index(command[0] + " " + command[1]) :] for line in said if shlex.join(command) in line
    ]
    assert [shlex.split(line) for line in shown] == [command]


def test_a_name_without_the_stack_s_prefix_starts_nothing(looking):
    assert "orders does not begin with rewarm-" in " ".join(
        looking("runbook", "put", "orders", *TO).err.split()
    )


def test_a_runbook_that_says_how_it_is_drilled_is_planned_as_its_alarm_restores_it(looking, stack):
    looking("runbook", "put", ALARM, *TO, "--set", "drill.recoveryTimeMinutes=5")
    looking("runbook", "check", *TO, "--set", "drill.recoveryTimeMinutes=5")
    planned = [call.body for call in stack.calls if call.path == "/plans"]
    assert [("drill" in asked, "source" in asked) for asked in planned] == [(False, True)] * 2


def test_what_cannot_be_planned_now_is_said_when_the_runbook_is_stored(looking, stack):
    def refuse(call):
        if call.path == "/plans":
            raise RefusedError(404, "SnapshotNotFoundError", "vol-1 has no snapshot")

    stack.before = refuse
    shown = looking("runbook", "put", ALARM, *TO)
    assert shown.status == DONE
    assert "nothing could be restored now: vol-1 has no snapshot" in shown.err


@pytest.mark.parametrize(
    ("minutes_ago", "more", "own", "found"),
    [
        (5, {}, None, "15 minutes after restore-1 began"),
        (5, {}, 60, "60 minutes after restore-1 began"),
        (20, {}, None, None),
        (5, {}, 0, None),
        (5, {"trigger": {"kind": "api", "alarmName": ALARM}}, None, None),
        (5, {"status": "suppressed"}, None, None),
        (
            90,
            {"status": "restoring", "finishedAt": None},
            None,
            "restore-1 runs, and the alarm starts no other",
        ),
    ],
)
def test_a_cooldown_or_a_restore_that_runs_is_said(looking, stack, minutes_ago, more, own, found):
    # Only now: tests are collected long before they run.
    stack.answers["GET", "/restores"] = 200, {"restores": [restored(minutes_ago, **more)]}
    runbook = RUNBOOK | ({} if own is None else {"alarmCooldownMinutes": own})
    stack.answers["POST", "/plans"] = 200, {**PLANNED, "request": runbook}
    said = " ".join(looking("runbook", "check", ALARM).err.split())
    assert (found or "") in said
    assert ("cooldown" in said) == (found is not None)


@pytest.mark.parametrize(("at", "found"), [("2026-08-22T10:00:00Z", True), ("latest", False), (None, False)])
def test_a_runbook_whose_snapshot_gets_older_every_day_is_said(looking, stack, at, found):
    source = {**RUNBOOK["source"], **({} if at is None else {"at": at})}
    stack.answers["POST", "/plans"] = 200, {**PLANNED, "request": {**RUNBOOK, "source": source}}
    said = " ".join(looking("runbook", "check", ALARM).err.split())
    assert (f"no snapshot later than {at} is restored" in said) == found


def test_aws_backup_counts_as_a_policy_and_so_does_one_of_the_instance(looking, account):
    account.answers["GetLifecyclePolicy"] = aws.lifecycle_policy("weekly")
    account.answers["DescribeProtectedResource"] = {"ResourceType": "EBS"}
    assert looking("runbook", "check", ALARM).err == ""
    account.answers["DescribeProtectedResource"] = Refused("ResourceNotFoundException")
    account.answers["GetLifecyclePolicy"] = aws.lifecycle_policy("weekly", "INSTANCE")
    account.answers["DescribeVolumes"] = {"Volumes": [aws.volume(Attachments=[{"InstanceId": INSTANCE}])]}
    account.answers["DescribeInstances"] = aws.instance(Tags=[{"Key": "backup", "Value": "weekly"}])
    assert looking("runbook", "check", ALARM).err == ""


def test_every_volume_of_an_instance_needs_a_snapshot(looking, account, stack):
    stack.answers["POST", "/plans"] = 200, {**PLANNED, "request": {"source": {"instanceId": INSTANCE}}}
    account.answers["DescribeSnapshots"] = {"Snapshots": []}
    assert f"{VOLUME} has no usable snapshot" in " ".join(looking("runbook", "check", ALARM).err.split())


def test_what_is_asked_for_is_in_the_doctor_s_policy_and_nothing_else(looking, account):
    account.answers["GetLifecyclePolicy"] = aws.lifecycle_policy("weekly")
    looking("runbook", "put", ALARM, *TO)
    statements = {one["Sid"]: one for one in json.loads(POLICY.read_text(encoding="utf-8"))["Statement"]}
    services = {"backup", "cloudwatch", "dlm", "events"}
    asked = {f"{call.service}:{call.operation}" for call in account.calls if call.service in services}
    assert asked == set(statements["LookAtAlarms"]["Action"])
