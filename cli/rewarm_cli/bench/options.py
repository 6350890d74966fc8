"""The command line of `rewarm bench`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewarm.domain.benchmark.benchmarks import LEAST_RUNTIME_SECONDS, MOST_RUNTIME_SECONDS, PatternName
from rewarm_cli.api import Json
from rewarm_cli.arguments import Parser, named, whole

DEFAULT_STACK = "rewarm"
_LIMITS = r"(=(?P<iops>\d+)?(,(?P<mib_s>\d+))?)?"
_LIMITED = re.compile(r"(?P<place>[^=]+)" + _LIMITS)
_MOUNT = r"/[A-Za-z0-9._/-]*" + _LIMITS
"""As the API takes it (contracts/benchmarks.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for."""

    request: Json
    """Of POST /benchmarks."""
    stack: str
    api_url: str | None
    region: str | None
    picture: Path | None
    as_json: bool


def parse(arguments: Sequence[str] | None = None) -> Options:
    """The options; a bad value ends the process with status 2 and a sentence that names it."""
    parser = _parser()
    values = parser.parse_args(arguments)
    request: dict[str, Any] = {"instanceId": values.instance}
    if values.copy:
        request["copyFile"] = {"file": values.copy[0], "toFolder": values.copy[1]}
        if values.mount or values.volume or values.pattern:
            parser.error("--copy goes without --mount, --volume and --pattern")
    else:
        request |= _fio_request(parser, values)
    return Options(
        request=request,
        stack=values.stack,
        api_url=values.api_url,
        region=values.region,
        picture=values.picture,
        as_json=values.as_json,
    )


def _fio_request(parser: Parser, values: argparse.Namespace) -> Json:
    targets = [_target("mount", text) for text in values.mount]
    targets += [_target("volumeId", text) for text in values.volume]
    if not targets:
        parser.error("at least one of --mount, --volume and --copy is needed")
    found: dict[str, Any] = {
        "targets": targets,
        "patterns": values.pattern or [PatternName.CACHE.value],
        "installFio": values.install_fio,
    }
    return found | ({"runtimeSeconds": values.seconds} if values.seconds else {})


def _target(name: str, text: str) -> Json:
    match = _LIMITED.fullmatch(text)
    assert match is not None  # argparse has seen to it
    limits = {"iops": match["iops"], "throughputMibS": match["mib_s"]}
    return {name: match["place"], **{key: int(value) for key, value in limits.items() if value}}


def _parser() -> Parser:
    parser = Parser(
        prog="rewarm bench",
        description="The same benchmark on several mounts of an instance, one after the other, side by side.",
        epilog="Exit status: 0 measured, 1 not, 2 bad option, 130 stopped. With the credentials of boto3.",
    )
    instance = named(r"i-([0-9a-f]{8}|[0-9a-f]{17})", "an instance id")
    parser.add_argument("--instance", required=True, type=instance, metavar="i-…", help="where it runs")
    place = named(_MOUNT, "/folder or /folder=IOPS,MIB_S, of letters, digits and ._/-,")
    parser.add_argument(
        "--mount", action="append", default=[], type=place, metavar="/folder[=IOPS,MIB_S]",
        help="a folder of any file system, with what is provisioned where it is no EBS volume; several",
    )  # fmt: skip
    volume = named(r"vol-[0-9a-f]{17}", "a volume id")
    parser.add_argument(
        "--volume", action="append", default=[], type=volume, metavar="vol-…",
        help="an attached volume's device, which is only read; several",
    )  # fmt: skip
    names = [pattern.value for pattern in PatternName]
    parser.add_argument(
        "--pattern", action="append", choices=names, help="several; default cache", metavar="|".join(names)
    )
    parser.add_argument(
        "--copy", nargs=2, metavar=("FILE", "FOLDER"), help="on Windows: copy a file twice, timed"
    )
    parser.add_argument(
        "--seconds", type=whole("seconds", LEAST_RUNTIME_SECONDS, MOST_RUNTIME_SECONDS), help="of each run"
    )
    parser.add_argument(
        "--install-fio", action="store_true", help="install fio on the instance where it is missing"
    )
    parser.add_argument("--stack", default=DEFAULT_STACK, help="the CloudFormation stack (%(default)s)")
    parser.add_argument("--api-url", help="the API's address, in place of the stack's output ApiUrl")
    parser.add_argument("--region", help="default: that of your AWS configuration")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="also draw the comparison")
    parser.add_argument("--json", dest="as_json", action="store_true", help="print the answer as JSON only")
    return parser
