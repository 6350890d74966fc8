"""The port UndoLogs on S3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from rewarm.adapters.aws_errors import naming_errors
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.ports.artifacts import LogObject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

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
                for one in page.get("Contents", []):
                    yield LogObject(one["Key"], one["Size"], one["LastModified"])

    def delete(self, keys: Iterable[str]) -> int:
        rest, deleted = iter(keys), 0
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
