#!/bin/sh
# Every system call of each command, traced: what touches the device only reads it, and no ioctl changes anything.
if [ -z "$OWN_MOUNTS" ] && unshare --mount --propagation private true 2>/dev/null; then
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then
    echo "skip system call traces: install the Debian package strace"
    exit 0
fi
# Under a tracer the leak check cannot run.
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS

# What reads, asks, closes, or gives the descriptor to io_uring. Nothing else may name the device. A trace does not
# show what io_uring is asked for, but a descriptor that is open for reading only takes no write from anybody.
harmless='read|pread64|openat|open|fstat|newfstatat|stat|lstat|readlink|statx|close|lseek|fadvise64|access|fcntl|ioctl|io_uring_register'
# Sizes, where files lie, a terminal's width, and a log page. The names are strace's.
questions='BLKGETSIZE64|BLKSSZGET|FS_IOC_FIEMAP|NVME_IOCTL_ADMIN_CMD|TCGETS|TIOCGWINSZ'

# judge NAME DEVICE: the trace of a command for which DEVICE is the device's path.
judge() {
    # Descriptors are shown with their paths, so a call by descriptor names the device, too.
    grep -F "$2" trace | grep -vE '^[0-9]+ +(execve|write\([12]<)' |
        sed -E 's/^[0-9]+ +(<\.\.\. )?([a-z0-9_]+).*/\2/' | sort -u >calls
    expect_true "$1_the_device_is_seen" grep -qE '^(open|openat)$' calls
    expect_true "$1_it_is_only_read" sh -c "! grep -vxE '$harmless' calls"
    expect_true "$1_it_is_opened_for_reading" sh -c \
        "! grep -F '$2' trace | grep -E 'open(at)?\(' | grep -E 'O_RDWR|O_WRONLY|O_CREAT|O_TRUNC|O_APPEND'"
    sed -nE 's/^[0-9]+ +ioctl\([^,]+, ([A-Z0-9_]+).*/\1/p' trace | sort -u >ioctls
    expect_true "$1_every_ioctl_is_a_question" sh -c "! grep -vxE '$questions' ioctls"
    expect_true "$1_nothing_else_is_opened_for_writing" sh -c \
        "! grep -E 'open(at)?\(' trace | grep -E 'O_RDWR|O_WRONLY|O_CREAT' | grep -vE '/state|/dev/tty|/dev/null|/(run|dev/shm|tmp)/[^ ]*lock|/tsan\\.rodata\\.|\\.gcda\"'"
}

# traced NAME DEVICE COMMAND…
traced() {
    which=$1 seen=$2
    shift 2
    timeout 600 strace -f -y -o trace "$@" >out 2>err
    judge "$which" "$seen"
}

truncate -s 64M disk
if command -v mkfs.ext4 >/dev/null; then
    mkfs.ext4 -q -F disk
fi
sum=$(cksum <disk)
here=$(pwd -P)
traced warm_by_threads "$here/disk" "$WARMER" warm "$here/disk" --engine threads --scope used
traced warm_by_the_best_engine "$here/disk" "$WARMER" warm "$here/disk" --state state --touch
traced verify "$here/disk" "$WARMER" verify "$here/disk" --samples 20
traced inspect "$here/disk" "$WARMER" inspect "$here/disk"
expect_true not_a_byte_has_changed test "$(cksum <disk)" = "$sum"

if [ "$(id -u)" -ne 0 ] || ! loop=$(losetup --find --show disk 2>/dev/null); then
    echo "skip system calls on block devices: no loop device to be had"
    exit 0
fi
trap 'umount mount 2>/dev/null; losetup --detach "$loop"; rm -rf "$work"' EXIT
traced warm_of_a_block_device "$loop" "$WARMER" warm "$loop" --scope used --engine threads
traced warm_of_a_block_device_by_the_best_engine "$loop" "$WARMER" warm "$loop" --scope used
traced verify_of_a_block_device "$loop" "$WARMER" verify "$loop" --samples 20
traced inspect_of_a_block_device "$loop" "$WARMER" inspect "$loop"
expect_true the_log_page_is_asked_for grep -q NVME_IOCTL_ADMIN_CMD ioctls
expect_true not_a_byte_of_the_block_device_has_changed test "$(cksum <disk)" = "$sum"
mkdir mount
if mount "$loop" mount 2>/dev/null; then
    head -c 100000 /dev/urandom >mount/file
    sync mount/file
    traced extents "$here/mount/file" "$WARMER" extents "$here/mount/file"
fi
