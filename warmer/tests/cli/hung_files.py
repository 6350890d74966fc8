"""hung_files.py FILE READY: mount a file system over FILE that lets it be opened once, and then answers nobody.

Whoever asks for the open file's size waits for ever, as with a network share whose server is gone. READY
appears once it is mounted.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import time
from pathlib import Path

VERSION = struct.pack("<4I2H2I36x", 7, 31, 0, 0, 1, 1, 4096, 1)
"""The answer to FUSE_INIT."""
OPENED = bytes(16)
"""The answer to FUSE_OPEN."""


def answer(node: int, body: bytes) -> None:
    """Wait for a request, whatever it is, and grant it."""
    request = os.read(node, 1 << 16)
    os.write(node, struct.pack("<Ii8s", 16 + len(body), 0, request[8:16]) + body)


def main() -> None:
    """Serve two requests."""
    file, ready = sys.argv[1:3]
    node = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={node},rootmode=100644,user_id=0,group_id=0"
    if ctypes.CDLL(None).mount(b"hung", file.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(1)
    answer(node, VERSION)
    Path(ready).touch()
    answer(node, OPENED)
    time.sleep(3600)


main()
