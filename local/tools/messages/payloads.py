"""The messages themselves: restores of the fast lab, sent by the product's own Slack bot to a workspace.

The fast lab plays the same restores for the same seed, so the pictures change only with the messages.
"""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

from local import Json
from local.aws.slack_workspace import SlackWorkspace
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.paths import request, restored
from local.tools.messages.picture import drawn
from rewarm.adapters.channels.slack_bot import SlackBot, SlackPlace

SEED = 7
GIB_BLOCKS = 2_048


def pictures() -> dict[str, str]:
    """Name of each file in docs/ -> SVG."""
    ready, failed = _news("warm-up-agent"), _news("provisioned-rate", "rate-refused")
    asked = _asked()
    several = _several()
    waiting = {"status": "awaiting-approval", "approval": asked[-1]["approval"]}
    return {
        "messages-plan.svg": drawn(_told(asked, [{"status": "planned"}, waiting])[0], []),
        "messages-several.svg": drawn(*_told(several, [{"status": "planned"}])),
        "messages-ready.svg": drawn(*_told(ready, _statuses(ready))),
        "messages-failed.svg": drawn(*_told(failed, _statuses(failed))),
    }


def _news(strategy: str, fault: str | None = None, gib: int = 100) -> list[Json]:
    """Every message of one restore, as programs get it on EventBridge."""
    with FastLab(SEED) as lab:
        if fault is not None:
            lab.region.faults.inject(fault)
        extents = ((0, gib * GIB_BLOCKS // 2),)
        source = {"snapshotId": lab.region.add_snapshot(size_gib=gib, extents=extents)}
        restored(lab, request(lab, strategy, source=source))
        return _with_fixed_ids([sent["detail"] for sent in lab.events.sent])


def _asked() -> list[Json]:
    """The messages of a restore that waits for somebody."""
    with FastLab(SEED) as lab:
        source = {"snapshotId": lab.region.add_snapshot(size_gib=1_000, extents=((0, 500 * GIB_BLOCKS),))}
        objective = {"strategy": "provisioned-rate", "approveAboveUsd": 0.5, "readyWithinMinutes": 240}
        lab.start({**request(lab, "provisioned-rate", source=source), "objective": objective})
        lab.run(lambda: len(lab.events.sent) == 2)
        return _with_fixed_ids([sent["detail"] for sent in lab.events.sent])


def _several() -> list[Json]:
    """The plan of many volumes, which do not all take the same way."""
    with FastLab(SEED) as lab:
        root, data = (
            lab.region.add_snapshot(size_gib=gib, extents=((0, gib * GIB_BLOCKS),)) for gib in (20, 100)
        )
        volumes = [{"snapshotId": root}, *({"snapshotId": data} for _ in range(39))]
        asked = {"source": {"volumes": volumes}, "target": {"availabilityZone": "us-east-1a"}}
        lab.api("POST", "/restores", {**asked, "objective": {"readyWithinMinutes": 60}})
        lab.run(lambda: len(lab.events.sent) == 1)
        return _with_fixed_ids([sent["detail"] for sent in lab.events.sent])


def _with_fixed_ids(news: list[Json]) -> list[Json]:
    """The same messages, with ids that do not depend on what else the fast lab drew before."""
    text = json.dumps(news)
    for kind, digits in (("snap", 17), ("vol", 17), ("i", 17), ("restore", 16)):
        for place, found in enumerate(dict.fromkeys(re.findall(rf"\b{kind}-[0-9a-f]{{{digits}}}\b", text))):
            text = text.replace(found, f"{kind}-0123456789abcdef{place}"[: len(found)])
    fixed: list[Json] = json.loads(text)
    return fixed


def _statuses(news: list[Json]) -> list[Json]:
    """What the record says when each message goes out."""
    found: dict[str, Json] = {
        "plan": {"status": "planned"},
        "ready": {"status": "initializing", "settled0": True},
        "confirmed": {"status": "ready", "settled0": True},
        "failed": {"status": "failed"},
    }
    return [found.get(message["event"], {"status": "restoring"}) for message in news]


def _told(news: list[Json], records: list[Json]) -> tuple[Json, list[Json]]:
    """The message of the restore and its thread, as the channel's people see them."""
    slack, table = SlackWorkspace(), _Record()
    secrets: Any = SimpleNamespace(get_secret_value=lambda **_options: {"SecretString": slack.token})
    where = SlackPlace("arn", slack.channel, has_buttons=True)
    bot = SlackBot(secrets, where, table, http=_Wire(slack))  # type: ignore[arg-type]
    for message, record in zip(news, records, strict=True):
        kept = {name: message[name] for name in ("event", "at", "title", "text")}
        table.record |= {"volumeCount": 1, "events": [*table.record.get("events", []), kept], **record}
        bot.send(message)
    (root,) = slack.shown()
    return root, slack.thread(root["ts"])


class _Record:
    """The one record that the bot needs."""

    def __init__(self) -> None:
        self.record: Json = {}

    def get(self, _restore_id: str) -> Json:
        """Read it."""
        return self.record

    def update(self, _restore_id: str, changes: Json) -> None:
        """Change it."""
        self.record |= changes


class _Wire:
    """urllib3 with the workspace at its end."""

    def __init__(self, slack: SlackWorkspace) -> None:
        self._slack = slack

    def request(self, _method: str, url: str, *, json: Json, headers: Json) -> SimpleNamespace:
        """One call of the Web API."""
        path = "/" + url.removeprefix("https://").partition("/")[2]
        answer = self._slack.take(path, _encoded(json), headers["Authorization"])
        assert answer is not None
        return SimpleNamespace(status=answer[0], data=answer[1].encode(), headers=answer[2])


def _encoded(body: Json) -> bytes:
    return json.dumps(body).encode()
