"""The alarms of docs/alarms.md, as the document makes them: each restores what its runbook says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from rewarm_cli.main import run
from rewarm_cli.problems import DONE
from tests.support.commands import terraform as hcl
from tests.support.commands.aws_commands import parameters_of
from tests.support.commands.shown import INSTANCE, VOLUME, Shell, blocks
from tests.support.stack.restores import RestoreUser
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

PAGE = ROOT / "docs" / "alarms.md"
HOUR = 3_600
MODES = {
    "rewarm-orders-instance": "attach", "rewarm-orders-volumes": "attach", "rewarm-orders-data": "rewind",
}  # fmt: skip
ALARMS = tuple(MODES)


def terraform() -> dict[str, dict[str, Any]]:
    """Parameters of PutMetricAlarm that the page's Terraform stands for, by the alarm's name."""
    found = {}
    for code in PAGE.read_text(encoding="utf-8").split("```hcl\n")[1:]:
        (resource,) = hcl.parsed(code.partition("```")[0])["resource"]
        (made,) = resource["aws_cloudwatch_metric_alarm"].values()
        dimensions = made.pop("dimensions", {})
        fields = {"".join(map(str.title, name.split("_"))): value for name, value in made.items()}
        if dimensions:
            fields["Dimensions"] = [{"Name": name, "Value": value} for name, value in dimensions.items()]
        found[fields["AlarmName"]] = fields
    return found


@pytest.fixture
def commands(tmp_path: Path) -> list[list[str]]:
    """The words of each command of the page, in its order."""
    shell = Shell(tmp_path, dict.fromkeys(("ApiUrl", "JwtApiUrl"), "https://api.example"))
    return [words for block in blocks() if block.document == PAGE for words in shell.run(block.script)]


def of_cloudwatch(commands: list[list[str]], operation: str) -> list[dict[str, Any]]:
    return [parameters_of(words[1:]) for words in commands if words[:3] == ["aws", "cloudwatch", operation]]


def test_terraform_and_the_aws_cli_make_the_same_alarms(commands: list[list[str]]) -> None:
    made = of_cloudwatch(commands, "put-metric-alarm")
    assert {alarm["AlarmName"]: alarm for alarm in made} == terraform()
    assert tuple(terraform()) == ALARMS


@pytest.mark.parametrize("alarm", ALARMS)
def test_each_alarm_restores_what_its_runbook_says(
    user: RestoreUser, commands: list[list[str]], alarm: str
) -> None:
    failed, stand_by = user.instance(), user.instance()
    volume = user.region.add_volume(size_gib=user.image.size_gib, attach_to=failed, device="/dev/sdf")
    snapshot = user.snapshot(volume_id=volume, start_time=time.time() - 2 * HOUR)
    rewinds = MODES[alarm] == "rewind"
    here = {VOLUME: volume, INSTANCE: failed if rewinds else stand_by}
    for words in commands:
        if words[:4] == ["rewarm", "runbook", "put", alarm]:
            assert run([here.get(word, word) for word in words[1:]]) == DONE
    cloudwatch = user.lab.client("cloudwatch")
    for parameters in of_cloudwatch(commands, "put-metric-alarm"):
        if parameters["AlarmName"] == alarm:
            cloudwatch.put_metric_alarm(**parameters)
    before = set(user.executions())
    cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="test")
    wait_until(lambda: set(user.executions()) - before)
    (restore_id,) = set(user.executions()) - before
    awaited = "approval" if rewinds else "plans"
    wait_until(lambda: user.call("GET", f"/restores/{restore_id}").body.get(awaited))
    assert user.call("DELETE", f"/restores/{restore_id}").status == 202
    record = user.finished(restore_id).record
    (plan,) = record["plans"]
    assert record["trigger"]["alarmName"] == alarm
    assert plan["snapshotId"] == snapshot
    assert record["request"]["target"]["mode"] == MODES[alarm]
