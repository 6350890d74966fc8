"""Looks at volumes until each is proven to be at full speed, or one has failed. Changes nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import watching, words
from rewarm_cli.addresses import address
from rewarm_cli.output import say, tell
from rewarm_cli.problems import NOT_PROVEN, STILL_RUNNING, STOPPED
from rewarm_cli.views import READY, is_over, progress_of, progress_text, status_of
from rewarm_cli.watching import MOST_BARS, Reach, bars, path_of

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from rewarm_cli.api import Api
    from rewarm_cli.settings import Settings

Json = dict[str, Any]

FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 2.0, 30.0
"""Between looks at what does not change; thousands of machines may wait at once."""
SLOWER = 1.5
LINE_SECONDS = 60.0
"""At least so long between two lines of a log."""
MOST_NAMED = 3
"""Volumes of a line."""
PROVEN, FAILED, WARMING, UNKNOWN = "proven", "failed", "warming", "unknown"
STARTED_NOTHING = frozenset({"duplicate", "suppressed"})
"""Statuses of what was never to warm anything."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one volume."""

    volume_id: str
    records: Sequence[Json] = ()
    """Of the restores that were to warm it, the newest first."""

    @property
    def record(self) -> Json:
        """That of the restore that decides; empty if there is none.

        It has proven the volume; else it still runs; else it is the last that failed. One that was refused
        counts last, because another one has the volume.
        """
        for fits in (self._has_proven, _runs, _began, bool):
            if (found := next(filter(fits, self.records), None)) is not None:
                return found
        return {}

    @property
    def state(self) -> str:
        """Proven, failed, warming; or unknown, while nothing is to warm it."""
        record = self.record
        if self._has_proven(record):
            return PROVEN
        if not record:
            return UNKNOWN
        return WARMING if _runs(record) else FAILED

    @property
    def standing(self) -> tuple[str, Any]:
        """What changes seldom."""
        return self.state, self.record.get("status")

    @property
    def part(self) -> Json:
        """What the record has of this volume; empty before it is known there."""
        return _part(self.record, self.volume_id)

    @property
    def cause(self) -> str | None:
        """Why it is not proven although its restore has ended; None before that."""
        if self.state != FAILED:
            return None
        known = (self.record.get("failure") or {}).get("cause") or self.record.get("reason")
        return str(known or f"it ended as {status_of(self.record)}, without this volume")

    def shown(self) -> Json:
        """For programs."""
        progress = progress_of(self.part)
        return {
            "volumeId": self.volume_id,
            "state": self.state,
            "restoreId": self.record.get("restoreId"),
            "status": self.record.get("status"),
            "progressPercent": progress[0] if progress else None,
            "cause": self.cause,
        }

    def _has_proven(self, record: Json) -> bool:
        part = _part(record, self.volume_id)
        return bool(part.get("proven") or (part and status_of(record) == READY))


def _part(record: Json, volume_id: str) -> Json:
    """What a record has of a volume that it has made, adopted or rewound."""
    adopted = {plan["index"] for plan in record.get("plans") or [] if plan.get("adopts") == volume_id}
    for part in record.get("volumes") or []:
        ids = {(part.get(name) or {}).get("volumeId") for name in ("volume", "attached", "rewind")}
        if part["index"] in adopted or volume_id in ids:
            return dict(part)
    return {}


def _runs(record: Json) -> bool:
    return not is_over(record)


def _began(record: Json) -> bool:
    """Whether it began at all; a refused one did not, as another had the volume, or the stack was full."""
    return status_of(record) != "refused"


def _is_meant(record: Json) -> bool:
    """Whether it was to warm anything; a dry run was not."""
    is_dry = bool((record.get("request") or {}).get("dryRun"))
    return not is_dry and status_of(record) not in STARTED_NOTHING


class Looker:
    """Asks the API for what may have changed."""

    def __init__(self, reach: Reach, volume_ids: Sequence[str], *, until: float | None, live: bool) -> None:
        self._reach = reach
        self._until = until
        self._live = live
        self._restores: dict[str, list[str]] = {volume_id: [] for volume_id in volume_ids}
        self._records: dict[str, Json] = {}

    def known(self) -> list[Known]:
        """What is known of each volume now."""
        found = {
            volume_id: [self._records[name] for name in names if name in self._records]
            for volume_id, names in self._restores.items()
        }
        return [Known(volume_id, [*filter(_is_meant, records)]) for volume_id, records in found.items()]

    def looks(self) -> Iterator[list[Known]]:
        """What is known after each look, the last time once it is decided or the time is over."""
        pause = FIRST_PAUSE_SECONDS
        before = self.known()
        while True:
            has_waited = self._look(before)
            known = self.known()
            yield known
            if is_decided(known) or (self._until is not None and time.monotonic() >= self._until):
                return
            is_same = [volume.standing for volume in known] == [volume.standing for volume in before]
            pause = min(pause * SLOWER, MOST_PAUSE_SECONDS) if is_same else FIRST_PAUSE_SECONDS
            before = known
            time.sleep(self._within(watching.LEAST_PAUSE_SECONDS if has_waited else pause))

    def _look(self, known: Sequence[Known]) -> bool:
        """One look; whether the API has waited for news meanwhile."""
        for volume in known:
            if volume.state == UNKNOWN:
                self._find(volume.volume_id)
        running = {volume.record["restoreId"]: volume.record for volume in known if volume.state == WARMING}
        is_alone = len(running) == 1 and all(volume.state in {WARMING, PROVEN} for volume in known)
        longest = watching.LIVE_POLL_SECONDS if self._live else watching.LONG_POLL_SECONDS
        has_waited = False
        for restore_id, record in running.items():
            seconds = math.ceil(self._within(longest)) if is_alone else 0
            has_waited = self._read(restore_id, record.get("version"), seconds) and bool(seconds)
        for volume, now in zip(known, self.known(), strict=True):
            if (volume.state, now.state) == (WARMING, FAILED):  # Somebody may have begun again.
                self._find(volume.volume_id)
        return has_waited

    def _find(self, volume_id: str) -> None:
        answer = self._reach.ask(address("restores", volumeId=volume_id))
        if answer is not None:
            self._restores[volume_id] = [entry["restoreId"] for entry in answer["restores"]]
        for name in self._restores[volume_id]:
            if name not in self._records:
                self._read(name)

    def _read(self, restore_id: str, version: str | None = None, seconds: int = 0) -> bool:
        query = {"wait": seconds, "version": version} if version and seconds else {}
        answer = self._reach.ask(path_of(restore_id, **query), waits=seconds if query else 0)
        if answer is not None:
            self._records[restore_id] = answer
        return answer is not None

    def _within(self, seconds: float) -> float:
        """So many seconds, or what is left of the time."""
        left = seconds if self._until is None else self._until - time.monotonic()
        return max(0.0, min(seconds, left))


def is_decided(known: Sequence[Known]) -> bool:
    """Whether all are proven, or one has failed."""
    states = {volume.state for volume in known}
    return FAILED in states or states == {PROVEN}


def watched(settings: Settings, api: Api, volume_ids: Sequence[str], *, minutes: int | None) -> list[Known]:
    """Look until all volumes are proven, one has failed, or the time is over; Ctrl-C ends only this."""
    until = None if minutes is None else time.monotonic() + 60 * minutes
    view = _View(settings)
    known = [Known(volume_id) for volume_id in volume_ids]
    reach = Reach(api)
    looker = Looker(reach, volume_ids, until=until, live=view.is_live)
    try:
        for known in looker.looks():
            if not reach.is_out:
                view.update(known)
    except KeyboardInterrupt:
        view.close()
        say("Stopped looking. Whatever warms the volumes continues.", err=True)
        raise click.exceptions.Exit(STOPPED) from None
    finally:
        view.close()
    return known


def end(settings: Settings, known: Sequence[Known], *, minutes: int | None) -> None:
    """Say how it ended; raises Exit unless all volumes are proven."""
    proven = all(volume.state == PROVEN for volume in known)
    if not settings.for_people:
        settings.emit({"proven": proven, "volumes": [volume.shown() for volume in known]})
    for volume in known:
        if settings.for_people or volume.state == FAILED:
            say(_ending(volume), err=not settings.for_people)
    if not proven and not is_decided(known):
        say(f"Not all volumes are proven after {words.count(minutes or 0, 'minute')}.", err=True)
        raise click.exceptions.Exit(STILL_RUNNING)
    if not proven:
        raise click.exceptions.Exit(NOT_PROVEN)


def _ending(volume: Known) -> str:
    restore_id = volume.record.get("restoreId")
    if volume.state == PROVEN:
        return f"{volume.volume_id} is at full speed: {restore_id} has proven it."
    if volume.state == FAILED:
        return (
            f"{volume.volume_id} is not proven: {restore_id} is {status_of(volume.record)}: {volume.cause}\n"
            f"  See more:  {words.command('status', str(restore_id))}\n"
            f"  Try again: {words.command('warm', volume.volume_id)}"
        )
    return f"{_doing(volume)}."


def _doing(volume: Known) -> str:
    """What is done for a volume that is not proven yet."""
    if volume.state == UNKNOWN:
        typed = words.command("warm", volume.volume_id)
        return f"{volume.volume_id}: no restore or warm-up of it is known yet; `{typed}` starts one"
    said = f"{volume.volume_id}: {volume.record['restoreId']} is {status_of(volume.record)}"
    return ", ".join(filter(None, [said, progress_text(volume.part)]))


def _line(known: Sequence[Known]) -> str:
    """All volumes in a line of a log."""
    open_ones = [volume for volume in known if volume.state != PROVEN]
    more = len(open_ones) - MOST_NAMED
    parts = [_doing(volume) for volume in open_ones[:MOST_NAMED]] + ([f"{more} more"] if more > 0 else [])
    count = f"{len(known) - len(open_ones)} of {words.count(len(known), 'volume')} at full speed"
    return "; ".join([count, *parts])


class _View:
    """A bar for each volume on a terminal; elsewhere a line where something has changed, one a minute."""

    def __init__(self, settings: Settings) -> None:
        from rewarm_cli.output import console

        self._console = console(stderr=not settings.for_people)
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._said = ""
        self._said_at = -LINE_SECONDS

    @property
    def is_live(self) -> bool:
        """Whether a terminal shows the bars."""
        return self._console.is_terminal

    def update(self, known: Sequence[Known]) -> None:
        """Show what is new."""
        if self.is_live:
            self._move(known)
        elif not is_decided(known):
            line = _line(known)
            now = time.monotonic()
            if line != self._said and now >= self._said_at + LINE_SECONDS:
                tell(self._console, line)
                self._said = line
                self._said_at = now

    def close(self) -> None:
        """Remove the bars. Safe to call twice."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _move(self, known: Sequence[Known]) -> None:
        if self._progress is None:
            self._progress = bars(self._console)
            self._progress.start()
        for volume in known[:MOST_BARS]:
            name = volume.volume_id
            found = progress_of(volume.part)
            if name not in self._tasks:
                self._tasks[name] = self._progress.add_task(name, total=None, words="")
            total, done = (100, found[0]) if found else (None, 0)
            text = "at full speed" if volume.state == PROVEN else _doing(volume).partition(": ")[2]
            self._progress.update(self._tasks[name], total=total, completed=done, words=text)
