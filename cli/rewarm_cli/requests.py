"""The options and files that describe a restore, and the request that they make."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from rewarm_cli.inputs import Instant, Key, Minutes, OneOf, Region, Usd
from rewarm_cli.problems import USAGE, CommandFailedError

Json = dict[str, Any]

STRATEGIES = (
    "auto", "background", "warm-up-agent", "boosted-warm-up", "provisioned-rate", "fast-snapshot-restore",
    "direct-write", "volume-clone",
)  # fmt: skip

EVIDENCE = ("auto", "snapshot", "undo-log")
COMPARE = ("auto", "snapshots", "device")

FIELDS = {
    "alarm": "source.alarm",
    "undo": "source.undoOf",
    "snapshot": "source.snapshotId",
    "snapshot_region": "source.region",
    "volume": "source.volumeId",
    "at": "source.at",
    "owner": "source.ownerId",
    "source_instance": "source.instanceId",
    "image": "source.imageId",
    "instance": "target.instanceId",
    "zone": "target.availabilityZone",
    "device": "target.device",
    "replace": "target.mode",
    "rewind": "target.mode",
    "rewind_volume": "target.volumeId",
    "evidence": "target.evidence",
    "compare": "target.compare",
    "start": "target.start",
    "reboot": "target.reboot",
    "force_root": "target.forceRoot",
    "unmount": "target.unmount",
    "bring_online": "target.bringOnline",
    "mount_path": "target.mountPath",
    "after": "after.when",
    "document": "after.document.name",
    "health_url": "after.healthCheck.url",
    "ready_within": "objective.readyWithinMinutes",
    "max_cost": "objective.maxCostUsd",
    "approve_above": "objective.approveAboveUsd",
    "approve_replace": "objective.approveReplace",
    "strategy": "objective.strategy",
    "strict": "objective.strict",
}
"""Option -> field of the request."""


READY_WITHIN = click.option(
    "--ready-within", type=Minutes(), metavar="TIME", help="The deadline: minutes, or 2h, 1d."
)
MAX_COST = click.option("--max-cost", type=Usd(), metavar="USD", help="The budget for all volumes together.")
STRICT = click.option("--strict", is_flag=True, help="Refuse where nothing meets deadline and budget.")


def takes_key(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option of a command that starts something once, however often it is called."""
    text = f"The same key starts the same {what} only once in 24 hours."
    return click.option("--idempotency-key", type=Key(), metavar="KEY", help=text)


def takes_request(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that describe a restore; it gets the request as `request`."""

    @functools.wraps(command)
    def called(*positional: Any, **values: Any) -> Any:
        options = {name: values.pop(name) for name in FIELDS}
        request = build(
            values.pop("file"), options, values.pop("tag"), values.pop("sets"), values.pop("mount")
        )
        if not request and "alarm_name" not in values:
            raise click.UsageError(
                "say what to restore and where to, with --volume and --instance, --alarm, or -f"
            )
        return command(*positional, request=request, **values)

    for option in reversed(_OPTIONS):
        called = option(called)
    return called


def build(
    file: str | None,
    options: Json,
    tags: tuple[str, ...],
    sets: tuple[str, ...],
    mounts: tuple[str, ...] = (),
) -> Json:
    """A file's request, with the options above it; `--set` wins over both."""
    request = read(file) if file is not None else {}
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    mode = "rewind" if given.pop("rewind", False) or "undo" in given else None
    if given.pop("replace", False) or {"start", "reboot"} & given.keys():
        if mode is not None:
            raise click.UsageError(
                "--rewind and --undo make no volume, so they do not go with --replace, --start or --reboot"
            )
        mode = "replace"
    if mode is not None:
        given["replace"] = mode
    if tags or any(FIELDS[name].startswith("source.") for name in given if name != "at"):
        request["source"] = {}  # a request has one source: the option's replaces the file's
    for name, value in given.items():
        put(request, FIELDS[name], float(value) if isinstance(value, Decimal) else value)
    if tags:
        put(request, "source.tags", dict(pair(tag, "--tag") for tag in tags))
    if mounts:
        put(request, "after.mounts", [_mount(text) for text in mounts])
    for words in sets:
        path, text = pair(words, "--set")
        put(request, path, parse(text, "--set"))
    return request


def put(request: Json, path: str, value: Any) -> None:
    """Set a field by its path, such as objective.strategy."""
    *folders, name = path.split(".")
    place: Any = request
    for folder in folders:
        if not isinstance(place.get(folder), dict):
            place[folder] = {}
        place = place[folder]
    place[name] = value


def _mount(text: str) -> Json:
    """`/srv/data`, or with the device of one of several volumes `/dev/sdf=/srv/data`."""
    device, equals, path = text.partition("=")
    return {"device": device, "path": path} if equals else {"path": text}


def pair(text: str, option: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise CommandFailedError(f"{option}: found {text!r}; NAME=VALUE is allowed", USAGE)
    return name, value


def read(file: str) -> Json:
    """The request in a file of JSON or YAML, or on standard input (`-`)."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailedError(
            f"{file} cannot be read: {getattr(error, 'strerror', None) or error}", USAGE
        ) from error
    found = parse(text, file)
    if not isinstance(found, dict):
        raise CommandFailedError(
            f"{file} has no request; one with the fields source and target is needed", USAGE
        )
    return found


def parse(text: str, where: str) -> Any:
    """JSON or YAML; times stay text."""
    try:
        found = json.loads(text)
    except ValueError:
        found = _yaml(text, where)
    except RecursionError:
        raise CommandFailedError(f"{where} is nested too deeply", USAGE) from None
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CommandFailedError(f"{where} has what JSON has not: {error}", USAGE) from error
    return found


def _yaml(text: str, where: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """A loader without YAML's times, because the API takes times as text."""

    resolvers: Json = yaml.SafeLoader.yaml_implicit_resolvers
    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in resolvers.items()
    }
    try:
        return yaml.load(text, Loader)  # noqa: S506  # a SafeLoader
    # A value that a tag or a form of YAML's promises, such as 0b_ or !!int x, may be none.
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise CommandFailedError(f"{where} is neither JSON nor YAML: {error}", USAGE) from error


def as_file(stored: Json) -> str:
    """A stored request or rule as a file that -f takes."""
    from rewarm_cli.output import document

    return document(_plain(stored), "yaml")


def _plain(request: Json) -> Json:
    """The request without null and empty fields, because a stored request has all fields."""
    found = {}
    for name, value in request.items():
        kept = _plain(value) if isinstance(value, dict) else value
        if kept not in (None, {}, []):
            found[name] = kept
    return found


def undrilled(request: Json) -> Json:
    """What an alarm restores by the runbook: it does not look at how the runbook is drilled."""
    return {name: value for name, value in request.items() if name != "drill"}


_OPTIONS = (
    click.option("-f", "--file", metavar="FILE", help="The request as YAML or JSON; - is standard input."),
    click.option("--volume", metavar="VOL", help="Restore this volume's newest usable snapshot."),
    click.option(
        "--at", type=Instant(), metavar="TIME",
        help="With --volume: the newest snapshot not later than then: 12h, 7d, a date or a time.",
    ),
    click.option("--owner", metavar="ACCOUNT", help="With --volume: the newest that this account shares."),
    click.option("--snapshot", metavar="SNAP", help="Restore this snapshot."),
    click.option(
        "--snapshot-region", type=Region(), metavar="REGION",
        help="The snapshot is there, and is copied first.",
    ),
    click.option("--tag", multiple=True, metavar="KEY=VALUE", help="Restore the newest snapshot with it."),
    click.option("--source-instance", metavar="I", help="Restore every volume of this instance."),
    click.option("--image", metavar="AMI", help="Restore every volume of this image."),
    click.option("--alarm", metavar="NAME", help="Restore what the runbook of this alarm says."),
    click.option("--instance", metavar="I", help="Attach the new volume to this instance."),
    click.option("--zone", metavar="AZ", help="Or only make it in this Availability Zone."),
    click.option("--device", metavar="NAME", help="Device name; default: the first free one."),
    click.option("--replace", is_flag=True, help="Take the place of the volume at the device."),
    click.option("--rewind", is_flag=True, help="Put the snapshot's own volume back, on its instance."),
    click.option("--undo", metavar="ID", help="Undo the rewind of this restore by its undo log."),
    click.option("--rewind-volume", metavar="VOL", help="With --rewind: one that is not the snapshot's."),
    click.option(
        "--evidence", type=OneOf(EVIDENCE), metavar="NAME",
        help="With --rewind: keep the volume as it was by snapshot or undo-log. Default: auto, the sooner.",
    ),
    click.option(
        "--compare", type=OneOf(COMPARE), metavar="NAME",
        help="With --rewind: find what differs by snapshots or device. Default: auto, the sooner.",
    ),
    click.option(
        "--start", is_flag=True, help="Replace on a stopped --instance, the root volume too, and start it."
    ),
    click.option(
        "--reboot", is_flag=True, help="Replace the root volume of a running --instance, which reboots."
    ),
    click.option(
        "--force-root", metavar="SNAP",
        help="With --start or --reboot: this snapshot boots, although its volume is no root volume.",
    ),
    click.option("--unmount", is_flag=True, help="With --replace, --rewind, --undo: unmount that volume."),
    click.option("--bring-online", is_flag=True, help="On Windows: bring the disk online (writable)."),
    click.option("--mount-path", metavar="E:", help="With --bring-online: its drive letter or empty folder."),
    click.option(
        "--mount", multiple=True, metavar="[DEVICE=]PATH",
        help="Then mount the volume there; of several volumes, the one at DEVICE.",
    ),
    click.option("--document", metavar="NAME", help="Then run this document of yours (tag rewarm:hooks)."),
    click.option("--health-url", metavar="URL", help="Then wait until this address on the instance answers."),
    click.option(
        "--after", type=OneOf(("ready", "attached")), metavar="WHEN",
        help="When that is: once all volumes are ready (default) or attached.",
    ),
    READY_WITHIN,
    MAX_COST,
    click.option(
        "--approve-above", type=Usd(), metavar="USD", help="Wait for approval where the plan costs more."
    ),
    click.option("--approve-replace", is_flag=True, help="With --replace or --rewind: wait for approval."),
    click.option(
        "--strategy", type=OneOf(STRATEGIES), metavar="NAME",
        help="Default: auto, the cheapest that meets the deadline.",
    ),
    STRICT,
    click.option(
        "--set", "sets", multiple=True, metavar="FIELD=VALUE",
        help="Any field of a request, such as warmUp.maxMibPerSecond=50; several.",
    ),
)  # fmt: skip
