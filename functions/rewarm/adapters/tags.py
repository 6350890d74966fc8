"""Tags as EC2 lists them, and the filters that look for them.

In a filter's value `*` and `?` are wildcards, and a backslash before a character takes it literally. Such a
value has up to 255 characters, and a tag's 256 (EC2 user guide, "List and filter using the CLI and API").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rewarm.domain.model import WantedTags

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import FilterTypeDef, TagTypeDef

_ANY_TEXT = "*"
_LONGEST = 255


def tag_filters(wanted: WantedTags) -> list[FilterTypeDef]:
    """Filters that leave out nothing that carries every wanted tag.

    They may keep more, because a long value is cut. So `has_tags` decides.
    """
    return [
        {"Name": f"tag:{key}", "Values": [_ANY_TEXT if value is None else _literal(value)]}
        for key, value in wanted.items()
    ]


def tags_of(tags: Iterable[TagTypeDef] | None) -> dict[str, str]:
    """EC2's list as a mapping."""
    return {tag["Key"]: tag.get("Value", "") for tag in tags or ()}


def tag_list(tags: Mapping[str, str]) -> list[TagTypeDef]:
    """A mapping as EC2's list."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def _literal(value: str) -> str:
    """The value as a filter takes it literally; of one that is too long the beginning, and any text."""
    if len(_escaped(value)) <= _LONGEST:
        return _escaped(value)
    beginnings = (_escaped(value[:end]) for end in range(len(value), 0, -1))
    return next(text for text in beginnings if len(text + _ANY_TEXT) <= _LONGEST) + _ANY_TEXT


def _escaped(value: str) -> str:
    return re.sub(r"[*?\\]", r"\\\g<0>", value)
