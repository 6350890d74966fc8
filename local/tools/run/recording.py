"""What one run saw, as plain values: the live view and the report are made of it, and tests feed it back in.

Instants are seconds since the epoch in lab time, which is what AWS's own clock shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from local import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class StateVisit:
    """One stay in a state of a state machine."""

    execution: str
    """`restore`, or `volume 0` for the restore-volume execution of the first volume."""
    state: str
    kind: str
    """The state's Type: Task, Wait, Choice, Map, Pass, Succeed or Fail."""
    entered_at: float
    left_at: float | None = None
    failures: tuple[str, ...] = ()
    """Errors of the attempts that failed, oldest first; the last one may have been retried or caught."""
    payload: Any = None
    """What the step answered, where the state is a Task."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it lasts."""
        return None if self.left_at is None else max(0.0, self.left_at - self.entered_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSample:
    """How far the initialization was at an instant, as GET /restores/{id} said."""

    at: float
    percent: float
    words: str
    """As `rewarm status --watch` says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackMessage:
    """A message as the webhook got it."""

    at: float
    body: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class MinuteOfReads:
    """One datapoint of CloudWatch AWS/EBS VolumeReadOps (Sum, 60 s)."""

    at: float
    read_ops: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was found on the restored volume, without asking Rewarm."""

    files: int
    files_identical: int
    differences: tuple[str, ...] = ()
    written_blocks: int
    fetched_blocks: int
    read_blocks: int | None
    """Written blocks of which the instance read every byte; None where nobody counts (plain files)."""
    read_ops: int = 0
    read_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class RestoreRecord:
    """One restore, from its trigger to its proof."""

    title: str
    trigger: str
    """What started it, in words."""
    restore_id: str
    request: Json
    started_at: float
    ended_at: float | None = None
    status: str = "RUNNING"
    """Of the execution: RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED."""
    error: str = ""
    cause: str = ""
    real_seconds: float = 0.0
    visits: list[StateVisit] = field(default_factory=list)
    samples: list[ProgressSample] = field(default_factory=list)
    messages: list[SlackMessage] = field(default_factory=list)
    read_ops: list[MinuteOfReads] = field(default_factory=list)
    metered_usd: str | None = None
    metered_parts: list[Json] = field(default_factory=list)
    proof: Proof | None = None
    device: tuple[str, str] | None = None
    """Of a rewind: the SHA-256 of the whole device, and what it must be."""
    expected_outcome: str | None = None
    """Of a drill, whose volume is gone before anybody could examine it."""
    page: str | None = None
    """The page that Rewarm made of it, as its link opens."""

    def payloads(self, state: str) -> list[Any]:
        """What the step of a state answered, one per visit that is over, oldest first."""
        return [visit.payload for visit in self.visits if visit.state == state and visit.payload is not None]

    def payload(self, state: str) -> Any:
        """The last answer of a state's step, or None."""
        answers = self.payloads(state)
        return answers[-1] if answers else None

    @property
    def plans(self) -> list[Json]:
        """What Choose Strategy decided, one per volume."""
        answer = self.payload("Choose Strategy") or {}
        plans: list[Json] = answer.get("plans", [])
        return plans

    @property
    def report(self) -> Json | None:
        """Rewarm's own account of the restore."""
        answer: Json | None = self.payload("Report")
        return answer

    @property
    def drill(self) -> Json | None:
        """What a drill has shown."""
        found: Json | None = (self.report or {}).get("drill")
        return found

    @property
    def volume_id(self) -> str | None:
        """The first volume that was made and is known to the account, or that was there before; or None."""
        for answer in self.payloads("Create Volume"):
            volume_id: str = answer["volumeId"]
            return volume_id
        volumes = [plan["volume"] for plan in self.plans]
        return next((volume.get("rewinds") or volume.get("adopts") for volume in volumes), None)

    @property
    def full_speed_seconds(self) -> float | None:
        """Lab time from the request to full speed of the last volume; None where the restore is not ready."""
        report = self.report or {}
        return float(report["slowestSeconds"]) if report.get("verdict") == "ready" else None

    @property
    def seconds(self) -> float | None:
        """Lab time from the request to the end of the workflow."""
        return None if self.ended_at is None else self.ended_at - self.started_at

    def measured(self, phase: str) -> Json | None:
        """The result of the verification `Before` or `After`; None where nothing was measured.

        Before a warm-up the agent measures.
        """
        answers = self.payloads(f"Verify Volume {phase}")
        if phase == "Before":
            answers = [
                *answers,
                *(answer.get("before") or {} for answer in self.payloads("Poll Initialization")),
            ]
        for answer in reversed(answers):
            if answer.get("result"):
                result: Json = answer["result"]
                return result
        return None


@dataclass(slots=True, kw_only=True)
class SetupStep:
    """Something that had to be there first."""

    what: str
    detail: str
    seconds: float


@dataclass(slots=True, kw_only=True)
class SnapshotFacts:
    """The snapshot that is restored."""

    snapshot_id: str
    size_gib: int
    written_blocks: int
    files: int


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """The whole run."""

    snapshot: SnapshotFacts | None = None
    setup: list[SetupStep] = field(default_factory=list)
    restores: list[RestoreRecord] = field(default_factory=list)
    machine_note: str | None = None
    """What this machine cannot do as EC2 would: for example, no FUSE and so no cold blocks."""
    is_plain: bool = False
    """Volumes are plain files: nothing is ever cold, and nobody counts the blocks that are read."""
    left_running: list[str] = field(default_factory=list)
    """Things in the Region that cost money and that nobody ordered."""
    kept: list[str] = field(default_factory=list)
    """What the restores have left on purpose, with its price a month and the command that ends it."""
    delivered: list[str] = field(default_factory=list)
    real_seconds: float = 0.0
