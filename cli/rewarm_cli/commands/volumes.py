"""`rewarm volume`: a volume's type, IOPS and throughput."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli import words
from rewarm_cli.addresses import address
from rewarm_cli.asking import agree, asks, takes_yes
from rewarm_cli.inputs import Known, OneOf, Whole
from rewarm_cli.output import say
from rewarm_cli.problems import FAILED, STOPPED
from rewarm_cli.settings import Commands, Settings, takes_settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]

TYPES = ("gp3", "gp2", "io2", "io1", "st1", "sc1")
PAUSE_SECONDS = 5.0
ENDED = frozenset({"changed", "failed"})


def _path(volume_id: str) -> str:
    return address("volumes", volume_id, "performance")


@click.group(cls=Commands)
def volume() -> None:
    """Show and change a volume's type, IOPS and throughput."""


@volume.command("get")
@click.argument("volume_id", type=Known(), metavar="VOLUME")
@takes_settings
def get_volume(settings: Settings, volume_id: str) -> None:
    """Show the settings, the latest change, and when the next one is possible."""
    _show(settings, settings.api().insist(200, "GET", _path(volume_id)))


@volume.command("set")
@click.argument("volume_id", type=Known(), metavar="VOLUME")
@click.option("--type", "volume_type", type=OneOf(TYPES), help="What is left out stays.")
@click.option("--iops", type=Whole(1, 1_000_000), help="I/O operations a second.")
@click.option("--throughput", type=Whole(1, 1_000_000), metavar="MIB_S", help="MiB/s.")
@click.option("--wait", is_flag=True, help="Wait until the change holds.")
@takes_yes
@takes_settings
def set_volume(settings: Settings, volume_id: str, *, wait: bool, yes: bool, **options: Any) -> None:
    """Show a volume, ask, and change it. EC2 takes four changes in 24 hours, and none can be cancelled."""
    names = {"volume_type": "volumeType", "iops": "iops", "throughput": "throughputMibS"}
    body = {names[name]: value for name, value in options.items() if value is not None}
    if not body:
        raise click.UsageError("at least one of --type, --iops and --throughput is needed")
    asked = asks(yes=yes)
    api = settings.api()
    if asked:
        before = api.insist(200, "GET", _path(volume_id))
        say(f"{volume_id} is {_settings(before['performance'])}", err=True)
        for line in _lines(before):
            say(f"  {line}", err=True)
        wanted = _settings({"volumeType": before["performance"]["volumeType"], **body})
        agree(f"Change {volume_id} to {wanted}? It cannot be cancelled.", "Nothing was changed.")
    # Sent only once, because a second request would find the first one's change.
    started = api.expect(202, "POST", _path(volume_id), body)
    if wait:
        answer = _changed(api, volume_id, started["changeId"])
        _show(settings, answer)
        if (answer.get("change") or {}).get("status") == "failed":
            raise click.exceptions.Exit(FAILED)
    elif settings.for_people:
        say(f"{volume_id} changes to {_settings(started['target'])}")
        say(f"See it: {words.command('volume', 'get', volume_id)}")
    else:
        settings.emit(started)


def _changed(api: Api, volume_id: str, change_id: str) -> Json:
    try:
        while True:
            answer = api.insist(200, "GET", _path(volume_id))
            change = answer.get("change") or {}
            if change.get("changeId") == change_id and change.get("status") in ENDED:
                return answer
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        typed = words.command("volume", "get", volume_id)
        say(f"Stopped looking. The change continues: {typed}", err=True)
        raise click.exceptions.Exit(STOPPED) from None


def _show(settings: Settings, answer: Json) -> None:
    if not settings.for_people:
        settings.emit(answer)
        return
    say(f"{answer['volumeId']} is {_settings(answer['performance'])}")
    for line in _lines(answer):
        say(f"  {line}")


def _lines(answer: Json) -> Iterator[str]:
    if change := answer.get("change"):
        reason = (change.get("failure") or {}).get("cause")
        yield f"change {change['changeId']}: {change['status']}" + (f", {reason}" if reason else "")
        if change.get("tookEffectAt"):
            yield f"took effect {words.clock(change['tookEffectAt'], seconds=True)} (by {change['knownBy']})"
    if modification := answer.get("modification"):
        share = modification.get("progressPercent") or 0
        yield f"EC2's latest modification: {modification['state']}, {share} %"
    slots = answer["slots"]
    free = slots.get("nextFreeAt")
    yield f"next change: {'now' if free is None else words.clock(free) + ', ' + slots['reason']}"


def _settings(performance: Json) -> str:
    parts = [performance["volumeType"]]
    parts += [f"{performance['iops']:,} IOPS"] if performance.get("iops") else []
    parts += [f"{performance['throughputMibS']:,} MiB/s"] if performance.get("throughputMibS") else []
    return ", ".join(parts)
