"""A world in memory with a volume that goes back to a snapshot, a look at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from rewarm.contracts.copying import JoinPartsResult
from rewarm.contracts.rewinding import RewindEvent, RewindResult
from rewarm.contracts.values import Failure
from rewarm.domain.model import Strategy
from rewarm.steps.record.bucket import part_key, progress_key
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.record.way_back import in_words
from rewarm.steps.rewind.gate import RewindPorts
from rewarm.steps.rewind.rewind import rewind
from tests.support.builders import RESTORE_ID, assignment, at, plan, request, snapshot
from tests.support.fakes import FakeEvidence
from tests.support.worlds.replacing import OLD, STACK, ReplacingWorld
from tests.support.worlds.undo_logs import FakeUndoLogs

NEWEST = "snap-0000000000000dddd"
COPIED = JoinPartsResult(
    manifest_key="m",
    next_part=3,
    blocks=40,
    zeros=2,
    samples=0,
    packs=1,
    packed_bytes=99,
    list_calls=2,
    seconds=9,
)


@dataclass
class FakePackTexts:
    """Port PackStore: texts only."""

    texts_put: dict[str, str] = field(default_factory=dict)

    def put_text(self, key: str, lines: Iterable[str]) -> None:
        self.texts_put[key] = "".join(lines)


@dataclass
class Rewinding(ReplacingWorld):
    """A volume at its device, and how far its rewind is."""

    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    packs: FakePackTexts = field(default_factory=FakePackTexts)
    logs: FakeUndoLogs = field(default_factory=FakeUndoLogs)
    pending: RewindResult | None = None
    minute: float = 0.0
    unmount: bool = False
    kept: str | None = None
    """The plan's evidence, and what is compared."""
    compared: str | None = None
    undo_of: str | None = None
    undo_alone: bool = False

    def ports(self) -> RewindPorts:
        return RewindPorts(
            commands=self.commands,
            instances=self.instances,
            artifacts=self.artifacts,
            table=self.table,
            volumes=self.volumes,
            snapshots=self.snapshots,
            logs=self.logs,
            undo_log_days=30,
            evidence=self.evidence,
            packs=self.packs,
            look=self.look_ports,
            stack_name=STACK,
        )

    def go(self, copied: JoinPartsResult | None = None, failure: Failure | None = None) -> RewindResult:
        """One look."""
        self.minute += 0.1
        target = {"instanceId": assignment().instance_id, "mode": "rewind", "unmount": self.unmount or None}
        event = RewindEvent(
            restore_id=RESTORE_ID,
            now=at(self.minute),
            request=request(target=target, **({"source": {"undoOf": self.undo_of}} if self.undo_of else {})),
            volume=assignment().model_copy(
                update={
                    "rewinds": OLD,
                    "undo_index": 2 if self.undo_of else None,
                    "undo_alone": self.undo_alone,
                }
            ),
            plan=plan(Strategy.REWIND).model_copy(update={"evidence": self.kept, "compare": self.compared}),
            pending=self.pending,
            copied=copied,
            failure=failure,
        )
        self.pending = rewind(event, self.ports())
        return self.pending

    @property
    def way_back(self) -> str:
        """What a message names by the record, if everything is still there."""
        return in_words(VolumeNotes(self.table, RESTORE_ID, 0).read(), is_ready=True)

    def report(self, account: dict) -> None:
        """What the agent uploads; of its volume, unless the account says something else."""
        attempt = self.pending.attempt if self.pending else 0
        key = progress_key(RESTORE_ID, 0, warm_ups=0, restarts=attempt)
        self.artifacts.objects[key] = {"volumeId": OLD} | account

    def opened(self, copied: JoinPartsResult = COPIED) -> RewindResult:
        """Up to the agent that may write, and has all parts."""
        self.armed()
        completed(self)
        self.go()
        return self.go(copied)

    def fails_with(self, code: int = 0, account: dict | None = None, **result: object) -> RewindResult:
        """The agent ends, and the next look finds that."""
        if account is not None:
            self.report(account)
        self.end(code, **result)
        return self.go()

    @property
    def gate_is_open(self) -> bool:
        """Whether the agent of the last attempt has its first part."""
        gate = self.pending.gate_part if self.pending else None
        return gate is not None and part_key(RESTORE_ID, 0, gate) in self.packs.texts_put

    def armed(self) -> RewindResult:
        """Up to the agent that has the volume, and its snapshot."""
        self.go()
        self.report({"event": "armed"})
        return self.go()

    def end(self, code: int = 0, **result: object) -> None:
        """The agent ends."""
        told = {
            "event": "result",
            "volumeId": OLD,
            "verdict": "applied",
            "blocksDone": 40,
            "blocksResumed": 0,
            "samples": 7,
            **result,
        }
        name = self.commands.sent[-1][0]
        if code:
            said = json.dumps(told) if result else ""
            self.commands.finish(name, status="Failed", exit_code=code, stdout=said, stderr="warmer: why")
        else:
            self.commands.finish(name, stdout=json.dumps(told))


def completed(world: Rewinding) -> str:
    name = list(world.evidence.made)[-1]
    world.evidence.change(name, state="completed")
    return name


def with_newest(world: Rewinding) -> Rewinding:
    world.snapshots.add(snapshot(snapshot_id=NEWEST, volume_id=OLD, started_at=at(-60)))
    return world
