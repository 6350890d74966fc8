"""The artifacts bucket."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rewarm.domain.volume.extents import Runs
from rewarm.ports import JsonObject


class Artifacts(Protocol):
    """The bucket with the agent's binaries, block maps, progress and reports."""

    def put_json(self, key: str, value: JsonObject) -> None:
        """Writes one JSON object."""

    def put_page(self, key: str, html: str) -> None:
        """Writes a page for browsers."""

    def get_json(self, key: str) -> JsonObject | None:
        """None where there is no such object, or it is not JSON (a progress line cut short)."""

    def get_text(self, key: str, *, most_bytes: int) -> str | None:
        """None where there is no such object, or a larger one."""

    def put_map(self, key: str, parts: Iterable[Runs]) -> int:
        """Writes a block map as the agent reads it, `start count` a line; returns how many blocks it has."""

    def agent(self, platform: str, architecture: str) -> tuple[str, str]:
        """(key, sha256) of the agent's binary. Raises TargetNotUsableError where there is none for it."""

    def download_url(self, key: str, *, expires_seconds: int) -> str:
        """A presigned GET; it ends with the credentials that sign it, whatever it says itself."""

    def upload_url(self, key: str, *, expires_seconds: int) -> str:
        """A presigned PUT."""
