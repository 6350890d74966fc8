"""The ports of the artifacts bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol

from rewarm.domain.value import Value
from rewarm.domain.volume.extents import Runs
from rewarm.ports import JsonObject


class Artifacts(Protocol):
    """The S3 bucket with the agent's binaries, block maps, progress, plans and reports."""

    def put_json(self, key: str, value: JsonObject | list[JsonObject]) -> None:
        """Writes one JSON object, or a list of them, and replaces what the key had."""

    def put_page(self, key: str, html: str) -> None:
        """Writes a page for browsers."""

    def get_json(self, key: str) -> JsonObject | None:
        """Returns the object; None if there is none, or if it is not JSON (a line that is cut short)."""

    def get_text(self, key: str, *, most_bytes: int) -> str | None:
        """Returns the object's text; None if there is no object, or one of more than `most_bytes`."""

    def written(self, prefix: str, *, most: int) -> dict[str, datetime]:
        """Returns when each object with this prefix was written, by key; the first `most` or some more."""

    def put_map(self, key: str, parts: Iterable[Runs]) -> int:
        """Writes a block map for the agent (`start count` per line), and returns its number of blocks."""

    def agent(self, platform: str, architecture: str) -> tuple[str, str]:
        """Returns the key and the SHA-256 of the agent's binary.

        Raises TargetNotUsableError if there is no agent for the platform and the architecture.
        """

    def download_url(self, key: str, *, expires_seconds: int) -> str:
        """Returns a presigned GET. It ends with the credentials that sign it, if that is earlier."""

    def upload_url(self, key: str, *, expires_seconds: int, once: bool = False) -> str:
        """Returns a presigned PUT, which ends as a download address does.

        With `once` it must be sent with `If-None-Match: *`, and S3 refuses to replace an object.
        """


class LogObject(Value):
    """A pack of a log, or its head."""

    key: str
    size_bytes: int
    written_at: datetime


class UndoLogs(Protocol):
    """The objects of undo logs. Nothing else is needed to find a log, to price it, and to use it."""

    def objects(self, prefix: str) -> Iterator[LogObject]:
        """Yields all objects whose keys begin so, by key."""

    def delete(self, keys: Iterable[str]) -> int:
        """Deletes them in this order, and returns how many there were. What is gone already does no harm.

        Raises ServiceUnavailableError if S3 leaves some.
        """
