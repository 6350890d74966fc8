"""Slack's documented limits on a message to an incoming webhook.

Slack documentation: "Sending messages using incoming webhooks" and "Reference: blocks".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from local import Json

MAX_BLOCKS = 50
MAX_TEXT = 40_000
_TEXT_TYPES = ("plain_text", "mrkdwn")
_HEADER_CHARS = 150
_SECTION_CHARS = 3_000
_FIELD_CHARS = 2_000
_MAX_FIELDS = 10
_MAX_CONTEXT_ELEMENTS = 10
_MAX_ACTION_ELEMENTS = 25
_BUTTON_CHARS = 75
_BLOCK_ID_CHARS = 255
_URL_CHARS = 3_000
_VALUE_CHARS = 2_000
_CONFIRM_CHARS = {"title": 100, "text": 300, "confirm": 30, "deny": 30}


def problems(message: Any) -> list[str]:
    """What Slack would refuse in this message; empty when it would take it."""
    if not isinstance(message, dict):
        return ["the message is not a JSON object"]
    if not message.get("text") and not message.get("blocks") and not message.get("attachments"):
        return ["no text, blocks or attachments"]
    text = message.get("text", "")
    found = (
        []
        if isinstance(text, str) and len(text) <= MAX_TEXT
        else [f"text is not a string of up to {MAX_TEXT}"]
    )
    blocks = message.get("blocks", [])
    if not isinstance(blocks, list) or len(blocks) > MAX_BLOCKS:
        return [*found, f"blocks is not a list of up to {MAX_BLOCKS}"]
    for index, block in enumerate(blocks):
        found += [f"blocks[{index}]: {problem}" for problem in _block_problems(block)]
    return found


def _block_problems(block: Any) -> Iterator[str]:
    if not isinstance(block, dict):
        yield "not an object"
        return
    if len(str(block.get("block_id", ""))) > _BLOCK_ID_CHARS:
        yield f"block_id longer than {_BLOCK_ID_CHARS}"
    check = _CHECKS.get(str(block.get("type")))
    if check is None:
        yield f"unknown type {block.get('type')!r}"
        return
    yield from check(block)


def _header(block: Json) -> Iterator[str]:
    yield from _text(block.get("text"), "text", _HEADER_CHARS, only="plain_text")


def _section(block: Json) -> Iterator[str]:
    fields = block.get("fields", [])
    if "text" not in block and not fields:
        yield "a section needs text or fields"
    if "text" in block:
        yield from _text(block["text"], "text", _SECTION_CHARS)
    if not isinstance(fields, list) or len(fields) > _MAX_FIELDS:
        yield f"fields is not a list of up to {_MAX_FIELDS}"
        return
    for index, field in enumerate(fields):
        yield from _text(field, f"fields[{index}]", _FIELD_CHARS)


def _context(block: Json) -> Iterator[str]:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 0 < len(elements) <= _MAX_CONTEXT_ELEMENTS:
        yield f"elements is not a list of 1 to {_MAX_CONTEXT_ELEMENTS}"
        return
    for index, element in enumerate(elements):
        if not (isinstance(element, dict) and element.get("type") == "image"):
            yield from _text(element, f"elements[{index}]", _SECTION_CHARS)


def _actions(block: Json) -> Iterator[str]:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 0 < len(elements) <= _MAX_ACTION_ELEMENTS:
        yield f"elements is not a list of 1 to {_MAX_ACTION_ELEMENTS}"
        return
    for index, element in enumerate(elements):
        if isinstance(element, dict) and element.get("type") == "button":
            yield from (f"elements[{index}].{said}" for said in _button(element))


def _button(button: Json) -> Iterator[str]:
    yield from _text(button.get("text"), "text", _BUTTON_CHARS, only="plain_text")
    for name, limit in (("action_id", _BLOCK_ID_CHARS), ("url", _URL_CHARS), ("value", _VALUE_CHARS)):
        if len(str(button.get(name, ""))) > limit:
            yield f"{name} longer than {limit}"
    if button.get("style") not in (None, "primary", "danger"):
        yield f"style is {button['style']!r}"
    for name, limit in _CONFIRM_CHARS.items() if "confirm" in button else ():
        yield from _text(button["confirm"].get(name), f"confirm.{name}", limit)


def _image(block: Json) -> Iterator[str]:
    url, alternative = block.get("image_url"), block.get("alt_text")
    if not isinstance(url, str) or len(url) > _URL_CHARS:
        yield f"image_url is not a string of up to {_URL_CHARS}"
    if not isinstance(alternative, str) or not 0 < len(alternative) <= _FIELD_CHARS:
        yield f"alt_text is not a string of 1 to {_FIELD_CHARS}"


def _divider(_block: Json) -> Iterator[str]:
    yield from ()


def _text(text: Any, where: str, limit: int, *, only: str | None = None) -> Iterator[str]:
    allowed = (only,) if only else _TEXT_TYPES
    if not isinstance(text, dict) or text.get("type") not in allowed:
        yield f"{where} is not a text object of type {' or '.join(allowed)}"
    elif not isinstance(text.get("text"), str) or not 0 < len(text["text"]) <= limit:
        yield f"{where} has not 1 to {limit} characters"
    elif "verbatim" in text and (text["type"] != "mrkdwn" or not isinstance(text["verbatim"], bool)):
        yield f"{where} has a verbatim that is not true or false, or is not of type mrkdwn"


_CHECKS = {
    "header": _header,
    "section": _section,
    "context": _context,
    "actions": _actions,
    "image": _image,
    "divider": _divider,
}
