"""State Rewind, a look at a time, with what a rewind must never do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest

from rewarm.contracts import JoinPartsResult, RewindEvent, RewindResult
from rewarm.contracts.values import Failure
from rewarm.domain.errors import (
    AgentFailedError,
    AgentUnreachableError,
    RestoreCancelledError,
    RewindIncompleteError,
    SnapshotNotUsableError,
    TargetNotUsableError,
    VolumeInUseError,
)
from rewarm.domain.model import Strategy
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.steps.record.bucket import progress_key
from rewarm.steps.record.records import WRITING
from rewarm.steps.rewind.rewind import RewindPorts, rewind
from tests.support.builders import RESTORE_ID, assignment, at, plan, request, snapshot
from tests.support.fakes import FakeEvidence
from tests.support.replacing import OLD, STACK, ReplacingWorld

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
class Rewinding(ReplacingWorld):
    """A volume at its device, and how far its rewind is."""

    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    pending: RewindResult | None = None
    minute: float = 0.0
    unmount: bool = False

    def ports(self) -> RewindPorts:
        return RewindPorts(
            commands=self.commands,
            instances=self.instances,
            artifacts=self.artifacts,
            table=self.table,
            volumes=self.volumes,
            snapshots=self.snapshots,
            evidence=self.evidence,
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
            request=request(target=target),
            volume=assignment().model_copy(update={"rewinds": OLD}),
            plan=plan(Strategy.REWIND),
            pending=self.pending,
            copied=copied,
            failure=failure,
        )
        self.pending = rewind(event, self.ports())
        return self.pending

    def report(self, account: dict) -> None:
        """What the agent uploads."""
        attempt = self.pending.attempt if self.pending else 0
        self.artifacts.objects[progress_key(RESTORE_ID, 0, warm_ups=0, restarts=attempt)] = account

    def armed(self) -> RewindResult:
        """Up to the agent that has the volume, and its snapshot."""
        self.go()
        self.report({"event": "armed"})
        return self.go()

    def end(self, code: int = 0, **result: object) -> None:
        """The agent ends."""
        told = {
            "event": "result",
            "verdict": "applied",
            "blocksDone": 40,
            "blocksResumed": 0,
            "samples": 7,
            **result,
        }
        name = self.commands.sent[-1][0]
        if code:
            self.commands.finish(name, status="Failed", exit_code=code, stderr="warmer: why")
        else:
            self.commands.finish(name, stdout=json.dumps(told))


@pytest.fixture
def world() -> Rewinding:
    made = Rewinding()
    made.snapshots.add(snapshot(volume_id=OLD))
    return made


def completed(world: Rewinding) -> str:
    name = list(world.evidence.made)[-1]
    world.evidence.change(name, state="completed")
    return name


def with_newest(world: Rewinding) -> Rewinding:
    world.snapshots.add(snapshot(snapshot_id=NEWEST, volume_id=OLD, started_at=at(-60)))
    return world


def test_without_a_newer_snapshot_the_evidence_is_waited_for(world: Rewinding) -> None:
    waiting = world.armed()
    assert (waiting.phase, waiting.delta, waiting.writing) == ("wait", None, False)
    name = completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.without, asked.delta.goes_on) == (name, [], False)
    assert asked.delta.samples > 0
    assert world.volumes.volumes[OLD].settings.tags[REWINDING_TAG] == RESTORE_ID
    writing = world.go(COPIED)
    assert (writing.phase, writing.finished, writing.delta) == ("write", False, None)
    world.end()
    done = world.go()
    assert done.finished
    assert done.armed_at is not None
    assert done.evident_at is not None
    assert done.armed_at < done.evident_at < at(world.minute)
    assert done.initialization is not None
    assert done.initialization.ready
    assert REWINDING_TAG not in world.volumes.volumes[OLD].settings.tags
    assert any(name in reason and "undoes" in reason for reason in done.initialization.reasons)
    assert world.table.get_volume(RESTORE_ID, 0)["rewind0"]["state"] == "done"


def test_looks_follow_each_other_at_once_at_first_and_slower_later(world: Rewinding) -> None:
    first = world.armed()
    assert first.wait_seconds == world.go().wait_seconds == 1
    world.minute += 10
    assert world.go().wait_seconds == 30
    world.minute += 120
    assert world.go().wait_seconds == 60


def test_while_the_evidence_is_pending_the_newest_snapshots_blocks_are_copied(world: Rewinding) -> None:
    asked = with_newest(world).armed()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.goes_on, asked.delta.first_part) == (NEWEST, True, 0)
    world.go(COPIED)
    name = completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.without, asked.delta.first_part) == (name, [NEWEST], 3)
    done = world.go(COPIED)
    assert done.counts.blocks == 80


def test_before_the_first_write_it_is_cancelled_and_after_it_not(world: Rewinding) -> None:
    world.armed()
    world.table.request_cancel(RESTORE_ID)
    completed(world)
    with pytest.raises(RestoreCancelledError):
        world.go()
    assert REWINDING_TAG not in world.volumes.volumes[OLD].settings.tags


def test_a_cancel_comes_too_late_once_blocks_are_written(world: Rewinding) -> None:
    world.armed()
    completed(world)
    world.go()
    assert not world.table.request_cancel(RESTORE_ID, unless=[WRITING])


def test_a_mounted_volume_is_left_alone(world: Rewinding) -> None:
    world.go()
    world.end(83)
    with pytest.raises(VolumeInUseError, match=r"Nothing was written.*target\.unmount"):
        world.go()
    assert len(world.commands.sent) == 1
    assert not world.evidence.made


def test_one_that_is_used_in_another_way_cannot_be_unmounted(world: Rewinding) -> None:
    world.go()
    world.end(84)
    with pytest.raises(VolumeInUseError, match=r"send the request again$"):
        world.go()


def test_it_is_unmounted_where_that_is_asked_for(world: Rewinding) -> None:
    world.unmount = True
    world.go()
    assert world.commands.sent[-1][2]["action"] == "unmount"
    world.say()
    assert world.go().phase == "arm"
    assert len(world.commands.sent) == 2


def test_the_patience_with_an_answer_begins_when_it_is_asked_for(world: Rewinding) -> None:
    """The step that sends the command may have been throttled: its time is when the state was entered."""
    world.unmount = True
    world.go()
    world.minute += 7
    assert world.go().phase == "look"
    world.minute += 7
    with pytest.raises(AgentUnreachableError, match="no answer came"):
        world.go()


def test_the_agent_is_not_sent_where_it_cannot_be_unmounted(world: Rewinding) -> None:
    world.unmount = True
    world.go()
    world.say("/var/lib/data")
    with pytest.raises(VolumeInUseError, match=r"mounted at /var/lib/data.*Nothing was written"):
        world.go()
    assert len(world.commands.sent) == 1


def test_a_volume_that_has_left_its_instance_is_not_touched(world: Rewinding) -> None:
    world.volumes.change(OLD, attachments=())
    with pytest.raises(TargetNotUsableError, match="not attached"):
        world.go()


def test_what_a_refused_agent_says_last_is_not_taken_for_an_armed_one(world: Rewinding) -> None:
    """The agent uploads its refusal seconds before Run Command says that the command has ended."""
    with_newest(world).go()
    world.report({"event": "result", "verdict": "refused", "error": "it is mounted at /data"})
    assert world.go().phase == "arm"
    assert not world.evidence.made
    world.end(83)
    with pytest.raises(VolumeInUseError, match="Nothing was written"):
        world.go()
    assert REWINDING_TAG not in world.volumes.volumes[OLD].settings.tags


def test_an_instance_that_is_away_is_waited_for(world: Rewinding) -> None:
    there = world.instances.get(assignment().instance_id)
    world.instances.add(replace(there, ssm_online=False))
    world.unmount = True
    for _ in range(3):
        world.minute += 3
        assert world.go().phase == "look"
    assert world.commands.sent == []
    world.instances.add(there)
    world.go()
    assert world.commands.sent[-1][2]["action"] == "unmount"
    world.say()
    assert world.go().phase == "arm"


def test_an_instance_that_stays_away_once_blocks_are_written_leaves_a_mixed_volume(world: Rewinding) -> None:
    with_newest(world).armed()
    world.go(COPIED)
    world.end(70)
    assert world.go().phase == "look"
    there = world.instances.get(assignment().instance_id)
    world.instances.add(replace(there, state="stopped", ssm_online=False))
    assert world.go().phase == "look"
    world.minute += 11
    with pytest.raises(RewindIncompleteError, match=rf"{OLD} is mixed.*is stopped, for 12 min"):
        world.go()


def test_an_interrupted_agent_takes_the_volume_again_and_compares_it_anew(world: Rewinding) -> None:
    first = with_newest(world).armed().evidence_id
    world.go(COPIED)
    completed(world)
    world.go()
    world.go(COPIED)
    world.end(70)
    again = world.go()
    assert (again.phase, again.attempt, again.next_part, again.writing) == ("look", 1, 3, True)
    asked = world.armed()
    assert asked.phase == "wait"
    second = completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.delta.against, asked.delta.without, asked.delta.first_part) == (second, [], 3)
    assert asked.evidence_id == first != second


def test_an_agent_whose_address_has_ended_takes_the_volume_again(world: Rewinding) -> None:
    """A snapshot of a busy volume may be pending for hours."""
    first = with_newest(world).armed()
    world.go(COPIED)
    old_name, sent = completed(world), world.commands.sent[-1][0]
    world.minute += 5 * 60
    assert world.go().delta is None
    assert world.commands.cancelled == [sent]
    world.commands.finish(sent, status="Cancelled")
    again = world.go()
    assert (again.phase, again.attempt, again.writing) == ("look", 1, True)
    armed = world.armed()
    assert (armed.evidence_id, armed.compared_id != old_name) == (first.evidence_id, True)
    completed(world)
    asked = world.go()
    assert asked.delta is not None
    assert (asked.phase, asked.delta.first_part) == ("write", 3)


@pytest.mark.parametrize("told", [{"blocksResumed": 5}, {"takenBefore": True}])
def test_what_a_resumed_agent_says_is_not_believed(world: Rewinding, told: dict) -> None:
    """SSM runs the document again after a restart, and somebody may have written meanwhile."""
    world.armed()
    completed(world)
    world.go()
    world.go(COPIED)
    world.end(**told)
    assert world.go().attempt == 1


def test_a_failure_after_the_first_write_says_that_the_volume_is_mixed(world: Rewinding) -> None:
    evidence = world.armed().evidence_id
    completed(world)
    world.go()
    with pytest.raises(RewindIncompleteError, match=rf"{OLD} is mixed.*could not be copied.*{evidence}"):
        world.go(failure=Failure(error="AccessDeniedError", cause="kms:Decrypt"))
    world.go(COPIED)
    world.end(91)
    with pytest.raises(RewindIncompleteError, match=r"did not write.*target\.mode replace"):
        world.go()


def test_a_failed_evidence_ends_it_before_anything_is_written(world: Rewinding) -> None:
    world.armed()
    world.evidence.change(next(iter(world.evidence.made)), state="error", state_message="no key")
    with pytest.raises(SnapshotNotUsableError, match="no key"):
        world.go()


def test_a_snapshot_whose_answer_was_lost_is_found(world: Rewinding) -> None:
    world.go()
    world.report({"event": "armed"})
    world.evidence.lost_answers = 1
    with pytest.raises(Exception, match="no answer"):
        world.go()
    assert world.go().phase == "wait"
    assert len(world.evidence.made) == 1


def test_an_evidence_is_noted_before_ec2_shows_it(world: Rewinding, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever cancels in that moment hears of it."""
    world.go()
    world.report({"event": "armed"})
    monkeypatch.setattr(world.evidence, "of_restore", lambda *_place: [])
    assert world.go().phase == "arm"
    world.table.request_cancel(RESTORE_ID)
    with pytest.raises(RestoreCancelledError):
        world.go()
    (made,) = world.evidence.made
    noted = world.table.get_volume(RESTORE_ID, 0)["rewind0"]
    assert (noted["volumeId"], noted["evidence"]) == (OLD, made)


def test_an_evidence_that_somebody_deletes_is_not_made_again_from_a_volume_that_is_being_written(
    world: Rewinding,
) -> None:
    evidence = with_newest(world).armed().evidence_id
    world.go(COPIED)
    del world.evidence.made[str(evidence)]
    world.minute += 5
    with pytest.raises(RewindIncompleteError, match=f"{evidence} of {OLD} as it was is gone"):
        world.go()
    assert not world.evidence.made


def test_an_agent_that_fails_for_good_before_any_write_names_its_reason(world: Rewinding) -> None:
    world.armed()
    world.end(1)
    with pytest.raises(AgentFailedError, match="warmer: why"):
        world.go()


def test_an_agent_that_writes_nothing_for_half_an_hour_has_failed(world: Rewinding) -> None:
    world.armed()
    completed(world)
    world.minute += 120
    world.go()
    world.go(COPIED)
    world.minute += 29
    assert world.go().phase == "write"
    world.minute += 2
    with pytest.raises(RewindIncompleteError, match="has written nothing since"):
        world.go()
