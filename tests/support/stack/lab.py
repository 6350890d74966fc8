"""The embedded AWS for tests: `host` without the stack, `lab` with the real template.yaml deployed.

One per test process, since the emulator keeps its state in its modules; each xdist worker has its own, and
its own Region. tests/local/tools/run starts it in us-east-1 and eu-west-1, which three workers do not have.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.stack.stuck_time import watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local.aws.host import Host

IDLE_SPEED = 3_600.0
"""An hour of waiting for AWS takes a second."""

MAX_RUNS_AT_ONCE = 10
REGIONS = ("me-south-1", "cn-north-1", "us-gov-west-1", "us-east-1", "eu-west-1", "ap-northeast-1")
"""Of the workers, in their order: the three partitions first; me-south-1 has to be enabled."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--region`, for one that a failure names."""
    parser.addoption("--region", choices=REGIONS, help="of the embedded AWS; default: one for each worker")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test on the embedded AWS in which time is stuck fails early, and says who holds it."""
    given = getattr(item, "funcargs", {})
    clock = getattr(given.get("host") or given.get("lab"), "clock", None)
    if clock is None:  # No lab, or the fast one, whose time is virtual.
        return (yield)
    with watched(clock):
        return (yield)


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """A failure on the embedded AWS names its Region."""
    host = getattr(item, "funcargs", {}).get("host")
    if call.excinfo is not None and host is not None:
        region = host.addresses.region
        item.add_report_section(call.when, "Region", f"{region}; `--region {region}` has the test run there.")


def region_of(worker: str) -> str:
    """The Region of a worker such as gw1; of a process without workers, the first."""
    return REGIONS[int(worker.removeprefix("gw") if worker.startswith("gw") else 0) % len(REGIONS)]


@pytest.fixture(scope="session")
def host(worker_id: str, request: pytest.FixtureRequest) -> Iterator[Host]:
    """The embedded AWS, with nothing deployed."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    started = _start(worker_id, request.config.getoption("--region") or region_of(worker_id))
    try:
        yield started
    finally:
        started.close()
        signal.signal(signal.SIGTERM, before)


def _start(worker_id: str, region: str) -> Host:
    # Imported here: unit tests must not need the embedded AWS.
    from local import ROOT  # noqa: PLC0415
    from local.aws.host import Host  # noqa: PLC0415
    from local.aws.region import RegionSettings  # noqa: PLC0415
    from local.aws.state_dir import StateDirInUseError  # noqa: PLC0415

    # Names that return, so that a run cleans up after a killed one; several, for two runs at once.
    for number in range(1, MAX_RUNS_AT_ONCE + 1):
        folder = ROOT / ".local" / f"test-{worker_id}-{number}"
        host = Host(folder, idle_speed=IDLE_SPEED, region_settings=RegionSettings(region=region))
        try:
            host.start()
        except StateDirInUseError:
            continue
        return host
    pytest.fail(f"{MAX_RUNS_AT_ONCE} runs of the tests go on in {ROOT} already")


@pytest.fixture(scope="session")
def lab(host: Host) -> Host:
    """The embedded AWS with the stack; `lab.outputs` has its outputs, `lab.slack` the messages."""
    host.deploy()
    return host
