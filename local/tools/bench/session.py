"""The benchmark's own folder: locked while it runs, swept of what a killed run left."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.first_touch_process import build_program
from local.aws.machines.machine import lock_folder, sweep
from local.tools.bench.cold_volume import Backing


class Session:
    """What all runs share: a folder, the volumes' bytes, and the agent as it was at the start."""

    def __init__(self, state_dir: Path, agent: Path) -> None:
        if os.geteuid() != 0:
            raise DataPlaneError("the benchmark needs root: it mounts volumes and makes block devices")
        self.state_dir = state_dir.resolve()
        self.volumes = self.state_dir / "volumes"
        for folder in (self.volumes, self.state_dir / "instances"):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = lock_folder(self.state_dir, "benchmark")
        sweep(self.state_dir)
        build_program()
        # A copy: whoever builds the agent meanwhile does not change what is measured.
        self.agent = Path(shutil.copy2(agent, self.state_dir / "warmer"))
        self.backing = Backing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.backing.close()
        with suppress(DataPlaneError):
            sweep(self.state_dir)
        self.agent.unlink(missing_ok=True)
        self._lock.close()
