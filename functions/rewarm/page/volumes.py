"""One volume as the page shows it: rows of tables, made of the account and of nothing else.

A cell with a figure of the account is a `Figure`. The page shows it in words, and has its value and its
source, so that programs (and tests) can read them from the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rewarm.domain.time.measured import Sample, rates_mib_s
from rewarm.domain.units import count_text
from rewarm.domain.value import Value
from rewarm.page import application, text
from rewarm.page.pictures import NO_PICTURES, PHASES, Json, pictures_of

MOMENTS = (
    ("began", "Plan started"),
    ("copied", "Snapshot copied"),
    ("prepared", "Snapshot prepared"),
    ("asked", "CreateVolume called"),
    ("available", "Volume available"),
    ("attached", "Volume attached: usable"),
    ("measuredBefore", "Measured, still cold"),
    ("agentStarted", "Agent sent for"),
    ("agentFinished", "Agent finished"),
    ("initialized", "Initialized"),
    ("verified", "Measured again"),
    ("ready", "At full speed"),
)
MEASURED = (("measuredBefore", "before"), ("verified", "after"))
"""The timeline has the last look at each; only a result shows that something was measured."""
MOST_ROWS = 24
"""Of the table of samples; the picture has all."""
LATENCIES = (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("slowest", "max"), ("mean", "mean"))


class Figure(Value):
    """A figure of the account: in words, as a value, and where it is in the account."""

    words: str
    value: Any
    path: str


def view(account: Json, place: int, *, is_drawn: bool) -> Json:
    """Everything that the template needs of the volume at this place of the account."""
    volume = account["volumes"][place]
    index = volume["index"]
    planned = next((plan for plan in account["plans"] if plan["volume"]["index"] == index), None)
    result = _as_measured(next((result for result in account["results"] if result.get("index") == index), {}))
    samples = [Sample(*sample) for sample in _looked(account, index, "samples")]
    started_at = datetime.fromisoformat(account["startedAt"])
    carried_out = result.get("plan") or (planned or {}).get("plan") or {}
    at = f"volumes/{place}"
    return {
        "anchor": f"volume-{index}",
        "title": _title(volume, planned),
        "ready": volume["verdict"] == "ready",
        "outcome": _outcome(volume),
        "volume": volume,
        "strategy": text.strategy_text(carried_out) if carried_out else volume.get("strategy") or text.NONE,
        "why": carried_out.get("why", ""),
        "failure": volume.get("failure"),
        "timeline": timeline_rows(result, started_at, application.moments(account.get("application"), index)),
        "comparison": _comparison(volume, at),
        "phases": _phase_rows(volume, at),
        "latency": _latency_rows(volume, at),
        "histogram": histogram_rows(result),
        "costs": _cost_rows(volume, at),
        "samples": _sample_rows(samples),
        "benchmarks": [_benchmark(run) for run in volume.get("benchmarks") or []],
        "candidates": [_candidate(candidate) for candidate in (planned or {}).get("candidates") or []],
        "facts": _facts(volume, planned, result),
        "pictures": pictures_of(volume, result, samples, _looked(account, index, "hotMap"), started_at)
        if is_drawn
        else dict(NO_PICTURES),
        "is_drawn": is_drawn,
    }


def _as_measured(result: Json) -> Json:
    """Without the times of measurements that came to nothing."""
    known = dict(result.get("timeline") or {})
    for name, phase in MEASURED:
        if not (result.get(phase) or {}).get("result"):
            known.pop(name, None)
    return {**result, "timeline": known}


def _outcome(volume: Json) -> str:
    """The verdict, but for one that somebody wanted to stop."""
    cancelled = (volume.get("failure") or {}).get("error") == "RestoreCancelledError"
    return "cancelled" if cancelled else str(volume["verdict"])


def timeline_rows(
    result: Json, started_at: datetime, more: Sequence[tuple[datetime, str]] = ()
) -> list[tuple[str, str, str, str]]:
    """(what, at, after the start, since the moment before), in the order of time; with `more` moments."""
    known = dict(result.get("timeline") or {})
    known["agentStarted"] = (result.get("dispatch") or {}).get("startedAt")
    known["agentFinished"] = (result.get("initialization") or {}).get("agentFinishedAt")
    known["ready"] = result.get("readyAt")
    found = [(at, words) for name, words in MOMENTS if (at := text.parsed(known.get(name))) is not None]
    rows = []
    before = started_at
    for at, words in sorted([*found, *more], key=lambda moment: moment[0]):
        took = text.seconds_text(max(0.0, (at - before).total_seconds()))
        after = text.offset_text((at - started_at).total_seconds())
        rows.append((words, text.clock_text(at.isoformat()), after, took))
        before = at
    return rows


def histogram_rows(result: Json) -> list[tuple[str, str, str]]:
    """(up to, reads before, reads after)."""
    counts: dict[float, dict[str, int]] = {}
    for phase in ("before", "after"):
        measured = (result.get(phase) or {}).get("result") or {}
        for bucket in measured.get("histogram") or []:
            edge = float("inf") if bucket.get("upToMs") is None else float(bucket["upToMs"])
            counts.setdefault(edge, {})[phase] = bucket["count"]
    return [
        (f"{edge:g} ms".replace("inf ms", "more"), f"{both.get('before', 0):,}", f"{both.get('after', 0):,}")
        for edge, both in sorted(counts.items())
    ]


def _title(volume: Json, planned: Json | None) -> str:
    where = (planned or {}).get("volume") or {}
    name = volume.get("volumeId") or volume["snapshotId"]
    if where.get("instanceId"):
        return f"{name}, {where.get('device') or 'a free device'} on {where['instanceId']}"
    return f"{name} in {where['availabilityZone']}" if where.get("availabilityZone") else str(name)


def _looked(account: Json, index: int, name: str) -> list[Any]:
    found: Json = next((sample for sample in account.get("samples") or [] if sample["index"] == index), {})
    return found.get(name) or []


def _figure(volume: Json, at: str, name: str, words: str) -> Figure:
    return Figure(words, volume.get(name), f"{at}/{name}")


def _comparison(volume: Json, at: str) -> list[tuple[str, Figure, Figure, Figure]]:
    """(what, P50, P90, actual)."""
    none = Figure(text.NONE, None, "")
    rows = [
        (
            "At full speed, after the plan",
            _figure(volume, at, "estimatedP50Seconds", text.estimate_text(volume.get("estimatedP50Seconds"))),
            _figure(volume, at, "estimatedP90Seconds", text.estimate_text(volume.get("estimatedP90Seconds"))),
            _figure(volume, at, "sincePlanSeconds", text.seconds_text(volume.get("sincePlanSeconds"))),
        ),
        (
            "At full speed, after the request",
            none,
            none,
            _figure(volume, at, "actualSeconds", text.seconds_text(volume.get("actualSeconds"))),
        ),
    ]
    return [row for row in rows if any(cell.value is not None for cell in row[1:])]


def _phase_rows(volume: Json, at: str) -> list[tuple[str, Figure, Figure, Figure]]:
    rows = []
    for place, phase in enumerate(volume.get("phases") or []):
        cells = [
            Figure(words(phase.get(name)), phase.get(name), f"{at}/phases/{place}/{name}")
            for name, words in (
                ("estimatedP50Seconds", text.estimate_text),
                ("estimatedP90Seconds", text.estimate_text),
                ("actualSeconds", text.seconds_text),
            )
        ]
        rows.append((PHASES.get(phase["phase"], phase["phase"]), *cells))
    return rows


def _latency_rows(volume: Json, at: str) -> list[tuple[str, Figure, Figure, str]]:
    """(what, before, after, promised)."""
    before = volume.get("latencyBeforeMs")
    after = volume.get("latencyAfterMs")
    if before is None and after is None:
        return []
    promised = volume.get("expected") or {}
    rows = []
    for words, key in LATENCIES:
        cells = [
            Figure(text.milliseconds((found or {}).get(key)), (found or {}).get(key), f"{at}/{name}/{key}")
            for name, found in (("latencyBeforeMs", before), ("latencyAfterMs", after))
        ]
        rows.append((words, cells[0], cells[1], text.milliseconds(promised.get(f"{key}Ms"))))
    return [row for row in rows if row[1].value is not None or row[2].value is not None]


def _cost_rows(volume: Json, at: str) -> list[tuple[str, Figure, Figure, str]]:
    """(item, planned, billed, how)."""
    rows = []
    for place, part in enumerate(volume.get("costParts") or []):
        here = f"{at}/costParts/{place}"
        rows.append(
            (
                part["item"],
                Figure(text.money(part["plannedUsd"]), part["plannedUsd"], f"{here}/plannedUsd"),
                Figure(text.money(part.get("billedUsd")), part.get("billedUsd"), f"{here}/billedUsd"),
                f"{part['arithmetic']}; {part['how']}",
            )
        )
    return rows


def _sample_rows(samples: list[Sample]) -> list[tuple[str, str, str, str, str, str]]:
    """(after the start, progress, there, rate, reads a minute, time of a read)."""
    step = max(1, -(-len(samples) // MOST_ROWS))
    rated = list(zip(samples, rates_mib_s(samples), strict=True))
    kept = [*rated[:-1:step], *rated[-1:]]
    return [
        (
            text.offset_text(sample.seconds),
            text.percent(sample.percent),
            text.size(sample.bytes_done),
            text.rate(rate),
            text.number(sample.read_ops),
            text.milliseconds(sample.read_ms),
        )
        for sample, rate in kept
    ]


def _benchmark(run: Json) -> Json:
    sides = [side for side in ("read", "write") if run.get(side)]
    return {
        "pattern": run["pattern"],
        "target": run["target"],
        "iops": text.number(run.get("totalIops")),
        "rate": text.rate(run.get("totalMibS")),
        "limit": (run.get("limit") or {}).get("text", ""),
        "sides": [
            f"{side}: p50 {text.milliseconds(run[side].get('p50Ms'))}, "
            f"p99 {text.milliseconds(run[side].get('p99Ms'))}"
            for side in sides
        ],
        "problem": run.get("problem"),
    }


def _candidate(candidate: Json) -> Json:
    return {
        "strategy": text.strategy_text(candidate),
        "chosen": candidate["chosen"],
        "feasible": candidate["feasible"],
        "usable": text.estimate_text(candidate.get("usableSeconds")),
        "p50": text.estimate_text(candidate.get("readyP50Seconds")),
        "p90": text.estimate_text(candidate.get("readyP90Seconds")),
        "cost": text.money(candidate.get("costUsd")),
        "reason": candidate["reason"],
        "arithmetic": candidate.get("costArithmetic") or "",
        "kept": text.money(candidate["keptOnUsdAMonth"]) if candidate.get("keptOnUsdAMonth") else "",
    }


def _facts(volume: Json, planned: Json | None, result: Json) -> list[tuple[str, str]]:
    return [(name, value) for name, value in _all_facts(volume, planned, result) if value not in ("", None)]


def _all_facts(volume: Json, planned: Json | None, result: Json) -> Iterator[tuple[str, Any]]:
    assigned = (planned or {}).get("volume") or {}
    new = assigned.get("volume") or {}
    yield "Volume", volume.get("volumeId")
    yield "Snapshot", volume["snapshotId"]
    is_new = assigned and not assigned.get("adopts")
    yield "Data as of", text.clock_text(assigned.get("snapshotStartedAt")) if is_new else ""
    yield "Source volume", assigned.get("sourceVolumeId")
    yield "Data", text.size(assigned.get("dataBytes")) if assigned else ""
    yield "Written blocks of 512 KiB", text.number(assigned.get("writtenBlocks")) if assigned else ""
    yield "Settings", _settings(new)
    yield "Tags", ", ".join(f"{key}={value}" for key, value in sorted((new.get("tags") or {}).items()))
    yield "Instance", " ".join(filter(None, [assigned.get("instanceId"), assigned.get("instanceType")]))
    yield "Device", assigned.get("device")
    yield "EBS card", None if assigned.get("card") is None else str(assigned["card"])
    yield "Drive", ", ".join(volume.get("mountPoints") or [])
    yield "Zone", assigned.get("availabilityZone")
    was_warm = assigned.get("adopts") and volume.get("bytesRead") == 0
    yield "Bytes read or loaded", "nothing was read" if was_warm else text.size(volume.get("bytesRead"))
    meanwhile = volume.get("latencyMeanwhileMs") or {}
    took = {name: meanwhile[name] for name in ("p50", "p99", "max") if name in meanwhile}
    words = [f"{name} {text.milliseconds(value)}" for name, value in took.items()]
    yield "Small reads during the warm-up", ", ".join(words)
    first = volume.get("firstReads")
    yield "First reads", f"{first['blocks']:,} blocks, at most {first['coldBlocks']:,} cold" if first else ""
    yield "Recording of reads", volume.get("recording")
    yield "Hot set", _hot((planned or {}).get("hot") or {}, result.get("initialization") or {})
    yield "Warmed up again", "once" if volume.get("warmUps") == 1 else str(volume.get("warmUps") or "")
    yield "Known because", "; ".join((result.get("initialization") or {}).get("reasons") or [])
    yield "Way back", volume.get("wayBack")
    confirmation = volume.get("confirmation") or {}
    opinion = f"{confirmation['opinion']}: {confirmation['reason']}" if confirmation else ""
    yield "VolumeReadOps afterwards", opinion


def _hot(planned: Json, initialization: Json) -> str:
    """What was to be read first, and when it was warm."""
    if not planned:
        return ""
    took = initialization.get("hotSeconds")
    seen = count_text(planned["recordings"], "recording")
    when = "" if took is None else f", warm after {text.seconds_text(took)}"
    return f"{text.size(planned['bytes'])} by {seen}{when}"


def _settings(new: Json) -> str:
    if not new:
        return ""
    parts = [str(new["volumeType"]), f"{new['sizeGib']:,} GiB"]
    parts += [f"{new['iops']:,} IOPS"] if new.get("iops") else []
    parts += [f"{new['throughputMibS']:,} MiB/s"] if new.get("throughputMibS") else []
    return ", ".join(parts)
