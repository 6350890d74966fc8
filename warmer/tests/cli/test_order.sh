#!/bin/sh
# Order: databases' lists, write-ahead logs and recent files come before the rest, where the kernel says they lie.

# Mounts of its own: a copy of one in a namespace that somebody else makes meanwhile would keep it busy.
if [ -z "$OWN_MOUNTS" ] && unshare --mount --propagation private true 2>/dev/null; then
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

if [ -z "$USED_DUMP" ]; then
    echo "skip the order of files: it is not the program that is tested"
    exit 0
fi
PATH=$PATH:/usr/sbin:/sbin
export PATH MKE2FS_SYNC=0
mounted=
trap '[ -z "$mounted" ] || umount "$work/mount"; rm -rf "$work"' EXIT
mkdir mount

data() {
    python3 "$here/../order_data.py" "$@"
}

# image SIZE COMMAND…: an empty file, made into a file system.
image() {
    rm -f disk
    truncate -s "$1" disk
    shift
    "$@" disk >/dev/null 2>&1
}

mount_disk() {
    mount -o loop,noatime disk mount 2>/dev/null && mounted=yes
}

umount_disk() {
    umount mount
    mounted=
}

# dump SOURCES [DISK]: what used_dump says; 2 are lists, 4 logs, 8 recent files.
dump() {
    "$USED_DUMP" order "${2:-disk}" "$1" >dump
}

# expect_order NAME SOURCES [DISK [ROOM]]: exactly the blocks of ./expected, in their order.
expect_order() {
    dump "$2" "${3:-disk}"
    if data check expected dump "${4:-99999}" >problems; then
        report "$1" ""
    else
        report "$1" "$(cat problems)"
    fi
}

# expect_files NAME: of ./disk with ./expected.
expect_files() {
    for sources in 2,lists 4,logs 8,recent_files 14,all_of_them; do
        expect_order "$1_${sources#*,}_are_found_where_they_lie" "${sources%,*}"
    done
    expect_order "$1_there_are_no_more_than_there_is_room_for" 14,40 disk 40
}

# fill NAME COMMAND…: make the file system, its files and ./expected; 1 if it cannot be mounted.
fill() {
    name=$1
    shift
    image 400M "$@"
    if ! mount_disk; then
        echo "skip $name: not root, no loop device, or a file system that this kernel lacks"
        return 1
    fi
    data make mount
    sync -f mount
    data expect mount expected
}

try() {
    if fill "$@"; then
        umount_disk
        expect_files "$1"
    fi
}

try ext4 mkfs.ext4 -q -F
if [ -f expected ]; then
    # Reads one at a time: the blocks of the lists come first.
    cp disk filled
    cp expected filled.expected
    dump 2
    awk '$1 == "order" { for (i = $2; i < $2 + $3; i++) print i }' dump | head -n 80 >listed
    if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
        ASAN_OPTIONS=detect_leaks=0 strace -f -o trace "$WARMER" warm disk --engine threads --depth 1 \
            --max-mib-s 100000 --order lists >out 2>err
        grep -oE 'pread64.*, 524288, [0-9]+\) += 524288$' trace | sed -E 's/.*, ([0-9]+)\) += 524288$/\1/' |
            awk '{ print $1 / 524288 }' | head -n "$(wc -l <listed)" >begun
        expect_true the_lists_are_read_first_and_in_their_order cmp -s listed begun
    else
        echo "skip the order of reads: no strace here"
    fi
    run "$WARMER" warm disk --max-mib-s 100000
    expect_true the_report_names_the_lists grep -qE \
        '\{"source":"lists","blocks":[1-9][0-9]*,"what":"PostgreSQL autoprewarm.blocks","ageSeconds":[0-9]+\}' out
    expect_true and_the_structures grep -qE \
        '"order":\[\{"source":"structures","blocks":[1-9][0-9]*,"what":"ext4","ageSeconds":null\},' out
    expect_true files_are_at_most_a_tenth test "$(sed -E 's/.*"order":\[//' out | grep -oE \
        '"source":"(lists|logs|recent)","blocks":[0-9]+' | awk -F: '{ n += $3 } END { print n }')" -eq 80
    expect_true every_block_is_read_once test "$status" -eq 0 -a "$(field blocksDone)" -eq 800 -a "$(field reads)" -eq 800
    run "$WARMER" warm disk --max-mib-s 100000 --order structures,logs
    expect_true and_the_logs grep -qE '\{"source":"logs","blocks":[1-9],"what":"InnoDB #innodb_redo",' out
    expect_true a_source_that_is_not_named_is_left_out sh -c "! grep -qE '\"source\":\"(lists|recent)\"' out"
    run "$WARMER" warm disk --max-mib-s 100000 --order none
    expect_true without_order_nothing_is_looked_at test "$status" -eq 0 -a "$(field metadataReads)" -eq 0
    expect_true and_nothing_comes_first grep -q '"metadataFirst":null,"order":\[\]' out
    run "$WARMER" warm disk --max-mib-s 100000 --scope used
    expect_true with_a_scope_files_come_first_too sh -c \
        "grep -q '\"source\":\"structures\"' out && grep -q '\"source\":\"lists\"' out"
    dump 2
    awk '$1 == "order" { print $2, $3 }' dump >first
    run "$WARMER" warm disk --max-mib-s 100000 --first first
    expect_true what_was_asked_for_first_is_not_counted_again grep -q \
        '"source":"lists","blocks":0,"what":"PostgreSQL' out
    # Few blocks of the map: nothing else is read to find out more.
    printf '0 40\n' >map
    run "$WARMER" warm disk --map map --max-mib-s 100000
    expect_true what_is_not_in_the_map_is_not_looked_at test "$status" -eq 0 -a "$(field blocksDone)" -eq 40

    # On a partition the same blocks lie later.
    if command -v sfdisk >/dev/null; then
        truncate -s 420M parted
        printf 'label: gpt\nstart=4096, size=819200\n' | sfdisk -q parted
        dd if=disk of=parted bs=2M seek=1 conv=notrunc,sparse status=none
        dump 14
        sed -E 's/^set ([a-z]+) ([0-9]+) -?[0-9]+/set \1 \2/' dump | awk '$1 == "order" { $2 += 4 } 1' >shifted
        dump 14 parted
        sed -E 's/^set ([a-z]+) ([0-9]+) -?[0-9]+/set \1 \2/' dump >there
        expect_true on_a_partition_all_are_found cmp -s shifted there
    fi

    # Times: a list of last week says nothing, and old files are not recent.
    if mount_disk; then
        touch -d '10 days ago' mount/var/lib/mysql/ib_buffer_pool
        umount_disk
        dump 2
        expect_true a_list_of_last_week_says_nothing grep -qE '^set lists 0 86[34][0-9]{3} InnoDB' dump
        for field in mtime ctime; do
            debugfs -w -R "sif /home/somebody/large $field @1000000000" disk >/dev/null 2>&1
        done
        mount_disk
        data expect mount expected
        umount_disk
        dump 8
        before=$(awk '$1 == "set" { print $3 }' dump)
        expect_order what_was_not_changed_for_a_day_is_not_recent 8
        dump 8 filled
        expect_true and_was_before test "$(awk '$1 == "set" { print $3 }' dump)" -gt "$before"
    fi

    # Whatever is damaged changes the order alone.
    for seed in 1 2 3 4 5 6 7 8; do
        cp filled disk
        python3 -c "import random
draw = random.Random($seed)
with open('disk', 'r+b') as disk:
    for _ in range(4000):
        disk.seek(draw.randrange(24 << 20) if draw.random() < 0.7 else draw.randrange(400 << 20))
        disk.write(draw.randbytes(draw.choice([1, 2, 4, 64])))"
        run "$WARMER" warm disk --max-mib-s 100000
        [ "$status" -eq 0 ] && [ "$(field blocksDone)" -eq 800 ] && [ "$(field reads)" -eq 800 ] || break
    done
    expect_true a_damaged_file_system_changes_only_the_order test "$status" -eq 0 -a "$(field reads)" -eq 800
fi

try ext4_of_1_kib_blocks mkfs.ext4 -q -F -b 1024
try ext4_with_content_in_inodes mkfs.ext4 -q -F -O inline_data
try ext4_with_clusters mkfs.ext4 -q -F -O bigalloc -C 65536
try ext4_of_old mkfs.ext4 -q -F -O '^has_journal,^64bit,^metadata_csum' -I 128
try ext4_without_indices_and_kinds mkfs.ext4 -q -F -O '^filetype,^dir_index,^flex_bg'
try xfs mkfs.xfs -q -f
try xfs_of_1_kib_blocks mkfs.xfs -q -f -b size=1024 -i size=512
try xfs_with_large_directory_blocks mkfs.xfs -q -f -n size=16384 -m bigtime=0
try xfs_with_large_inodes mkfs.xfs -q -f -m bigtime=1,rmapbt=1 -i size=2048

# A copy of a mounted file system is what a snapshot of a running instance's volume holds. What was made last is in
# its journal alone.
image 400M mkfs.ext4 -q -F
if mount_disk; then
    data make mount
    find mount -exec sync {} +
    data expect mount expected
    cp --sparse=always disk snapshot
    umount_disk
    mv snapshot disk
    expect_files a_mounted_ext4
    # In a small volume few bytes may be read: what is in the journal is read from there block by block.
    run "$WARMER" warm disk --max-mib-s 100000
    expect_true and_few_bytes_are_enough_to_find_them grep -qE '"blocks":[1-9][0-9]*,"what":"PostgreSQL auto' out
    debugfs -w -R 'feature -needs_recovery' disk >/dev/null 2>&1
    dump 2
    expect_true which_without_its_journal_has_no_files test ! -s dump
fi

# Version 4 of XFS, which few kernels mount: where the content lies is looked up in the image.
mkdir tree
if data make tree && data proto tree >layout && image 400M mkfs.xfs -q -f -m crc=0 -p layout; then
    data expect tree expected disk
    expect_order xfs_version_4_lists_are_found_where_they_lie 2
    image 400M mkfs.xfs -q -f -m crc=0 -n ftype=0 -p layout
    data expect tree expected disk
    expect_order xfs_version_4_without_kinds_too 2
else
    echo "skip version 4 of XFS: no mkfs.xfs that makes it"
fi
