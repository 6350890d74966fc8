"""A machine's corner: a tree of root's that must not change, and folders of a user who owns nothing else."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

NOBODY = 65_534
FACTS = tuple[int, int, int, int, int, str]


def _content(path: Path, facts: os.stat_result) -> str:
    if stat.S_ISLNK(facts.st_mode):
        return str(path.readlink())
    if stat.S_ISREG(facts.st_mode):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return ""


def snapshot(folder: Path) -> dict[str, FACTS]:
    """Path -> mode, owner, group, inode, time of change in ns, and content of all that is in a folder."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        facts = path.stat() if path == folder else path.lstat()
        found[str(path.relative_to(folder))] = (
            facts.st_mode, facts.st_uid, facts.st_gid, facts.st_ino, facts.st_mtime_ns, _content(path, facts),
        )  # fmt: skip
    return found


def differences(before: dict[str, FACTS], after: dict[str, FACTS]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def make_tree(folder: Path) -> None:
    """Files of root's in several modes, as a service has them."""
    (folder / "inner").mkdir(parents=True)
    for name, text, mode in (("secret", "s" * 5000, 0o600), ("empty", "", 0o600), ("open", "o", 0o644)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / "inner" / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(mode)
    (folder / "bare").mkdir(0o700)
    (folder / "link").symlink_to("secret")


class Ground:
    """`victim` is root's; `nest` and the `data` in it are nobody's, made anew for each play."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder, self.victim, self.nest = folder, folder / "victim", folder / "nest"
        self.data = self.nest / "data"
        self.before: dict[str, FACTS] = {}

    def renew(self) -> None:
        """Begin a play; what an earlier one has changed is made anew as well."""
        shutil.rmtree(self.nest, ignore_errors=True)
        if not self.before or self.changed():
            shutil.rmtree(self.victim, ignore_errors=True)
            make_tree(self.victim)
            self.before = snapshot(self.victim)
        for folder in (self.nest, self.data):
            folder.mkdir(0o755)
            os.chown(folder, NOBODY, NOBODY)

    def changed(self) -> list[str]:
        """What is not as it was outside of the nest."""
        return differences(self.before, snapshot(self.victim))
