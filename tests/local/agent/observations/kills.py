"""Nothing of `warmer run --action=observe` stays on the machine, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.local.agent.arrangements import kernel
from tests.local.agent.observations.observer import VOLUME_ID, Place, observing

TRACING = Path("/sys/kernel/tracing/instances")


@dataclass(frozen=True)
class Run:
    """A run that records, with its processes, its trace instance and its folder."""

    starter: subprocess.Popen[str]
    agent: int
    guards: list[int]
    instance: Path
    folders: Path

    def is_gone(self) -> bool:
        """Whether nothing of it is left."""
        processes = [self.starter.pid, self.agent, *self.guards]
        is_idle = all(not _lives(process) for process in processes)
        return is_idle and not self.instance.exists() and not list(self.folders.iterdir())


def _status(process: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{process}/status").read_text("utf-8")
    except OSError:
        return {"State": "X"}
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def _lives(process: int) -> bool:
    """One that its parent has not asked for yet has ended nevertheless."""
    return _status(process)["State"][0] not in "XZ"


def _children(process: int) -> list[int]:
    everyone = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return [one for one in everyone if _status(one).get("PPid") == str(process)]


def _named(processes: list[int], name: str) -> list[int]:
    return [process for process in processes if _status(process).get("Name") == name]


def start(place: Place) -> Run:
    """In a session of its own, as a command of Systems Manager."""
    folders = Path(tempfile.mkdtemp(dir=place.folder))
    options = ["--action=observe", f"--volume={VOLUME_ID}", f"--home={place.folder}/home"]
    starter = subprocess.Popen(
        [place.agent, "run", place.disk, *options, f"--arguments=--source {place.source}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(folders), "REWARM_PROGRESS_URL": "none"},
    )
    number = Path(place.disk).stat().st_rdev
    instance = TRACING / f"rewarm-{os.major(number)}-{os.minor(number)}"
    kernel.wait_until(lambda: any(folders.glob("*/progress")))
    (agent,) = _named(_children(starter.pid), "warmer")
    guards = _named([*_children(starter.pid), *_children(agent)], "warmer-guard")
    run = Run(starter, agent, guards, instance, folders)
    assert instance.exists()
    assert len(guards) == 2
    assert all(_status(one)["NSsid"] == str(one) for one in guards), "each is in a session of its own"
    return run


def _kill_the_agent(run: Run) -> None:
    os.kill(run.agent, signal.SIGKILL)


def _kill_the_starter(run: Run) -> None:
    os.kill(run.starter.pid, signal.SIGKILL)


def _kill_the_group(run: Run) -> None:
    os.killpg(run.starter.pid, signal.SIGKILL)


def _ask_the_group(run: Run) -> None:
    os.killpg(run.starter.pid, signal.SIGTERM)


def _kill_the_guards_and_ask_the_starter(run: Run) -> None:
    for guard in run.guards:
        os.kill(guard, signal.SIGKILL)
    os.kill(run.starter.pid, signal.SIGTERM)


def _play(place: Place, way: Callable[[Run], None]) -> None:
    run = start(place)
    way(run)
    run.starter.communicate(timeout=240)
    kernel.wait_until(run.is_gone)


def nothing_stays_when_the_agent_is_killed(place: Place) -> None:
    _play(place, _kill_the_agent)


def nothing_stays_when_its_starter_is_killed(place: Place) -> None:
    _play(place, _kill_the_starter)


def nothing_stays_when_its_group_is_killed(place: Place) -> None:
    _play(place, _kill_the_group)


def nothing_stays_when_its_group_is_asked_to_end(place: Place) -> None:
    _play(place, _ask_the_group)


def nothing_stays_when_only_the_guards_are_killed(place: Place) -> None:
    _play(place, _kill_the_guards_and_ask_the_starter)


def _kill_everything(place: Place) -> Run:
    """Its guards, too: then the instance stays."""
    run = start(place)
    for guard in run.guards:
        os.kill(guard, signal.SIGKILL)
    os.killpg(run.starter.pid, signal.SIGKILL)
    run.starter.communicate(timeout=240)
    kernel.wait_until(lambda: not _lives(run.agent))
    assert run.instance.exists()
    return run


def what_stays_when_everything_is_killed_goes_with_the_next_observer(place: Place) -> None:
    run = _kill_everything(place)
    with observing(place, place.disk) as observer:
        observer.stop()
    assert not run.instance.exists()


def what_stays_when_everything_is_killed_goes_with_the_next_run(place: Place) -> None:
    run = _kill_everything(place)
    command = [place.agent, "run", place.disk, "--action=verify", f"--volume={VOLUME_ID}"]
    command.append(f"--home={place.folder}/home")
    environment = {**os.environ, "TMPDIR": str(run.folders)}
    subprocess.run(command, capture_output=True, check=False, env=environment)
    assert run.is_gone()


def what_stays_when_everything_is_killed_goes_when_a_device_is_looked_at(place: Place) -> None:
    """The sweeper's question ends nothing of a recording that still runs."""
    run = _kill_everything(place)
    command = [place.agent, "device-use", place.disk, "--action=check", f"--volume={VOLUME_ID}"]
    environment = {**os.environ, "TMPDIR": str(run.folders)}
    subprocess.run(command, capture_output=True, check=True, env=environment)
    assert run.is_gone()
    living = start(place)
    environment["TMPDIR"] = str(living.folders)
    subprocess.run(command, capture_output=True, check=True, env=environment)
    assert living.instance.exists()
    assert len(list(living.folders.iterdir())) == 1
    living.starter.terminate()
    living.starter.communicate(timeout=240)
    kernel.wait_until(living.is_gone)


KILLS: tuple[Callable[[Place], None], ...] = (
    nothing_stays_when_the_agent_is_killed,
    nothing_stays_when_its_starter_is_killed,
    nothing_stays_when_its_group_is_killed,
    nothing_stays_when_its_group_is_asked_to_end,
    nothing_stays_when_only_the_guards_are_killed,
    what_stays_when_everything_is_killed_goes_with_the_next_observer,
    what_stays_when_everything_is_killed_goes_with_the_next_run,
    what_stays_when_everything_is_killed_goes_when_a_device_is_looked_at,
)
