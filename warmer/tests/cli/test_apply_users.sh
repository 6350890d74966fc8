#!/bin/sh
# Who uses a block device, under any name and in any mount namespace: nothing is written to it, and what begins to use
# it while blocks are written stops the writing.
if [ -z "$OWN_MOUNTS" ]; then
    if [ "$(id -u)" -ne 0 ] || ! unshare --mount --propagation private true 2>/dev/null; then
        echo "skip users of block devices: no mount namespace to be had"
        exit 0
    fi
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

volume=vol-0123456789abcdef0
head -c 8388608 /dev/urandom >old
head -c 8388608 /dev/urandom >new
python3 "$here/delta.py" old new d $volume snap-0123456789abcdef0 pack=1 samples=0
cp old image
if ! loop=$(losetup --find --show image 2>/dev/null); then
    echo "skip users of block devices: no loop device to be had"
    exit 0
fi
trap 'kill $holder $server 2>/dev/null; umount mount 2>/dev/null; losetup --detach "$loop"; rm -rf "$work"' EXIT
mkdir -p /dev/disk mount
mount -t tmpfs none /dev/disk
mkdir /dev/disk/by-id
ln -s "$loop" /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0
mount -t tmpfs none mount
major=$((0x$(stat -c %t "$loop")))
minor=$((0x$(stat -c %T "$loop")))
mknod mount/xvda b $major $minor

apply() {
    rm -f state state.taken
    run "$WARMER" apply "$loop" --volume $volume --manifest d/manifest --state state
}

# refused NAME STATUS REASON: the last run was, and the device is as it was.
refused() {
    expect_true "$1" test "$status" -eq "$2"
    expect_true "$1_and_says_why" grep -q "$3" err
    expect_true "$1_and_nothing_is_written" sh -c "sync '$loop' && cmp -s image old"
}

device_use() {
    run "$WARMER" device-use "$loop" --action="$1" --volume=$volume
}

sleep 600 3<>mount/xvda &
holder=$!
until_runs $holder sleep
apply
refused a_program_that_may_write_under_another_name_is_found 84 "in use: process $holder (sleep), which has $loop open"
device_use check
expect_true device_use_says_the_same grep -q "\"others\":\[\"process $holder (sleep), which has $loop open for writing\"\]" out
let_go $holder

(exec unshare --mount --propagation private sleep 600 3<mount/xvda) &
holder=$!
until_runs $holder sleep
apply
refused a_reader_in_another_namespace_is_found 84 "process $holder (sleep)"
let_go $holder

# hold_mapped SHARED|PRIVATE: $holder has mapped the device, and no descriptor of it.
hold_mapped() {
    rm -f is-mapped
    python3 -c 'import ctypes, mmap, os, sys, time
node = os.open("mount/xvda", os.O_RDWR)
library = ctypes.CDLL(None, use_errno=True)
library.mmap.restype = ctypes.c_void_p
flags = getattr(mmap, "MAP_" + sys.argv[1])
if library.mmap(None, ctypes.c_size_t(4096), 3, flags, node, ctypes.c_long(0)) in (None, 2**64 - 1):
    sys.exit(1)
os.close(node)
open("is-mapped", "w").close()
time.sleep(600)' "$1" &
    holder=$!
    until [ -e is-mapped ] || ! kill -0 $holder; do sleep 0.05; done
}

hold_mapped SHARED
apply
refused a_program_that_has_mapped_it_is_found 84 "process $holder (python3), which has $loop open for writing"
let_go $holder
hold_mapped PRIVATE
apply
refused one_whose_mapping_is_private_is_found 84 "process $holder (python3)$"
let_go $holder

# A file system whose server has stopped answering, and a process that has a file of it open and mapped.
: >hung
python3 "$here/hung_files.py" hung is-served &
server=$!
until [ -e is-served ] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
if [ -e is-served ]; then
    sleep 600 3<hung &
    holder=$!
    until_runs $holder sleep
    rm -f state state.taken
    run timeout -s KILL 300 "$WARMER" apply "$loop" --volume $volume --manifest d/manifest --state state
    expect_true a_mount_whose_server_is_gone_holds_up_nothing test "$status" -eq 0 -a "$(field verdict)" = applied
    dd if=old of="$loop" bs=1M conv=fsync status=none
    let_go $server
    let_go $holder
    umount hung
else
    echo "skip mounts whose server is gone: no FUSE to be had"
fi

if above=$(losetup --find --show mount/xvda 2>/dev/null); then
    apply
    refused a_loop_device_on_it_is_found 84 "in use: loop $above"
    if highest=$(losetup --find --show "$above" 2>/dev/null); then
        device_use check
        expect_true one_on_that_as_well grep -q "\"loop $above\",\"loop $highest\"\|\"loop $highest\",\"loop $above\"" out
        losetup --detach "$highest"
    fi
    if command -v mkfs.ext4 >/dev/null && mkfs.ext4 -q -F "$above" && mkdir -p mount/deep && mount "$above" mount/deep; then
        device_use unmount
        expect_true what_is_mounted_from_it_stays_and_is_named grep -q "\"mounts\":\[\"$(pwd -P)/mount/deep\"\],\"others\":\[\"loop $above\"" out
        cp image formatted
        apply
        expect_true a_mount_of_it_is_found test "$status" -eq 83
        expect_true a_mount_of_it_is_found_and_says_where grep -q "mounted at $(pwd -P)/mount/deep" err
        umount mount/deep
        sync
    fi
    losetup --detach "$above"
    dd if=old of="$loop" bs=1M conv=fsync status=none
fi

if command -v mkfs.ext4 >/dev/null && mkfs.ext4 -q -F "$loop"; then
    mkdir -p other
    (exec unshare --mount --propagation private sh -c "mount mount/xvda other && exec sleep 600") &
    holder=$!
    until_runs $holder sleep
    apply
    expect_true a_mount_in_another_namespace_is_found sh -c "test $status -eq 83 && grep -q 'mounted at $(pwd -P)/other' err"
    device_use unmount
    expect_true it_cannot_be_unmounted_from_here grep -q "\"mounts\":\[\"$(pwd -P)/other\"\]" out
    let_go $holder
    mkdir -p below
    mount "$loop" below && mount -t tmpfs none below
    device_use unmount
    expect_true nothing_else_is_unmounted sh -c "grep -q 'something else is mounted over it' err && umount below"
    device_use unmount
    expect_true and_then_it_is grep -q '"mounts":\[\],"others":\[\]' out
    # A namespace that no process is in holds the device, and no look finds it.
    : >space
    mkdir spaces && mount -t tmpfs none spaces && mount --make-private spaces && : >spaces/one
    if unshare --mount=spaces/one --propagation private mount mount/xvda other 2>/dev/null; then
        (sleep 3 && umount spaces/one) &
        apply
        expect_true what_nobody_sees_is_waited_for test "$status" -eq 0 -a "$(field verdict)" = applied
        wait
    fi
    umount spaces
fi

# sectors_written: of the device, ever.
sectors_written() {
    awk '{ print $7 }' "/sys/dev/block/$major:$minor/stat"
}

# begin_apply MIB_S: one that takes its time, until it has written a block.
begin_apply() {
    dd if=old of="$loop" bs=1M conv=fsync status=none
    rm -f state state.taken
    before=$(sectors_written)
    "$WARMER" apply "$loop" --volume $volume --manifest d/manifest --state state --max-mib-s "$1" >out 2>err &
    pid=$!
    until [ "$(sectors_written)" -gt "$before" ] || ! kill -0 $pid; do sleep 0.05; done
}

# disturbed NAME WHO: the run of begin_apply was, and told the truth.
disturbed() {
    finish
    expect_true "$1" test "$status" -eq 88 -a "$(field verdict)" = disturbed
    expect_true "$1_and_says_who" grep -qE "warmer: $(field blocksWritten) blocks? (was|were) written; $2" err
    expect_true "$1_and_stops" test "$(field blocksWritten)" -lt 16
}

begin_apply 0.25
sleep 600 3<>mount/xvda &
holder=$!
# It may be seen before it has become what it is to be.
disturbed a_program_that_opens_it_for_writing_stops_the_writing "process $holder \(.*\) opened $loop for writing"
let_go $holder

# Who makes one that can be written to opens the device for writing, too, and may be seen first.
begin_apply 0.25
if above=$(losetup --find --show --read-only "$loop" 2>/dev/null); then
    disturbed a_loop_device_that_is_made_of_it_stops_the_writing "$loop is in use: loop $above"
    losetup --detach "$above"
fi

begin_apply 1
sleep 2 3<mount/xvda &
finish
expect_true a_reader_stops_nothing sh -c "test $status -eq 0 && sync '$loop' && cmp -s image new"
