"""What people see of plans, restores, runbooks and volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rewarm_cli import words
from rewarm_cli.output import print_table, tell

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]

CENT = Decimal("0.01")
BLOCK_BYTES = 524_288
READY = "ready"
FINISHED = frozenset({READY, "failed", "cancelled", "refused", "duplicate", "suppressed"})
"""Statuses of a restore that has ended (docs/operations.md, Watching)."""


def status_of(record: Json) -> str:
    """Its status; a restore that has just begun may have none."""
    return record.get("status") or "starting"


def is_over(record: Json) -> bool:
    """Whether the restore has ended; a dry run ends with its plan."""
    dry = bool((record.get("request") or {}).get("dryRun"))
    return status_of(record) in FINISHED or (dry and status_of(record) == "planned")


def is_good(record: Json) -> bool:
    """Whether it ended as it was meant to."""
    return status_of(record) in {READY, "planned"}


def is_back(record: Json) -> bool:
    """Whether the application is back, and what was to be rewound, or nothing was to be."""
    asked = record.get("request") or {}
    wanted = (asked.get("after") or left_out(record)) and status_of(record) == READY
    return not wanted or (record.get("application") or {}).get("state") == "back"


def left_out(record: Json) -> list[str]:
    """What was not done of what people would else believe to be done."""
    request = record.get("request") or {}
    found = [left for left in request.get("leftOut") or [] if left["field"] != "objective.strategy"]
    return left_out_lines({"leftOut": found})


def left_out_lines(request: Json) -> list[str]:
    """What a restore does without: a part that the stack lacks, or volumes that cannot be adopted."""
    return [f"{left['effect']}, because {left['because']}." for left in request.get("leftOut") or []]


def show_plan(target: Console, answer: Json, *, offers: bool = False, explain: bool = False) -> None:
    """One volume with all strategies, or the schedule of several volumes; then the summary."""
    for text in interruption_lines(answer["plans"]):
        tell(target, text, style="bold")
    schedule = answer["summary"].get("schedule") or []
    if len(answer["plans"]) == 1 or not schedule:
        for planned in answer["plans"]:
            _show_strategies(target, planned, by_hand_rows(answer["summary"]))
    else:
        _show_schedule(target, answer["summary"])
        for line in schedule if explain else ():
            tell(target, f"Each of {words.count(line['volumes'], 'volume')}, if all took the same way:")
            planned = next(plan for plan in answer["plans"] if plan["volume"]["index"] == line["firstIndex"])
            _show_strategies(target, planned, [])
    if explain:
        rows = [[way["name"], way["effort"], way["rightWhen"]] for way in answer.get("ways") or []]
        columns = ("way", "what people do for it", "right when")
        print_table(target, columns, rows, whole=("way",), sentences=columns[1:])
        target.print()
    if offers:
        _show_offers(target, answer["frontier"])
    for text in (
        *summary_lines(answer["summary"], several=len(answer["plans"]) > 1),
        *rewind_lines(answer["plans"]),
    ):
        tell(target, text)


def interruption_lines(plans: list[Json]) -> Iterator[str]:
    """What happens to an instance that works: the first thing to know of a plan."""
    for volume in (planned["volume"] for planned in plans):
        old = volume.get("replaces") or {}
        if old.get("rootDevice"):
            yield f"{volume['instanceId']} will reboot, with a new root volume in place of {old['volumeId']}."


def _show_schedule(target: Console, summary: Json) -> None:
    columns, rows = schedule_table(summary)
    tell(target, schedule_heading(summary))
    print_table(target, columns, rows, right=SCHEDULE_RIGHT, whole=("way", "schedule"))
    for line in schedule_lines(summary):
        tell(target, line)
    target.print()


def _show_strategies(target: Console, planned: Json, by_hand: list[list[str]]) -> None:
    tell(target, _volume_line(planned["volume"]))
    rows = [_candidate(candidate) for candidate in planned["candidates"]] + by_hand
    columns = ("", "strategy", *_TIMES, "cost", "why")
    print_table(target, columns, rows, right=(*_TIMES, "cost"), whole=("", "strategy"), sentences=("why",))
    target.print()


def _show_offers(target: Console, offers: list[Json]) -> None:
    rows = [
        [words.estimate(offer["deadlineSeconds"]), words.usd(offer["costUsd"]), _choices(offer["choices"])]
        for offer in offers
    ]
    columns = ("deadline", "cost", "with")
    print_table(target, columns, rows, right=("deadline", "cost"), sentences=("with",))
    target.print()


def by_hand_rows(summary: Json) -> list[list[str]]:
    """The same volumes read by a person, as rows of the strategies' table."""
    return [
        [
            "",
            f"by hand: {way['program']}",
            "-",
            words.estimate(way["readySeconds"]),
            "-",
            words.usd(way["costUsd"]),
            f"{way['effort'][:1].upper()}{way['effort'][1:]}: {way['command']}",
        ]
        for way in summary.get("byHand") or []
    ]


_FIELDS = {"usable": "usableSeconds", "p50": "readyP50Seconds", "p90": "readyP90Seconds"}
"""When a volume can be used, though it is cold; and when it is at full speed."""
_TIMES = tuple(_FIELDS)
_COLUMNS = ("volumes", "data", "from", "to", "way", "begins", *_TIMES, "each", "together", "schedule")
_SAID_ONCE = ("data", "from", "to", "begins")
"""Columns that are left out if all lines have the same value."""
SCHEDULE_RIGHT = ("volumes", "data", "begins", *_TIMES, "each", "together")
BAR_LEGEND = (
    "Schedule: ░ waits for others, ▒ is prepared and created, █ loads (P50), ▓ may take until then (P90)."
)
_BAR_CELLS = 24


def schedule_table(summary: Json) -> tuple[tuple[str, ...], list[list[str]]]:
    """Columns, and a row for each group of alike volumes, the deadline, all together, and by hand."""
    lines = [_schedule_row(line) for line in summary["schedule"]]
    shown = tuple(
        name for name in _COLUMNS if name not in _SAID_ONCE or len({line[name] for line in lines}) > 1
    )
    rows = [*lines, *_deadline_row(summary), _together_row(summary)]
    rows += [
        {"way": f"by hand: {way['program']}", "p50": words.estimate(way["readySeconds"]),
         "together": words.usd(way["costUsd"])}
        for way in summary.get("byHand") or []
    ]  # fmt: skip
    return shown, [[row.get(name, "") for name in shown] for row in rows]


def schedule_lines(summary: Json) -> Iterator[str]:
    """The lines below the table."""
    yield BAR_LEGEND
    for way in summary.get("byHand") or []:
        yield f"By hand with {way['program']}: {way['effort']}: {way['command']}"


def schedule_heading(summary: Json) -> str:
    """What all volumes have in common: `55 volumes of snap-1 (100 GiB of data each) to us-east-1a`."""
    lines = summary["schedule"]
    source, target, data = (
        {line.get(name) for line in lines} for name in ("snapshotId", "target", "dataBytes")
    )
    said = words.count(sum(line["volumes"] for line in lines), "volume")
    said += f" of {min(source)}" if len(source) == 1 and None not in source else ""
    if len(data) == 1:
        said += f" ({words.size(min(data))} of data each)"
    return said + (f" to {min(target)}" if len(target) == 1 and None not in target else "")


def _deadline_row(summary: Json) -> list[dict[str, str]]:
    """The deadline's row, with its mark at that time on the bars' scale."""
    deadline = summary.get("deadlineSeconds")
    if deadline is None:
        return []
    end = max(deadline, *(line["readyP90Seconds"] for line in summary["schedule"]), 1)
    mark = " " * max(0, round(_BAR_CELLS * deadline / end) - 1) + "|"
    return [{"way": "deadline", "p90": words.estimate(deadline), "schedule": mark}]


def _together_row(summary: Json) -> dict[str, str]:
    lines = summary["schedule"]
    return {
        "volumes": f"{sum(line['volumes'] for line in lines):,}",
        "way": "together",
        **{name: words.estimate(max(line[field] for line in lines)) for name, field in _FIELDS.items()},
        "together": words.usd(summary["totalCostUsd"]),
    }


def _schedule_row(line: Json) -> dict[str, str]:
    up_to = "" if line["alike"] else "up to "
    return {
        "volumes": f"{line['volumes']:,}",
        "data": up_to + words.size(line["dataBytes"]),
        "from": line.get("snapshotId") or "(several)",
        "to": line.get("target") or "(several)",
        "way": _strategy(line),
        "begins": words.estimate(line["startSeconds"]) if line["startSeconds"] else "at once",
        **{name: words.estimate(line[field]) for name, field in _FIELDS.items()},
        "each": up_to + words.usd(line["eachCostUsd"]),
        "together": words.usd(line["togetherCostUsd"]),
        "schedule": line.get("bar") or "",
    }


def summary_lines(summary: Json, *, several: bool = False) -> Iterator[str]:
    """The time, the price and what to know."""
    at = words.clock(summary["readyP90At"])
    cost = words.usd(summary["totalCostUsd"])
    price = f"{cost} together" if several else cost
    yield f"At full speed by {at} (P90){_in_time(summary)}, for {price}{_old_prices(summary)}."
    if several and summary.get("why"):
        yield str(summary["why"])
    for note in summary.get("notes") or []:
        yield f"Note: {note}"


def rewind_lines(plans: list[Json]) -> Iterator[str]:
    """What a rewind of each source volume would take, or why it is not possible."""
    for found in filter(None, (planned.get("rewind") for planned in plans)):
        if not found["possible"]:
            yield f"A rewind is not possible: {found['reason'].rstrip('.')}."
            continue
        blocks = found["blocks"]
        most = found["mostBlocks"]
        upto = f" (at most {most:,} for {words.usd(found['mostUsd'])})" if most > blocks else ""
        yield (
            f"A rewind would put {found['volumeId']} itself back: {words.count(blocks, 'block')} for "
            f"{words.usd(found['costUsd'])}{upto}, {words.estimate(found['secondsP50'])}, P90 "
            f"{words.estimate(found['secondsP90'])}. {found['evidence']}"
        )
        if found.get("why"):
            yield str(found["why"])
        yield from (f"Note: {note}" for note in found["notes"])


def _in_time(summary: Json) -> str:
    """Whether it is in time; empty without a deadline."""
    if summary["deadlineMissed"]:
        late = summary.get("lateSeconds")
        return f", {words.estimate(late)} after the deadline" if late else ", after the deadline"
    return "" if summary.get("deadlineSeconds", 0) is None else ", in time"


def _old_prices(summary: Json) -> str:
    """A warning of old prices, if the plan has costs by them."""
    is_paid = Decimal(str(summary["totalCostUsd"])) >= CENT
    return " by prices that are more than 90 days old" if is_paid and summary.get("priceBookStale") else ""


def missing_lines(answer: Json) -> Iterator[str]:
    """What would make the restore better or safer, as far as the plan shows it."""
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
    if volume.get("adopts"):
        return f"{volume['adopts']} ({data} to load at most){device} on {place}, where it stays"
    return (
        f"{volume['snapshotId']} of {words.clock(volume['snapshotStartedAt'])} ({data} of data) to "
        f"{place}{device}{instead}"
    )


def _candidate(candidate: Json) -> list[str]:
    return [
        "*" if candidate["chosen"] else "",
        _strategy(candidate),
        *(words.estimate(candidate[field]) for field in _FIELDS.values()),
        words.usd(candidate["costUsd"]),
        candidate["reason"] + kept_on_text(candidate),
    ]


def kept_on_text(candidate: Json) -> str:
    """What fast snapshot restore costs if nobody disables it."""
    usd = candidate.get("keptOnUsdAMonth")
    return f" Kept on: {words.usd(usd)} a month for this snapshot in this zone." if usd else ""


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
    tell(target, f"{restore_id} is {status_of(record)}", style="bold")
    for name, text in _facts(record):
        tell(target, f"  {name:<9} {text}")
    lost = is_over(record) and not is_good(record)
    if rows := [_volume_row(volume, lost=lost) for volume in record.get("volumes") or []]:
        target.print()
        print_table(target, ("", "volume", "place", "strategy", "progress"), rows)
    if rows := _application_rows(record.get("application")):
        target.print()
        print_table(target, ("application", "state", "why"), rows)
    if events and record.get("events"):
        target.print()
        for event in record["events"]:
            at = words.clock(event["at"], seconds=True)
            tell(target, f"  {at}  {event.get('title') or event['event']}")
    target.print()
    for line in left_out(record):
        tell(target, line)
    if not is_back(record) and not left_out(record):
        tell(target, _not_back(record.get("application") or {}))
    for line in left_lines(record):
        tell(target, line)
    for line in _next(record):
        tell(target, line)


def left_lines(record: Json) -> Iterator[str]:
    """What the restore has left that costs money, with the price a month and the command that ends it."""
    if not is_over(record) or record.get("left") is None:
        return
    yield from cost_lines(record["left"])


def cost_lines(things: list[Json]) -> Iterator[str]:
    """Each thing that costs money, with the price a month and the command that ends it."""
    if not things:
        yield "It has left nothing that costs money beside what was asked for."
    for thing in things:
        usd = thing.get("usdPerMonth")
        price = f", {words.usd(usd)} a month" if usd is not None else ""
        yield f"Still costs money: {thing['thing']}{price}. To end it: {thing['remove']}"


def _not_back(application: Json) -> str:
    """Why the application is not back although the restore is ready."""
    known = "is not back" if application.get("state") == "failed" else "may not be back"
    parts = application.get("parts") or []
    ended = [part["title"] for part in parts if part["state"] in {"failed", "unknown"}]
    why = [*ended, application.get("reason") or "nobody knows why"]
    return f"The restore is ready, but the application {known}: {': '.join(why)}"


def _application_rows(application: Json | None) -> list[list[str]]:
    """A row for each part of what brings the application back."""
    parts = (application or {}).get("parts") or []
    return [[part["title"], part["state"], part.get("reason") or "-"] for part in parts]


def _facts(record: Json) -> Iterator[tuple[str, str]]:
    yield "started", f"{words.clock(record.get('startedAt'))} by {_asker(record.get('trigger'))}"
    if record.get("cancelledBy"):
        yield "cancelled", f"by {record['cancelledBy']['name']}"
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
    if record.get("reason"):
        yield "ignored", str(record["reason"])
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
    """What is to be approved: the plan of each volume or group, then price, reason and time."""
    plans = record.get("plans") or []
    schedule = (record.get("summary") or {}).get("schedule") or []
    if len(plans) > 1 and schedule:
        plans = []
        for line in schedule:
            ready = f"at full speed in {words.estimate(line['readyP90Seconds'])} (P90)"
            source = line.get("snapshotId") or words.count(line["volumes"], "volume")
            facts = [_strategy(line), ready, words.usd(line["togetherCostUsd"])]
            yield f"{line['volumes']:,} x {source}: {', '.join(facts)}."
    for planned in plans:
        plan = planned["plan"]
        facts = [
            _strategy(plan),
            f"at full speed in {words.estimate(plan['readyP90Seconds'])} (P90)",
            words.usd(plan["costUsd"]),
        ]
        yield f"{planned.get('adopts') or planned['snapshotId']}: {', '.join(facts)}. {plan['why']}"
    if of_fleet := record.get("plan"):
        yield of_fleet["why"]
    if approval := record.get("approval"):
        what = "fleet" if of_fleet else "restore"
        yield f"{words.usd(approval['usd'])} in all. {approval['reason']}"
        yield f"Until {words.clock(approval['until'])}; then the {what} fails, and nothing was made."


def _volume_row(volume: Json, *, lost: bool = False) -> list[str]:
    """One volume; a restore that has ended without it makes no progress any more."""
    made = {**(volume.get("volume") or {}), **(volume.get("attached") or {})}
    place = [made.get("device"), made.get("instanceId") or made.get("availabilityZone")]
    return [
        str(volume["index"]),
        made.get("volumeId") or "-",
        " on ".join(filter(None, place)) or "-",
        made.get("strategy") or "-",
        "-" if lost else progress_text(volume) or "-",
    ]


def progress_of(volume: Json) -> tuple[float, Json] | None:
    """Per cent and the figures behind it: the agent's own, seconds old, or else the last poll's."""
    agent = volume.get("agent") or {}
    polled = volume.get("initialization") or {}
    if agent.get("bytesTotal"):
        return 100 * agent["bytesDone"] / agent["bytesTotal"], agent
    if polled.get("progressPercent") is not None:
        return float(polled["progressPercent"]), polled
    return None


def progress_text(volume: Json, now: datetime | None = None) -> str | None:
    """`72 %  739.5 MiB of 1 GiB  125.0 MiB/s  ETA 3 s`; while blocks are copied, the copying's progress."""
    found = progress_of(volume)
    if not found or not found[0]:
        copied = _copied(volume.get("copying") or {})
        if copied is not None:
            return f"copying {_progress(*copied, now)}"
    return _progress(*found, now) if found else None


def _copied(copying: Json) -> tuple[float, Json] | None:
    """As progress_of, for blocks that are copied into packs; None if unknown or complete."""
    total = copying.get("blocks", 0) * BLOCK_BYTES
    done = copying.get("bytesCopied")
    if done is None or done >= total:
        return None
    figures = {"bytesDone": done, "bytesTotal": total, "mibPerSecond": copying.get("mibPerSecond")}
    return 100 * done / total, figures | {"etaSeconds": copying.get("remainingSeconds")}


def _progress(percent: float, figures: Json, now: datetime | None) -> str:
    parts = [f"{percent:.0f} %"]
    if figures.get("bytesTotal"):
        parts.append(f"{words.size(figures['bytesDone'])} of {words.size(figures['bytesTotal'])}")
    if figures.get("mibPerSecond") is not None and percent < 100:
        parts.append(f"{figures['mibPerSecond']:.1f} MiB/s")
    if figures.get("firstBlocksTotal") and percent < 100:
        parts.append(f"hot set {100 * figures.get('firstBlocksDone', 0) / figures['firstBlocksTotal']:.0f} %")
    if figures.get("etaSeconds") is not None and percent < 100:
        parts.append(_remaining(figures, now or datetime.now(UTC)))
    return "  ".join(parts)


def _remaining(figures: Json, now: datetime) -> str:
    """Until when it takes; where no agent reads, AWS alone says that it is loaded, and late."""
    of_aws = "progressKey" in figures and not figures["progressKey"]
    looked_at = words.moment(figures.get("at"))
    if not of_aws or looked_at is None:
        return f"ETA {words.duration(figures['etaSeconds'])}"
    left = figures["etaSeconds"] - (now - looked_at).total_seconds()
    if left < 1:
        return "expected to be loaded by now; AWS reports it up to 5 min later"
    return f"loaded in about {words.duration(left)}; AWS reports it up to 5 min later"


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
    """The asker, in short: of the ARN of a caller only what stands behind the account."""
    name = _asker(trigger)
    return name.partition("::")[2].partition(":")[2] or name if name.startswith("arn:") else name


def _asker(trigger: Any) -> str:
    if not isinstance(trigger, dict):
        return str(trigger or "-")
    caller = (trigger.get("askedBy") or {}).get("name")
    return str(
        trigger.get("alarmName") or trigger.get("scheduleName") or caller or trigger.get("kind") or "-"
    )


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
    """A fleet's progress, what is slow, and what failed."""
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
        price = words.usd(plan["totalCostUsd"])
        ready = words.clock(plan["readyP90At"])
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
    if left := record.get("left"):
        yield from _fleet_left_lines(left, record["fleetId"])


def _fleet_left_lines(left: Json, fleet_id: str) -> Iterator[str]:
    """What the restores of a fleet that has ended have left, with the price a month and the commands."""
    yield from cost_lines(left["things"])
    if more := left["count"] - len(left["things"]):
        yield f"And {words.count(more, 'other thing')}: {words.command('fleet', 'report', fleet_id)}"
    if left["count"]:
        yield f"Together they cost {words.usd(left['usdPerMonth'])} a month, as far as that is known."


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
    took = drill.get(f"{what}Seconds")
    objective = drill.get(f"{what}ObjectiveSeconds")
    found = "-" if took is None else words.duration(took)
    kept = found if objective is None else f"{found} of {words.duration(objective)}"
    of_application = what == "recovery" and drill.get("recoveryOf") == "application"
    return f"{kept} (application)" if of_application else kept


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
