#!/bin/sh
# Where not everything can be looked at, `unmount` and `mount` refuse, say what they could not read, and nothing
# is ended, mounted or unmounted. A file whose reads fail (EIO) is mounted over what they look at.
if [ -z "$OWN_MOUNTS" ]; then
    if [ "$(id -u)" -ne 0 ] || ! unshare --mount --propagation private true 2>/dev/null || [ ! -e /etc/fstab ] ||
        ! command -v setpriv >/dev/null || [ ! -x /sbin/mkfs.ext4 ]; then
        echo "skip mounts that cannot be looked at: no mount namespace, fstab, setpriv or mkfs.ext4"
        exit 0
    fi
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

volume=vol-0123456789abcdef0
truncate -s 16M image other
mkfs.ext4 -q image
loop=$(losetup --find --show image 2>/dev/null) && other=$(losetup --find --show other 2>/dev/null)
users=
# shellcheck disable=SC2086  # several processes
trap 'kill $users 2>/dev/null; losetup --detach "$loop"; losetup --detach "$other"; rm -rf "$work"' EXIT
if [ -z "$other" ]; then
    echo "skip mounts that cannot be looked at: no loop device to be had"
    exit 0
fi
mount -t tmpfs none /dev/disk 2>/dev/null || { mkdir -p /dev/disk && mount -t tmpfs none /dev/disk; }
mkdir /dev/disk/by-id
link=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0
ln -s "$loop" $link
mount -t tmpfs -o mode=755 none /mnt
mkdir /mnt/data /mnt/new /mnt/taken
# A read of this file at its beginning fails with EIO: nothing is mapped at address 0.
unreadable=/proc/$$/mem

without_ptrace="setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace"

without_own_mounts() {
    sh -c 'mount --bind "$0" /proc/$$/mountinfo && exec "$@"' $unreadable "$@"
}

# use_by COMMAND…: the volume is mounted, a process works in it, and another one in a mount namespace of its own has
# a copy of the mount, which no end of the first one frees.
use_by() {
    mount "$loop" /mnt/data
    "$@" sh -c 'cd /mnt/data && exec sleep 600' &
    user=$!
    unshare --mount --propagation private sleep 600 &
    copier=$!
    users="$user $copier"
    until_runs $user sleep
    until_runs $copier sleep
}

end_use() {
    let_go $user
    let_go $copier
    users=
    umount /mnt/data 2>/dev/null
    until flock --exclusive --nonblock "$loop" true && mount "$loop" /mnt/new && umount /mnt/new; do sleep 0.1; done
}

# expect_kept NAME STATUS WORDS: the last run refused with these words; the user lives, and the mount is there.
expect_kept() {
    expect_true "$1_is_refused" test "$status" -eq "$2"
    expect_true "$1_is_said" grep -q "$3" err
    expect_true "$1_ends_nobody" test "$(cat /proc/$user/comm)" = sleep
    expect_true "$1_unmounts_nothing" grep -q ' /mnt/data ' /proc/self/mountinfo
}

use_by env
mount --bind $unreadable /proc/swaps
run "$WARMER" unmount --volume=$volume
umount /proc/swaps
expect_kept swap_that_cannot_be_read 75 "looking at /proc/swaps failed: I[^ ]* error; nothing was ended, so unmount it"
end_use

use_by env
mount --bind $unreadable /proc/$copier/mountinfo
run "$WARMER" unmount --volume=$volume
umount /proc/$copier/mountinfo
expect_kept mounts_of_another_that_cannot_be_read 75 "looking at /proc/$copier/mountinfo failed: I[^ ]* error"
end_use

use_by env
run without_own_mounts "$WARMER" unmount --volume=$volume
expect_kept own_mounts_that_cannot_be_read 75 "looking at /proc/self/mountinfo failed: I[^ ]* error"
end_use

# shellcheck disable=SC2086  # several words
use_by $without_ptrace
# Which namespace a process is in cannot be seen then. An overlay of somebody else may come first.
# shellcheck disable=SC2086
run $without_ptrace "$WARMER" unmount --volume=$volume
expect_kept a_namespace_that_cannot_be_seen 75 \
    "process $copier (sleep) has it mounted at /mnt/data in a mount namespace\|/root/.* failed: Permission denied; nothing was ended"
end_use

# What is mounted is not known: nothing is mounted over it.
mount -t tmpfs -o mode=755 none /mnt/taken
run without_own_mounts "$WARMER" mount --volume=$volume --path=/mnt/taken
expect_true a_folder_of_which_nobody_knows_is_refused test "$status" -eq 75
expect_true a_folder_of_which_nobody_knows_is_said grep -qF "it is not known what is mounted at /mnt/taken" err
expect_true a_folder_of_which_nobody_knows_keeps_its_mount test "$(grep -c ' /mnt/taken ' /proc/self/mountinfo)" -eq 1

# A line that cannot be read may be the folder's.
mount --bind $unreadable /etc/fstab
run "$WARMER" mount --volume=$volume --path=/mnt/new
umount /etc/fstab
expect_true a_cut_fstab_is_refused test "$status" -eq 69
expect_true a_cut_fstab_is_said grep -q "could not read all of /etc/fstab: I[^ ]* error" err
expect_true a_cut_fstab_mounts_nothing test "$(grep -c ' /mnt/new ' /proc/self/mountinfo)" -eq 0

# blkid has one status for a disk with nothing on it and for one that it cannot read.
ln -sf "$other" $link
run "$DENY" read-at 0 "$WARMER" mount --volume=$volume --path=/mnt/new
if [ "$status" -eq 77 ]; then
    skip_refusals "a disk that cannot be read"
else
    expect_true a_disk_that_cannot_be_read_is_refused test "$status" -eq 69
    expect_true a_disk_that_cannot_be_read_is_said grep -q "could not be read: I[^ ]* error" err
fi

# A btrfs may have devices that blkid does not find.
if ! command -v mkfs.btrfs >/dev/null; then
    echo "skip a btrfs whose devices are not known: no mkfs.btrfs"
else
    truncate -s 128M other
    losetup --set-capacity "$other"
    mkfs.btrfs -q "$other" >/dev/null 2>&1
    real=$(readlink -f "$(command -v blkid)")
    cp "$real" blkid
    # shellcheck disable=SC2016  # the shell of that script expands it
    printf '#!/bin/sh\n[ "$3" = -t ] || exec %s/blkid "$@"\nexit 2\n' "$work" >half
    chmod +x half
    mount --bind half "$real"
    run "$WARMER" mount --volume=$volume --path=/mnt/new
    umount "$real"
    expect_true a_btrfs_whose_devices_are_not_known_is_refused test "$status" -eq 69
    expect_true a_btrfs_whose_devices_are_not_known_is_said grep -qF "blkid could not say which devices have btrfs" err
fi

# The kernel's name of a disk that is held leads to another one, which is free.
mount "$loop" /mnt/data
(cd /mnt/data && exec sleep 600) &
users=$!
until_runs $users sleep
umount -l /mnt/data
rm $link
mknod $link b "$((0x$(stat -c %t "$loop")))" "$((0x$(stat -c %T "$loop")))"
mount --bind "$other" "$loop"
run "$WARMER" unmount --volume=$volume
umount "$loop"
expect_true a_name_of_another_disk_is_refused test "$status" -eq 84
expect_true a_name_of_another_disk_is_said grep -qF "the kernel does not say whether it still holds" err
let_go $users
users=
