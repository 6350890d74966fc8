"""Ids of EC2 have one form everywhere: with 17 hexadecimal digits, or with eight on old accounts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rewarm.contracts.base import parsed
from rewarm.contracts.benchmarks import BenchmarkRequest
from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.benchmark.fio_output import _volume_id
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import HEX
from rewarm.steps.adopt.hear import _named
from tests.contract.repository import ROOT
from tests.support.tree import files

KIND = r"(?:vol|snap|ami|\bi)\)?-?\??"
ANY_FORM = re.compile(rf"{KIND}\(?\[0-9a-f")
THE_FORM = re.compile(rf"{KIND}{re.escape(HEX)}")
WRITTEN = {
    "functions": "*.py", "documents": "*.yaml", "cli": "*.py", "events": "*.json", "local/tools": "*.py",
    "docs": "*.json",
}  # fmt: skip
OLD, NEW = "1234abcd", "0123456789abcdef0"
WRONG = ("1234abc", "1234abcde", "0123456789abcdef01", "1234ABCD", "", "zzzzzzzz")
DOCUMENTS = sorted((ROOT / "documents").glob("*.yaml"))


def places() -> list[Path]:
    found = [path for below, pattern in WRITTEN.items() for path in files(pattern, below=below)]
    found.append(ROOT / "api.json")
    return sorted(path for path in found if "0-9a-f" in path.read_text(encoding="utf-8"))


def test_no_other_form_is_written_anywhere() -> None:
    seen = 0
    for path in places():
        if "adapters/models" in str(path):  # botocore's own
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            seen += len(ANY_FORM.findall(line))
            assert len(ANY_FORM.findall(line)) == len(THE_FORM.findall(line)), f"{path}:{number}: {line}"
    assert seen > 20


def patterns() -> dict[str, str]:
    """Document -> the pattern of the parameter that takes a volume's id."""
    found = {}
    for path in DOCUMENTS:
        line = re.search(r"^ *allowedPattern: (.*vol-.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if line is not None:
            found[path.stem] = line[1]
    return found


def test_every_document_about_a_volume_is_looked_at() -> None:
    assert patterns().keys() >= {"apply", "benchmark", "calibration", "device_use", "hook", "warmer"}


@pytest.mark.parametrize("name", patterns())
def test_a_document_takes_both(name: str) -> None:
    pattern = patterns()[name]
    for digits in (OLD, NEW):
        assert re.search(pattern, f"vol-{digits}"), digits
    for digits in WRONG:
        assert not re.search(pattern, f"vol-{digits}"), digits


def test_a_request_takes_both() -> None:
    for digits in (OLD, NEW):
        parse_restore_request(
            {"source": {"volumeId": f"vol-{digits}"}, "target": {"instanceId": f"i-{digits}"}}
        )
        parse_restore_request(
            {"source": {"snapshotId": f"snap-{digits}"}, "target": {"availabilityZone": "us-east-1a"}}
        )
        parsed(BenchmarkRequest, {"instanceId": f"i-{digits}", "targets": [{"volumeId": f"vol-{digits}"}]})
    for digits in WRONG:
        with pytest.raises(InvalidRequestError, match="allowed is an id such as"):
            parse_restore_request({"source": {"volumeId": f"vol-{digits}"}, "target": {"instanceId": "i-1"}})


@pytest.mark.parametrize("digits", [OLD, NEW])
def test_a_disk_s_serial_number_is_read(digits: str) -> None:
    assert _volume_id(f"vol{digits}") == f"vol-{digits}"


@pytest.mark.parametrize("serial", [*(f"vol{digits}" for digits in WRONG), OLD, f"vol-{OLD}", "Amazon"])
def test_another_serial_number_is_no_volume(serial: str) -> None:
    assert _volume_id(serial) is None


@pytest.mark.parametrize("digits", [OLD, NEW])
def test_an_event_of_ebs_names_the_volume(digits: str) -> None:
    event = json.loads((ROOT / "events/aws/ebs-volume-initialized.json").read_text(encoding="utf-8"))
    event["detail"] |= {"event": "createVolume", "result": "available"}
    event["resources"] = [f"arn:aws:ec2:us-east-1:123456789012:volume/vol-{digits}"]
    assert _named(event, account="123456789012", region="us-east-1") == f"vol-{digits}"
