"""What the state `Rewind` takes and answers, and what undo logs are."""

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import Field

from rewarm.contracts.base import Contract, Instant, StepEvent, WaitSeconds
from rewarm.contracts.copying import Delta, JoinPartsResult
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.results import PollInitializationResult
from rewarm.contracts.values import DispatchWarmerResult, Failure, Plan, VolumeAssignment
from rewarm.domain.errors import TargetNotUsableError
from rewarm.domain.model import Strategy

RewindPhase = Literal["look", "arm", "wait", "write", "stop", "done"]


class BlockCounts(Contract):
    """What the packs of all parts have."""

    blocks: Annotated[int, Field(description="To be written, zeros too.")] = 0
    zeros: int = 0
    logged: Annotated[int, Field(description="Of them, from an undo log.")] = 0
    relogged: Annotated[int, Field(description="Of these, in the log with other bytes as well.")] = 0
    samples: Annotated[int, Field(description="That are not written, but compared.")] = 0
    packs: int = 0
    packed_bytes: int = 0
    list_calls: int = 0
    seconds: float = 0.0

    def plus(self, copied: JoinPartsResult) -> Self:
        """With one more part of the manifest."""
        return type(self)(**{name: value + getattr(copied, name) for name, value in self})


class BlocksWritten(Contract):
    """What agents have written to the volume, by their own accounts."""

    blocks: int = 0
    is_exact: Annotated[
        bool, Field(description="False where an agent was lost that may have written more.")
    ] = True
    runs: Annotated[
        list[tuple[int, int]], Field(description="Some of them: first block and count.", max_length=5)
    ] = []

    def plus(self, other: Self) -> Self:
        """With those of another attempt."""
        return type(self)(
            blocks=self.blocks + other.blocks,
            is_exact=self.is_exact and other.is_exact,
            runs=[*self.runs, *(run for run in other.runs if run not in self.runs)][:5],
        )

    @property
    def is_none(self) -> bool:
        """Nothing was written for sure."""
        return self.is_exact and not self.blocks


class RewindResult(Contract):
    """How far a rewind is; `pending` of the next call."""

    finished: bool = False
    wait_seconds: WaitSeconds
    phase: RewindPhase
    attempt: Annotated[int, Field(description="How often the agent had to take the device anew.")] = 0
    look_id: Annotated[str | None, Field(description="The command that asks what uses the volume.")] = None
    asked_at: Instant | None = None
    unseen_since: Annotated[
        Instant | None, Field(description="Since when AWS has not answered; null if the last look saw all.")
    ] = None
    dispatch: DispatchWarmerResult | None = None
    evidence_id: Annotated[
        str | None, Field(description="The snapshot of the volume as it was: the way back.")
    ] = None
    compared_id: Annotated[
        str | None, Field(description="The snapshot of this attempt, with which blocks are compared.")
    ] = None
    equal_id: Annotated[
        str | None, Field(description="To which the volume was put back; nobody has written to it since.")
    ] = None
    newest_id: Annotated[
        str | None, Field(description="The one before it, whose blocks are fetched while it is pending.")
    ] = None
    armed_at: Annotated[Instant | None, Field(description="The agent had taken the device first.")] = None
    evident_at: Annotated[Instant | None, Field(description="The last such snapshot was completed.")] = None
    gate_part: Annotated[
        int | None, Field(description="The first part of the manifest, before which nothing is written.")
    ] = None
    writing: Annotated[
        bool, Field(description="The gate was opened: blocks may be written, and nothing is cancelled.")
    ] = False
    seen: BlocksWritten = Field(
        default_factory=BlocksWritten, description="What the agent of this attempt has said so far."
    )
    written: BlocksWritten = Field(default_factory=BlocksWritten, description="By the attempts before.")
    evidence_percent: Annotated[int, Field(description="How far the snapshot was.")] = 0
    evidence_moved_at: Annotated[Instant | None, Field(description="When it was that far first.")] = None
    stopped_by: Annotated[
        Failure | None, Field(description="Why it fails, once the agent has ended and said what it wrote.")
    ] = None
    next_part: Annotated[int, Field(description="Of the manifest.")] = 0
    delta: Annotated[Delta | None, Field(description="What is to be copied now; null for nothing.")] = None
    counts: BlockCounts = Field(default_factory=BlockCounts)
    initialization: PollInitializationResult | None = None
    plan: Annotated[
        Plan | None, Field(description="At the end: with the price of the blocks that were really read.")
    ] = None


class RewindEvent(StepEvent):
    """Asks how far a rewind is; `copied` is what came of the delta that the call before has asked for."""

    request: RestoreRequest
    volume: VolumeAssignment
    plan: Plan
    volume_id: str | None = Field(default=None, description="The empty volume of direct-write.")
    pending: RewindResult | None = None
    copied: JoinPartsResult | None = None
    failure: Failure | None = Field(default=None, description="Why the blocks could not be copied.")

    @property
    def is_direct(self) -> bool:
        """The volume is new and empty: there is no way back, and none is needed."""
        return self.plan.strategy is Strategy.DIRECT_WRITE

    @property
    def written_id(self) -> str:
        """The volume that is written. Raises TargetNotUsableError."""
        found = self.volume_id if self.is_direct else self.volume.rewinds
        if found is None:
            raise TargetNotUsableError("the plan rewinds no volume", field="target.mode")
        return found


class UndoLog(Contract):
    """What a rewind has overwritten of one volume, which undoes it."""

    restore_id: Annotated[str, Field(description="The restore that rewound the volume.")]
    index: Annotated[int, Field(description="Of the volume in that restore.")]
    volume_id: Annotated[str | None, Field(description="Null where the head of the log is gone.")]
    snapshot_id: Annotated[str | None, Field(description="To which the volume was put back.")]
    started_at: Instant | None
    packs: Annotated[int, Field(description="0: the rewind has overwritten nothing.")]
    blocks: Annotated[int | None, Field(description="Null where nobody has counted all of them.")]
    completed_at: Annotated[Instant | None, Field(description="Null: the rewind is incomplete, or runs.")]
    bytes: Annotated[int, Field(description="That S3 stores.")]
    usd_per_month: Decimal
    expires_at: Annotated[Instant, Field(description="From then on S3 deletes it.")]


class UndoLogList(Contract):
    """GET /undo-logs."""

    undo_logs: list[UndoLog]


class DeletedUndoLog(Contract):
    """DELETE /undo-logs/{restoreId}: nothing undoes the rewind any more, unless a snapshot does."""

    restore_id: str
    deleted_objects: int
