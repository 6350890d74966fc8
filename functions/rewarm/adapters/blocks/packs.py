"""The ports PackStore and UndoLogs on S3.

A pack's user-defined metadata has what a manifest says of the pack.
"""

from __future__ import annotations

import base64
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import IO, TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from rewarm.adapters.artifacts import UPLOAD, TextReader
from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.blocks.side_by_side import in_order
from rewarm.domain.blocks.packs import HEAD_BYTES, PackFacts, PackIndex, index_length, pack_index
from rewarm.domain.errors import BlockDamagedError
from rewarm.domain.units import iso

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef
from itertools import islice
from typing import TYPE_CHECKING

from rewarm.domain.errors import ServiceUnavailableError
from rewarm.ports.artifacts import LogObject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

THREADS = 8
FIRST_BYTES = 98_304
"""Bytes of a pack that hold its index: some 130 a line, and 512 blocks at most."""
_MISSING = ("NoSuchKey", "404")
_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict")
CLAIM = ".claim"


class S3Packs:
    """The port PackStore."""

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def put_text(self, key: str, lines: Iterable[str]) -> None:
        with naming_errors():
            self._s3.upload_fileobj(
                cast("IO[bytes]", TextReader(lines)),
                self._bucket,
                key,
                ExtraArgs={"ContentType": "application/x-ndjson"},
                Config=UPLOAD,
            )

    def texts(self, keys: Sequence[str]) -> Iterator[str | None]:
        return in_order(self._text, keys, threads=THREADS, look_ahead=2 * THREADS)

    def _text(self, key: str, _ended: threading.Event) -> str | None:
        with naming_errors():
            try:
                return self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read().decode()
            except ClientError as error:
                if code_of(error) in _MISSING:
                    return None
                raise

    def put_pack(self, key: str, data: bytes, facts: PackFacts, *, made_at: datetime) -> None:
        # With a checksum given, botocore sends the pack whole, not in pieces with a checksum at the end.
        checksum = base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()
        with naming_errors():
            self._s3.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=data,
                ChecksumCRC32=checksum,
                ContentType="application/zstd",
                Metadata={"blocks": str(facts.blocks), "index": facts.index_sha256, "made-at": iso(made_at)},
            )

    def claim(self, key: str, owner: str, *, claimed_at: datetime, claimed_after: datetime) -> bool:
        """Amazon S3 user guide, "Conditional writes": `If-None-Match: *` lets one of several writers win."""
        metadata = {"owner": owner, "claimed-at": iso(claimed_at)}
        claim = partial(self._s3.put_object, Bucket=self._bucket, Key=f"{key}{CLAIM}", Metadata=metadata)
        with naming_errors():
            try:
                claim(IfNoneMatch="*")
            except ClientError as error:
                if code_of(error) not in _TAKEN:
                    raise
                found = self._head(f"{key}{CLAIM}")
                standing = found["Metadata"] if found else {}
                since = datetime.fromisoformat(standing.get("claimed-at") or iso(claimed_after))
                if standing.get("owner") != owner and since > claimed_after:
                    return False
                claim()
            return True

    def pack(self, key: str, *, made_after: datetime) -> PackFacts | None:
        with naming_errors():
            found = self._head(key)
        metadata = found["Metadata"] if found else {}
        # Any other object under this name lacks this metadata and is overwritten.
        if found is None or not {"blocks", "index", "made-at"} <= metadata.keys():
            return None
        if datetime.fromisoformat(metadata["made-at"]) <= made_after:
            return None
        return PackFacts(found["ContentLength"], int(metadata["blocks"]), metadata["index"])

    def keys(self, prefix: str) -> Iterator[str]:
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        with naming_errors():
            for page in pages:
                yield from (entry["Key"] for entry in page.get("Contents", []))

    def indices(self, keys: Iterable[str]) -> Iterator[PackIndex]:
        return in_order(self._index, keys, threads=THREADS, look_ahead=2 * THREADS)

    def _index(self, key: str, _ended: threading.Event) -> PackIndex:
        begin = self._got(key, Range=f"bytes=0-{FIRST_BYTES - 1}")
        try:
            length = index_length(begin)
            if length > FIRST_BYTES - HEAD_BYTES:
                begin = self._got(key, Range=f"bytes=0-{HEAD_BYTES + length - 1}")
            return pack_index(begin)
        except ValueError as error:
            raise BlockDamagedError(f"{key} in the bucket is not the pack that it was: {error}") from error

    def bytes_of(self, key: str) -> bytes:
        return self._got(key)

    def _got(self, key: str, **options: Any) -> bytes:
        with naming_errors():
            try:
                return self._s3.get_object(Bucket=self._bucket, Key=key, **options)["Body"].read()
            except ClientError as error:
                if code_of(error) in _MISSING:
                    raise BlockDamagedError(f"{key} is not in the bucket any more") from error
                raise

    def _head(self, key: str) -> HeadObjectOutputTypeDef | None:
        try:
            return self._s3.head_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            if code_of(error) in _MISSING:
                return None
            raise


DELETED_AT_ONCE = 1_000
"""botocore: s3 DeleteObjects."""


class S3UndoLogs:
    """The port UndoLogs."""

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def objects(self, prefix: str) -> Iterator[LogObject]:
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        with naming_errors():
            for page in pages:
                for entry in page.get("Contents", []):
                    yield LogObject(entry["Key"], entry["Size"], entry["LastModified"])

    def delete(self, keys: Iterable[str]) -> int:
        rest = iter(keys)
        deleted = 0
        while part := list(islice(rest, DELETED_AT_ONCE)):
            wanted: list[ObjectIdentifierTypeDef] = [{"Key": key} for key in part]
            with naming_errors():
                answer = self._s3.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": wanted, "Quiet": True}
                )
            if failed := answer.get("Errors"):
                why = failed[0].get("Message")
                raise ServiceUnavailableError(f"S3 did not delete {failed[0].get('Key')}: {why}")
            deleted += len(part)
        return deleted
