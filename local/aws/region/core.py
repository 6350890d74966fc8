"""What every part of the Region shares: time, one lock, timers, and work put off until the lock is free."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any, Protocol

from local import Json
from local.aws.clock import Clock
from local.aws.machines.dataplane import DataPlane
from local.aws.region.errors import ApiError
from local.aws.region.settings import RegionSettings, partition_of

LOG = logging.getLogger(__name__)


Work = Callable[[], None]
Timer = Callable[[float], None]
"""What to do when its time has come; it gets the instant at which it was due."""


class EventSink(Protocol):
    """Takes the events that AWS would put on the default event bus."""

    def __call__(self, detail_type: str, source: str, detail: Json, resources: list[str]) -> None:
        """Deliver one event."""


class Core:
    """Shared state of one Region. Its tables belong to the parts; only time and order are here."""

    def __init__(
        self, clock: Clock, dataplane: DataPlane, settings: RegionSettings, on_event: EventSink | None
    ) -> None:
        self.clock = clock
        self.dataplane = dataplane
        self.settings = settings
        self._on_event = on_event
        self._lock = threading.Lock()
        self._after: list[Work] = []
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self.event_copies: Callable[[str], int] = lambda _detail_type: 1

    def now(self) -> float:
        """Seconds since the epoch, in lab time."""
        return self.clock.now()

    def busy(self, holder: str, works: Callable[[], bool] | None = None) -> AbstractContextManager[None]:
        """Lab time keeps to real time meanwhile, where it is a clock that could run ahead."""
        hold: Callable[..., AbstractContextManager[None]] | None = getattr(self.clock, "busy", None)
        return nullcontext() if hold is None else hold(holder, works)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the lock; then, without it, do what was put off by `later` and `emit`."""
        after: list[Work] = []
        try:
            with self._lock:
                self._after = after
                try:
                    yield
                finally:
                    self._after = []
        finally:
            _do_all(after)

    def later(self, work: Work) -> None:
        """Do `work` once the lock is free: whatever touches the data plane or leaves the process."""
        self._after.append(work)

    def at(self, due: float, timer: Timer) -> None:
        """Do `timer` under the lock when lab time has reached `due`."""
        heapq.heappush(self._timers, (due, next(self._order), timer))

    def settle(self) -> None:
        """Do everything that is due by now."""
        while self._settle_one():
            pass

    def emit(self, detail_type: str, detail: Json, resources: Sequence[str], source: str = "aws.ec2") -> None:
        """Send an event once the lock is free. A sink that fails is logged: AWS's events are best effort."""
        for _ in range(self.event_copies(detail_type)):
            self.later(lambda: self._deliver(detail_type, source, dict(detail), list(resources)))

    def arn(self, resource: str, service: str = "ec2", *, account: bool = True) -> str:
        """The ARN of a resource such as `volume/vol-…` in this Region."""
        owner = self.settings.account_id if account else ""
        partition, _domain = partition_of(self.settings.region)
        return f"arn:{partition}:{service}:{self.settings.region}:{owner}:{resource}"

    def _settle_one(self) -> bool:
        try:
            with self.transaction():
                if not self._timers or self._timers[0][0] > self.now():
                    return False
                due, _, timer = heapq.heappop(self._timers)
                timer(due)
        except Exception:
            LOG.exception("a timer of the Region failed")
        return True

    def _deliver(self, detail_type: str, source: str, detail: Json, resources: list[str]) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(detail_type, source, detail, resources)
        except Exception:
            LOG.exception("the event sink refused %s", detail_type)


def _do_all(after: list[Work]) -> None:
    """Do every piece of work, whatever becomes of the others; the first failure is the caller's."""
    failures: list[Exception] = []
    for work in after:
        try:
            work()
        except Exception as error:
            failures.append(error)
    for failure in failures[1:]:
        LOG.error("work of the Region failed", exc_info=failure)
    if failures:
        raise failures[0]


def new_id(prefix: str) -> str:
    """An id as EC2 makes them: the prefix and 17 hexadecimal digits."""
    return f"{prefix}-{uuid.uuid4().hex[:17]}"


def request_id() -> str:
    """The request id in an event's detail."""
    return str(uuid.uuid4())


def stamp(instant: float) -> datetime:
    """Lab time as botocore's timestamps."""
    return datetime.fromtimestamp(instant, UTC)


def optional_stamp(instant: float | None) -> datetime | None:
    """`stamp`, or None where there is no instant."""
    return None if instant is None else stamp(instant)


def iso(instant: float) -> str:
    """Lab time as AWS writes it in events: 2026-01-02T03:04:05Z."""
    return stamp(instant).strftime("%Y-%m-%dT%H:%M:%SZ")


def refuse_dry_run(params: Json) -> None:
    """EC2's answer to DryRun, once everything else about the request is right."""
    if params.get("DryRun"):
        raise ApiError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


def tidy(value: Any) -> Any:
    """The answer without members that are None, as AWS leaves them out."""
    if isinstance(value, dict):
        return {key: tidy(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [tidy(item) for item in value]
    return value
