"""One line of words for each state that is over: what its step found or did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local.tools.run.recording import StateVisit
from local.tools.run.wording import estimate_text, milliseconds, progress_text
from rewarm.domain.units import count_text, elapsed_text, size_text
from rewarm.page.text import strategy_text

BLOCK_BYTES = 524_288


def detail(visit: StateVisit) -> str:
    """What is worth saying of a visit; empty where the state's name says it all."""
    if visit.failures:
        return " | ".join(visit.failures)
    describe = _DESCRIBE.get(visit.state)
    if describe is None or visit.payload is None:
        return ""
    try:
        return describe(visit.payload)
    except (KeyError, TypeError, IndexError):
        # A step's answer of another shape must not end the view of a restore that still runs.
        return ""


def _parse_request(answer: Any) -> str:
    trigger = answer["trigger"]
    source = f"alarm {trigger['alarmName']}" if trigger.get("alarmName") else f"by {trigger['kind']}"
    deadline = f", to be ready by {answer['deadlineAt']}" if answer.get("deadlineAt") else ""
    return f"{answer['outcome']}: {source}{deadline}"


def _select_snapshot(answer: Any) -> str:
    return "; ".join(
        f"{volume['snapshotId']}, {size_text(volume['writtenBlocks'] * BLOCK_BYTES)} written of "
        f"{volume['snapshotSizeGib']} GiB, for {volume.get('instanceId') or volume['availabilityZone']}"
        for volume in answer["volumes"]
    )


def _choose_strategy(answer: Any) -> str:
    chosen = ", ".join(strategy_text(plan["plan"]) for plan in answer["plans"])
    return f"{chosen}: {answer['summary']['why']}"


def _prepare_snapshot(answer: Any) -> str:
    credit = "" if answer.get("credits") is None else f", {answer['credits']:.2f} credits"
    return f"{answer['state']}{credit}"


def _verify(answer: Any) -> str:
    if not answer["finished"]:
        return "runs"
    measured = answer.get("result")
    if not measured:
        return str(answer["reason"])
    latency = measured["latencyMs"]
    return (
        f"{measured['samples']} reads of 4 KiB: p50 {milliseconds(latency['p50'])}, "
        f"p99 {milliseconds(latency['p99'])}, {measured['iops']:,.0f} a second"
    )


def _poll(answer: Any) -> str:
    reasons = "; ".join(answer.get("reasons", []))
    return progress_text(answer) + (f" ({reasons})" if reasons else "")


def _rewind(answer: Any) -> str:
    if answer.get("delta"):
        return "the agent has the volume; blocks are copied"
    told = {
        "look": "the instance unmounts the volume",
        "arm": "the agent takes the volume",
        "wait": f"{answer['comparedId']}, the volume as it is, is pending",
        "write": f"{answer['counts']['blocks']:,} blocks to write and read back",
    }
    return told.get(answer["phase"]) or "; ".join((answer.get("initialization") or {}).get("reasons", []))


def _copy_blocks(answer: Any) -> str:
    told = answer.get("Output", answer)
    return (
        f"{told['blocks']:,} blocks, {told['zeros']:,} of them zeros, in {count_text(told['packs'], 'pack')}"
    )


def _report(answer: Any) -> str:
    estimate = f"estimate (P90): {estimate_text(answer['estimatedP90Seconds'])}"
    if answer["verdict"] != "ready":
        return f"{answer['verdict']}, {elapsed_text(answer['actualSeconds'])} after the request; {estimate}"
    return f"at full speed {elapsed_text(answer['slowestSeconds'])} after the request; {estimate}"


def _clean_up(answer: Any) -> str:
    kept = f"; kept {', '.join(answer['kept'])}" if answer.get("kept") else ""
    return f"removed {', '.join(answer['removed']) or 'nothing'}{kept}"


def _release(answer: Any) -> str:
    released, boost = ", ".join(answer["released"]), answer.get("boost")
    if boost and boost["state"] != "lowered":
        return f"boost {boost['state']}: {boost['reason']}"
    return released or "nothing to release"


def _announced(answer: Any) -> str:
    return f"sent to {', '.join(answer['channels']) or 'nobody'}"


def _confirmed(answer: Any) -> str:
    if not answer["finished"]:
        return "CloudWatch has no whole minute after the warm-up yet"
    judged = [volume for volume in answer["confirmations"] if volume.get("opinion")]
    opinions = "; ".join(f"{volume['opinion']}: {volume['reason']}" for volume in judged)
    return opinions or "VolumeReadOps has nothing to add"


_DESCRIBE: dict[str, Callable[[Any], str]] = {
    "Parse Request": _parse_request,
    "Select Snapshot": _select_snapshot,
    "Choose Strategy": _choose_strategy,
    "Announce Plan": _announced,
    "Prepare Snapshot": _prepare_snapshot,
    "Announce Fallback": _announced,
    "Create Volume": lambda answer: str(answer["volumeId"]),
    "Check Volume": lambda answer: str(answer["state"]),
    "Attach Volume": lambda answer: (
        f"{answer['device']}, {'attached' if answer['attached'] else 'attaching'}"
    ),
    "Announce Attached": _announced,
    "Announce Hot": _announced,
    "Announce Available": _announced,
    "Verify Volume Before": _verify,
    "Boost Volume": lambda answer: f"{answer['boost']['state']}: {answer['boost']['boosted']}",
    "Dispatch Warmer": lambda answer: f"command {answer['commandId']} on {answer['instanceId']}",
    "Dispatch Warmer To Observe": lambda answer: f"command {answer['commandId']} on {answer['instanceId']}",
    "Poll Initialization": _poll,
    "Rewind": _rewind,
    "Copy Blocks": _copy_blocks,
    "Verify Volume After": _verify,
    "Release": _release,
    "Announce Ready": _announced,
    "Report": _report,
    "Report Volume": lambda answer: f"its page: {answer['pageKey'] or 'none'}",
    "Report Failure": lambda answer: f"its page: {answer['pageKey'] or 'none'}",
    "Announce Failure": _announced,
    "Announce Unreported": _announced,
    "Clean Up": _clean_up,
    "Confirm Readiness": _confirmed,
    "Report Confirmation": lambda answer: f"its page: {answer['pageKey'] or 'none'}",
    "Announce Confirmation": _announced,
}
