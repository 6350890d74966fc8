"""Watches one restore through the APIs that a user has, until its execution has ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Protocol

from local import Json
from local.tools.run.history import end_of, visits
from local.tools.run.live.view import View
from local.tools.run.recording import ProgressSample, RestoreRecord, SlackMessage, StateVisit
from rewarm_cli.views import progress_of, progress_text

HISTORY_SECONDS = 0.3
PROGRESS_SECONDS = 1.0
RUNNING = "RUNNING"


class Sources(Protocol):
    """Where the facts come from; local.tools.run.lab has them from the embedded AWS."""

    def now(self) -> float:
        """Lab time."""

    def execution(self, restore_id: str) -> Json:
        """DescribeExecution of the state machine restore: status, startDate, stopDate."""

    def history(self, restore_id: str) -> list[Json]:
        """All events of the restore's execution."""

    def volume_histories(self, restore_id: str) -> list[list[Json]]:
        """All events of each restore-volume execution of this restore, by index."""

    def restore(self, restore_id: str) -> Json:
        """GET /restores/{id}."""

    def messages(self) -> Sequence[Json]:
        """Every message that Slack has taken so far."""


class Watch:
    """Fills a record, and shows what is new in it."""

    def __init__(self, sources: Sources, record: RestoreRecord, view: View) -> None:
        self._sources = sources
        self._record = record
        self._view = view
        self._shown: set[tuple[str, int]] = set()
        self._first_message = len(sources.messages())
        self._progress_at = 0.0

    def follow(self) -> None:
        """Watch until the execution has ended."""
        began = time.monotonic()
        while True:
            described = self._sources.execution(self._record.restore_id)
            self._look(is_over=described["status"] != RUNNING)
            if described["status"] != RUNNING:
                break
            time.sleep(HISTORY_SECONDS)
        self._record.status = described["status"]
        self._record.started_at = described["startDate"].timestamp()
        self._record.ended_at = described["stopDate"].timestamp()
        self._record.real_seconds = time.monotonic() - began

    def _look(self, *, is_over: bool) -> None:
        restore_id = self._record.restore_id
        history = self._sources.history(restore_id)
        by_execution = {"restore": visits("restore", history)}
        for index, events in enumerate(self._sources.volume_histories(restore_id)):
            by_execution[f"volume {index}"] = visits(f"volume {index}", events)
        found = [visit for several in by_execution.values() for visit in several]
        self._record.visits = sorted(found, key=lambda visit: visit.entered_at)
        self._record.error, self._record.cause = end_of(history) or ("", "")
        for visit in self._new(by_execution):
            self._view.state(visit, self._record.started_at)
            if visit.state == "Choose Strategy" and visit.payload:
                self._view.plan(visit.payload["plans"], visit.payload["summary"])
        self._messages(is_over=is_over)
        if not is_over:
            self._progress()

    def _new(self, by_execution: dict[str, list[StateVisit]]) -> list[StateVisit]:
        """Visits that have ended since the last look, in the order of their ends."""
        found = []  # a Fail state is never left: it is over at once
        for execution, several in by_execution.items():
            for index, visit in enumerate(several):
                if (execution, index) not in self._shown and (visit.left_at or visit.kind == "Fail"):
                    self._shown.add((execution, index))
                    found.append(visit)
        return sorted(found, key=lambda visit: visit.left_at or visit.entered_at)

    def _messages(self, *, is_over: bool) -> None:
        """Messages carry no lab time; the states that sent them do, and the order is the same."""
        bodies = self._sources.messages()[self._first_message :]
        instants = list(self._announced())
        for number in range(len(self._record.messages), len(bodies)):
            if number >= len(instants) and not is_over:
                return
            at = instants[number] if number < len(instants) else self._sources.now()
            message = SlackMessage(at=at, body=bodies[number])
            self._record.messages.append(message)
            self._view.slack(message, self._record.started_at)

    def _announced(self) -> Iterator[float]:
        """When the steps ended that reached Slack."""
        announced = [visit for visit in self._record.visits if visit.state.startswith("Announce")]
        for visit in sorted(announced, key=lambda visit: visit.left_at or 0.0):
            if visit.left_at and visit.payload and "slack" in visit.payload.get("channels", []):
                yield visit.left_at

    def _progress(self) -> None:
        if not self._is_initializing() or time.monotonic() - self._progress_at < PROGRESS_SECONDS:
            return
        self._progress_at = time.monotonic()
        sample = sample_of(self._sources.restore(self._record.restore_id), self._sources.now())
        if sample is None:
            return
        if self._is_news(sample):
            self._record.samples.append(sample)
        self._view.progress(sample)

    def _is_initializing(self) -> bool:
        states = {visit.state for visit in self._record.visits}
        return bool(states & {"Poll Initialization", "Copy Blocks"}) and not states & {
            "Verify Volume After",
            "Release",
            "Clean Up",
        }

    def _is_news(self, sample: ProgressSample) -> bool:
        """The agent's line changes every two seconds; what the last poll said may be older than it."""
        last = self._record.samples[-1] if self._record.samples else None
        return last is None or sample.percent > last.percent


def sample_of(answer: Json, at: float) -> ProgressSample | None:
    """The progress of the first volume that GET /restores/{id} tells of; None where it tells of none yet."""
    for volume in answer.get("volumes", []):
        found = progress_of(volume)
        if found is not None:
            words = progress_text(volume, datetime.fromtimestamp(at, UTC)) or ""
            return ProgressSample(at=at, percent=found[0], words=words)
    return None
