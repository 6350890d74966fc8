"""C is formatted as .clang-format says, and the agent's rooms use each other as warmer/README.md says."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from graphlib import TopologicalSorter

from tests.support.tree import BIN, ROOT, complaints, files

AGENT = ROOT / "warmer"


def _rooms_of_the_readme() -> dict[str, set[str]]:
    text = (AGENT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9/]+)` \|.*\|(.*)\|$", text, re.MULTILINE)
    return {room: set(re.findall(r"`(.+?)`", used)) for room, used in rows}


ROOM_MAY_USE = _rooms_of_the_readme()
"""Room of warmer/src -> the other rooms whose headers it includes."""


def test_clang_format():
    sources = files("*.c", "*.h")
    assert {path.parts[-3] for path in sources} >= {"warmer", "first_touch"}
    assert complaints([BIN / "clang-format", "--dry-run", "--Werror", *sources]) == ""


def test_no_two_headers_have_one_guard():
    """Of two that have, the one that is included later vanishes."""
    found = defaultdict(list)
    for path in files("*.h"):
        guards = re.findall(r"^#ifndef (\w+)\n#define \1$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(guards) == 1, path
        found[guards[0]].append(path)
    assert [paths for paths in found.values() if len(paths) > 1] == []


def test_what_is_vendored_is_unchanged():
    folder = AGENT / "vendor" / "zstd"
    sums = dict(
        line.split()[::-1] for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    )
    assert set(sums) == {"zstddeclib.c", "LICENSE"}
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums} == sums


def test_each_room_includes_the_rooms_of_its_row():
    used: dict[str, set[str]] = defaultdict(set)
    for path in files("*.c", "*.h", below="warmer/src"):
        room = path.parent.relative_to(AGENT / "src").as_posix()
        headers = re.findall(r'^#include "(.+)/.+"$', path.read_text(encoding="utf-8"), re.MULTILINE)
        used[room] |= set(headers) - {room}
    main = used.pop(".")
    assert used == ROOM_MAY_USE
    assert main <= set(ROOM_MAY_USE)


def test_the_rooms_form_no_circle():
    assert set(TopologicalSorter(ROOM_MAY_USE).static_order()) == set(ROOM_MAY_USE)


def test_the_tests_stand_in_the_same_rooms():
    tests = files("test_*.c", below="warmer/tests")
    assert {path.parent.relative_to(AGENT / "tests").as_posix() for path in tests} <= set(ROOM_MAY_USE)
