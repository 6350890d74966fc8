"""EC2's tag lists as plain mappings, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import TagTypeDef

RESTORE_TAG = "rewarm:restore-id"
"""Whose volume it is; the steps set it at creation."""


def tags_of(tags: Iterable[TagTypeDef] | None) -> dict[str, str]:
    """EC2's list as a mapping."""
    return {tag["Key"]: tag.get("Value", "") for tag in tags or ()}


def tag_list(tags: Mapping[str, str]) -> list[TagTypeDef]:
    """A mapping as EC2's list."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
