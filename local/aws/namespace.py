"""Separate network and mount namespaces, so that the embedded AWS can have AWS's names.

In it, loopback is its own, every name is asked of the embedded AWS's name server, and only its certificate
authority is trusted. Nothing of the host changes, and nothing listens on the host. The namespaces end with
the last process in them (namespaces(7)).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shlex
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.linux import run_tool

RESOLVER = Path("/etc/resolv.conf")
TRUST_STORE = Path("/etc/ssl/certs")
CA_BUNDLE = TRUST_STORE / "ca-certificates.crt"
"""Where Debian's curl and OpenSSL look for authorities."""
_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 0x1


def enter(folder: Path, authority: bytes) -> None:
    """Move this thread, and all that it starts from now on, into separate namespaces.

    `folder` gets the files that are mounted there; `authority` is the only trusted one, as PEM. Raises
    DataPlaneError without the rights to do so.
    """
    if os.geteuid() != 0:
        raise DataPlaneError("the embedded AWS needs root, to make a network namespace")
    trusted = folder / "trusted"
    trusted.mkdir(parents=True, exist_ok=True)
    (trusted / CA_BUNDLE.name).write_bytes(authority)
    run_tool("openssl", "rehash", trusted)
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\n", encoding="utf-8")
    _unshare()
    run_tool("mount", "--make-rprivate", "/")
    run_tool("mount", "--bind", folder / "resolv.conf", RESOLVER.resolve())
    run_tool("mount", "--bind", trusted, TRUST_STORE)
    _raise_loopback()


def write_shell(path: Path, environment: Mapping[str, str]) -> None:
    """Write a program that runs a command, or a shell, in this process's namespaces with these settings."""
    inside = [f"--net=/proc/{os.getpid()}/ns/net", f"--mount=/proc/{os.getpid()}/ns/mnt"]
    settings = [f"{name}={value}" for name, value in sorted(environment.items())]
    stay = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh"]
    program = shlex.join(["nsenter", *inside, "env", *settings, *stay])
    path.write_text(
        f'#!/bin/sh\n[ $# != 0 ] || set -- "${{SHELL:-sh}}"\nexec {program} "$PWD" "$@"\n', encoding="utf-8"
    )
    path.chmod(0o700)


def _unshare() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS | _CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise DataPlaneError(f"the embedded AWS needs CAP_SYS_ADMIN, to make a network namespace: {reason}")


def _raise_loopback() -> None:
    """`ip link set lo up`, without the program: not every machine has it (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
