"""The messages of a fleet: its plan at the start, and what has come of it at the end."""

from __future__ import annotations

from rewarm.contracts.events import AnnounceEvent
from rewarm.contracts.fleets import PrepareFleetResult, ReportFleetResult
from rewarm.steps.announce import fleet, plan
from rewarm.steps.record.restore import KnownRestore
from tests.support.builders import BOB, NOW, at

FLEET_ID = "fleet-0123456789abcdef"
PLAN = {
    "totalCostUsd": "1.5",
    "readyP90At": at(60),
    "deadlineMissed": False,
    "why": "3 volumes: 3 x provisioned-rate.",
    "couldSaveUsd": "0.25",
    "priceBookAsOf": NOW,
    "priceSource": "list",
}


def start(*, minutes=None, plan=PLAN):
    prepared = PrepareFleetResult.model_validate(
        {
            "bucket": "b", "itemsKey": "i", "resultsPrefix": "r", "restoreCount": 3, "volumeCount": 3,
            "maxConcurrency": 10, "toleratedFailurePercentage": 100, "toleratedFailureCount": 3,
            "deadlineAt": None if minutes is None else at(minutes), "plan": plan, "notify": {},
        }
    )  # fmt: skip
    details = {"prepared": prepared.to_json(), "run": 1, "notify": {}}
    return fleet.announce_fleet_plan(event("fleet-planned", details), {})[0]


def end(cancelled_by=None, **parts):
    report = ReportFleetResult.model_validate(
        {"verdict": "ready", "volumeCount": 3, "ready": 3, "failed": [], "notify": {}, **parts}
    )
    record = KnownRestore(cancelled_by=cancelled_by)
    return fleet.announce_fleet_end(event("fleet-ended", {"report": report.to_json(), "notify": {}}), record)[
        0
    ]


def event(name, details):
    return AnnounceEvent(restore_id=FLEET_ID, now=NOW, event=name, details=details)


def test_a_fleet_says_its_price_and_its_time_before_it_begins():
    message = start(minutes=90)
    assert message.title == f"3 volumes of {FLEET_ID} will be restored for $1.50"
    assert "3 volumes: 3 x provisioned-rate." in message.text
    assert dict(message.fields) == {
        "Price": "$1.50; another mix could cost at most $0.25 less",
        "Full speed expected by": "2026-11-21 04:00 UTC (P90)",
        "Deadline": "2026-11-21 04:30 UTC",
    }
    assert message.severity.value == "info"


def test_a_fleet_that_will_be_late_says_so_and_by_how_much():
    message = start(minutes=45)
    assert message.title.endswith("for $1.50, too late")
    assert "the last volume is 15 min too late (P90)" in message.text
    assert message.severity.value == "warning"


def test_says_where_each_restore_plans_on_its_own():
    message = start(plan=None)
    assert "each restore plans on its own" in message.text
    assert message.fields == ()


def test_the_end_names_who_cancelled_it():
    assert f"It was cancelled by {BOB.name}." in end(BOB, verdict="cancelled", ready=1).text


def test_the_end_compares_price_and_time_with_the_plan():
    fields = dict(end(plan=PLAN, billedUsd="1.25").fields)
    assert fields["Price"] == "$1.25; planned were $1.50"
    assert fields["Full speed was expected by"] == "2026-11-21 04:00 UTC (P90)"
    assert dict(end(plan=PLAN).fields)["Price"] == "not known yet; planned were $1.50"
    assert end().fields == ()


def test_one_message_asks_for_the_approval_of_all_restores():
    question = {"askedAt": NOW, "until": at(30), "usd": "1.5", "reason": "The plan costs $1.50."}
    details = {"question": question, "summary": PLAN, "volumeCount": 3, "deadlineAt": at(90), "notify": {}}
    message, _ = plan.announce_approval(event("approval", details), {})
    assert message.title == f"Approval needed, $1.50: 3 volumes of {FLEET_ID}"
    assert message.text == "The plan costs $1.50.\n3 volumes: 3 x provisioned-rate."
    assert message.kind == "Fleet"
    approving, cancelling, otherwise = message.next_steps
    assert f"rewarm approve {FLEET_ID} (or POST /restores/{FLEET_ID}/approve)" in approving
    assert f"rewarm fleet cancel {FLEET_ID} (or DELETE /fleets/{FLEET_ID})" in cancelling
    assert "the fleet fails" in otherwise


def test_says_what_is_left_with_the_price_a_month_and_the_commands():
    things = [
        {"thing": f"vol-{number}", "usdPerMonth": "8.00", "remove": f"aws ec2 delete-volume {number}"}
        for number in range(3)
    ]
    message = end(left={"count": 3, "usdPerMonth": "24.00", "things": things})
    assert message.text.endswith("Left behind and still costing money: 3 things, $24.00 a month together.")
    assert message.next_steps[-3:] == (
        "To remove vol-0: aws ec2 delete-volume 0",
        "To remove vol-1: aws ec2 delete-volume 1",
        f"rewarm fleet report {FLEET_ID} shows the other 1.",
    )
    assert "Left behind" not in end().text
