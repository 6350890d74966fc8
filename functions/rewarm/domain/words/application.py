"""The words of `application`: whether it is back on its instance, and if not, at which part it stands."""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.domain.units import elapsed_text
from rewarm.domain.value import Value
from rewarm.domain.words.message import Message, Severity

NOTHING_UNDONE = "The volumes stay as they are."


class PartEnd(Value):
    """One part, what became of it in one word, why if it failed, and its seconds where they are known."""

    title: str
    state: str
    reason: str = ""
    seconds: float | None = None

    @property
    def sentence(self) -> str:
        """For people."""
        took = "" if self.seconds is None else f" after {elapsed_text(self.seconds)}"
        why = f": {self.reason.rstrip('.')}" if self.reason else ""
        return f"{self.title[0].upper()}{self.title[1:]}: {self.state}{took}{why}."


class ApplicationEnd(Value):
    """How it ended. `seconds` are those since the request; `at_full_speed` whether its volumes were so."""

    instance_id: str
    is_back: bool
    is_unknown: bool
    reason: str
    seconds: float
    parts: Sequence[PartEnd]
    at_full_speed: bool
    volumes: str
    """`vol-…`, or how many there are."""

    @property
    def why_not(self) -> str:
        """The part that did not end well, and why."""
        ended = next((part for part in self.parts if part.state in {"failed", "unknown"}), None)
        reason = self.reason.rstrip(".")
        return f"{ended.title}: {reason}" if ended is not None else reason


def ended(restore_id: str, end: ApplicationEnd) -> Message:
    """The message that the application is back, or that it is not although its volumes are there."""
    there = "at full speed" if end.at_full_speed else "attached"
    are = "are" if end.volumes[0].isdigit() else "is"
    if end.is_back:
        title = f"The application on {end.instance_id} is back after {elapsed_text(end.seconds)}"
        warm = "" if end.at_full_speed else ", and its volume is warmed up now"
        first = f"{end.volumes} {are} {there}, and the application on {end.instance_id} is back{warm}."
    else:
        known = "may not be back" if end.is_unknown else "is not back"
        title = f"{end.volumes} {are} {there}, but the application {known}: {end.why_not}"
        first = f"The application on {end.instance_id} {known}. {NOTHING_UNDONE}"
    return Message(
        event="application",
        restore_id=restore_id,
        title=title,
        text="\n".join([first, *(part.sentence for part in end.parts)]),
        severity=Severity.GOOD if end.is_back else Severity.ERROR,
        fields=(("Time", f"{elapsed_text(end.seconds)} from the request"),) if end.is_back else (),
        next_steps=()
        if end.is_back
        else (f"GET /restores/{restore_id} and the report have what each part printed.",),
    )
