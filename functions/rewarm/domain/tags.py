"""Which tags something must carry, and whether it does."""

from __future__ import annotations

from collections.abc import Mapping

from rewarm.domain.model import WantedTags

_ANY = "*"


def has_tags(wanted: WantedTags, tags: Mapping[str, str]) -> bool:
    """Whether all wanted tags are there, in just this spelling."""
    return all(key in tags and value in (None, tags[key]) for key, value in wanted.items())


def any_value(tags: Mapping[str, str]) -> WantedTags:
    """The tags of a rule or of a fleet's query: a value of just `*` stands for any value."""
    return {key: None if value == _ANY else value for key, value in tags.items()}
