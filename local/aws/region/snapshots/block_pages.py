"""Pages of blocks as the EBS direct APIs list them, and the tokens in them.

A block token is good for one block of one snapshot until it expires; here it says so itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import overload

from local import Json

DIGEST_CHARS, EXPIRY_CHARS = 43, 9


class BlockPage(Sequence[Json]):
    """The blocks of one answer: members when asked for them, and JSON at once for the wire.

    Serializing 10,000 members one by one takes longer than AWS's request limit allows between two pages.
    """

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, BlockPage) else other)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> Json: ...

    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...

    def __getitem__(self, index: int | slice) -> Json | list[Json]:
        if isinstance(index, slice):
            return [self._member(number) for number in range(len(self))[index]]
        return self._member(index)

    def json(self) -> str:
        """The list as JSON."""
        return json.dumps(list(self))

    @abstractmethod
    def _member(self, number: int) -> Json: ...


class WrittenPage(BlockPage):
    """`Blocks` of ListSnapshotBlocks."""

    def __init__(self, snapshot_id: str, indices: list[int], expires: int) -> None:
        self._indices = indices
        self._token = _start(snapshot_id, expires)

    def __len__(self) -> int:
        return len(self._indices)

    def json(self) -> str:
        form = '{"BlockIndex":%d,"BlockToken":"' + self._token + '%08x"}'
        return "[" + ",".join([form % (index, index) for index in self._indices]) + "]"

    def _member(self, number: int) -> Json:
        index = self._indices[number]
        return {"BlockIndex": index, "BlockToken": f"{self._token}{index:08x}"}


class ChangedPage(BlockPage):
    """`ChangedBlocks` of ListChangedBlocks: for each block its index, and whether each snapshot has it."""

    def __init__(
        self, snapshot_ids: tuple[str, str], blocks: list[tuple[int, bool, bool]], expires: int
    ) -> None:
        self._blocks = blocks
        self._tokens = tuple(_start(snapshot_id, expires) for snapshot_id in snapshot_ids)

    def __len__(self) -> int:
        return len(self._blocks)

    def _member(self, number: int) -> Json:
        index, *held = self._blocks[number]
        tokens = zip(("FirstBlockToken", "SecondBlockToken"), self._tokens, held, strict=True)
        return {"BlockIndex": index} | {name: f"{start}{index:08x}" for name, start, has in tokens if has}


def token_fits(token: str, snapshot_id: str, block: int, now: float) -> bool:
    """Whether the token is for this block of this snapshot, and good at `now`."""
    try:
        expires = int(token[DIGEST_CHARS : DIGEST_CHARS + EXPIRY_CHARS], 16)
    except ValueError:
        return False
    return token == f"{_start(snapshot_id, expires)}{block:08x}" and now <= expires


def _start(snapshot_id: str, expires: int) -> str:
    """What the tokens of a snapshot have in common that expire together."""
    digest = hashlib.sha256(f"{snapshot_id}/{expires}".encode()).digest()
    return base64.b64encode(digest).decode()[:DIGEST_CHARS] + f"{expires:0{EXPIRY_CHARS}x}"
