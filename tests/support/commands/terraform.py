"""Terraform's language, read without the parser's own marks."""

from __future__ import annotations

from typing import Any

import hcl2


def parsed(text: str) -> dict[str, Any]:
    """Blocks by their kind, labels and names, with their plain values."""
    found: dict[str, Any] = _plain(hcl2.loads(text))
    return found


def _plain(value: Any) -> Any:
    """Without the quotes and marks that the parser keeps."""
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items() if not str(key).startswith("__")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.removeprefix('"').removesuffix('"') if isinstance(value, str) else value
