"""Parses the output of fio and of the SSM documents for benchmarks.

fio prints with --output-format=json, of version 3: its own fields, and nothing guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rewarm.domain.errors import BenchmarkFailedError
from rewarm.domain.model import MIB, VOLUME_ID
from rewarm.domain.ready import agent_output
from rewarm.domain.value import Value
from rewarm.domain.volume.proof import wrong_volume

KNOWN_VERSION = re.compile(r"^fio-3\.\d+")
"""Before 3.0 latencies were in microseconds, in other fields (fio HOWTO, "JSON output")."""
NANOSECONDS_PER_MS = 1e6
PERCENTILES = {"p50": "50.000000", "p99": "99.000000", "p99_9": "99.900000"}

TIMED_OUT = {"124", "137"}
"""What timeout(1) answers for a command that it ended."""
_RUN = re.compile(r"^#run (?P<facts>.+)$", re.MULTILINE)


class Direction(Value):
    """Reads or writes of one run; latencies are completion latencies (clat)."""

    iops: float
    mib_s: float
    operations: int
    mean_ms: float
    p50_ms: float
    p99_ms: float
    p99_9_ms: float


class FioResult(Value):
    """One run of one pattern; None where the pattern has no such requests."""

    version: str
    runtime_seconds: float
    read: Direction | None
    write: Direction | None

    @property
    def total_iops(self) -> float:
        """Reads and writes."""
        return sum(side.iops for side in (self.read, self.write) if side)

    @property
    def total_mib_s(self) -> float:
        """Reads and writes."""
        return sum(side.mib_s for side in (self.read, self.write) if side)

    @property
    def mean_ms(self) -> float:
        """Mean time of all requests."""
        sides = [side for side in (self.read, self.write) if side]
        return sum(side.mean_ms * side.operations for side in sides) / sum(side.operations for side in sides)


def parse(text: str) -> FioResult:
    """Returns one job's or group's result. Raises BenchmarkFailedError, which says what is wrong."""
    account = _account(text)
    version = account.get("fio version")
    if not isinstance(version, str) or not KNOWN_VERSION.match(version):
        raise BenchmarkFailedError(
            f"found the output of {str(version)[:40]!r}; only fio 3 is understood; install 3.0 or newer"
        )
    jobs = account.get("jobs")
    if not isinstance(jobs, list) or len(jobs) != 1 or not isinstance(jobs[0], dict):
        raise BenchmarkFailedError("fio's output has not one job or group")
    if jobs[0].get("error"):
        raise BenchmarkFailedError(f"fio ended with error {jobs[0]['error']}")
    try:
        return _result(version, jobs[0])
    except (KeyError, TypeError, ValueError) as error:
        raise BenchmarkFailedError(f"fio's output lacks a field: {error}") from error


def _account(text: str) -> Mapping[str, Any]:
    # fio writes its notes to the same file, before and after the object.
    start = text.find("{")
    end = text.rfind("}")
    try:
        account = json.loads(text[start : end + 1])
    except (ValueError, RecursionError) as error:
        raise BenchmarkFailedError(
            "fio's output is not JSON; it was cut short, or fio did not start"
        ) from error
    if not isinstance(account, dict):
        raise BenchmarkFailedError("fio's output is no JSON object")
    return account


def _result(version: str, job: Mapping[str, Any]) -> FioResult:
    read = _direction(job["read"])
    write = _direction(job["write"])
    if read is None and write is None:
        raise BenchmarkFailedError("fio has done nothing in the time it had")
    runtimes_ms = [float(job[name]["runtime"]) for name in ("read", "write")]
    return FioResult(version, max(runtimes_ms) / 1e3, read, write)


def _direction(side: Mapping[str, Any]) -> Direction | None:
    operations = int(side["total_ios"])
    if operations == 0:
        return None
    latency = side["clat_ns"]
    # fio leaves out percentiles of too few requests; then the slowest request stands for them.
    percentiles = latency.get("percentile") or {}
    p50, p99, p99_9 = (_ms(percentiles.get(key, latency["max"])) for key in PERCENTILES.values())
    return Direction(
        iops=float(side["iops"]),
        mib_s=float(side["bw_bytes"]) / MIB,
        operations=operations,
        mean_ms=_ms(latency["mean"]),
        p50_ms=p50,
        p99_ms=p99,
        p99_9_ms=p99_9,
    )


def _ms(nanoseconds: float) -> float:
    return float(nanoseconds) / NANOSECONDS_PER_MS


class BenchmarkOutput(Value):
    """One run; exactly one of `result` and `problem`."""

    target: str
    pattern: str
    file_system: str
    source: str
    volume_id: str | None
    """The EBS volume under the folder, by the disk's serial number."""
    result: FioResult | None
    problem: str | None


class CopyOutput(Value):
    """The same file copied twice."""

    size_bytes: int
    first_seconds: float
    second_seconds: float


def runs(text: str) -> list[BenchmarkOutput]:
    """The runs in the order in which they were made; other lines are passed over."""
    marks = list(_RUN.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text) for _ in marks[:1]]
    return [_run(mark["facts"], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def _run(line: str, body: str) -> BenchmarkOutput:
    """A run on a volume counts only if the disk's serial number says that it was on this one."""
    facts = dict(part.partition("=")[::2] for part in line.split())
    result, problem = _result_or_problem(body)
    target = facts.get("target", "")
    volume_id = _volume_id(facts.get("serial", ""))
    if result is not None and re.fullmatch(VOLUME_ID, target):
        problem = wrong_volume({"volumeId": volume_id}, target)
        result = None if problem else result
    return BenchmarkOutput(
        target=target,
        pattern=facts.get("pattern", ""),
        file_system=facts.get("fileSystem", ""),
        source=facts.get("source", ""),
        volume_id=volume_id,
        result=result,
        problem=problem,
    )


def _result_or_problem(body: str) -> tuple[FioResult | None, str | None]:
    remarks: dict[str, str] = dict(re.findall(r"^#(note|status) ?(.*)$", body, re.MULTILINE))
    status = remarks.get("status", "")
    output = re.sub(r"(?m)^#.*$", "", body)
    if status in TIMED_OUT:
        return None, "fio did not end in time"
    if status != "0" and "note" in remarks:
        return None, remarks["note"].strip()
    try:
        return parse(output), None
    except BenchmarkFailedError as error:
        return None, str(error)


def _volume_id(serial: str) -> str | None:
    """A disk's serial number is the volume's id without its dash (EBS user guide, "EBS volumes and NVMe")."""
    found = f"vol-{serial.removeprefix('vol')}"
    return found if serial.startswith("vol") and re.fullmatch(VOLUME_ID, found) else None


def copied(text: str) -> CopyOutput:
    """The JSON line of the Windows document. Raises BenchmarkFailedError."""
    found = agent_output.last_object(text) or {}
    size = agent_output.whole_number(found, "sizeBytes")
    first, second = (agent_output.number(found, name) for name in ("firstSeconds", "secondSeconds"))
    if not size or not first or not second or min(size, first, second) <= 0:
        raise BenchmarkFailedError("the copy printed no times")
    return CopyOutput(size, first, second)
