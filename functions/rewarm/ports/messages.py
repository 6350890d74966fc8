"""The ports of what reaches people: the channels that carry messages, and the links to pages in them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from rewarm.ports import JsonObject


class Messages(Protocol):
    """Every channel that the stack has."""

    def send(self, message: JsonObject) -> list[str]:
        """Sends a message of domain.words.message as JSON, and returns the names of the channels that took
        it.

        Its `notify` says which channels the request wants. A channel that fails is left out, and raises
        nothing.
        """


class LinkedPage(NamedTuple):
    """What a link leads to."""

    restore_id: str
    volume_index: int | None
    """The volume whose page it is; None for the page of the whole restore."""


class PageLinks(Protocol):
    """Links that open the page of a restore without an AWS account, each until the time that it says."""

    def link(self, page: LinkedPage, *, until: datetime) -> str:
        """Returns the page's address. Raises an error of domain/errors.py if it cannot be made."""

    def page_of(self, token: str, *, now: datetime) -> LinkedPage | None:
        """Returns the page that a link with this token opens; None if the token is wrong or over."""
