"""What people see of plans, restores, runbooks and volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rewarm_cli import words
from rewarm_cli.output import print_table

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]

READY = "ready"
FINISHED = frozenset({READY, "failed", "cancelled", "refused", "duplicate", "suppressed"})
"""Statuses of a restore that has ended (docs/operations.md, Watching)."""


def status_of(record: Json) -> str:
    """Its status; a restore that has only begun may have none yet."""
    return record.get("status") or "starting"


def is_over(record: Json) -> bool:
    """Whether the restore has ended; a dry run ends with its plan."""
    dry = bool((record.get("request") or {}).get("dryRun"))
    return status_of(record) in FINISHED or (dry and status_of(record) == "planned")


def is_good(record: Json) -> bool:
    """Whether it ended as it was meant to."""
    return status_of(record) in {READY, "planned"}


def show_plan(target: Console, answer: Json, *, offers: bool = False) -> None:
    """Each volume with all strategies, then the sum of it."""
    for planned in answer["plans"]:
        target.print(_volume_line(planned["volume"]), soft_wrap=True)
        rows = [_candidate(candidate) for candidate in planned["candidates"]]
        print_table(target, ("", "strategy", "p50", "p90", "cost", "why"), rows, right=("p50", "p90", "cost"))
        target.print()
    if offers:
        rows = [
            [
                words.duration(offer["deadlineSeconds"]),
                words.usd(offer["costUsd"]),
                _choices(offer["choices"]),
            ]
            for offer in answer["frontier"]
        ]
        print_table(target, ("deadline", "cost", "with"), rows, right=("deadline", "cost"))
        target.print()
    for line in summary_lines(answer["summary"]):
        target.print(line, soft_wrap=True)


def summary_lines(summary: Json) -> Iterator[str]:
    """The time, the price and what to know."""
    late = "after the deadline" if summary["deadlineMissed"] else "in time"
    at, cost = words.clock(summary["readyP90At"]), words.usd(summary["totalCostUsd"])
    yield f"At full speed by {at} (P90), {late}, for {cost}."
    for note in summary.get("notes") or []:
        yield f"Note: {note}"


def missing_lines(answer: Json) -> Iterator[str]:
    """What would make the restore better or surer, as far as the plan shows it."""
    if answer["summary"]["deadlineMissed"]:
        yield "Missing: time. No strategy meets the deadline; `rewarm plan --what-if` has what others cost."
    for planned in answer["plans"]:
        volume = planned["volume"]
        instance_id = volume.get("instanceId")
        if instance_id and not (planned.get("facts") or {}).get("agentAvailable", True):
            yield (
                f"Missing: the agent cannot run on {instance_id}. Is the instance online in Systems Manager, "
                "and does it have NVMe? Without the agent nothing is measured."
            )
        if volume.get("consistentSet") is False:
            yield f"Missing: a set of snapshots taken together; {volume['snapshotId']} is of another time."


def _volume_line(volume: Json) -> str:
    place = volume.get("instanceId") or volume["availabilityZone"]
    device = f" as {volume['device']}" if volume.get("device") else ""
    instead = f", in place of {volume['replaces']['volumeId']}" if volume.get("replaces") else ""
    data = words.size(volume["dataBytes"])
    return (
        f"{volume['snapshotId']} of {words.clock(volume['snapshotStartedAt'])} ({data} of data) to "
        f"{place}{device}{instead}"
    )


def _candidate(candidate: Json) -> list[str]:
    return [
        "*" if candidate["chosen"] else "",
        _strategy(candidate),
        words.duration(candidate["readyP50Seconds"]),
        words.duration(candidate["readyP90Seconds"]),
        words.usd(candidate["costUsd"]),
        candidate["reason"],
    ]


def _strategy(plan: Json) -> str:
    rate = plan.get("initializationRateMibS")
    return f"{plan['strategy']} {rate} MiB/s" if rate else str(plan["strategy"])


def _choices(choices: list[Json]) -> str:
    return ", ".join(
        _strategy(choice) + (f" ({choice['volumes']} volumes)" if choice["volumes"] > 1 else "")
        for choice in choices
    )


def show_restore(target: Console, record: Json, *, events: bool = True) -> None:
    """One restore: where it is, its volumes, its events, and what to type next."""
    restore_id = record["restoreId"]
    target.print(f"{restore_id} is {status_of(record)}", style="bold", soft_wrap=True)
    for name, text in _facts(record):
        target.print(f"  {name:<9} {text}", soft_wrap=True)
    if rows := [_volume_row(volume) for volume in record.get("volumes") or []]:
        target.print()
        print_table(target, ("", "volume", "place", "strategy", "progress"), rows)
    if events and record.get("events"):
        target.print()
        for event in record["events"]:
            target.print(
                f"  {words.clock(event['at'], seconds=True)}  {event.get('title') or event['event']}",
                soft_wrap=True,
            )
    target.print()
    for line in _next(record):
        target.print(line, soft_wrap=True)


def _facts(record: Json) -> Iterator[tuple[str, str]]:
    trigger = record.get("trigger") or {}
    by = trigger.get("alarmName") or trigger.get("scheduleName") or trigger.get("kind") or "-"
    yield "started", f"{words.clock(record.get('startedAt'))} by {by}"
    if record.get("deadlineAt"):
        yield "deadline", words.clock(record["deadlineAt"])
    summary = record.get("summary") or {}
    if summary and not record.get("finishedAt"):
        yield (
            "expected",
            f"{words.clock(summary['readyP90At'])} (P90), for {words.usd(summary['totalCostUsd'])}",
        )
    if approval := record.get("approval"):
        yield "approval", _answered(approval)
    if record.get("finishedAt"):
        cost = f", for {words.usd(record['costUsd'])}" if record.get("costUsd") is not None else ""
        yield "finished", words.clock(record["finishedAt"]) + cost
    if record.get("step"):
        yield "step", str(record["step"])
    if record.get("waiting"):
        yield "waiting", str(record["waiting"])
    failure = record.get("failure") or {}
    if failure:
        yield "failure", " ".join(filter(None, [failure.get("error"), failure.get("cause")]))


def _answered(approval: Json) -> str:
    """Who approved what, or until when somebody may."""
    price = words.usd(approval["usd"])
    if approval.get("approvedAt"):
        return f"{price}, by {approval['by']}, {words.clock(approval['approvedAt'])}"
    if approval.get("endedAt"):
        return f"{price}, by nobody until {words.clock(approval['until'])}"
    return f"needed for {price} until {words.clock(approval['until'])}: {approval['reason']}"


def is_awaiting(record: Json) -> bool:
    """Whether it waits until somebody approves its plan."""
    return status_of(record) == "awaiting-approval"


def approval_lines(record: Json) -> Iterator[str]:
    """What is to be approved: the plan of each volume, then price, reason and time."""
    for planned in record.get("plans") or []:
        plan = planned["plan"]
        facts = [
            _strategy(plan),
            f"at full speed in {words.duration(plan['readyP90Seconds'])} (P90)",
            words.usd(plan["costUsd"]),
        ]
        yield f"{planned['snapshotId']}: {', '.join(facts)}. {plan['why']}"
    if of_fleet := record.get("plan"):
        yield of_fleet["why"]
    if approval := record.get("approval"):
        what = "fleet" if of_fleet else "restore"
        yield f"{words.usd(approval['usd'])} in all. {approval['reason']}"
        yield f"Until {words.clock(approval['until'])}; then the {what} fails, and nothing was made."


def _volume_row(volume: Json) -> list[str]:
    made = {**(volume.get("volume") or {}), **(volume.get("attached") or {})}
    place = [made.get("device"), made.get("instanceId") or made.get("availabilityZone")]
    return [
        str(volume["index"]),
        made.get("volumeId") or "-",
        " on ".join(filter(None, place)) or "-",
        made.get("strategy") or "-",
        progress_text(volume) or "-",
    ]


def progress_of(volume: Json) -> tuple[float, Json] | None:
    """Per cent and the figures behind it: the agent's own, seconds old, or else the last poll's."""
    agent, polled = volume.get("agent") or {}, volume.get("initialization") or {}
    if agent.get("bytesTotal"):
        return 100 * agent["bytesDone"] / agent["bytesTotal"], agent
    if polled.get("progressPercent") is not None:
        return float(polled["progressPercent"]), polled
    return None


def progress_text(volume: Json) -> str | None:
    """`72 %  739.5 MiB of 1 GiB  125.0 MiB/s  ETA 3 s`."""
    found = progress_of(volume)
    if found is None:
        return None
    percent, figures = found
    parts = [f"{percent:.0f} %"]
    if figures.get("bytesTotal"):
        parts.append(f"{words.size(figures['bytesDone'])} of {words.size(figures['bytesTotal'])}")
    if figures.get("mibPerSecond") is not None and percent < 100:
        parts.append(f"{figures['mibPerSecond']:.1f} MiB/s")
    if figures.get("etaSeconds") is not None and percent < 100:
        parts.append(f"ETA {words.duration(figures['etaSeconds'])}")
    return "  ".join(parts)


def _next(record: Json) -> Iterator[str]:
    restore_id = record["restoreId"]
    if is_awaiting(record):
        yield f"Approve it: {words.command('approve', restore_id)}"
    if not is_over(record):
        yield f"Watch it: {words.command('status', restore_id, '--watch')}"
        yield f"Cancel it: {words.command('cancel', restore_id)}"
    elif record.get("reportUrl"):
        yield f"Its page: {words.command('report', restore_id)}"


def show_restores(target: Console, restores: list[Json]) -> None:
    """A line for each restore, the newest first."""
    rows = [
        [
            restore["restoreId"],
            restore["status"],
            words.clock(restore.get("startedAt")),
            words.clock(restore.get("finishedAt")),
            _started_by(restore.get("trigger")),
            restore.get("instanceId") or "-",
            str(restore.get("volumeCount") or "-"),
            restore.get("step") or "-",
        ]
        for restore in restores
    ]
    columns = ("id", "status", "started", "finished", "by", "instance", "volumes", "step")
    print_table(target, columns, rows, right=("volumes",), whole=("id", "status"))


def _started_by(trigger: Any) -> str:
    if not isinstance(trigger, dict):
        return str(trigger or "-")
    return str(trigger.get("alarmName") or trigger.get("scheduleName") or trigger.get("kind") or "-")


def show_fleets(target: Console, fleets: list[Json]) -> None:
    """A line for each fleet, the newest first."""
    rows = [
        [
            fleet["fleetId"],
            fleet["status"],
            words.clock(fleet.get("startedAt")),
            words.clock(fleet.get("finishedAt")),
            str(fleet.get("volumeCount") or "-"),
        ]
        for fleet in fleets
    ]
    print_table(target, ("id", "status", "started", "finished", "volumes"), rows, right=("volumes",))


def fleet_lines(record: Json) -> Iterator[str]:
    """How far a fleet is, what is slow, and what failed."""
    run = f", run {record['run']}" if record["run"] > 1 else ""
    yield f"{record['fleetId']} is {record['status']}{run}, since {words.clock(record['startedAt'])}"
    progress = record.get("progress")
    if progress is None:
        yield "Its volumes are not known yet."
        return
    counts = ", ".join(f"{count} {state}" for state, count in progress["counts"].items())
    yield f"{progress['volumeCount']} volumes by {record['restoreCount']} restores: {counts}"
    if record.get("plan"):
        plan = record["plan"]
        late = ", after the deadline" if plan["deadlineMissed"] else ""
        price, ready = words.usd(plan["totalCostUsd"]), words.clock(plan["readyP90At"])
        yield f"Planned: {price}, at full speed by {ready} (P90){late}"
    if approval := record.get("approval"):
        yield f"Approval: {_answered(approval)}"
    if progress["eta"]:
        yield f"At this pace all have ended by {words.clock(progress['eta'])}"
    for slow in progress["slowest"]:
        yield f"  {slow['restoreId']} is {slow['status']} since {words.clock(slow['startedAt'])}"
    for failed in progress["failed"]:
        where = f"{failed['restoreId']} volume {failed['index']} ({_selected(failed['snapshot'])})"
        yield f"  {where} {failed['state']}: {failed['cause']}"
    if record.get("failure"):
        yield f"The fleet itself: {record['failure'].get('cause')}"


def fleet_plan_lines(answer: Json) -> Iterator[str]:
    """How many volumes take which strategy, for how much and until when, and what the plan does not have."""
    counts = Counter(volume["strategy"] for volume in answer["volumes"])
    yield f"{answer['volumeCount']} volumes by {answer['restoreCount']} restores"
    for strategy, count in counts.most_common():
        of_strategy = [volume for volume in answer["volumes"] if volume["strategy"] == strategy]
        ready = words.clock(max(volume["readyP90At"] for volume in of_strategy))
        price = words.usd(sum(Decimal(volume["costUsd"]) for volume in of_strategy))
        yield f"  {count} by {strategy}, for {price}, at full speed by {ready} (P90)"
    for left in answer["unplanned"]:
        yield f"  {left['volumeCount']} plan on their own: {left['reason']}"
    if answer["summary"] is not None:
        yield answer["summary"]["why"]
        yield from summary_lines(answer["summary"])


def show_drills(target: Console, drills: list[Json]) -> None:
    """A line for each drill."""
    rows = [
        [
            words.clock(drill.get("at")),
            drill["outcome"],
            *(_against(drill, what) for what in ("recovery", "point")),
            drill["restoreId"],
        ]
        for drill in drills
    ]
    print_table(target, ("drill of", "outcome", "recovery time", "recovery point", "id"), rows)


def _against(drill: Json, what: str) -> str:
    took, objective = drill.get(f"{what}Seconds"), drill.get(f"{what}ObjectiveSeconds")
    found = "-" if took is None else words.duration(took)
    return found if objective is None else f"{found} of {words.duration(objective)}"


def show_runbooks(target: Console, runbooks: list[Json]) -> None:
    """A line for each runbook."""
    rows = [
        [
            runbook["alarmName"],
            words.clock(runbook.get("updatedAt")),
            _selected((runbook.get("runbook") or {}).get("source") or {}),
            _selected((runbook.get("runbook") or {}).get("target") or {}),
        ]
        for runbook in runbooks
    ]
    print_table(target, ("alarm", "updated", "restores", "to"), rows, whole=("alarm",))


def _selected(place: Json) -> str:
    names = ("snapshotId", "volumeId", "instanceId", "imageId", "availabilityZone")
    found = next((str(place[name]) for name in names if place.get(name)), None)
    tags = ", ".join(f"{key}={value}" for key, value in (place.get("tags") or {}).items())
    listed = f"{len(place.get('volumes') or [])} volumes" if place.get("volumes") else None
    return found or tags or listed or "-"
