"""Puts the warm-up agent's binaries where instances can download them, each under its own SHA-256."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rewarm.adapters.artifacts import AGENT_INDEX_KEY
from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.errors import RequestRefusedError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

AGENTS_PREFIX = "agents/"
_NAME = re.compile(r"warmer-(?P<platform>linux|windows)-(?P<architecture>x86_64|arm64)(\.exe)?")
_DELETED_AT_ONCE = 1_000


class AgentStore:
    """The binaries and their index in one bucket."""

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def publish(self, directory: Path) -> dict[str, dict[str, str]]:
        """Copies the binaries of a folder and writes the index; the index goes last, so it never names a gap.

        Older binaries stay: a restore that is under way may still be about to download one.
        """
        index = {}
        for path in sorted(directory.iterdir()):
            if match := _NAME.fullmatch(path.name):
                index[f"{match['platform']}-{match['architecture']}"] = self._copy(path)
        if not index:
            raise RequestRefusedError(
                f"{directory} holds no warm-up agent, that is no file like warmer-linux-arm64"
            )
        self._put(AGENT_INDEX_KEY, json.dumps(index, sort_keys=True).encode(), "application/json")
        return index

    def remove(self) -> int:
        """Deletes everything that any `publish` wrote; how many objects it were."""
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

    def _copy(self, path: Path) -> dict[str, str]:
        binary = path.read_bytes()
        sha256 = hashlib.sha256(binary).hexdigest()
        key = f"{AGENTS_PREFIX}{sha256}/{path.name}"
        self._put(key, binary, "application/octet-stream")
        return {"key": key, "sha256": sha256}

    def _put(self, key: str, content: bytes, content_type: str) -> None:
        with naming_errors():
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=content, ContentType=content_type)
