"""A function's code is unpacked and compiled once, however many processes run it.

Why: the emulator unpacks the whole ZIP file for each process, and Python compiles it there again. All
functions of the stack are in one file, so thirty cold starts take a third of their time for that. On AWS
nobody can write to a function's code (Lambda developer guide, "/var/task"), so that processes can share it.
"""

from __future__ import annotations

import hashlib
import threading
import zipfile
from pathlib import Path
from typing import Any

from local.aws.emulator import seam


def apply(folder: Path) -> None:
    """Mend the emulator's Lambda; `folder` takes the unpacked files."""
    runtime = seam.module("core.lambda_runtime")
    seam.known(runtime.Worker, "_spawn", "os.makedirs(code_dir)", "zf.extractall(code_dir)")
    seam.known(runtime.Worker, "_spawn", "lzf.extractall(layer_dir)")
    lock = threading.Lock()

    class Unpacked(zipfile.ZipFile):
        """A ZIP file that is unpacked once."""

        def extractall(self, path: Any = None, *_: Any, **__: Any) -> None:
            """Make the empty folder `path` a link to the unpacked files."""
            place = folder / hashlib.sha256(Path(str(self.filename)).read_bytes()).hexdigest()
            with lock:
                if not place.exists():
                    super().extractall(place.with_suffix(".part"))
                    place.with_suffix(".part").rename(place)
            Path(path).rmdir()
            Path(path).symlink_to(place)

    seam.replace(runtime, "zipfile", _Zipfile(Unpacked))


class _Zipfile:
    """The module zipfile with another class ZipFile."""

    def __init__(self, unpacked: type[zipfile.ZipFile]) -> None:
        self.ZipFile = unpacked

    def __getattr__(self, name: str) -> Any:
        return getattr(zipfile, name)
