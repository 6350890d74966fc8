"""The options that a request may give for a mount: the functions and the agent have one list."""

from __future__ import annotations

import re
import subprocess

import pytest

from local import ROOT
from rewarm.contracts.after import MOUNT_OPTIONS, OPTIONS, refused_option
from tests.contract.stack import documents

AGENT = ROOT / "warmer" / "build" / "warmer"
ALLOWED = """
    ro rw atime noatime relatime strictatime nodiratime lazytime noexec nosuid nodev nosymfollow
    sync async dirsync discard nodiscard commit=5 commit=300 data=ordered data=journal
    errors=remount-ro stripe=16 nodelalloc allocsize=64k allocsize=1g inode64 largeio logbsize=256k
    logbufs=8 nouuid sunit=8 swidth=16 swalloc wsync autodefrag compress=zstd compress=zstd:3
    compress=lzo compress=no compress-force=zlib:9 discard=async flushoncommit space_cache=v2 ssd
    nossd subvol=@data subvol=/a/b-c.d subvolid=256 thread_pool=4 noatime,ro,errors=remount-ro
"""
REFUSED = """
    suid dev exec user users owner group remount bind rbind move loop loop=/dev/loop0
    x-systemd.automount nofail noauto defaults _netdev helper=own uhelper=own context=system_u
    fscontext=a defcontext=a rootcontext=a seclabel errors=panic errors=continue errors norecovery
    noload degraded rescue=all rescue=nologreplay nologreplay device=/dev/sda journal_dev=1
    journal_path=/dev/sda logdev=/dev/sda rtdev=/dev/sda data=writeback nobarrier barrier=0
    noauto_da_alloc fatal_errors=panic commit=9999 commit= commit=-1 commit=5s data nodatacow
    nodatasum usebackuproot user_subvol_rm_allowed test_dummy_encryption journal_async_commit
    sb=131072 quota usrquota grpjquota=a uid=0 gid=0 mode=777 usrjquota=a allow_utime subvol=../x
    subvol= subvol compress=zstd: compress=lzo:3 compress=gzip discard=on space_cache=v1
    allocsize=64K ssd=1 ro=1 RO noatime,errors=panic ro,,rw ,ro stripe=1234567890 check=none debug
"""


def agent_allows(options: str) -> bool:
    """I    t says in time whether it takes them, because no volume is named."""
    done = subprocess.run(
        [AGENT, "mount", f"--options={options}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    if done.stderr == "warmer: `warmer mount` needs --volume\n":
        return True
    assert done.stderr == f"warmer: --options {options}: allowed is some of {MOUNT_OPTIONS}\n"
    return False


def functions_allow(options: str) -> bool:
    is_taken = refused_option(options) is None
    if is_taken:  # the document lets them through
        assert re.fullmatch(OPTIONS, options)
        assert documents.filled("HookDocument", {"options": options})
    return is_taken


@pytest.mark.parametrize("options", ALLOWED.split())
def test_what_is_safe_is_allowed(options: str) -> None:
    assert functions_allow(options)
    assert agent_allows(options)


@pytest.mark.parametrize("options", REFUSED.split())
def test_everything_else_is_refused(options: str) -> None:
    assert not functions_allow(options)
    assert not agent_allows(options)
