"""Watching a restore: what is told, in which order, and when it ends."""

import io
from datetime import UTC, datetime

import pytest

from local.tools.run import watch
from local.tools.run.live.view import View
from local.tools.run.recording import RestoreRecord
from local.tools.run.watch import Watch, sample_of
from tests.local.tools.run.test_run_history import entered, failed, left, succeeded
from tests.support.values.run_recordings import choose_strategy, poll, slack

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


class Script:
    """Sources that answer what was written down for each look."""

    def __init__(self, looks, *, status="SUCCEEDED", restore=None):
        self.looks, self.status, self.answer = looks, status, restore or {"volumes": []}
        self.number = -1
        self.asked = 0

    def now(self):
        return AT.timestamp() + 99

    def execution(self, _restore_id):
        self.number += 1
        over = self.number >= len(self.looks) - 1
        stop = datetime.fromtimestamp(AT.timestamp() + 60, UTC)
        return {"status": self.status if over else "RUNNING", "startDate": AT, "stopDate": stop}

    @property
    def look(self):
        return self.looks[min(self.number, len(self.looks) - 1)]

    def history(self, _restore_id):
        return self.look.get("restore", [])

    def volume_histories(self, _restore_id):
        return self.look.get("volumes", [])

    def restore(self, _restore_id):
        self.asked += 1
        return self.answer

    def messages(self):
        return (
            ["of an earlier restore", *self.look.get("messages", [])]
            if self.number >= 0
            else ["of an earlier restore"]
        )


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(watch, "HISTORY_SECONDS", 0)
    monkeypatch.setattr(watch, "PROGRESS_SECONDS", 0)


@pytest.fixture
def record():
    return RestoreRecord(title="t", trigger="t", restore_id="r-1", request={}, started_at=AT.timestamp())


def follow(script, record):
    stream = io.StringIO()
    Watch(script, record, View(stream)).follow()
    return stream.getvalue()


PLAN = [
    entered("Choose Strategy", 1),
    succeeded({"Payload": choose_strategy("warm-up-agent")}),
    left("Choose Strategy", 2),
]
TOLD = [
    entered("Announce Plan", 2),
    succeeded({"Payload": {"channels": ["slack"]}}),
    left("Announce Plan", 3),
]
POLLING = [entered("Poll Initialization", 10)]
POLLED = [*POLLING, succeeded({"Payload": poll(100, ready=True)}), left("Poll Initialization", 30)]


def test_every_state_is_told_once_when_it_is_over(record):
    text = follow(Script([{"restore": PLAN[:1]}, {"restore": PLAN}, {"restore": PLAN}]), record)
    assert text.count("Choose Strategy") == 1
    assert text.count("Plan for snap-0123456789abcdef0") == 1
    assert [visit.state for visit in record.visits] == ["Choose Strategy"]


def test_the_record_ends_as_the_execution_does(record):
    follow(Script([{"restore": PLAN}], status="TIMED_OUT"), record)
    assert (record.status, record.seconds) == ("TIMED_OUT", 60.0)


def test_the_error_of_a_failed_execution_is_kept(record):
    end = {
        "type": "ExecutionFailed",
        "timestamp": AT,
        "executionFailedEventDetails": {"error": "E", "cause": "why"},
    }
    text = follow(Script([{"restore": [entered("Restore Failed", 1, "Fail"), end]}], status="FAILED"), record)
    assert (record.status, record.error, record.cause) == ("FAILED", "E", "why")
    assert "Restore Failed" in text


def test_states_of_volumes_are_told_with_their_volume(record):
    text = follow(Script([{"restore": PLAN, "volumes": [POLLED]}]), record)
    assert "volume 0  Poll Initialization" in text
    assert [visit.execution for visit in record.visits] == ["restore", "volume 0"]


def test_a_message_has_the_time_of_the_state_that_sent_it(record):
    body = slack(0, "Restoring", "text").body
    looks = [{"restore": PLAN, "messages": [body]}, {"restore": [*PLAN, *TOLD], "messages": [body]}]
    text = follow(Script(looks), record)
    (message,) = record.messages
    assert message.at == AT.timestamp() + 3
    assert message.body is body
    assert text.index("Announce Plan") < text.index("Restoring")
    assert "earlier restore" not in text


def test_a_message_nobody_accounts_for_is_shown_at_the_end(record):
    body = slack(0, "Late", "text").body
    follow(Script([{"restore": PLAN}, {"restore": PLAN, "messages": [body]}]), record)
    assert [message.at for message in record.messages] == [AT.timestamp() + 99]


def test_progress_is_asked_for_only_while_a_volume_is_initialized(record):
    agent = {"bytesDone": 256, "bytesTotal": 1024, "mibPerSecond": 100.0, "etaSeconds": 6}
    looks = [{"restore": PLAN}, {"volumes": [POLLING]}, {"volumes": [POLLING]}, {"volumes": [POLLED]}]
    script = Script(looks, restore={"volumes": [{"index": 0, "agent": agent}]})
    text = follow(script, record)
    assert script.asked == 2
    assert [sample.percent for sample in record.samples] == [25.0]  # the same answer twice is one sample
    assert "100.0 MiB/s" in text


def test_the_agents_own_line_is_newer_than_the_last_poll():
    polled = {"progressPercent": 10.0, "bytesDone": 10, "bytesTotal": 100}
    agent = {"bytesDone": 50, "bytesTotal": 100, "mibPerSecond": 1.5, "etaSeconds": 3}
    assert sample_of({"volumes": [{"initialization": polled, "agent": agent}]}, 1.0).percent == 50.0
    assert sample_of({"volumes": [{"initialization": polled, "agent": None}]}, 1.0).percent == 10.0
    assert "MiB/s" not in sample_of({"volumes": [{"initialization": polled}]}, 1.0).words
    assert sample_of({"volumes": [{"index": 0}]}, 1.0) is None
    assert sample_of({}, 1.0) is None


def test_failures_are_told_as_soon_as_their_state_is_over(record):
    events = [entered("Create Volume", 1), failed("QuotaExceededError", "too many"), left("Create Volume", 2)]
    assert "QuotaExceededError: too many" in follow(Script([{"volumes": [events]}]), record)
