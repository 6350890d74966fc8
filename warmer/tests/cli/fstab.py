"""Compares what the agent reads of fstab with what findmnt, and so libmount, reads of it: fstab.py DUMP COUNT."""

import json
import pathlib
import random
import subprocess
import sys

SEED = 7
PARTS = [
    "/",
    "//",
    "/.",
    "/..",
    "a",
    "Ω",
    "ü",
    "*",
    "[x]",
    "?",
    "$(id)",
    "`id`",
    "'",
    '"',
    "\\040",
    "\\011",
    "\\134",
]
PARTS += [
    "\\",
    "\\08",
    "\\x20",
    "#",
    "=",
    ",",
    "%s",
    ";",
    "&",
    "|",
    "\\043",
    "srv",
    "db",
    ".hidden",
    "~",
    "-",
    "x" * 60,
]
SOURCES = [
    "UUID=",
    "LABEL=",
    "PARTUUID=",
    "PARTLABEL=",
    "/dev/disk/by-uuid/",
    "/dev/disk/by-label/",
    "/dev/",
    "",
    "ID=",
]
QUOTES = ["", "", "", '"', "'"]
BLANKS = [" ", "\t", "  ", " \t "]
TAILS = ["", " 0", " 0 2", "\t0 0 # no", " # no", " x", " 0 2x", "  ", " -1 +2", " 0 2 3", "\r"]
OPTIONS = ["", "defaults", "noatime,ro", 'x="a,b",ro', "subvol=/a\\040b", "errors=remount-ro", "ro\\054rw"]


def line(chance):
    def word(most):
        return "".join(chance.choice(PARTS) for _ in range(chance.randint(0, most)))

    quote = chance.choice(QUOTES)
    source = chance.choice(SOURCES) + quote + word(3) + quote
    target = chance.choice(["/", "/", "/", ""]) + word(5)
    fields = [source, target, chance.choice(["ext4", "xfs", "swap", ""]), chance.choice(OPTIONS)]
    text = chance.choice(BLANKS).join(fields[: chance.choice([4, 4, 4, 4, 3, 2])])
    return chance.choice(["", "", " ", "\t", "#"]) + text + chance.choice(TAILS)


def plain(path):
    """A plain path; None: the agent takes none such."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    bad = not path.startswith("/") or ".." in parts or any(ord(letter) < 32 for letter in path)
    return None if bad else "/" + "/".join(parts)


def unquoted(source):
    name, equals, value = source.partition("=")
    is_quoted = len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]
    return name + equals + value[1:-1] if is_quoted and not source.startswith("/") else source


def main():
    dump, count = sys.argv[1], int(sys.argv[2])
    chance = random.Random(SEED)
    tables = pathlib.Path("fstab")
    compared = 0
    for _ in range(count):
        text = line(chance)
        tables.write_text(text + "\n", encoding="utf-8")
        ask = ["findmnt", "--tab-file", "fstab", "--json", "--output", "SOURCE,TARGET,FSTYPE,OPTIONS"]
        judged = subprocess.run(ask, capture_output=True, text=True, check=False).stdout
        rows = json.loads(judged)["filesystems"] if judged.strip() else []
        said = [[row[name] or "" for name in ("source", "target", "fstype", "options")] for row in rows]
        expected = [[unquoted(row[0]), plain(row[1]), *row[2:]] for row in said if plain(row[1]) is not None]
        raw = subprocess.run([dump, "fstab"], capture_output=True, check=True).stdout
        fields = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
        found = [fields[i : i + 4] for i in range(0, len(fields), 4)]
        compared += len(found)
        if found != expected:
            sys.exit(f"{text!r}: the agent reads {found}, and findmnt {expected}")
    print(compared)


main()
