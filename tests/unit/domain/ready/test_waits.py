"""Which of AWS's events wake whom; nothing in them can break anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.ready.waits import command_signal, fast_restore_signal, signal_of, volume_signal

AWS = Path(__file__).parents[4] / "events/aws"
VOLUME = "vol-00000000000000001"
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def event(name):
    return json.loads((AWS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["initializeVolume", " initializeVolume", "initializeVolume "])
def test_an_initialized_volume_is_known_with_and_without_aws_blank(name):
    told = event("ebs-volume-initialized")
    told["detail"]["event"] = name
    assert signal_of(told) == volume_signal(VOLUME)


@pytest.mark.parametrize("name", ["createVolume", "attachVolume", "modifyVolume", "", None])
def test_other_events_of_the_volume_wake_nobody(name):
    told = event("ebs-volume-initialized")
    told["detail"]["event"] = name
    assert signal_of(told) is None


def test_fast_snapshot_restore_is_known_by_snapshot_and_zone():
    told = event("ebs-fast-snapshot-restore-enabled")
    assert signal_of(told) == fast_restore_signal("snap-0123456789abcdef0", "us-east-1a")


@pytest.mark.parametrize(
    ("status", "wakes"),
    [("Success", True), ("Failed", True), ("TimedOut", True), ("Cancelled", True), ("InProgress", False)],
)
def test_a_command_wakes_at_its_end(status, wakes):
    told = {
        "detail-type": "EC2 Command Invocation Status-change Notification",
        "detail": {"command-id": "c-1", "instance-id": "i-1", "status": status},
    }
    assert signal_of(told) == (command_signal("c-1") if wakes else None)


@given(
    st.fixed_dictionaries(
        {
            "detail-type": st.sampled_from(
                [
                    "EBS Volume Notification",
                    "EBS Fast Snapshot Restore State-change Notification",
                    "EC2 Command Invocation Status-change Notification",
                    "Something Else",
                ]
            )
        },
        optional={"detail": ANY_JSON, "resources": ANY_JSON},
    )
)
def test_whatever_comes_is_read_or_ignored(told):
    assert signal_of(told) is None or isinstance(signal_of(told), str)
