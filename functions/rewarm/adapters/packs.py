"""The port PackStore on S3. What a manifest says of a pack is the pack's user-defined metadata."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import IO, TYPE_CHECKING, cast

from botocore.exceptions import ClientError

from rewarm.adapters.artifacts import UPLOAD, TextReader
from rewarm.adapters.aws_errors import code_of, naming_errors
from rewarm.adapters.side_by_side import in_order
from rewarm.domain.blocks.packs import PackFacts
from rewarm.domain.units import iso

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

THREADS = 8
_MISSING = ("NoSuchKey", "404")


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
        with naming_errors():
            self._s3.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=data,
                ContentType="application/zstd",
                Metadata={"blocks": str(facts.blocks), "index": facts.index_sha256, "made-at": iso(made_at)},
            )

    def pack(self, key: str, *, made_after: datetime) -> PackFacts | None:
        with naming_errors():
            try:
                found = self._s3.head_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if code_of(error) in _MISSING:
                    return None
                raise
        told = found["Metadata"]
        if datetime.fromisoformat(told["made-at"]) <= made_after:
            return None
        return PackFacts(found["ContentLength"], int(told["blocks"]), told["index"])
