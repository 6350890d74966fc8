"""Follow a restore until it has ended: live on a terminal, in lines elsewhere. Changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.output import say, tell
from rewarm_cli.problems import NOT_BACK, NOT_READY, STILL_RUNNING, STOPPED, CommandFailedError
from rewarm_cli.views import (
    is_awaiting,
    is_back,
    is_good,
    is_over,
    progress_of,
    progress_text,
    show_restore,
    status_of,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from rewarm_cli.api import Api
    from rewarm_cli.settings import Settings

Json = dict[str, Any]

LONG_POLL_SECONDS = 20
"""The longest time that the API lets a call wait for news."""
LIVE_POLL_SECONDS = 2
"""Seconds between calls while an agent reads, because its progress does not change the record."""
ANSWER_SECONDS = 10
"""An API that takes longer than this, beside what it was asked to wait, is down."""
LEAST_PAUSE_SECONDS = 1.0
OUTAGE_SECONDS = 300.0
"""How long the API may be out of reach without a break while a restore is watched."""
MOST_BARS, BAR_CELLS, WIDE_CELLS = 10, 30, 100
"""Bars at once, how long each is, and the columns of a terminal that has room for such bars."""
PLAIN_STEP_PERCENT = 10.0


def path_of(restore_id: str, **query: Any) -> str:
    """The restore's address."""
    return address("restores", restore_id, **query)


def records(api: Api, restore_id: str, *, live: bool, until: float | None) -> Iterator[Json]:
    """Yields GET's answer whenever there may be news, until the restore has ended or the time is over."""
    version = ""
    reading = False
    reach = Reach(api, patience_seconds=OUTAGE_SECONDS)
    while True:
        seconds = LIVE_POLL_SECONDS if live and reading else LONG_POLL_SECONDS
        query: Json = {"wait": seconds, "version": version} if version else {}
        asked_at = time.monotonic()
        record = reach.ask(path_of(restore_id, **query), waits=seconds if query else 0)
        if record is not None:
            yield record
            if is_over(record):
                return
            version = str(record.get("version") or "")
            reading = status_of(record) == "initializing"
        if until is not None and time.monotonic() >= until:
            return
        time.sleep(max(0.0, LEAST_PAUSE_SECONDS - (time.monotonic() - asked_at)))


class Reach:
    """Asks the API, and waits out that it does not answer; says so at once, and again when it answers."""

    def __init__(self, api: Api, *, patience_seconds: float | None = None) -> None:
        """Without a patience it is asked for as long as somebody waits."""
        self._api = api
        self._patience_seconds = patience_seconds
        self._answered_at = time.monotonic()
        self.is_out = False
        """Whether it has not answered the last time."""

    def ask(self, path: str, *, waits: int = 0) -> Json | None:
        """The answer; None if there was none this time, so that watching continues.

        The API itself waits so many seconds for news; who waits much longer is not answered at all.
        """
        from rewarm_cli.api import ApiRefusedError

        try:
            answer = replace(self._api, timeout_seconds=waits + ANSWER_SECONDS).expect(200, "GET", path)
        except ApiRefusedError as refusal:
            if refusal.answer.status < 500 and not refusal.may_pass:
                raise
            self._bear(f"it answers {refusal.answer.status}", refusal)
            return None
        except OSError as error:
            self._bear(str(getattr(error, "reason", error)), error)
            return None
        if self.is_out:
            say("The API answers again.", err=True)
        self._answered_at = time.monotonic()
        self.is_out = False
        return answer

    def _bear(self, reason: str, error: Exception) -> None:
        patience = self._patience_seconds
        if patience is not None and time.monotonic() >= self._answered_at + patience:
            raise error
        if not self.is_out:
            more = "again and again" if patience is None else f"for {words.duration(patience)} more"
            say(f"The API does not answer ({reason}). What runs continues; it is asked {more}.", err=True)
        self.is_out = True


def follow(settings: Settings, api: Api, restore_id: str, *, watch: bool, minutes: int | None) -> Json:
    """Wait for the restore's end, and return its last record; Ctrl-C ends only this."""
    until = None if minutes is None else time.monotonic() + 60 * minutes
    view = _View(settings) if watch else None
    record: Json = {}
    try:
        for record in records(api, restore_id, live=watch, until=until):
            if view is not None:
                view.update(record)
    except KeyboardInterrupt:
        if view is not None:
            view.close()
        say(words.stopped_looking("restore", restore_id), err=True)
        raise click.exceptions.Exit(STOPPED) from None
    finally:
        if view is not None:
            view.close()
    if not record or not is_over(record):
        raise CommandFailedError(
            f"{restore_id} still runs after {words.count(minutes or 0, 'minute')}; it continues. "
            f"`{words.command('status', restore_id, '--watch')}` looks again.",
            STILL_RUNNING,
        )
    return record


def end(settings: Settings, record: Json, *, good: bool | None = None, events: bool = True) -> None:
    """Show how the restore ended; raises Exit if it is not ready."""
    if settings.for_people:
        from rewarm_cli.output import console

        show_restore(console(), record, events=events)
    else:
        settings.emit(record)
    if not (is_good(record) if good is None else good):
        raise click.exceptions.Exit(NOT_READY)
    if good is None and not is_back(record):
        raise click.exceptions.Exit(NOT_BACK)


class _View:
    """New states and events as lines, and below them a bar for each volume; without a terminal only lines."""

    def __init__(self, settings: Settings) -> None:
        from rewarm_cli.output import console

        self._console: Console = console(stderr=not settings.for_people)
        self._events = 0
        self._status = ""
        self._percents: dict[int, float] = {}
        self._progress: Progress | None = None
        self._tasks: dict[int, TaskID] = {}

    def update(self, record: Json) -> None:
        """Show what is new."""
        for event in (record.get("events") or [])[self._events :]:
            title = event.get("title") or event["event"]
            tell(self._console, f"{words.clock(event['at'], seconds=True)}  {title}")
        self._events = len(record.get("events") or [])
        status = " ".join(filter(None, [status_of(record), record.get("step")]))
        if self._console.is_terminal:
            self._move(record)
        else:
            self._print(record, status)
        if is_awaiting(record) and status != self._status:
            typed = words.command("approve", record["restoreId"])
            tell(self._console, f"Approve it: {typed}")
        self._status = status

    def close(self) -> None:
        """Remove the bars. Safe to call twice."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _print(self, record: Json, status: str) -> None:
        if status != self._status:
            tell(self._console, status)
        for volume in record.get("volumes") or []:
            found = progress_of(volume)
            if found is None:
                continue
            index = volume["index"]
            percent = found[0]
            known = self._percents.get(index, -PLAIN_STEP_PERCENT)
            if percent >= known + PLAIN_STEP_PERCENT or percent >= 100 > known:
                self._percents[index] = percent
                tell(self._console, f"volume {index}: {progress_text(volume)}")

    def _move(self, record: Json) -> None:
        if self._progress is None:
            self._progress = bars(self._console)
            self._tasks[-1] = self._progress.add_task("", total=None, words="")
            self._progress.start()
        expected = (record.get("summary") or {}).get("readyP90At")
        said = [record.get("step"), f"at full speed by {words.clock(expected)} (P90)" if expected else None]
        text = ", ".join(filter(None, said))
        self._progress.update(self._tasks[-1], description=status_of(record), words=text)
        for volume in (record.get("volumes") or [])[:MOST_BARS]:
            self._bar(self._progress, volume)

    def _bar(self, progress: Progress, volume: Json) -> None:
        found = progress_of(volume)
        if found is None:
            return
        index = volume["index"]
        if index not in self._tasks:
            self._tasks[index] = progress.add_task(f"volume {index}", total=100, words="")
        progress.update(self._tasks[index], completed=found[0], words=progress_text(volume))


def bars(console: Console) -> Progress:
    """A spinner for the restore, and a bar for each volume whose share is known."""
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.table import Column
    from rich.text import Text

    bar = BarColumn(BAR_CELLS if console.width >= WIDE_CELLS else BAR_CELLS // 3)

    class Words(TextColumn):
        """Text, which may have come from outside."""

        def render(self, task: Task) -> Text:
            return Text(words.visible(self.text_format.format(task=task)))

    class KnownShare(ProgressColumn):
        """The bar, only for what has a known share."""

        def render(self, task: Task) -> Any:
            return Text() if task.total is None else bar.render(task)

    return Progress(
        SpinnerColumn(finished_text=" "),
        Words("{task.description}", markup=False, table_column=Column()),
        KnownShare(),
        Words("{task.fields[words]}", markup=False, table_column=Column()),
        console=console,
        transient=True,
    )
