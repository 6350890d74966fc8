"""Links to pages: each names the restore and the time at which it ends, and is signed with the restore's key.

A presigned address of S3 ends with its signer's credentials, even if its own time is longer (S3 user guide,
"Sharing objects with presigned URLs"). These links last as long as they say: the function behind them checks
the signature and the time, and then signs a fresh address.

A restore's key is 244 random bits in a separate item, `page-key#<id>`, which no route of the API shows.
Deleting the item ends all links of the restore.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from rewarm.adapters.table.restores import RESTORE_SECONDS
from rewarm.adapters.table.table_items import TableItems
from rewarm.domain.errors import PartLeftOutError
from rewarm.ports.messages import LinkedPage

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_TOKEN = re.compile(
    r"(?P<restore>.{1,80})\.(?P<index>[0-9]{0,4})\.(?P<until>[0-9]{1,12})\.(?P<mac>[A-Za-z0-9_-]{43})"
)
"""Restore, volume, end as seconds of Unix time, HMAC-SHA256. Names of executions have 80 characters."""


class DynamoPageLinks(TableItems):
    """The port PageLinks."""

    def __init__(self, dynamodb: DynamoDBClient, table: str, base_url: str) -> None:
        super().__init__(dynamodb, table)
        self._base_url = base_url

    def link(self, page: LinkedPage, *, until: datetime) -> str:
        """The key is made with the first link of a restore, and read with every other one."""
        if not self._base_url:
            raise PartLeftOutError("no page opens without an API for it")
        item = self._update(
            _key(page.restore_id),
            "SET signingKey = if_not_exists(signingKey, :new), "
            "expiresAt = if_not_exists(expiresAt, :expires)",
            # Each has 122 bits of os.urandom.
            values={":new": uuid.uuid4().hex + uuid.uuid4().hex, ":expires": self._expiry(RESTORE_SECONDS)},
            returning="ALL_NEW",
        )
        ends = int(until.timestamp())
        index = "" if page.volume_index is None else str(page.volume_index)
        mac = _mac(str((item or {})["signingKey"]), page, ends)
        return f"{self._base_url}/pages/{quote(page.restore_id, safe='')}.{index}.{ends}.{mac}"

    def page_of(self, token: str, *, now: datetime) -> LinkedPage | None:
        found = _TOKEN.fullmatch(token)
        if found is None:
            return None
        page = LinkedPage(found["restore"], int(found["index"]) if found["index"] else None)
        key = (self._get(_key(page.restore_id)) or {}).get("signingKey")
        if key is None or not hmac.compare_digest(_mac(key, page, int(found["until"])), found["mac"]):
            return None
        return page if now < datetime.fromtimestamp(int(found["until"]), UTC) else None


def _mac(key: str, page: LinkedPage, ends: int) -> str:
    text = f"{page.restore_id}\n{page.volume_index}\n{ends}"
    signature = hmac.digest(bytes.fromhex(key), text.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def _key(restore_id: str) -> str:
    return f"page-key#{restore_id}"
