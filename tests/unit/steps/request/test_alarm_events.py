"""What an alarm's event says of whether its actions are suppressed."""

from __future__ import annotations

from copy import deepcopy

import pytest
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.errors import InvalidRequestError
from rewarm.steps.request.alarm_events import suppression

ALARM = "rewarm-orders"
RULE = "arn:aws:cloudwatch:us-east-1:123456789012:alarm-mute-rule:maintenance"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
    max_leaves=4,
)


def event(state=None, configuration=None, **detail):
    return {
        "detail": {
            "alarmName": ALARM,
            "state": {"value": "ALARM", **(state or {})},
            "configuration": {
                "actionsSuppressor": "maintenance",
                "actionsSuppressorWaitPeriod": 120,
                "actionsSuppressorExtensionPeriod": 180,
                **(configuration or {}),
            },
            **detail,
        }
    }


def by(kind, **configuration):
    return event({"actionsSuppressedBy": kind}, configuration)


BY_HAND = "; to restore all the same, run rewarm restore --alarm rewarm-orders"
WHILE = "its actions are suppressed while the alarm maintenance is in ALARM"
NO_EVENT = "and AWS documents no event after that"
KNOWN = {
    "by-an-alarm": (by("Alarm"), WHILE),
    "wait": (
        by("WaitPeriod"),
        f"its actions wait up to 120 s for the alarm maintenance (WaitPeriod), {NO_EVENT}",
    ),
    "extension": (
        by("ExtensionPeriod"),
        f"its actions wait up to 180 s after the alarm maintenance left ALARM (ExtensionPeriod), {NO_EVENT}",
    ),
    "nobody-named": (
        by("Alarm", actionsSuppressor=None),
        "its actions are suppressed while an alarm that the event does not name is in ALARM",
    ),
    "no-period": (
        by("WaitPeriod", actionsSuppressorWaitPeriod=None),
        "its actions wait for the alarm maintenance (WaitPeriod), and AWS documents no event after that",
    ),
    "mute-rule": (
        event(muteDetail={"mutedByArn": RULE, "muteWindowEnd": "2026-11-21T04:00:00.000+0000"}),
        "the mute rule maintenance mutes it until 2026-11-21T04:00:00.000+0000",
    ),
    "mute-rule-without-its-name": (event(muteDetail={"other": 1}), "a mute rule mutes it"),
    "both": (
        event({"actionsSuppressedBy": "Alarm"}, muteDetail={"mutedByArn": RULE}),
        f"the mute rule maintenance mutes it and {WHILE}",
    ),
}


@pytest.mark.parametrize(("found", "reason"), KNOWN.values(), ids=KNOWN)
def test_says_who_suppresses_it_and_how_to_restore_all_the_same(found, reason):
    assert suppression(found, ALARM) == f"{reason}{BY_HAND}"


def test_every_value_of_the_model_is_known():
    for kind in get_session().get_service_model("cloudwatch").shape_for("ActionsSuppressedBy").enum:
        assert suppression(by(kind), ALARM) is not None


@pytest.mark.parametrize("found", [event(), event({"actionsSuppressedBy": None}), event(muteDetail=None), {}])
def test_an_alarm_whose_actions_nobody_suppresses_has_no_reason(found):
    assert suppression(found, ALARM) is None


@pytest.mark.parametrize(
    ("found", "field"),
    [
        (by("Schedule"), "detail.state.actionsSuppressedBy"),
        (by(""), "detail.state.actionsSuppressedBy"),
        (by(["Alarm"]), "detail.state.actionsSuppressedBy"),
        (event({"actionsSuppressedReason": "somehow"}), "detail.state.actionsSuppressedBy"),
        (event(muteDetail="maintenance"), "detail.muteDetail"),
        (event(muteDetail={}), "detail.muteDetail"),
    ],
)
def test_what_is_not_known_is_said(found, field):
    with pytest.raises(
        InvalidRequestError, match=r"is not known; allowed is .* rewarm restore --alarm"
    ) as said:
        suppression(found, ALARM)
    assert said.value.field == field


@given(kind=ANYTHING, muted=ANYTHING)
def test_whatever_the_fields_hold_an_alarm_is_suppressed_or_refused_and_never_lost(kind, muted):
    found = by(kind)
    found["detail"]["muteDetail"] = muted
    before = deepcopy(found)
    try:
        reason = suppression(found, ALARM)
    except InvalidRequestError:
        return
    assert found == before
    assert (reason is None) == (kind is None and muted is None)


def test_a_command_names_the_alarm_as_a_shell_takes_it():
    assert "rewarm restore --alarm 'rewarm a b'" in (suppression(by("Alarm"), "rewarm a b") or "")
