"""What the SSM documents for benchmarks give back, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewarm.domain.benchmark.fio_output import FioResult, parse
from rewarm.domain.errors import BenchmarkFailedError
from rewarm.domain.ready import agent_output

TIMED_OUT = {"124", "137"}
"""What timeout(1) answers for a command that it ended."""
_RUN = re.compile(r"^#run (?P<facts>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BenchmarkOutput:
    """One run; exactly one of `result` and `problem`."""

    target: str
    pattern: str
    file_system: str
    source: str
    volume_id: str | None
    """The EBS volume under the folder, by the disk's serial number."""
    result: FioResult | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class CopyOutput:
    """The same file copied twice."""

    size_bytes: int
    first_seconds: float
    second_seconds: float


def runs(text: str) -> list[BenchmarkOutput]:
    """In the order in which they were made; what is no run is passed over."""
    marks = list(_RUN.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text) for _ in marks[:1]]
    return [_run(mark["facts"], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def _run(line: str, body: str) -> BenchmarkOutput:
    facts = dict(part.partition("=")[::2] for part in line.split())
    result, problem = _result(body)
    return BenchmarkOutput(
        target=facts.get("target", ""),
        pattern=facts.get("pattern", ""),
        file_system=facts.get("fileSystem", ""),
        source=facts.get("source", ""),
        volume_id=_volume_id(facts.get("serial", "")),
        result=result,
        problem=problem,
    )


def _result(body: str) -> tuple[FioResult | None, str | None]:
    told: dict[str, str] = dict(re.findall(r"^#(note|status) ?(.*)$", body, re.MULTILINE))
    status = told.get("status", "")
    output = re.sub(r"(?m)^#.*$", "", body)
    if status in TIMED_OUT:
        return None, "fio did not end in time"
    if status != "0" and "note" in told:
        return None, told["note"].strip()
    try:
        return parse(output), None
    except BenchmarkFailedError as error:
        return None, str(error)


def _volume_id(serial: str) -> str | None:
    """A disk's serial number is the volume's id without its dash (EBS user guide, "EBS volumes and NVMe")."""
    return f"vol-{serial[3:]}" if re.fullmatch(r"vol[0-9a-f]{17}", serial) else None


def copied(text: str) -> CopyOutput:
    """The JSON line of the Windows document. Raises BenchmarkFailedError."""
    found = agent_output.last_object(text) or {}
    size = agent_output.whole_number(found, "sizeBytes")
    first, second = (agent_output.number(found, name) for name in ("firstSeconds", "secondSeconds"))
    if not size or not first or not second or min(size, first, second) <= 0:
        raise BenchmarkFailedError("the copy told no times")
    return CopyOutput(size, first, second)
