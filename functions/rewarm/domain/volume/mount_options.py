"""Which options of mount(8) a request may give for a volume that an instance mounts as root.

None gives rights, weakens a check, can stop the kernel, or lets another program or device take part. Source:
mount(8), ext4(5), xfs(5), btrfs(5). The agent has the same list for each kind of file system
(warmer/src/mount/mount_options.c) and checks it again; it takes fstab's options as they are.
"""

from __future__ import annotations

import re

_NUMBER, _SIZE = r"[0-9]{1,9}", r"[0-9]{1,9}[kmg]?"
_SECONDS = r"[0-9]{1,3}"
_COMPRESSION = r"(no|lzo|(zlib|zstd)(:[0-9]{1,9})?)"
_FOLDER = r"(?!.*\.\.)[A-Za-z0-9@_.+/-]+"
_FLAGS = [
    "ro",
    "rw",
    "atime",
    "noatime",
    "relatime",
    "strictatime",
    "diratime",
    "nodiratime",
    "lazytime",
    "nolazytime",
    "noexec",
    "nosuid",
    "nodev",
    "nosymfollow",
    "sync",
    "async",
    "dirsync",
    "discard",
    "nodiscard",
    "nodelalloc",
    "inode64",
    "largeio",
    "nouuid",
    "swalloc",
    "wsync",
    "autodefrag",
    "noautodefrag",
    "flushoncommit",
    "ssd",
    "nossd",
]
"""Of every file system; then of ext4, XFS and btrfs alone."""
_VALUES = {
    "commit": _SECONDS,
    "data": "(ordered|journal)",
    "errors": "remount-ro",
    "stripe": _NUMBER,
    "allocsize": _SIZE,
    "logbsize": _SIZE,
    "logbufs": _NUMBER,
    "sunit": _NUMBER,
    "swidth": _NUMBER,
    "compress": _COMPRESSION,
    "compress-force": _COMPRESSION,
    "discard": "(async|sync)",
    "space_cache": "v2",
    "subvol": _FOLDER,
    "subvolid": _NUMBER,
    "thread_pool": _NUMBER,
}
_OPTION = re.compile("|".join([*_FLAGS, *(f"{name}={value}" for name, value in _VALUES.items())]))
LONGEST = 127
"""Characters of one option; the agent keeps no more."""
WORDS = (
    "ro, rw, atime, noatime, relatime, strictatime, diratime, nodiratime, lazytime, nolazytime, noexec, "
    "nosuid, nodev, nosymfollow, sync, async, dirsync, discard and nodiscard; of ext4 commit=, "
    "data=ordered, data=journal, errors=remount-ro, stripe= and nodelalloc; of XFS allocsize=, inode64, "
    "largeio, logbsize=, logbufs=, nouuid, sunit=, swidth=, swalloc and wsync; of btrfs autodefrag, "
    "commit=, compress=, compress-force=, discard=, flushoncommit, noautodefrag, space_cache=v2, ssd, "
    "nossd, subvol=, subvolid= and thread_pool="
)
"""The list for people, word for word the agent's."""


def refused_option(options: str) -> str | None:
    """The first option, with commas between them, that no request may give; None if all may be given."""
    for option in options.split(","):
        if len(option) > LONGEST or not _OPTION.fullmatch(option):
            return option
    return None
