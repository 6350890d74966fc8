"""The project's own files, without what is built or installed. Needs no version control."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
_NOT_OURS = {
    ".aws-sam", ".git", ".hypothesis", ".local", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv",
    ".venv-clients", ".venv-sam", "__pycache__", "build", "dist", "node_modules", "vendor",
}  # fmt: skip


def files(*patterns: str, below: str = ".") -> list[Path]:
    """Files whose names match one of the glob patterns."""
    return sorted(path for path in _walk(ROOT / below) if any(path.match(pattern) for pattern in patterns))


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT_OURS]
        yield from (Path(parent, name) for name in names)


def module_of(path: Path) -> ModuleType:
    """Loads a file that is in no package. Each call loads it again."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def complaints(command: Sequence[str | Path], **environment: str) -> str:
    """What the tool says when it is not content; empty when it is."""
    result = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if result.returncode == 0 else f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
