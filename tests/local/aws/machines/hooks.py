"""HookDocument at work on an instance that has /mnt and /etc of its own, and a volume."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local import ROOT
from local.aws.machines.dataplane import SnapshotImage
from local.aws.machines.instances import BY_ID
from local.aws.machines.machine import Machine
from tests.contract.stack import documents
from tests.local.aws.machines.commands import VOLUME, run, with_volume

AGENT = ROOT / "warmer" / "build" / "warmer"
UUID = "11111111-2222-3333-4444-555555555555"
LINK = f"/dev/disk/by-id/{BY_ID}vol0123456789abcdef0"
IMAGE = SnapshotImage("snap-0123456789abcdef0", 1, ((0, 8),), None)


@contextmanager
def hook_machine(folder: Path) -> Iterator[Machine]:
    """The machine; fstab is empty."""
    with with_volume(folder, IMAGE) as made:
        over = "lowerdir=/etc,upperdir=/mnt/etc/upper,workdir=/mnt/etc/work"
        shell(
            made,
            "mount -t tmpfs -o mode=755 none /mnt && mkdir -p /mnt/etc/upper /mnt/etc/work"
            f" && mount -t overlay -o {over} none /etc && echo '# none' >/etc/fstab",
        )
        yield made


def shell(machine: Machine, script: str) -> str:
    """What a script prints that succeeds."""
    status, output, errors = run(machine, script)
    assert status == 0, errors
    return output


def script(**values: str) -> str:
    """The document's script; curl loads the agent from where it was built."""
    address = "http://127.0.0.1/agent"
    whole = {"action": "mount", "volumeId": VOLUME, "path": "", "options": "", "url": "", "check": ""}
    whole |= {"agentUrl": address, "agentSha256": hashlib.sha256(AGENT.read_bytes()).hexdigest()}
    text = documents.filled("HookDocument", {**whole, "limitSeconds": "1", **values})
    return text.replace(address, AGENT.as_uri())


def hook(machine: Machine, **values: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the document."""
    return run(machine, script(**values))


def mounted(machine: Machine, path: str = "/mnt/data", **values: str) -> str:
    """Mounts, and returns the options that the kernel shows."""
    status, _, errors = hook(machine, path=path, **values)
    assert status == 0, errors
    return shell(machine, f"findmnt -nro OPTIONS --mountpoint {path}").strip()


def refused(machine: Machine, **values: str) -> str:
    """What it says, and nothing is mounted."""
    status, _, errors = hook(machine, **values)
    assert status == 75, errors
    device = shell(machine, f"readlink -f {LINK}").strip()
    assert shell(machine, f"grep -c '^{device} ' /proc/mounts || true").strip() == "0"
    return errors.strip()
