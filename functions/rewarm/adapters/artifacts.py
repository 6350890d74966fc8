"""The artifacts bucket on S3."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.domain.errors import RequestRefusedError, TargetNotUsableError
from rewarm.domain.model import MIB
from rewarm.domain.ready import agent_output
from rewarm.domain.volume.extents import Runs
from rewarm.ports import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

_LARGEST_JSON = 16_384
"""The agent's lines have some hundred bytes. Whoever has the upload address can write more, and what does not
fit a state's payload ends an execution without any Catch (States.DataLimitExceeded)."""
UPLOAD = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB, max_concurrency=2)
UPLOAD.max_in_memory_upload_chunks = 4  # each holds a part until it is sent
LONGEST_SIGNATURE_SECONDS = 604_800
"""S3 refuses presigned addresses for more than 7 days."""


class S3Artifacts:
    """The port Artifacts."""

    def __init__(self, s3: S3Client, bucket: str, agents: Mapping[str, str] | None = None) -> None:
        self._s3 = s3
        self._bucket = bucket
        self._agents = agents or {}
        """SHA-256 by `platform-architecture`. It never comes from the bucket, which others may write to."""

    def put_json(self, key: str, value: JsonObject | list[JsonObject]) -> None:
        self._put(key, json.dumps(value, default=str), "application/json")

    def put_page(self, key: str, html: str) -> None:
        self._put(key, html, "text/html; charset=utf-8")

    def get_json(self, key: str) -> JsonObject | None:
        body = self._read(key, _LARGEST_JSON)
        return agent_output.parsed(body) if body is not None else None

    def get_text(self, key: str, *, most_bytes: int) -> str | None:
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

    def written(self, prefix: str, *, most: int) -> dict[str, datetime]:
        found: dict[str, datetime] = {}
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        with naming_errors():
            for page in pages:
                found |= {entry["Key"]: entry["LastModified"] for entry in page.get("Contents", [])}
                if len(found) >= most:
                    break
        return found

    def put_map(self, key: str, parts: Iterable[Runs]) -> int:
        """Sends the map in parts while it is read: it may have some hundred megabytes."""
        text = MapText(parts)
        with naming_errors():
            self._s3.upload_fileobj(
                cast("IO[bytes]", text),
                self._bucket,
                key,
                ExtraArgs={"ContentType": "text/plain"},
                Config=UPLOAD,
            )
        return text.block_count

    def agent(self, platform: str, architecture: str) -> tuple[str, str]:
        sha256 = self._agents.get(f"{platform}-{architecture}")
        if sha256 is None:
            have = ", ".join(sorted(self._agents)) or "none"
            raise TargetNotUsableError(
                f"there is no warm-up agent for {platform} on {architecture}; there is: {have}"
            )
        return agent_key(sha256), sha256

    def download_url(self, key: str, *, expires_seconds: int) -> str:
        return self._signed("get_object", key, expires_seconds)

    def upload_url(self, key: str, *, expires_seconds: int, once: bool = False) -> str:
        """Signs the header `If-None-Match` too (Amazon S3 user guide, "Conditional writes")."""
        return self._signed("put_object", key, expires_seconds, **({"IfNoneMatch": "*"} if once else {}))

    def _put(self, key: str, text: str, content_type: str) -> None:
        with naming_errors():
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=text.encode(), ContentType=content_type)

    def _signed(self, operation: str, key: str, expires_seconds: int, **options: str) -> str:
        # An address expires with the credentials that sign it, even if its own time is longer.
        with naming_errors():
            return self._s3.generate_presigned_url(
                operation,
                Params={"Bucket": self._bucket, "Key": key, **options},
                ExpiresIn=min(expires_seconds, LONGEST_SIGNATURE_SECONDS),
            )


class TextReader:
    """What upload_fileobj reads: texts that are made while they are sent."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = iter(texts)
        self._ahead = bytearray()

    def read(self, size: int = -1) -> bytes:
        """As many bytes as asked for: fewer only at the end, which is how its reader knows the end."""
        while size < 0 or len(self._ahead) < size:
            text = next(self._texts, None)
            if text is None:
                break
            self._ahead += text.encode()
        end = len(self._ahead) if size < 0 else size
        taken = bytes(self._ahead[:end])
        del self._ahead[:end]
        return taken


class MapText(TextReader):
    """`start count` a line, in decimal, as warmer --map takes it."""

    def __init__(self, parts: Iterable[Runs]) -> None:
        self.block_count = 0
        """Blocks in what was read so far."""
        super().__init__(self._lines(parts))

    def _lines(self, parts: Iterable[Runs]) -> Iterator[str]:
        for part in parts:
            self.block_count += part.block_count
            yield "".join(f"{start} {count}\n" for start, count in zip(part.starts, part.counts, strict=True))


AGENTS_PREFIX = "agents/"


def agent_key(sha256: str) -> str:
    """Where the agent with this hash is."""
    return f"{AGENTS_PREFIX}{sha256}/warmer"


_NAME = re.compile(r"warmer-(?P<platform>linux|windows)-(?P<architecture>x86_64|arm64)(\.exe)?")
_DELETED_AT_ONCE = 1_000


class AgentStore:
    """The binaries in one bucket."""

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def publish(self, directory: Path, wanted: Mapping[str, str]) -> dict[str, str]:
        """Copies the binaries of a folder, and returns their hashes by `platform-architecture`.

        Older binaries stay: a restore that is under way may still be about to download one. Raises
        RequestRefusedError, before it copies any, if they are not the `wanted` ones.
        """
        found = {
            f"{match['platform']}-{match['architecture']}": path.read_bytes()
            for path in sorted(directory.iterdir())
            if (match := _NAME.fullmatch(path.name))
        }
        if not found:
            raise RequestRefusedError(
                f"{directory} holds no warm-up agent, that is no file like warmer-linux-arm64"
            )
        hashes = {name: hashlib.sha256(binary).hexdigest() for name, binary in found.items()}
        if hashes != wanted:
            raise RequestRefusedError(
                f"the agents in {directory} ({hashes}) are not those of the functions' package "
                f"({dict(wanted)}); layer and package must be of one build"
            )
        for name, sha256 in hashes.items():
            self._put(agent_key(sha256), found[name], "application/octet-stream")
        return hashes

    def remove(self) -> int:
        """Deletes everything that any `publish` wrote, and returns the number of objects."""
        with naming_errors():
            pages = self._s3.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=AGENTS_PREFIX
            )
            keys: list[ObjectIdentifierTypeDef] = [
                {"Key": found["Key"]} for page in pages for found in page.get("Contents", [])
            ]
            for start in range(0, len(keys), _DELETED_AT_ONCE):
                part = keys[start : start + _DELETED_AT_ONCE]
                answer = self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": part, "Quiet": True})
                for error in answer.get("Errors", []):
                    raise RequestRefusedError(f"DeleteObjects: {error.get('Key')}: {error.get('Code')}")
        return len(keys)

    def _put(self, key: str, content: bytes, content_type: str) -> None:
        with naming_errors():
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=content, ContentType=content_type)
