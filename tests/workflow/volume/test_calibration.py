"""`rewarm calibrate` finds what a simulated Region hides, and leaves nothing, however it ends."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local.soak.lab.lab import FastLab
from local.soak.trouble.attacker import YEAR_SECONDS
from rewarm.contracts.base import parsed
from rewarm.contracts.benchmarks import Calibration
from rewarm_cli.calibrate import cloud as accounts
from rewarm_cli.calibrate import command
from rewarm_cli.calibrate.measuring import Measured, Measuring
from rewarm_cli.main import run
from rewarm_cli.problems import DECLINED
from tests.support.commands.stack_api import Served, StackApi
from tests.support.stack.calibrating import DOCUMENT, INSTANCE, STACK, TOLD, ZONE, CalibrationLab, Hidden

REGIONS = 20
"""Their seeds are 0 to 19: none was chosen."""
ENOUGH = 18
WIDEST = {
    "createSeconds": 0.5, "attachSeconds": 0.5, "detachSeconds": 0.5, "snapshotSeconds": 0.15,
    "metricDelaySeconds": 1.5, "statusLagSeconds": 0.6, "backgroundMibS": 0.3, "rateDelivered": 0.4,
    "firstTouchMs": 0.4, "firstTouchP90Ms": 1.1, "warmReadMs": 0.2, "fetchConcurrency": 0.6,
    "fetchUnitKib": 0.0, "readAheadKib": 0.1, "fsrEnablingSeconds": 0.1, "fsrOptimizingSeconds": 0.1,
    "fsrDisablingSeconds": 0.6,
}  # fmt: skip
"""A stated interval may be so wide, as a share of the value. Clocks leave a second of a delivery open."""
WAYS = ("volume", "rate", "fsr")


def missed(seed: int) -> set[str]:
    """What a calibration of this Region did not find within its interval, or stated too widely."""
    hidden = Hidden.drawn(seed)
    lab = CalibrationLab(hidden, seed)
    found = lab.calibrate(*WAYS)
    lab.pass_time(60)
    assert accounts.leftovers(lab.clients, STACK) == []
    wrong = {name for name, value in hidden.answers.items() if found.answers.get(name) != value}
    return wrong | {name for name, value in hidden.figures.items() if not is_found(name, value, found)}


def is_found(name: str, value: float, found: Measured) -> bool:
    figure = found.figures.get(name)
    if figure is None or not figure.low <= value <= figure.high:
        return False
    widest = 1.1 if name == "deliverySeconds" else WIDEST[name] * max(figure.value, 1.0)
    return figure.high - figure.low <= widest


@pytest.mark.parametrize("seed", [9])
def test_a_region_is_found(seed: int) -> None:
    """At most one of 21 is missed: each interval holds in 99 of 100 cases, not in all."""
    assert len(missed(seed)) <= 1


@pytest.mark.long
def test_each_hidden_parameter_is_found_in_18_of_20_regions() -> None:
    counts: dict[str, int] = {}
    for seed in range(REGIONS):
        for name in missed(seed):
            counts[name] = counts.get(name, 0) + 1
    assert {name: count for name, count in counts.items() if count > REGIONS - ENOUGH} == {}


# --------------------------------------------------------------------------------------------- the command
HIDDEN = replace(Hidden.drawn(9), create=2, attach=2, detach=2, snapshot=20, lag=60)


class Desk:
    """The command `rewarm` with a stack's API and an account on this machine."""

    def __init__(self, lab: CalibrationLab) -> None:
        self.lab = lab
        self.api = StackApi(now=lab.clock.now)
        told = {**TOLD, "leases": self.api.leases}
        self.api.answers = {("GET", "/calibration"): (200, told), ("PUT", "/calibration"): (200, TOLD)}

    def calibrate(self, *words: str) -> int:
        return run(["calibrate", "--instance", INSTANCE, "--size-gib", "2", *words])

    @property
    def things(self) -> list[accounts.Leftover]:
        self.lab.pass_time(60)
        return accounts.leftovers(self.lab.clients, STACK)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(CalibrationLab(HIDDEN))
    served = Served(made.api)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "1",
        "AWS_SECRET_ACCESS_KEY": "2",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("REWARM_API_URL", served.url)
    monkeypatch.setattr(command, "_account", lambda _settings, _region: (made.lab.clients, DOCUMENT))
    monkeypatch.setattr(accounts, "clock_of", lambda _clients: made.lab.clock)
    yield made
    served.close()


def test_it_says_what_it_costs_keeps_what_it_found_and_leaves_nothing(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    assert desk.calibrate("--max-cost-usd", "0.1", "--yes", "--save", str(file)) == 0
    said = capsys.readouterr()
    assert "fsr: left out: 0.76 USD would be more than the limit of 0.10 USD" in said.err
    assert "share of a provisioned rate" in said.out
    (put,) = (call.body for call in desk.api.calls if (call.method, call.path) == ("PUT", "/calibration"))
    assert put == json.loads(file.read_text())
    assert parsed(Calibration, put).figures
    text = file.read_text()
    assert not any(word in text for word in (INSTANCE, "vol-", "snap-", "123456789012"))
    assert desk.things == []


def test_nothing_is_made_without_a_yes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.calibrate("--max-cost-usd", "0.001", "--yes") == 1
    assert "nothing fits" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    monkeypatch.setattr("rewarm_cli.asking.is_terminal", lambda: True)
    assert desk.calibrate() == DECLINED
    assert desk.things == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_all_that_it_made(
    desk: Desk, sign: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(self: Any, _volume: str) -> None:
        del self
        signal.raise_signal(sign)

    monkeypatch.setattr(Measuring, "_touch", stopped)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever other tests have left
    try:
        assert desk.calibrate("--yes") == 130
    finally:
        signal.signal(signal.SIGINT, before)
    said = capsys.readouterr().err
    assert said.count("deleting vol-") == 2
    assert said.count("deleting snap-") == 1
    assert desk.things == []
    assert not [call for call in desk.api.calls if (call.method, call.path) == ("PUT", "/calibration")]


LEASED = "calibration-0123456789abcdef"


class KilledError(BaseException):
    """kill -9: nothing of the program runs any more."""


def test_the_next_start_removes_what_a_killed_one_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(Measuring, "_touch", _kill)
        killed.setattr(command, "_remove", lambda _cloud: None)
        with pytest.raises(KilledError):
            desk.calibrate("--yes")
    assert len(desk.things) == 3
    desk.lab.pass_time(1_200)
    assert run(["calibrate", "--clean-up", "--yes"]) == 0
    assert capsys.readouterr().err.count(" is left\n") == 3
    assert desk.things == []


def _kill(*_: Any) -> None:
    raise KilledError


def theirs(lab: Any, name: str, *, size_gib: int = 100) -> tuple[str, str]:
    """A volume of others, and a backup of it, to which somebody has given the tags of a calibration."""
    since = lab.region.now() - YEAR_SECONDS
    volume = lab.region.add_volume(size_gib=size_gib, create_time=since)
    snapshot = lab.region.add_snapshot(
        size_gib=size_gib, volume_id=volume, extents=((0, 8),), start_time=since
    )
    tags = {
        "rewarm:stack": STACK,
        "rewarm:calibration": name,
        "rewarm:expires-at": "2020-01-01T00:00:00Z",
    }
    marks = [{"Key": key, "Value": value} for key, value in tags.items()]
    lab.region.call("ec2", "CreateTags", {"Resources": [volume, snapshot], "Tags": marks})
    return volume, snapshot


def test_what_no_lease_names_is_shown_and_not_removed(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even with --yes, and not at the end of a calibration whose name it has got."""
    things = theirs(desk.lab, "calibration-1")
    assert run(["calibrate", "--clean-up", "--yes"]) == 0
    said = capsys.readouterr().err
    assert f"aws ec2 delete-volume --volume-id {things[0]}" in said
    assert f"aws ec2 delete-snapshot --snapshot-id {things[1]}" in said
    assert desk.lab.cloud("calibration-1").remove_all(print) == []
    assert {one.name for one in desk.things} == set(things)


def test_a_volume_whose_answer_was_lost_is_removed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same token leads to it."""
    cloud, make = desk.lab.cloud(), desk.lab.clients.ec2.create_volume

    def lost(**params: Any) -> Any:
        make(**params)
        raise KilledError

    with monkeypatch.context() as killed:
        killed.setattr(desk.lab.clients.ec2, "create_volume", lost)
        with pytest.raises(KilledError):
            cloud.create_volume(Size=2)
    assert len(desk.things) == 1
    assert cloud.remove_all(print) == []
    assert desk.things == []


def test_the_sweeper_ends_what_a_killed_one_left() -> None:
    """With the permissions of its role."""
    with FastLab(seed=1) as lab:
        call = lab.region.call
        lab.region.add_instance(instance_id=INSTANCE, zone=ZONE)
        others = theirs(lab, LEASED)
        path = f"/calibrations/{LEASED}"
        assert lab.api("PUT", path, {})[0] == 200
        tags = {"rewarm:stack": STACK, "rewarm:calibration": LEASED, "rewarm:creation": LEASED}
        marks = [{"Key": key, "Value": value} for key, value in tags.items()]

        def tagged(kind: str) -> list[Any]:
            return [{"ResourceType": kind, "Tags": marks}]

        volume = call(
            "ec2", "CreateVolume",
            {"AvailabilityZone": ZONE, "Size": 1, "VolumeType": "gp3", "TagSpecifications": tagged("volume")},
        )["VolumeId"]  # fmt: skip
        lab.pass_time(10)
        call("ec2", "AttachVolume", {"VolumeId": volume, "InstanceId": INSTANCE, "Device": "/dev/sdp"})
        snapshot = call(
            "ec2", "CreateSnapshot", {"VolumeId": volume, "TagSpecifications": tagged("snapshot")}
        )["SnapshotId"]
        lab.pass_time(60)
        # Whoever may keep a lease can name what is not a calibration's, but not when EC2 made it.
        body = {"volumeIds": [volume, others[0]], "snapshotIds": [snapshot, others[1]]}
        assert lab.api("PUT", path, body)[0] == 200
        place = {"SourceSnapshotIds": [snapshot], "AvailabilityZones": [ZONE]}
        call("ec2", "EnableFastSnapshotRestores", place)
        lab.pass_time(1_000)
        assert volume in lab.region.inventory()["volumes"]
        assert len(lab.region.inventory()["fastRestores"]) == 1
        lab.pass_time(2_400)
        assert volume not in lab.region.inventory()["volumes"]
        assert lab.region.inventory()["fastRestores"] == []
        (left,) = call("ec2", "DescribeSnapshots", {"OwnerIds": ["self"]})["Snapshots"]
        assert left["SnapshotId"] == others[1]
        assert others[0] in lab.region.inventory()["volumes"]
        assert lab.api("GET", "/calibration")[1]["leases"] == []
