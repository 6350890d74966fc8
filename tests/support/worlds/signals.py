"""Working in-memory implementations of the ports Waiters and Tasks."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class FakeWaiters:
    """Port Waiters."""

    tokens: dict[str, set[str]] = field(default_factory=dict)
    seconds: dict[str, int] = field(default_factory=dict)

    def add(self, signal: str, token: str, *, seconds: int) -> None:
        self.tokens.setdefault(signal, set()).add(token)
        self.seconds[signal] = seconds

    def replace(self, signal: str, token: str, *, seconds: int) -> None:
        self.tokens[signal] = {token}
        self.seconds[signal] = seconds

    def take(self, signal: str) -> list[str]:
        return sorted(self.tokens.pop(signal, set()))


@dataclass
class FakeTasks:
    """Port Tasks."""

    waiting: set[str] = field(default_factory=set)
    woken: list[str] = field(default_factory=list)

    def wake(self, token: str) -> bool:
        if token not in self.waiting:
            return False
        self.waiting.remove(token)
        self.woken.append(token)
        return True
