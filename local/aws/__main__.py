"""`python -m local.aws serve`: run the embedded AWS in the foreground until a signal ends it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from local.aws.host import DEFAULT_IDLE_SPEED, DEFAULT_STATE_DIR, HOST_ERRORS, Host
from local.aws.region import RegionSettings
from rewarm_cli.clone.arguments import Parser, region


def main(arguments: list[str] | None = None) -> int:
    """Serve, and return the exit status: 0 when asked to end, 1 when it couldn't start."""
    options = _parser().parse_args(arguments)
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda _number, _frame: ended.set())
    parent = os.getppid()
    try:
        with Host(
            options.state_dir,
            idle_speed=options.idle_speed,
            region_settings=RegionSettings(region=options.region),
        ) as host:
            if options.deploy:
                host.deploy()
            _announce(host, as_json=options.json)
            while not ended.wait(0.5) and os.getppid() == parent:
                continue
    except HOST_ERRORS as problem:
        print(f"embedded AWS: {problem}", file=sys.stderr)
        return 1
    return 0


def _parser() -> Parser:
    parser = Parser(prog="python -m local.aws", description=__doc__)
    parser.add_argument("command", choices=["serve"])
    parser.add_argument(
        "--state-dir", type=Path, default=DEFAULT_STATE_DIR, help="folder for its files (%(default)s)"
    )
    parser.add_argument(
        "--region", type=region, default=RegionSettings().region, help="of the embedded AWS (%(default)s)"
    )
    parser.add_argument(
        "--idle-speed",
        type=float,
        default=DEFAULT_IDLE_SPEED,
        help="how fast lab time runs while everything only waits for AWS (%(default)s)",
    )
    parser.add_argument(
        "--no-deploy", dest="deploy", action="store_false", help="leave template.yaml undeployed"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON when ready")
    return parser


def _announce(host: Host, *, as_json: bool) -> None:
    facts = host.facts()
    if as_json:
        print(json.dumps(facts), flush=True)
        return
    print("The embedded AWS is ready. End it with Ctrl-C.")
    print(f"{facts['shell']} opens a shell in its network, for the AWS CLI and curl.")
    for name, value in facts["environment"].items():
        print(f"  export {name}={value}")
    for name, value in facts["outputs"].items():
        print(f"  {name}: {value}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
