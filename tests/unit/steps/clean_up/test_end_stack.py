"""Before the stack goes away: everything of its restores is ended, or what is left is named."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rewarm.domain.errors import AccessDeniedError, IncompleteCleanUpError
from rewarm.domain.model import FastSnapshotRestore
from rewarm.domain.volume.leftovers import ExecutionEnd, SweptResource
from rewarm.steps.clean_up.end_stack import CAUSE, LATE_SECONDS, EndOfStack, end_stack
from rewarm.steps.clean_up.missing_reports import LATE_REPORTS
from tests.support.builders import INSTANCE_ID, NOW, RESTORE_ID, SNAPSHOT_ID, VOLUME_ID, ZONE, at
from tests.support.worlds.sweeping import SweepWorld

ARN = f"arn:aws:states:us-east-1:123456789012:execution:restore:{RESTORE_ID}"


@dataclass
class FakeWork:
    """Two methods of the port StackExecutions: what is stopped is over in the world, too."""

    world: SweepWorld
    executions: dict[str, str] = field(default_factory=dict)
    stopped: list[tuple[str, str]] = field(default_factory=list)
    refuses: AccessDeniedError | None = None

    def running(self) -> dict[str, str]:
        return dict(self.executions)

    def stop(self, execution_arn: str, cause: str) -> None:
        if self.refuses:
            raise self.refuses
        self.stopped.append((execution_arn, cause))
        restore_id = self.executions.pop(execution_arn)
        self.world.executions.ends[restore_id] = ExecutionEnd("ABORTED", "", cause)


@dataclass
class Ending:
    """A stack with one restore that runs, 300 seconds for its end, and pauses of five."""

    world: SweepWorld = field(default_factory=SweepWorld)
    seconds: float = 300

    def __post_init__(self) -> None:
        self.world.ended("RUNNING")
        self.work = FakeWork(self.world, {ARN: RESTORE_ID})

    def end(self) -> int:
        end = EndOfStack(self.work, lambda: self.seconds - 5 * self.world.pauses)
        return end_stack(self.world.ports(at(30)), end)


@pytest.fixture
def ending() -> Ending:
    return Ending()


def test_what_runs_is_stopped_and_ended(ending: Ending) -> None:
    world, place = ending.world, (SNAPSHOT_ID, ZONE)
    world.begun(command0={"dispatch": {"commandId": "command-1", "instanceId": INSTANCE_ID}})
    world.made(attached=INSTANCE_ID)
    world.fast_restores.states[place] = FastSnapshotRestore("enabled")
    world.fast_restores.since[place] = NOW
    world.table.claim_fast_snapshot_restore(*place, f"{RESTORE_ID}/0", asked_at=NOW)
    assert ending.end() == 1
    assert ending.work.stopped == [(ARN, CAUSE)]
    assert world.volumes.deleted == [VOLUME_ID]
    assert (world.commands.cancelled, world.fast_restores.disabled) == (["command-1"], [place])
    assert world.table.records[RESTORE_ID]["status"] == "failed"
    (message,) = world.messages.sent
    assert CAUSE in message["text"]


def test_what_was_announced_stays(ending: Ending) -> None:
    ending.world.begun(attached0={"volumeId": VOLUME_ID})
    ending.world.made(attached=INSTANCE_ID)
    ending.end()
    assert ending.world.volumes.deleted == []


def test_what_a_late_function_made_is_found(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was at work when its execution was stopped."""
    world, pause = ending.world, ending.world._pause
    world.begun()

    def make_late() -> None:
        pause()
        if world.pauses == 8:
            world.made()

    monkeypatch.setattr(world, "_pause", make_late)
    ending.end()
    assert world.volumes.deleted == [VOLUME_ID]
    assert 5 * world.pauses >= LATE_SECONDS


def test_what_starts_meanwhile_is_stopped_too(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    world, pause = ending.world, ending.world._pause
    ending.work.executions.clear()

    def start() -> None:
        pause()
        if world.pauses == 1:
            ending.work.executions[ARN] = RESTORE_ID

    monkeypatch.setattr(world, "_pause", start)
    assert ending.end() == 1


def refuse(volume_id: str) -> None:
    raise AccessDeniedError(f"{volume_id} may not be deleted")


def test_what_is_left_is_named(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    ending.world.begun()
    ending.world.made()
    monkeypatch.setattr(ending.world.volumes, "delete", refuse)
    with pytest.raises(IncompleteCleanUpError, match=VOLUME_ID):
        ending.end()
    assert 5 * ending.world.pauses <= ending.seconds - 30


def test_a_report_that_cannot_be_written_holds_nothing_up(
    ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    owed = SweptResource(LATE_REPORTS, RESTORE_ID, "ending", "its report cannot be written yet: denied")
    monkeypatch.setattr("rewarm.steps.clean_up.end_stack.sweep", lambda *_arguments, **_limits: [owed])
    ending.end()


def test_an_execution_that_cannot_be_stopped_is_named(ending: Ending) -> None:
    ending.work.refuses = AccessDeniedError("states:StopExecution")
    with pytest.raises(IncompleteCleanUpError, match="could not be stopped: states:StopExecution"):
        ending.end()
