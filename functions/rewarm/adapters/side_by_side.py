"""Many calls of AWS at once, in threads; their answers in order, and no more ahead than memory may hold."""

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

    So many results at most are under way or wait to be taken. Whoever stops listening stops them all: parts
    that have not begun are left out, and those that have can look at the event.
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
