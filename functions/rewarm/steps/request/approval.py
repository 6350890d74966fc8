"""Somebody approves the plan of a restore or a fleet, or clicks one of its buttons in Slack.

POST /restores/{id}/approve writes the approval to the record before it wakes the restore. A restore that is
about to wait stores its token before it reads the record. So each sees what the other wrote.

A click (POST /slack/interactions) calls the same functions as the API's route, so a repeated click does
nothing twice. The restore's record has the Slack user id and name of the person who clicked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from rewarm.contracts.values import Approval
from rewarm.domain.errors import NotAwaitingApprovalError, RestoreEndedError, RestoreError
from rewarm.domain.fleets import FLEETS_RUNNING, is_fleet, status_of_fleet
from rewarm.domain.model import Caller
from rewarm.domain.ready.waits import approval_signal
from rewarm.domain.units import iso, price_text
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.steps.record.approvals import answer, approval_of
from rewarm.steps.record.restore import KnownRestore, RestoreNotes, parsed_time
from rewarm.steps.request.routes import CancelRestorePorts, cancel_restore, found_record

APPROVE, CANCEL = "rewarm-approve", "rewarm-cancel"
_MOST_NAME = 80


class ApproveRestorePorts(CancelRestorePorts, kw_only=True):
    """The ports that approve_restore needs."""


def approve_restore(
    restore_id: str,
    *,
    by: Caller,
    now: datetime,
    ports: ApproveRestorePorts,
    asked_at: datetime | None = None,
) -> JsonObject:
    """Approves the plan of the restore or fleet; `asked_at` names the question that was shown, if any.

    A second approval only wakes the restore once more. Raises RestoreNotFoundError, RestoreEndedError,
    NotAwaitingApprovalError.
    """
    record = _found(restore_id, ports)
    approval = _meant(restore_id, record, asked_at)
    if approval.approved_at is None:
        given = {"approvedAt": iso(now), "by": by.name}
        if answer(restore_id, record, given, ports.table):
            RestoreNotes(ports.table, restore_id).append_event(_news(approval, by.name, now))
        record = RestoreNotes(ports.table, restore_id).read()
        approval = _meant(restore_id, record, asked_at)
    if approval.approved_at is None:
        raise NotAwaitingApprovalError(f"{restore_id} is being cancelled")
    for token in ports.waiters.take(approval_signal(restore_id)):
        ports.tasks.wake(token)
    return {"restoreId": restore_id, "status": _status(record), "approval": approval.to_json()}


def _found(name: str, ports: ApproveRestorePorts) -> KnownRestore:
    """The record of the restore, or of the fleet with this id. Raises RestoreNotFoundError."""
    record = RestoreNotes(ports.table, name).read()
    if is_fleet(name) and record.status is not None:
        return record
    return found_record(name, record, ports)


def _status(record: KnownRestore) -> str | None:
    return status_of_fleet(record.status) or record.status


def _has_ended(record: KnownRestore) -> bool:
    of_fleet = status_of_fleet(record.status)
    return record.is_finished if of_fleet is None else of_fleet not in FLEETS_RUNNING


def _meant(restore_id: str, record: KnownRestore, asked_at: datetime | None) -> Approval:
    """The restore's approval, given or not. Raises RestoreEndedError, NotAwaitingApprovalError."""
    status = _status(record)
    approval = approval_of(record)
    if _has_ended(record):
        raise RestoreEndedError(f"{restore_id} has ended: it is {status}; nothing is left to approve")
    if approval is None:
        raise NotAwaitingApprovalError(f"{restore_id} does not wait for an approval: it is {status}")
    if approval.ended_at is not None:
        raise NotAwaitingApprovalError(f"nobody approved {restore_id} in time: it is about to fail")
    if asked_at is not None and asked_at != approval.asked_at:
        raise NotAwaitingApprovalError(
            f"{restore_id} has another plan by now, for {price_text(approval.usd)}; look at it first"
        )
    return approval


def _news(approval: Approval, by: str, now: datetime) -> JsonObject:
    """The news for the restore's history."""
    return {
        "event": "approved",
        "at": iso(now),
        "title": f"Approved by {by}",
        "text": f"{by} approved the plan for {price_text(approval.usd)}. {approval.reason}",
    }


class Clickers(Value):
    """Whose clicks count."""

    team_id: str | None = None
    """The workspace; None for every workspace with the app."""
    user_ids: Sequence[str] = ()
    """Slack's user ids; empty for everybody who sees the message."""


class Reply(NamedTuple):
    """The answer to a click."""

    sentence: str
    is_done: bool
    """If true, everybody sees it and the buttons are removed; else only the person who clicked sees it."""


def press_button(
    payload: JsonObject, *, now: datetime, clickers: Clickers, ports: ApproveRestorePorts
) -> Reply | None:
    """Carries out the click of a payload that Slack has signed; None if there is nothing to do."""
    action: JsonObject = next(iter(payload.get("actions") or []), {})
    name = action.get("action_id")
    if payload.get("type") != "block_actions" or name not in (APPROVE, CANCEL):
        return None
    user = payload.get("user") or {}
    if not _may_click(payload, user, clickers):
        return Reply("You may not do this: see the parameters SlackApprovers and SlackTeamId.", is_done=False)
    by = _clicker(user)
    value = _value(action)
    restore_id = str(value.get("restoreId"))
    if not _is_its_channel(payload, RestoreNotes(ports.table, restore_id).read()):
        return Reply("This message is not in the channel of the restore.", is_done=False)
    try:
        if name == CANCEL:
            return _cancel(restore_id, by, now, ports)
        asked_at = parsed_time(value.get("askedAt"))
        if asked_at is None:
            return Reply("Nothing was done: the button names no plan.", is_done=False)
        answer = approve_restore(restore_id, by=by, now=now, asked_at=asked_at, ports=ports)
        return Reply(f"Approved by {answer['approval']['by']}.", is_done=True)
    except RestoreError as error:
        return Reply(f"Nothing was done: {error}.", is_done=False)


def _may_click(payload: JsonObject, user: JsonObject, clickers: Clickers) -> bool:
    """Whether the user may click: people of other workspaces see messages in a shared channel, too."""
    teams = {(payload.get("team") or {}).get("id"), user.get("team_id") or clickers.team_id}
    if clickers.team_id is not None and teams != {clickers.team_id}:
        return False
    return bool(user.get("id")) and (not clickers.user_ids or user["id"] in clickers.user_ids)


def _clicker(user: JsonObject) -> Caller:
    """The id comes first, because people choose their names in Slack themselves."""
    name = str(user.get("username") or user.get("name") or "somebody")[:_MOST_NAME]
    return Caller("slack", f"Slack user {user.get('id')} ({name})")


def _value(action: JsonObject) -> JsonObject:
    try:
        value = json.loads(action.get("value") or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_its_channel(payload: JsonObject, record: KnownRestore) -> bool:
    """Whether the click is from the restore's channel; true if Slack's answer with the channel was lost."""
    known = record.slack.channel
    return known is None or known == (payload.get("channel") or {}).get("id")


def _cancel(restore_id: str, by: Caller, now: datetime, ports: ApproveRestorePorts) -> Reply:
    asked_before = RestoreNotes(ports.table, restore_id).read().cancel_requested
    cancel_restore(restore_id, by=by, now=now, ports=ports)
    if asked_before:
        return Reply("The restore is being cancelled already.", is_done=False)
    return Reply(f"Cancelled by {by.name}. The restore stops soon.", is_done=True)
