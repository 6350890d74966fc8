#!/bin/sh
# `--scope used` and `warmer extents`, from the outside.
# shellcheck source=lib.sh
if [ -z "$OWN_MOUNTS" ] && unshare --mount --propagation private true 2>/dev/null; then
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

mkdir files mount
head -c 3000000 /dev/urandom >files/one
truncate -s 300M disk
if command -v mkfs.ext4 >/dev/null; then
    mkfs.ext4 -q -F -d files disk
    sum=$(cksum <disk)
    run "$WARMER" warm disk --scope used
    used=$(field blocksTotal)
    expect_true only_what_is_used_is_read test "$status" -eq 0 -a "$(field scope)" = used -a "$used" -gt 6 \
        -a "$used" -lt 200 -a "$(field fileSystems)" = ext4 -a "$(field blocksDone)" -eq "$used"
    expect_true what_is_read_of_metadata_is_counted test "$(field metadataReads)" -gt 2 \
        -a "$(field metadataBytesRead)" -gt 8192
    expect_true the_device_is_as_it_was test "$(cksum <disk)" = "$sum"

    printf '0 1\n550 10\n' >map
    run "$WARMER" warm disk --scope used --map map
    expect_true and_of_that_only_what_is_written test "$(field blocksTotal)" -eq 1 -a "$(field bytesRead)" -eq 524288
    run "$WARMER" warm disk --scope whole
    expect_true the_whole_device_is_read_when_asked_for test "$(field blocksTotal)" -eq 600 -a "$(field scope)" = whole
    run "$WARMER" warm disk --map map
    expect_true the_map_is_the_default test "$(field blocksTotal)" -eq 11 -a "$(field scope)" = written
else
    echo "skip file systems: install the Debian package e2fsprogs"
fi

truncate -s 8M empty
run "$WARMER" warm empty --scope used
expect_true without_a_file_system_all_is_read_and_the_note_says_why sh -c \
    "test $status -eq 0 -a $(field blocksTotal) -eq 16 -a $(field scope) = whole &&
    grep -q '\"scopeNote\":\"device: no file system that is known here\"' out"
printf '3 2\n' >map
run "$WARMER" warm empty --scope used --map map
expect_true with_a_map_its_blocks_are test "$(field blocksTotal)" -eq 2 -a "$(field scope)" = written

run "$WARMER" extents missing
expect a_missing_file_is_refused 3 \
    '{"event":"result","command":"extents","verdict":"refused","error":"cannot map missing: No such file or directory"}' \
    'warmer: cannot map missing: No such file or directory'
run "$WARMER" extents files
expect_true a_folder_is_refused grep -qx 'warmer: cannot map files: it is a folder: name the files in it' err
run "$WARMER" extents /proc/version
expect_true a_file_without_a_device_is_refused grep -qx \
    'warmer: cannot map /proc/version: its file system is not on a block device of its own' err

if [ "$(id -u)" -ne 0 ] || ! loop=$(losetup --find --show disk 2>/dev/null); then
    echo "skip where files lie: no loop device to be had"
    exit 0
fi
trap 'umount mount 2>/dev/null; losetup --detach "$loop"; rm -rf "$work"' EXIT
mount "$loop" mount
head -c 5000000 /dev/urandom >mount/two
sync mount/two
: >mount/nothing
run "$WARMER" extents mount/one mount/two mount/nothing
cp out list
umount mount
cmp_map() {
    awk '{ for (i = $1; i < $1 + $2; i++) print i }' list >listed
    for file in one two; do
        debugfs -R "blocks /$file" disk 2>/dev/null | tr ' ' '\n' | awk -v size="$(dumpe2fs -h disk 2>/dev/null |
            sed -n 's/^Block size: *//p')" 'NF { print int($1 * size / 524288) }'
    done | sort -nu >expected
    cmp -s listed expected
}
expect_true extents_are_the_blocks_of_the_files test "$status" -eq 0
expect_true as_the_file_system_has_them cmp_map
run "$WARMER" warm disk --first list --map list
expect_true the_list_is_a_map_and_a_first_list test "$status" -eq 0 -a "$(field blocksTotal)" -eq "$(wc -l <listed)"

# A partition's files are named as the disk has them.
truncate -s 80M parted
if command -v sfdisk >/dev/null && printf 'label: gpt\nstart=6144, size=102400\n' | sfdisk -q parted; then
    losetup --detach "$loop"
    loop=$(losetup --find --show parted)
    trap 'umount mount 2>/dev/null; partx --delete "$loop" 2>/dev/null; rm -f "${loop}p1"; losetup --detach "$loop"; rm -rf "$work"' EXIT
    partx --add "$loop" 2>/dev/null
    numbers=$(sed 's/:/ /' "/sys/block/${loop#/dev/}/${loop#/dev/}p1/dev" 2>/dev/null)
    # shellcheck disable=SC2086  # two numbers
    if [ -b "${loop}p1" ] || mknod "${loop}p1" b $numbers 2>/dev/null; then
        mkfs.ext4 -q -F "${loop}p1"
        mount "${loop}p1" mount
        printf '%s' 'a text that is nowhere else on this disk' >mount/text
        sync -f mount
        run "$WARMER" extents mount/text
        cp out list
        umount mount
        block=$(cut -d ' ' -f 1 list)
        expect_true a_partitions_start_is_counted sh -c \
            "dd if=parted bs=512K skip=$block count=1 status=none | grep -q 'a text that is nowhere else'"
    else
        echo "skip partitions: this kernel makes none of loop devices"
    fi
else
    echo "skip partitions: install the Debian package fdisk"
fi
