"""`rewarm bench`: the same fio patterns on several mounts of an instance, side by side."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewarm_cli.addresses import address
from rewarm_cli.bench.tables import COLUMNS, PATTERNS, by_pattern, row, title
from rewarm_cli.inputs import NewFile, OneOf, Whole
from rewarm_cli.output import say
from rewarm_cli.problems import FAILED, STOPPED, CommandFailedError
from rewarm_cli.settings import Settings, examples, takes_settings

if TYPE_CHECKING:
    from rewarm_cli.api import Api

Json = dict[str, Any]

LEAST_SECONDS, MOST_SECONDS = 5, 3_600
"""Seconds of each run that the API allows (events/benchmark-request.schema.json)."""
DEFAULT_PATTERN = "cache"
PAUSE_SECONDS = 3.0
RIGHT, WHOLE = ("rank", "IOPS", "MiB/s"), ("read p50 / p99", "write p50 / p99")
_LIMITS = r"(=(?P<iops>\d+)?(,(?P<mib_s>\d+))?)?"
_LIMITED = re.compile(r"(?P<place>[^=]+)" + _LIMITS)
_MOUNT = re.compile(r"/[A-Za-z0-9._/-]*" + _LIMITS)


class Mount(click.ParamType):  # type: ignore[type-arg]  # click 8.1 has no argument
    """`/folder`, or `/folder=IOPS,MIB_S` of what is provisioned there."""

    name = "mount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if _MOUNT.fullmatch(value) is None:
            self.fail(
                f"found {value!r}; /folder or /folder=IOPS,MIB_S, of letters, digits and ._/-, is allowed",
                param,
                ctx,
            )
        return str(value)


@click.command(
    epilog=examples("rewarm bench --instance i-… --mount /data --mount /efs=5000,488 --pattern upload")
)
@click.option("--instance", required=True, metavar="I", help="Where it runs.")
@click.option(
    "--mount",
    multiple=True,
    type=Mount(),
    metavar="/folder[=IOPS,MIB_S]",
    help="A folder of any file system, with what is provisioned where it is no EBS volume; several.",
)
@click.option(
    "--volume", multiple=True, metavar="VOL", help="An attached volume's device, which is only read; several."
)
@click.option("--pattern", multiple=True, type=OneOf(list(PATTERNS)), help="Several; default cache.")
@click.option("--copy", nargs=2, metavar="FILE FOLDER", help="On Windows: copy a file twice, timed.")
@click.option("--seconds", type=Whole(LEAST_SECONDS, MOST_SECONDS), help="Of each run.")
@click.option("--install-fio", is_flag=True, help="Install fio on the instance where it is missing.")
@click.option("--picture", type=NewFile(".svg"), metavar="FILE.svg", help="Also draw it.")
@takes_settings
def bench(settings: Settings, *, instance: str, picture: Path | None, **options: Any) -> None:
    """Compare mounts of an instance with fio, side by side."""
    found = _benchmark(settings.api(), request_of(instance, options))
    for line in _show(settings, found):
        say(line, err=not settings.for_people)
    if picture is not None and _draw(picture, found["runs"]):
        say(f"{picture} has the picture", err=True)
    if not settings.for_people:
        settings.emit(found)
    measured = found["copied"] is not None or any(run["problem"] is None for run in found["runs"])
    if found["status"] != "completed" or not measured:
        raise click.exceptions.Exit(FAILED)


def request_of(instance: str, options: Json) -> Json:
    """The request of POST /benchmarks. Raises UsageError if the options do not go together."""
    if options["copy"]:
        if options["mount"] or options["volume"] or options["pattern"]:
            raise click.UsageError("--copy goes without --mount, --volume and --pattern")
        file, folder = options["copy"]
        return {"instanceId": instance, "copyFile": {"file": file, "toFolder": folder}}
    targets = [_target("mount", text) for text in options["mount"]]
    targets += [_target("volumeId", text) for text in options["volume"]]
    if not targets:
        raise click.UsageError("at least one of --mount, --volume and --copy is needed")
    found: Json = {
        "instanceId": instance,
        "targets": targets,
        "patterns": list(options["pattern"]) or [DEFAULT_PATTERN],
        "installFio": options["install_fio"],
    }
    return found | ({"runtimeSeconds": options["seconds"]} if options["seconds"] else {})


def _target(name: str, text: str) -> Json:
    match = _LIMITED.fullmatch(text)
    if match is None:
        raise click.UsageError(f"found {text!r}; allowed is an id such as vol-0123456789abcdef0")
    limits = {"iops": match["iops"], "throughputMibS": match["mib_s"]}
    return {name: match["place"], **{key: int(value) for key, value in limits.items() if value}}


def _benchmark(api: Api, request: Json) -> Json:
    started = api.expect(202, "POST", "/benchmarks", request)
    benchmark_id = started["benchmarkId"]
    say(f"{benchmark_id} runs on {request['instanceId']}", err=True)
    try:
        while True:
            found = api.insist(200, "GET", address("benchmarks", benchmark_id))
            if found["status"] != "running":
                return found
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        say("Stopped looking. What was started continues on the instance.", err=True)
        raise click.exceptions.Exit(STOPPED) from None


def _show(settings: Settings, found: Json) -> list[str]:
    """Print the tables; returns the lines about what failed and what was copied."""
    lines = [f"It failed: {found['reason']}"] if found["status"] == "failed" else []
    if found["runs"]:
        from rewarm_cli.output import console, print_table, tell

        target = console(stderr=not settings.for_people)
        for pattern, runs in by_pattern(found["runs"]).items():
            tell(target, title(pattern))
            rows = [row(run) for run in runs]
            print_table(target, COLUMNS, rows, right=RIGHT, whole=WHOLE, sentences=("met",))
    if (copied := found["copied"]) is not None:
        first, second = (
            f"{copied[f'{name}Seconds']:.1f} s ({copied[f'{name}MibS']:.1f} MiB/s)"
            for name in ("first", "second")
        )
        lines.append(f"First copy {first}, second {second}: {copied['ratio']:.2f} times as long")
    return lines


def _draw(picture: Path, runs: list[Json]) -> bool:
    try:
        from rewarm_cli.bench.picture import draw
    except ImportError as error:
        raise CommandFailedError("--picture needs matplotlib: install rewarm-cli[pictures]") from error
    return draw(picture, runs)
