"""What the state machine copy-blocks takes and answers, and the events of its states."""

from typing import Annotated

from pydantic import Field

from rewarm.contracts.base import Contract, StepEvent
from rewarm.domain.blocks.shards import ReadRates
from rewarm.domain.model import SNAPSHOT_ID, VOLUME_ID

SnapshotId = Annotated[str, Field(pattern=f"^{SNAPSHOT_ID}$")]
Count = Annotated[int, Field(ge=0)]


class UndoLogId(Contract):
    """Whose log of overwritten blocks: a volume of a restore that rewound it."""

    restore_id: Annotated[str, Field(min_length=1)]
    index: Count = Field(description="Of the volume in that restore.")
    packs: Count = Field(default=0, description="That it had when it was chosen.")


class Delta(Contract):
    """What is to be written to a volume, so that it becomes equal to a snapshot."""

    snapshot_id: SnapshotId
    volume_id: Annotated[str, Field(pattern=f"^{VOLUME_ID}$")]
    volume_bytes: Annotated[int, Field(gt=0)]
    index: Count = Field(description="Of the volume in its restore.")
    region: str | None = Field(description="The snapshots' Region; null for the stack's own.")
    against: SnapshotId | None = Field(
        description="The volume as it is: only blocks that differ are copied. Null for an empty volume: all "
        "blocks that the snapshot has."
    )
    without: list[SnapshotId] = Field(
        description="Blocks that differ in these snapshots are left out: the parts before have them."
    )
    first_part: Count = Field(description="The number of the first part that is written.")
    goes_on: bool = Field(description="Whether further parts of the manifest follow, by another execution.")
    samples: Annotated[int, Field(ge=0, le=16_384)] = Field(
        description="So many blocks that are not written are named with their checksums."
    )
    whole: bool = Field(
        default=False,
        description="Every block of the volume is named, for an agent that compares before it writes: those "
        "that the snapshot has not got are zeros.",
    )
    log: UndoLogId | None = Field(
        default=None,
        description="The volume becomes the snapshot overlaid with the blocks of this undo log; without "
        "`whole`, just these are written.",
    )
    undo_attempt: Count | None = Field(
        default=None,
        description="Before the agent writes blocks of a line, it keeps what they have at an address of "
        "this attempt; null where a snapshot has it.",
    )

    @property
    def first_shard_part(self) -> int:
        """The first part for which blocks are copied. A part with blocks that are at hand may precede it."""
        return self.first_part + (1 if self.whole or self.log is not None else 0)


class Shard(Contract):
    """A line of the block list: what one function fetches, and one part of the manifest names."""

    part: Count
    samples: bool
    """Whether these are blocks to be compared; else they are written."""
    blocks: list[tuple[int, str]]
    """Each with its token."""
    log_pack: str | None = None
    """The pack of an undo log from which the blocks are taken, which have no tokens."""


class ListBlocksEvent(StepEvent):
    """What `List Blocks` takes."""

    delta: Delta


class ListBlocksResult(Contract):
    """Where the block list is, and what is in it."""

    bucket: str
    items_key: str
    results_prefix: str
    max_concurrency: int
    rates: ReadRates
    shards: Count
    next_part: Count
    """The first number that is left for further parts."""
    blocks: Count
    """To be written, zeros too."""
    zeros: Count
    logged: Count = 0
    """Blocks of these that come from an undo log: EBS is not asked for them."""
    relogged: Count = 0
    """Blocks of the log that a later attempt kept with other bytes, which are not written."""
    blocks_total: Count
    """All blocks, including those that were left out."""
    samples: Count
    list_calls: Count


class ShardFailure(Contract):
    """Why a shard could not be copied, as its function leaves it in the bucket."""

    error: str
    reason: str


class JoinPartsResult(Contract):
    """What the manifest has: the output of the execution."""

    manifest_key: str
    """Of the first part."""
    next_part: Count
    blocks: Count
    zeros: Count
    logged: Count = 0
    relogged: Count = 0
    samples: Count
    packs: Count
    packed_bytes: Count
    list_calls: Count
    seconds: float
