"""Many calls of AWS at once, in threads, with answers in order and a limit on those held in memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Part, threading.Event], Result],
    parts: Iterable[Part],
    *,
    threads: int,
    look_ahead: int,
) -> Iterator[Result]:
    """Yields what `work` returns for each part, in the order of the parts.

    At most `look_ahead` results are under way or wait for the caller. If the caller stops early, parts that
    have not begun are dropped, and running ones see the event set.
    """
    ended = threading.Event()
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="side-by-side")
    try:
        for part in parts:
            waiting.append(pool.submit(work, part, ended))
            if len(waiting) >= look_ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        ended.set()
        pool.shutdown(cancel_futures=True)
