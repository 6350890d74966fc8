"""What CloudWatch's event of an alarm says: which alarm it is, and whether its actions are suppressed.

The fields are those of "Alarm events and EventBridge" in the CloudWatch user guide. A composite alarm has
`state.actionsSuppressedBy`, whose values are those of botocore's ActionsSuppressedBy, and names the other
alarm in `configuration.actionsSuppressor`. A mute rule shows in `muteDetail`, by its ARN and times.

CloudWatch takes a suppressed alarm's actions later, if the alarm is still in ALARM when the suppression ends
("Suppressing composite alarm actions", "How alarm mute rules work"). An event at that time is not documented.
"""

from __future__ import annotations

import shlex

from rewarm.contracts.values import Trigger
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import Caller
from rewarm.domain.units import cut, shown
from rewarm.ports import JsonObject

_STATE = "detail.state"
_SUPPRESSED_BY = "actionsSuppressedBy"


def alarm_trigger(event: JsonObject) -> Trigger:
    """Returns which alarm went off. Raises InvalidRequestError if none did, or if it has no name."""
    detail = _object(event.get("detail"))
    name = detail.get("alarmName")
    value = _object(detail.get("state")).get("value")
    if not isinstance(name, str) or not name:
        raise InvalidRequestError(
            f"found {shown(name)}; allowed is the alarm's name", field="detail.alarmName"
        )
    if value != "ALARM":
        raise InvalidRequestError(f"found {shown(value)}; allowed is ALARM", field=f"{_STATE}.value")
    event_id = event.get("id")
    return Trigger(
        kind="alarm",
        asked_by=Caller("alarm", f"alarm {_alarm_arn(event, name)}"),
        alarm_name=name,
        event_id=event_id if isinstance(event_id, str) else None,
    )


def suppression(event: JsonObject, alarm_name: str) -> str | None:
    """Returns who suppresses the alarm's actions and how to restore all the same; None if nobody does.

    Raises InvalidRequestError where the event says it in a way that is not known.
    """
    detail = _object(event.get("detail"))
    reasons = [reason for reason in (_by_rule(detail), _by_alarm(detail)) if reason is not None]
    return f"{' and '.join(reasons)}; {_by_hand(alarm_name)}" if reasons else None


def _by_hand(alarm_name: str) -> str:
    return f"to restore all the same, run rewarm restore --alarm {shlex.quote(alarm_name)}"


def _by_rule(detail: JsonObject) -> str | None:
    muted = detail.get("muteDetail")
    if muted is None:
        return None
    if not isinstance(muted, dict) or not muted:
        raise _not_known("detail.muteDetail", muted, "an object that names a mute rule", detail)
    arn = muted.get("mutedByArn")
    end = muted.get("muteWindowEnd")
    rule = f"the mute rule {cut(arn.rpartition(':')[2])}" if isinstance(arn, str) else "a mute rule"
    return f"{rule} mutes it" + (f" until {cut(end)}" if isinstance(end, str) else "")


def _by_alarm(detail: JsonObject) -> str | None:
    state = _object(detail.get("state"))
    configuration = _object(detail.get("configuration"))
    kind = state.get(_SUPPRESSED_BY)
    if kind is None and state.get("actionsSuppressedReason") is None:
        return None
    named = configuration.get("actionsSuppressor")
    by = f"the alarm {cut(named)}" if isinstance(named, str) else "an alarm that the event does not name"
    if kind == "Alarm":
        return f"its actions are suppressed while {by} is in ALARM"
    if kind == "WaitPeriod":
        wait = _seconds(configuration.get("actionsSuppressorWaitPeriod"))
        return f"its actions wait {wait}for {by} ({kind}), and AWS documents no event after that"
    if kind == "ExtensionPeriod":
        wait = _seconds(configuration.get("actionsSuppressorExtensionPeriod"))
        return f"its actions wait {wait}after {by} left ALARM ({kind}), and AWS documents no event after that"
    allowed = "Alarm, WaitPeriod or ExtensionPeriod"
    raise _not_known(f"{_STATE}.{_SUPPRESSED_BY}", kind, allowed, detail)


def _not_known(field: str, found: object, allowed: str, detail: JsonObject) -> InvalidRequestError:
    return InvalidRequestError(
        f"found {shown(found)}, so whether the alarm's actions are suppressed is not known; allowed is "
        f"{allowed}; {_by_hand(str(detail.get('alarmName')))}",
        field=field,
    )


def _seconds(period: object) -> str:
    return f"up to {period} s " if isinstance(period, int) else ""


def _alarm_arn(event: JsonObject, name: str) -> str:
    """CloudWatch user guide, "Alarm events and EventBridge": `resources` has the alarm's ARN."""
    resources = event.get("resources")
    first = resources[0] if isinstance(resources, list) and resources else None
    return first if isinstance(first, str) else name


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
