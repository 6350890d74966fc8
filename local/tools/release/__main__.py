"""`python -m local.tools.release`: exit status 0 built, 1 a tool failed, 2 the tree is not ready."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

import ziglang  # type: ignore[import-untyped]

from local import ROOT
from local.agents import hashes, released
from local.tools.release import bill, files, template, terraform, versions

BUILT, FAILED, NOT_READY = 0, 1, 2


class NotReadyError(RuntimeError):
    """No release can be made of this tree; the message says why and what to do."""


def main(arguments: list[str] | None = None) -> int:
    """Build a release; return the exit status."""
    parser = argparse.ArgumentParser(prog="make release", description="Build what a release has.")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist", help="where to put it, emptied first")
    folder: Path = parser.parse_args(arguments).folder
    try:
        check(ROOT)
        build(ROOT, folder)
    except (NotReadyError, versions.VersionError) as problem:
        sys.stderr.write(f"make release: {problem}\n")
        return NOT_READY
    except files.BuildError as problem:
        sys.stderr.write(f"make release: {problem}\n")
        return FAILED
    print((folder / files.CHECKSUMS).read_text(encoding="utf-8"), end="")
    return BUILT


def check(root: Path) -> None:
    """Raises NotReadyError where a release would not be what its commit says, or does not say what it is."""
    try:
        changed = files.run(["git", "status", "--porcelain"], root).splitlines()
    except (files.BuildError, FileNotFoundError) as problem:
        raise NotReadyError(f"a release is built from a commit, in a clone: {problem}") from problem
    if changed:
        names = ", ".join(line[3:] for line in changed[:5])
        raise NotReadyError(
            f"{len(changed)} files differ from the commit ({names}); commit or remove them first"
        )
    version = versions.current(root)
    other = {name: found for name, found in versions.copies(root).items() if found != version}
    if other:
        raise NotReadyError(
            f"{versions.SOURCE} says {version}, but {other}; run make version VERSION={version}"
        )
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE) is None:
        raise NotReadyError(
            f"CHANGELOG.md has no heading for {version}; put what is new below `## [{version}] - YYYY-MM-DD`"
        )


def build(root: Path, folder: Path) -> None:
    """Make every file of the release. Raises BuildError."""
    epoch = int(files.run(["git", "log", "-1", "--format=%ct"], root))
    zig = f"{sys.executable} -m ziglang"
    files.run(["make", "-C", "warmer", "release", f"ZIG={zig}"], root)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    agents = released(root)
    package = template.package(files.layers(root), hashes(agents), root)
    package.write(folder)
    files.distributions(root, folder, epoch)
    (wheel,) = folder.glob("*.whl")
    version = versions.current(root)
    release = bill.Release(root, version, epoch, agents, wheel, Path(ziglang.__file__).parent)
    others = {
        f"{package.name}-terraform.zip": files.module(root, terraform.FILES),
        f"{package.name}.cdx.json": bill.bill(release).encode(),
    }
    files.write(folder, {**agents, **others})
    files.write(folder, {files.CHECKSUMS: files.checksums(folder).encode()})


if __name__ == "__main__":
    sys.exit(main())
