"""S3 in the process: the buckets of one lab, and the calls that the functions make.

An object takes no more memory than its bytes, and a call no longer because there are many objects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from botocore.awsrequest import AWSPreparedRequest
from botocore.httpchecksum import AwsChunkedWrapper

MOST_LISTED = 1_000
XML = {"Content-Type": "application/xml"}
META = "x-amz-meta-"
Answer = tuple[int, dict[str, str], bytes]


@dataclass(frozen=True, slots=True)
class Stored:
    """One object."""

    value: bytes
    written: datetime
    headers: Mapping[str, str] = field(default_factory=dict)
    """Its type and what its writer noted about it, as HTTP has them."""

    @property
    def etag(self) -> str:
        """As S3 makes it of an object in one part."""
        return f'"{hashlib.md5(self.value, usedforsecurity=False).hexdigest()}"'


class Buckets:
    """The service; `now` is what S3 takes the time from."""

    def __init__(self, names: tuple[str, ...], now: Callable[[], float]) -> None:
        self._buckets: dict[str, dict[str, Stored]] = {name: {} for name in names}
        self._now = now
        self._uploads: dict[str, tuple[dict[str, str], dict[int, bytes]]] = {}

    def __getitem__(self, bucket: str) -> dict[str, Stored]:
        """The objects of a bucket by key."""
        return self._buckets[bucket]

    def put(self, bucket: str, key: str, value: bytes, headers: Mapping[str, str] | None = None) -> Stored:
        """Write an object in the place of the one with its key."""
        made = Stored(value, datetime.fromtimestamp(int(self._now()), UTC), headers or {})
        self._buckets[bucket][key] = made
        return made

    def answer(self, operation: str, request: AWSPreparedRequest) -> Answer:
        """Status, headers and body of a call."""
        work = getattr(self, f"_{operation.lower()}", None)
        if work is None:
            raise NotImplementedError(f"S3 {operation}")
        address = urlsplit(request.url)
        query = {name: value[0] for name, value in parse_qs(address.query, keep_blank_values=True).items()}
        bucket, path = address.netloc.partition(".")[0], unquote(address.path).lstrip("/")
        if bucket == "s3":
            bucket, _, path = path.partition("/")
        if bucket not in self._buckets:
            return _error(404, "NoSuchBucket", "The specified bucket does not exist")
        answer: Answer = work(bucket, path, query, request)
        return answer

    def _getobject(self, bucket: str, key: str, _query: Any, request: AWSPreparedRequest) -> Answer:
        found = self._buckets[bucket].get(key)
        if found is None:
            return _error(404, "NoSuchKey", "The specified key does not exist.")
        if "Range" in request.headers:
            return _part(found, _text(request.headers["Range"]))
        return 200, _headers(found), found.value

    def _headobject(self, bucket: str, key: str, _query: Any, _request: AWSPreparedRequest) -> Answer:
        found = self._buckets[bucket].get(key)
        return (404, {}, b"") if found is None else (200, _headers(found), b"")

    def _putobject(self, bucket: str, key: str, _query: Any, request: AWSPreparedRequest) -> Answer:
        """S3 user guide, "How to prevent object overwrites with conditional writes": `If-None-Match: *`."""
        if request.headers.get("If-None-Match") is not None and key in self._buckets[bucket]:
            message = "At least one of the pre-conditions you specified did not hold"
            return _error(412, "PreconditionFailed", message)
        return 200, {"ETag": self.put(bucket, key, _body(request), _noted(request)).etag}, b""

    def _deleteobjects(self, bucket: str, _key: str, _query: Any, request: Any) -> Answer:
        """What is not there counts as deleted; in quiet mode only what failed is named, and nothing does."""
        for one in ET.fromstring(_body(request)).iter():  # noqa: S314
            if one.tag.endswith("Key"):
                self._buckets[bucket].pop(one.text or "", None)
        return _xml("<DeleteResult></DeleteResult>")

    def _listobjectsv2(self, bucket: str, _key: str, query: Any, _request: AWSPreparedRequest) -> Answer:
        prefix, most = query.get("prefix", ""), int(query.get("max-keys", MOST_LISTED))
        after = query.get("continuation-token", query.get("start-after", ""))
        keys = sorted(key for key in self._buckets[bucket] if key.startswith(prefix) and key > after)
        page = keys[:most]
        listed = "".join(_listed(key, self._buckets[bucket][key]) for key in page)
        more = len(page) < len(keys)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        return _xml(
            f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"
            f"<KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>{token}{listed}"
            "</ListBucketResult>"
        )

    def _createmultipartupload(
        self, bucket: str, key: str, _query: Any, request: AWSPreparedRequest
    ) -> Answer:
        upload = f"upload-{len(self._uploads)}"
        self._uploads[upload] = _noted(request), {}
        return _xml(
            f"<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key>"
            f"<UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
        )

    def _uploadpart(self, _bucket: str, _key: str, query: Any, request: AWSPreparedRequest) -> Answer:
        body = _body(request)
        if query["uploadId"] not in self._uploads:
            return _error(404, "NoSuchUpload", "The specified upload does not exist.")
        self._uploads[query["uploadId"]][1][int(query["partNumber"])] = body
        return 200, {"ETag": f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'}, b""

    def _completemultipartupload(self, bucket: str, key: str, query: Any, request: Any) -> Answer:
        if query["uploadId"] not in self._uploads:
            return _error(404, "NoSuchUpload", "The specified upload does not exist.")
        noted, parts = self._uploads.pop(query["uploadId"])
        named = [
            int(one.text or "")
            for one in ET.fromstring(_body(request)).iter()  # noqa: S314
            if one.tag.endswith("PartNumber")
        ]
        made = self.put(bucket, key, b"".join(parts[number] for number in named), noted)
        return _xml(
            f"<CompleteMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key>"
            f"<ETag>{escape(made.etag)}</ETag></CompleteMultipartUploadResult>"
        )

    def _abortmultipartupload(self, _bucket: str, _key: str, query: Any, _request: Any) -> Answer:
        self._uploads.pop(query["uploadId"], None)
        return 204, {}, b""


def _headers(found: Stored) -> dict[str, str]:
    return {
        **found.headers,
        "Content-Length": str(len(found.value)),
        "ETag": found.etag,
        "Last-Modified": format_datetime(found.written, usegmt=True),
    }


def _part(found: Stored, asked: str) -> Answer:
    """Of the form `bytes=0-99` (RFC 9110, 14.1.2); an end behind the object's is the object's."""
    first, last = (int(one) for one in asked.removeprefix("bytes=").split("-"))
    value = found.value[first : last + 1]
    told = {
        "Content-Length": str(len(value)),
        "Content-Range": f"bytes {first}-{first + len(value) - 1}/{len(found.value)}",
    }
    return 206, {**_headers(found), **told}, value


def _noted(request: AWSPreparedRequest) -> dict[str, str]:
    told = {name.lower(): _text(value) for name, value in request.headers.items()}
    kept = {name: value for name, value in told.items() if name.startswith(META)}
    return {**kept, "Content-Type": told.get("content-type", "binary/octet-stream")}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _body(request: AWSPreparedRequest) -> bytes:
    body: Any = request.body
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, AwsChunkedWrapper):
        return _unchunked(body.read())
    read = getattr(body, "read", None)
    return bytes(body if read is None else read())


def _unchunked(sent: bytes) -> bytes:
    """S3 API reference, "aws-chunked": each piece follows its length; a trailer has the checksum."""
    pieces: list[bytes] = []
    at = 0
    while True:
        end = sent.index(b"\r\n", at)
        length = int(sent[at:end].partition(b";")[0], 16)
        if length == 0:
            return b"".join(pieces)
        pieces.append(sent[end + 2 : end + 2 + length])
        at = end + 2 + length + 2


def _listed(key: str, found: Stored) -> str:
    return (
        f"<Contents><Key>{escape(key)}</Key><LastModified>{found.written:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
        f"<ETag>{escape(found.etag)}</ETag><Size>{len(found.value)}</Size></Contents>"
    )


def _xml(text: str) -> Answer:
    return 200, dict(XML), text.encode()


def _error(status: int, code: str, message: str) -> Answer:
    return status, dict(XML), f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
