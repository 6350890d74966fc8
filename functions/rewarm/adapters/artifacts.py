"""The artifacts bucket on S3."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, cast

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.map_text import MapText
from rewarm.domain.errors import TargetNotUsableError
from rewarm.domain.model import MIB
from rewarm.domain.ready import agent_output
from rewarm.domain.volume.extents import Runs
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

AGENT_INDEX_KEY = "agents/index.json"
"""`{"linux-x86_64": {"key": …, "sha256": …}}`, written at deployment by handlers/publish_agent.py."""
_LARGEST_JSON = 16_384
"""The agent's lines have some hundred bytes. Whoever has the upload address can write more, and what does not
fit a state's payload ends an execution without any Catch (States.DataLimitExceeded)."""
_UPLOAD = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB, max_concurrency=2)
_UPLOAD.max_in_memory_upload_chunks = 4  # each holds a part until it is sent
LONGEST_SIGNATURE_SECONDS = 604_800
"""S3 refuses presigned addresses for more than 7 days."""


class S3Artifacts:
    """The port Artifacts."""

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def put_json(self, key: str, value: JsonObject) -> None:
        """Writes one JSON object."""
        self._put(key, json.dumps(value, default=str), "application/json")

    def put_page(self, key: str, html: str) -> None:
        """Writes a page for browsers."""
        self._put(key, html, "text/html; charset=utf-8")

    def get_json(self, key: str) -> JsonObject | None:
        """None where there is no such object, or it is not JSON (a progress line cut short)."""
        body = self._read(key, _LARGEST_JSON)
        return agent_output.parsed(body) if body is not None else None

    def get_text(self, key: str, *, most_bytes: int) -> str | None:
        """None where there is no such object, or a larger one."""
        body = self._read(key, most_bytes)
        return body.decode(errors="replace") if body is not None else None

    def _read(self, key: str, most_bytes: int) -> bytes | None:
        with naming_errors():
            try:
                body = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read(most_bytes + 1)
            except ClientError as error:
                if code_of(error) in ("NoSuchKey", "404"):
                    return None
                raise
        return body if len(body) <= most_bytes else None

    def put_map(self, key: str, parts: Iterable[Runs]) -> int:
        """Writes a block map as the agent reads it, `start count` a line; returns how many blocks it names.

        It goes out as it comes in, in several parts where it is large: it may have some hundred megabytes.
        """
        text = MapText(parts)
        with naming_errors():
            self._s3.upload_fileobj(
                cast("IO[bytes]", text),
                self._bucket,
                key,
                ExtraArgs={"ContentType": "text/plain"},
                Config=_UPLOAD,
            )
        return text.block_count

    def agent(self, platform: str, architecture: str) -> tuple[str, str]:
        """(key, sha256) of the agent's binary. Raises TargetNotUsableError where there is none for it."""
        index = self.get_json(AGENT_INDEX_KEY) or {}
        found = index.get(f"{platform}-{architecture}")
        if not found:
            have = ", ".join(sorted(index)) or "none"
            raise TargetNotUsableError(
                f"there is no warm-up agent for {platform} on {architecture}; there is: {have}"
            )
        return str(found["key"]), str(found["sha256"])

    def download_url(self, key: str, *, expires_seconds: int) -> str:
        """A presigned GET."""
        return self._signed("get_object", key, expires_seconds)

    def upload_url(self, key: str, *, expires_seconds: int) -> str:
        """A presigned PUT."""
        return self._signed("put_object", key, expires_seconds)

    def _put(self, key: str, text: str, content_type: str) -> None:
        with naming_errors():
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=text.encode(), ContentType=content_type)

    def _signed(self, operation: str, key: str, expires_seconds: int) -> str:
        # It is valid no longer than the credentials it is signed with, whatever it says itself.
        with naming_errors():
            return self._s3.generate_presigned_url(
                operation,
                Params={"Bucket": self._bucket, "Key": key},
                ExpiresIn=min(expires_seconds, LONGEST_SIGNATURE_SECONDS),
            )
