#!/bin/sh
# `warmer run --action=apply` on a slow block device, which it has for itself alone, is killed at random moments.
# KILLS=300 BLOCKS=1536 RATE_MIB_S=1000 takes about 15 minutes and 3 GiB of memory.
if [ -z "$OWN_MOUNTS" ]; then
    if [ "$(id -u)" -ne 0 ] || ! unshare --mount --propagation private true 2>/dev/null; then
        echo "skip killing on block devices: no mount namespace to be had"
        exit 0
    fi
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

if is_emulated; then
    echo "skip killing on block devices: an emulated program cannot start itself"
    exit 0
fi
mkdir fast
mount -t tmpfs none fast && cd fast || exit 1
blocks=${BLOCKS:-128}
truncate -s $((blocks * 512))K old
python3 -c 'import sys
with open("new", "wb") as stream:
    for number in range(int(sys.argv[1])):
        stream.write(bytes([1 + number % 255]) * 524288)' "$blocks"
python3 "$here/delta.py" old new d vol-0123456789abcdef0 snap-0123456789abcdef0 pack=64 samples=0
cp old image
if ! loop=$(losetup --find --show image 2>/dev/null); then
    echo "skip killing on block devices: no loop device to be had"
    exit 0
fi
trap 'losetup --detach "$loop"; cd /; umount "$work/fast"; rm -rf "$work"' EXIT
mkdir -p /dev/disk
mount -t tmpfs none /dev/disk
mkdir /dev/disk/by-id
ln -s "$loop" /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0

run python3 "$here/kill_run.py" "$WARMER" "$loop" new d "${RATE_MIB_S:-80}" "${KILLS:-12}" "${SEED:-32}"
expect_true whoever_is_killed_the_device_becomes_the_snapshot test "$status" -eq 0
sed 's/^/# /' out
