"""Let somebody else write at a random moment of `warmer apply`, and print a line of JSON about each play.

usage: second_writer.py --agent FILE --delta FILE --seed SEED --count COUNT [--first NUMBER]

Run as root. "applied" must never be said of a volume that is not the snapshot; and without a second writer it
must be said.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import mmap
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.local.agent.arrangements import kernel
from tests.local.agent.arrangements.base import BY_ID, volume_id
from tests.local.agent.arrangements.sweep import sweep

PREFIX = "@@ "
BLOCK, BLOCKS, PAGE = 524_288, 24, 4096
BYTES = BLOCKS * BLOCK
SNAPSHOT = "snap-0123456789abcdef0"
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F


def _pwrite(device: str, at: int, data: bytes, flags: int = 0) -> None:
    with kernel.opened(device, os.O_RDWR | flags) as descriptor, mmap.mmap(-1, PAGE) as page:
        page[:] = data
        os.pwritev(descriptor, [page], at)


def _map(device: str, at: int, data: bytes) -> None:
    with kernel.opened(device) as descriptor, mmap.mmap(descriptor, PAGE, offset=at) as page:
        page[:] = data


def _ioctl(device: str, at: int, request: int) -> None:
    with kernel.opened(device) as descriptor:
        fcntl.ioctl(descriptor, request, struct.pack("QQ", at, PAGE))


WAYS: dict[str, Callable[[str, int, bytes], None]] = {
    "directly": lambda device, at, data: _pwrite(device, at, data, os.O_DIRECT),
    "later": _pwrite,
    "at once": lambda device, at, data: _pwrite(device, at, data, os.O_DSYNC),
    "by a mapping": _map,
    "discards": lambda device, at, _: _ioctl(device, at, BLKDISCARD),
    "writes zeros": lambda device, at, _: _ioctl(device, at, BLKZEROOUT),
}


def main() -> None:
    """Play the share that the options name, on a device of its own."""
    options = _options()
    folder = Path("/tmp") / f"second-writer-{os.getpid()}"  # root's own, and it has a new number
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", folder, "tmpfs", 0, "mode=700")
    try:
        _play_all(options, folder)
    finally:
        sweep(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", type=Path, required=True)
    parser.add_argument("--delta", type=Path, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    return parser.parse_args()


def _play_all(options: argparse.Namespace, folder: Path) -> None:
    old, new = _images(folder, options)
    backing = folder / "backing"
    backing.write_bytes(old)
    device = kernel.attach_loop(str(backing))
    kernel.mount("none", Path("/dev/disk"), "tmpfs")
    BY_ID.mkdir()
    (BY_ID / f"nvme-Amazon_Elastic_Block_Store_{volume_id(0).replace('-', '')}").symlink_to(device)
    for number in range(options.first, options.first + options.count):
        line = json.dumps(_play(options, folder, device, number, (old, new)))
        os.write(1, f"{PREFIX}{line}\n".encode())


def _images(folder: Path, options: argparse.Namespace) -> tuple[bytes, bytes]:
    """The old image and the new one, which differs in half of the blocks, and the delta between them."""
    draw = Random(f"{options.seed}: images")
    old = draw.randbytes(BYTES)
    new = b"".join(
        draw.randbytes(BLOCK) if block % 2 else old[block * BLOCK : (block + 1) * BLOCK]
        for block in range(BLOCKS)
    )
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    words = (options.delta, folder / "old", folder / "new", folder / "packs", volume_id(0), SNAPSHOT)
    subprocess.run([sys.executable, *map(str, words), "samples=2", "pack=4"], check=True)
    return old, new


def _play(
    options: argparse.Namespace, folder: Path, device: str, number: int, images: tuple[bytes, bytes]
) -> dict[str, object]:
    """One application and, but for one in eight, somebody who writes a page meanwhile."""
    draw = Random(f"{options.seed}:{number}")
    way = "" if number % 8 == 0 else draw.choice(list(WAYS))
    _put(device, images[0])
    for file in (folder / "state", folder / "state.taken"):
        file.unlink(missing_ok=True)
    words = (options.agent, "apply", device, "--volume", volume_id(0), "--state", folder / "state")
    more = ["--manifest", str(folder / "packs" / "manifest"), "--engine", draw.choice(("auto", "threads"))]
    more += ["--max-mib-s", str(draw.choice((20, 40, 100)))]
    with subprocess.Popen(
        [*map(str, words), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdout is not None
        armed = agent.stdout.readline()
        moment = draw.choice((0, draw.uniform(0, 0.1), draw.uniform(0, 1.2)))
        if way and "armed" in armed:
            time.sleep(moment)
            WAYS[way](device, draw.randrange(BYTES // PAGE) * PAGE, draw.randbytes(PAGE))
        out, err = agent.communicate()
    is_snapshot = _read(device) == images[1]
    result = json.loads(out.splitlines()[-1]) if out else {}
    is_applied = agent.returncode == 0 and result.get("verdict") == "applied"
    # What is written after the agent has counted for the last time is not its affair.
    is_later = _sectors(device) != (result.get("writeCount") or {}).get("sectors")
    problem = ""
    if is_applied and not is_snapshot and not is_later:
        problem = "applied, although the volume is not the snapshot"
    elif not way and not (is_applied and is_snapshot and result.get("writesCounted")):
        problem = "not applied, although nobody else wrote"
    return {
        "number": number,
        "way": way,
        "status": agent.returncode,
        "isLater": is_later,
        "isSnapshot": is_snapshot,
        "message": err.strip()[-200:],
        "problem": problem,
    }


def _put(device: str, image: bytes) -> None:
    """The old image, once the kernel has let go of the device."""
    kernel.patiently(lambda: os.close(os.open(device, os.O_RDWR | os.O_EXCL)))
    with kernel.opened(device) as descriptor:
        os.pwrite(descriptor, image, 0)
        os.fsync(descriptor)


def _sectors(device: str) -> int:
    """What the kernel has counted as written and as discarded."""
    counts = Path(f"/sys/block/{Path(device).name}/stat").read_text("ascii").split()
    return int(counts[6]) + int(counts[13])


def _read(device: str) -> bytes:
    """What is on the device, and what is still to be written to it."""
    with kernel.opened(device) as descriptor:
        os.fsync(descriptor)
        return os.pread(descriptor, BYTES, 0)


if __name__ == "__main__":
    main()
    sys.exit(0)
