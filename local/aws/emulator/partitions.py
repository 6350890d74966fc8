"""The emulator in the partition of its Region: its modules are read with that partition's names.

Why: the emulator writes `arn:aws:` and `amazonaws.com` into its source, in every Region. On AWS the ARNs of
the China Regions begin with `arn:aws-cn:` and those of AWS GovCloud (US) with `arn:aws-us-gov:`, and
endpoints in China end in `amazonaws.com.cn` (AWS General Reference). Names of service principals stay.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextvars import Context
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from local.aws.region.settings import partition_of

PACKAGE = "ministack"


def region_read() -> str | None:
    """The Region that the emulator's modules were read for; None where they are not read yet."""
    responses = sys.modules.get(f"{PACKAGE}.core.responses")
    return None if responses is None else str(Context().run(responses.get_region))


def read_for(region: str) -> None:
    """Let the emulator's modules be read anew, with the names of this Region's partition."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    if partition_of(region)[0] != "aws":
        sys.meta_path.insert(0, _Finder(region))


def changed(source: bytes, region: str) -> bytes:
    """The emulator's source with the names of this Region's partition."""
    partition, domain = partition_of(region)
    for before, after in (
        ("arn:aws:", f"arn:{partition}:"),
        ('.partition != "aws"', f'.partition != "{partition}"'),
        ('.partition == "aws"', f'.partition == "{partition}"'),
        ('"AWS::Partition": "aws"', f'"AWS::Partition": "{partition}"'),
        ('"AWS::URLSuffix": "amazonaws.com"', f'"AWS::URLSuffix": "{domain}"'),
        ("}.amazonaws.com", f"}}.{domain}"),
    ):
        source = source.replace(before.encode(), after.encode())
    return source


class _Finder(MetaPathFinder):
    """Finds the emulator's modules, and gives them our loader."""

    def __init__(self, region: str) -> None:
        self._region = region

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As PathFinder's."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        found = PathFinder.find_spec(fullname, path)
        if found is not None and found.origin is not None:
            found.loader = _Loader(fullname, found.origin, self._region)
        return found


class _Loader(SourceFileLoader):
    """Compiles a module's changed source, and keeps no bytecode of it."""

    def __init__(self, fullname: str, path: str, region: str) -> None:
        super().__init__(fullname, path)
        self._region = region

    def get_code(self, fullname: str) -> CodeType:
        """Of the changed source."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(changed(self.get_data(path), self._region), path)
        return code
