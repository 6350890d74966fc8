#!/bin/sh
# `warmer apply` on a block device: what must not be written to is refused, and every system call is traced: nothing
# is written but the device that was named, and the state.
if [ -z "$OWN_MOUNTS" ]; then
    if [ "$(id -u)" -ne 0 ] || ! unshare --mount --propagation private true 2>/dev/null; then
        echo "skip writing to block devices: no mount namespace to be had"
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
cp old new
head -c 1048576 /dev/urandom | dd of=new bs=1M seek=3 conv=notrunc 2>/dev/null
dd if=/dev/zero of=new bs=1M seek=6 count=1 conv=notrunc 2>/dev/null
python3 "$here/delta.py" old new d $volume snap-0123456789abcdef0 pack=1
cp old image
if ! loop=$(losetup --find --show --partscan image 2>/dev/null); then
    echo "skip writing to block devices: no loop device to be had"
    exit 0
fi
trap 'umount mount 2>/dev/null; losetup --detach "$loop"; rm -rf "$work"' EXIT
mkdir -p /dev/disk mount
mount -t tmpfs none /dev/disk
mkdir /dev/disk/by-id
link=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0

# apply DEVICE OPTIONS…
apply() {
    run "$WARMER" apply "$@" --volume $volume --manifest d/manifest --state state
}

# refused NAME STATUS REASON: the last run was, and the device is as it was.
refused() {
    label=$1
    expect_true "$label" test "$status" -eq "$2"
    expect_true "${label}_and_says_why" grep -q "$3" err
    expect_true "${label}_and_nothing_is_written" sh -c "sync '$loop' && cmp -s image old"
}

ln -s "$loop" "nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"
apply nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0
refused a_name_that_anybody_can_give_is_no_identity 81 'names no EBS volume'
ln -s "$loop" /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef1
apply "$loop"
refused another_volume_is_refused 81 'is vol-0123456789abcdef1 and not vol-0123456789abcdef0'
rm /dev/disk/by-id/*
ln -s "$loop" "$link"
apply image
refused a_file_is_refused 80 'is not a block device'
sleep 600 3<"$loop" &
holder=$!
until_runs $holder sleep
apply "$link"
refused a_device_that_a_process_has_open_is_refused 84 'is in use: process'
let_go $holder
blockdev --setro "$loop"
apply "$link"
refused a_device_that_is_read_only_is_refused 86 'is read-only'
blockdev --setrw "$loop"
if command -v mkfs.ext4 >/dev/null && truncate -s 8M other && mkfs.ext4 -q -F image 2>/dev/null && cp image formatted &&
    mount "$loop" mount 2>/dev/null; then
    apply "$link"
    expect_true a_mounted_device_is_refused test "$status" -eq 83
    expect_true a_mounted_device_is_refused_and_says_where grep -q "is mounted at $(pwd -P)/mount" err
    umount mount
    cp old image
fi
if command -v mkswap >/dev/null && cp old image && mkswap "$loop" >/dev/null 2>&1 && swapon "$loop" 2>/dev/null; then
    apply "$link"
    expect_true swap_is_refused test "$status" -eq 85
    swapoff "$loop"
fi
dd if=old of="$loop" bs=1M conv=fsync 2>/dev/null

ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
traced='?open,openat,write,writev,pwrite64,pwritev,pwritev2,fallocate,ftruncate,fsync,ioctl'
for engine in threads auto; do
    dd if=old of="$loop" bs=1M conv=fsync 2>/dev/null
    rm -f state state.taken
    if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
        # Most calls look into /proc for users of the device; the tracer stops only at those that are looked at here.
        run timeout 600 strace -f -y --seccomp-bpf -e trace="$traced" -o trace \
            "$WARMER" apply "$link" --engine $engine --volume $volume --manifest d/manifest --state state
        sed -nE 's/^[0-9]+ +open(at)?\(.*"([^"]*)", ([A-Z_|]*(O_RDWR|O_WRONLY|O_CREAT|O_TRUNC)[A-Z_|]*).*/\2 \3/p' trace |
            grep -vE '^(/dev/(tty|null)|.*\.gcda|/(run|dev/shm|tmp)/[^ ]*lock|block-[0-9:]*\.lock|/tsan) ?' | sort -u >opened
        printf '%s %s\nstate %s\nstate.taken\n' "$link" 'O_RDWR|O_EXCL|O_NOCTTY|O_NONBLOCK|O_DIRECT|O_CLOEXEC' \
            'O_RDWR|O_CREAT|O_NOFOLLOW|O_CLOEXEC' | sed -E 's/O_//g' | tr '|' ' ' | awk '{ print $1 }' | sort >wanted
        awk '{ print $1 }' opened | sort -u >names
        expect_true "only_the_device_and_the_state_with_its_note_are_opened_for_writing_by_$engine" cmp names wanted
        expect_true "the_device_is_taken_exclusively_by_$engine" grep -qE "^$link .*O_EXCL" opened
        grep -E '^[0-9]+ +(p?write(v|64|v2)?|fallocate|ftruncate)\([0-9]+<' trace |
            sed -E 's/^[0-9]+ +[a-z0-9]+\([0-9]+<([^>]*)>.*/\1/' |
            grep -vE '^pipe:|/(out|err)$|\.gcda$' | sort -u >written
        printf '%s\n%s\n' "$loop" "$(pwd -P)/state" >allowed
        expect_true "the_disk_keeps_the_note_before_anybody_is_told_by_$engine" awk '
            /fsync\([0-9]+<[^>]*state\.taken>/ { is_kept = 1 }
            /writev?\(1<.*armed/ { is_told = 1; exit } END { exit !(is_kept && is_told) }' trace
        expect_true "nothing_else_is_written_by_$engine" sh -c "! grep -vxFf allowed written"
        sed -nE 's/^[0-9]+ +ioctl\([^,]+, ([A-Z0-9_]+).*/\1/p' trace | sort -u >ioctls
        expect_true "every_ioctl_is_a_question_by_$engine" sh -c "! grep -vxE 'BLKGETSIZE64|BLKSSZGET|LOOP_GET_STATUS64|TCGETS|TIOCGWINSZ' ioctls"
    else
        apply "$link" --engine $engine
    fi
    expect_true "the_device_becomes_the_snapshot_by_$engine" sh -c "test $status -eq 0 && sync '$loop' && cmp '$loop' new"
done

# since NAME WANTED: another run says whether something was written since the result in ./last.
since() {
    numbers=$(sed -E 's/.*"writeCount":.([^}]*).*/\1/; s/"[a-zA-Z]*"://g' last)
    for _ in $(seq 100); do
        "$WARMER" apply "$link" --volume $volume --manifest none --state other \
            --since="$(sed -E 's/.*"bootId":"([^"]*)".*/\1/' last),$numbers" >out 2>err
        ! grep -q "something else uses it" err || { sleep 0.1; continue; }
        break
    done
    expect_true "$1" grep -q "unwrittenSince\":$2" out
}

rm -f state state.taken
apply "$link"
tail -n 1 out >last
if [ -e "/sys/block/${loop#/dev/}/diskseq" ]; then
    since that_nothing_was_written_since_is_told true
    dd if=new of="$loop" bs=4096 count=1 oflag=direct conv=notrunc 2>/dev/null
    since that_something_was_written_since_is_told false
else
    expect_true without_sequence_numbers_there_is_no_count grep -q '"writeCount":null' last
fi

# iostats NUMBER: whether the kernel counts what is written.
iostats() {
    echo "$1" >"/sys/block/${loop#/dev/}/queue/iostats"
}
trap 'iostats 1; umount mount 2>/dev/null; losetup --detach "$loop"; rm -rf "$work"' EXIT
if [ -e "/sys/block/${loop#/dev/}/diskseq" ] && iostats 1 2>/dev/null; then
    rm -f state state.taken
    apply "$link"
    tail -n 1 out >last
    iostats 0
    dd if=old of="$loop" bs=4096 count=1 oflag=direct conv=notrunc 2>/dev/null
    since where_nothing_is_counted_nothing_is_proven false
    rm -f state state.taken
    dd if=old of="$loop" bs=1M conv=fsync 2>/dev/null
    apply "$link"
    expect_true where_nothing_is_counted_it_is_applied_and_says_so sh -c "test $status -eq 0 &&
        grep -q '\"writeCount\":null,\"writesCounted\":false,\"writesCountedNote\":\"the system does not count' out"
    expect_true and_other_blocks_are_compared_instead grep -qE 'device; [1-9][0-9]* blocks that were not written here' out
    iostats 1
fi

# somebody WHAT: what somebody does between `armed` and the first write, for a moment.
somebody() {
    rm -rf state state.taken later
    dd if=old of="$loop" bs=1M conv=fsync 2>/dev/null
    : >out
    "$WARMER" apply "$link" --volume $volume --manifest later/manifest --state state --wait-seconds 60 >out 2>err &
    pid=$!
    until grep -q armed out || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    "$@"
    ln -s d later
    finish
}
somebody dd if=/dev/urandom of="$loop" bs=4096 count=1 seek=9 conv=notrunc status=none
expect_true who_wrote_for_a_moment_is_noticed sh -c "test $status -eq 88 && grep -q '0 blocks were written; somebody else has written' err"
expect_true and_the_verdict_says_so test "$(field verdict)" = disturbed
somebody blkdiscard --force --offset 4096 --length 4096 "$loop"
expect_true who_discarded_for_a_moment_is_noticed test "$status" -eq 88 -a "$(field verdict)" = disturbed
somebody dd if="$loop" of=/dev/null bs=4096 count=1 iflag=direct status=none
expect_true who_read_is_not sh -c "test $status -eq 0 && sync '$loop' && cmp '$loop' new"
expect_true all_that_was_counted_was_written_here grep -q '"writesCounted":true,"writesCountedNote":""' out

# While the device is taken, nobody mounts it.
: >out
"$WARMER" apply "$link" --volume $volume --manifest none --state other --wait-seconds 30 >out 2>err &
pid=$!
until grep -q armed out || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
expect_true armed_nobody_mounts_it sh -c "! mount '$loop' mount 2>/dev/null"
apply "$link"
expect_true nor_takes_it_a_second_time test "$status" -eq 84
kill -TERM "$pid"
: >out
finish
expect_true it_is_given_back_when_it_is_interrupted test "$status" -eq 4

# attach: somebody who looks at it may hold up its end for a moment.
attach() {
    for _ in $(seq 100); do
        ! losetup "$loop" image 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}

# A device that was detached may come to the same counts. This one has a number that no other test gets meanwhile.
losetup --detach "$loop"
trap 'rm -rf "$work"' EXIT
loop=/dev/loop$((100 + $$ % 100))
ln -sf "$loop" "$link"
if [ -e /sys/block/loop0/diskseq ] && losetup "$loop" image 2>/dev/null; then
    trap 'losetup --detach "$loop"; rm -rf "$work"' EXIT
    rm -f state state.taken
    apply "$link"
    tail -n 1 out >last
    since the_same_counts_of_the_same_attachment_prove_it true
    losetup --detach "$loop"
    attach
    since those_of_another_one_prove_nothing false
else
    echo "skip what is detached and attached again: no such loop device to be had"
fi
