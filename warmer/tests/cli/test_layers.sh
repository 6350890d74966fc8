#!/bin/sh
# `--scope used` on disks with a history: whatever lay on a disk before, no block of its owner is left out.
# LAYERS=2000 LAYERS_SEED=1 plays so many drawn disks; without it, a small sample.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
# The makers of file systems flush what they write: in memory that takes no time.
[ ! -w /dev/shm ] || TMPDIR=/dev/shm
export PATH TMPDIR MKE2FS_SYNC=0

if [ -z "$USED_DUMP" ]; then
    echo "skip disks with a history: it is not the program that is tested"
    exit 0
fi
for program in mkfs.ext4 debugfs mkntfs; do
    if ! command -v "$program" >/dev/null; then
        echo "skip disks with a history: install the Debian packages e2fsprogs and ntfs-3g"
        exit 0
    fi
done
python3 "$here/../layers/named.py" "$USED_DUMP"
python3 "$here/../layers/layers.py" "$USED_DUMP" "${LAYERS:-20}" "${LAYERS_SEED:-1}"
