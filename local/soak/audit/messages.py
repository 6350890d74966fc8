"""Audits that each channel got the message of a restore's end once, unless a fault was in the way."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from local import ROOT, Json
from local.soak.audit.outside import OutsideHandsAudit
from local.soak.audit.table_items import records
from local.soak.lab.endings import RESTORE, VOLUME, stopped_when_ready
from local.soak.lab.services import backend

CHANNELS = {"eventbridge": "programs", "slack": "slack", "email": "email", "chat": "slack"}
"""Each channel with the field of `notify` that leaves it out; programs always get the message."""
READY, FAILED = "Announce Ready", "Announce Failure"
SWEEPER = ("", "SweepFunction")
"""It sends the message of a stopped restore; of which one is not visible from outside."""
_READY = re.compile(
    r"\b(vol-\w+) is (?:at full speed(?!, but (?!vol-))|back at \S+ of|back to what it had before)"
)
"""A later message may say that it is so, but that its application is not back."""
_FAILED = re.compile(r"\b(?:Restore|Warm-up) (failed:|cancelled)")
_RESTORE = re.compile(r"^Restore `(.+)`$")


class SentMessages:
    """The messages about ends that the channels accepted, and what is wrong with them."""

    def __init__(self, lab: Any) -> None:
        self._troubled = {trouble[:2] for trouble in lab.functions.troubled}
        self._restores = {execution.name: execution for execution in lab.executions(RESTORE)}
        self._volumes = lab.executions(VOLUME)
        self._records = records(lab)
        self._outside = OutsideHandsAudit(lab)
        self._events: list[Json] = lab.events.sent
        self._ready: Counter[tuple[str, str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        for channel, restore_id, title in _messages(lab):
            ready = _READY.search(title)
            if ready is not None:
                self._ready[channel, restore_id, ready[1]] += 1
            elif _FAILED.search(title) is not None:
                self._failed[channel, restore_id] += 1

    def findings(self) -> list[str]:
        """Returns a sentence for each message that is missing, doubled, not wanted or not as documented."""
        return [*self._of_volumes(), *self._of_restores(), *self._of_others(), *undocumented(self._events)]

    def _of_volumes(self) -> Iterator[str]:
        """At least one channel has the message of a volume at full speed: the sweeper sends those missing."""
        for volume in self._volumes:
            if volume.status != "SUCCEEDED":
                continue
            restore_id, volume_id = volume.name.rpartition("-")[0], str(volume.output["volumeId"])
            counts = {name: self._ready[name, restore_id, volume_id] for name in self._wanted(restore_id)}
            is_troubled = bool({(volume.name, READY), SWEEPER} & self._troubled)
            clear = not is_troubled and not self._outside.is_lost(restore_id)
            yield from _wrong(f"{volume_id} of {restore_id} at full speed", counts, clear=clear)

    def _of_restores(self) -> Iterator[str]:
        for name, one in self._restores.items():
            counts = {channel: self._failed[channel, name] for channel in self._wanted(name)}
            if one.status in ("FAILED", "ABORTED", "TIMED_OUT") and not self._is_ready(name):
                clear = not {(name, FAILED), SWEEPER} & self._troubled
                yield from _wrong(f"the failure of {name}", counts, clear=clear)
            elif any(counts.values()) and not self._is_redriven_drill(name):
                yield f"{name} is {one.status} and its failure was told by {_names(counts)}"

    def _is_redriven_drill(self, name: str) -> bool:
        """It was announced as stopped, with its volume at full speed, and passed once somebody redrove it."""
        request = self._records.get(name, {}).get("request") or {}
        return bool(request.get("drill")) and self._restores[name].redrives > 0

    def _is_ready(self, name: str) -> bool:
        """Its volumes have their own messages, which are looked at besides."""
        return stopped_when_ready(self._restores[name], self._records.get(name, {}))

    def _of_others(self) -> Iterator[str]:
        """Each message belongs to a restore that exists, and goes to a channel that the request wants."""
        for channel, restore_id in sorted({key[:2] for key in (*self._ready, *self._failed)}):
            if channel not in self._wanted(restore_id):
                yield f"{channel} was told of {restore_id}, and should not have been"

    def _wanted(self, restore_id: str) -> list[str]:
        """The channels that the request wants; none for a restore that does not exist.

        A restore whose execution could not be started does exist. Its caller had a 503, which leaves open
        whether it began, and the message says that it did not.
        """
        one, record = self._restores.get(restore_id), self._records.get(restore_id, {})
        if one is None and record.get("status") != "failed":
            return []
        request = record["request"] if one is None else one.input.get("request")
        notify = (request or {}).get("notify") or {}
        return [name for name, audience in CHANNELS.items() if notify.get(audience, True)]


@cache
def _documented() -> tuple[set[str], Draft202012Validator]:
    """The detail types of docs/openapi.json, and what checks an event's detail."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    schema = {"$ref": "#/components/schemas/RewarmEvent", "components": document["components"]}
    return set(document["webhooks"]), Draft202012Validator(schema)


def undocumented(events: list[Json]) -> Iterator[str]:
    """A sentence for each event on the bus that docs/openapi.json does not have, or has otherwise."""
    types, validator = _documented()
    for event in events:
        if event["detail-type"] not in types:
            yield f"the detail type {event['detail-type']} is not documented"
        for error in validator.iter_errors(event["detail"]):
            yield f"{event['detail-type']}: {error.json_path}: {error.message}"


def _wrong(what: str, counts: dict[str, int], *, clear: bool) -> Iterator[str]:
    """`clear`: no fault was in the way, so each channel has the message once."""
    if not any(counts.values()):
        yield f"{what} was told by no channel"
    elif clear:
        missing = [name for name, count in counts.items() if not count]
        twice = {name: count for name, count in counts.items() if count > 1}
        if missing:
            yield f"{what} was not told by {', '.join(missing)}, and nothing was in the way"
        if twice:
            yield f"{what} was told more than once by {_names(twice)}, and nothing was in the way"


def _names(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.items() if count)


def _messages(lab: Any) -> Iterator[tuple[str, str, str]]:
    """(channel, restore, title) of everything that was taken."""
    for sent in lab.events.sent:
        detail = sent["detail"]
        yield "eventbridge", str(detail.get("restoreId")), str(detail.get("title"))
    for posted in lab.slack:
        about = _RESTORE.match(posted["blocks"][-1]["elements"][0]["text"])
        yield "slack", about[1] if about else "", posted["text"]
    for arn, topic in backend("sns").topics.items():
        for _, text, subject, attributes, *_ in topic.sent_notifications:
            if arn.endswith("ChatTopic"):
                shown = json.loads(text)
                yield "chat", shown["metadata"]["threadId"], shown["content"]["title"]
            else:
                yield "email", attributes["restoreId"]["Value"], str(subject)
