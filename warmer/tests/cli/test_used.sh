#!/bin/sh
# What file systems use, against the tools that made them: no block that holds anything is left out, and of what
# is free little is called used. Images are sparse and small.

# Mounts of its own: a copy of one in a namespace that somebody else makes meanwhile would keep it busy.
if [ -z "$OWN_MOUNTS" ] && unshare --mount --propagation private true 2>/dev/null; then
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

if [ -z "$USED_DUMP" ]; then
    echo "skip what file systems use: it is not the program that is tested"
    exit 0
fi
PATH=$PATH:/usr/sbin:/sbin
export PATH MKE2FS_SYNC=0
mounted=
trap '[ -z "$mounted" ] || umount "$work/mount"; rm -rf "$work"' EXIT
mkdir files mount
for size in 1 30 500 1500 2500 4000; do
    head -c $((size * 1000)) /dev/urandom >files/f$size
done

# needs TOOL PACKAGE: say what to install where a tool is missing.
needs() {
    command -v "$1" >/dev/null && return 0
    echo "skip file systems that $1 makes: install the Debian package $2"
    return 1
}

# image NAME SIZE: an empty one.
image() {
    rm -f "$1"
    truncate -s "$2" "$1"
}

dump() {
    "$USED_DUMP" "$1" >dump
    found=$(sed -n 's/^found //p' dump)
    note=$(sed -n 's/^note //p' dump)
    missing=$(sed -n 's/^missing //p' dump)
    count=$(awk '$1 == "used" { n += $3 } END { print n + 0 }' dump)
}

# free_blocks BYTES: turn ranges `first last` of a file system's blocks into whole free blocks of 512 KiB.
free_blocks() {
    sort -n | awk -v size="$1" '
        function flush() {
            if (last == "") return
            start = int((first * size + 524287) / 524288); end = int((last + 1) * size / 524288)
            for (b = start; b < end; b++) print b
        }
        last != "" && $1 == last + 1 { last = $2; next }
        { flush(); first = $1; last = $2 }
        END { flush() }' | sort >free
}

# Called used although free, and not called used although not free. The end beyond the file system is nobody's.
compare() {
    awk '$1 == "used" { for (i = $2; i < $2 + $3; i++) print i }' dump | sort >called
    wasted=$(comm -12 called free | wc -l)
    unknown=$(awk -v total="$1" '$1 == "used" { for (; at < $2; at++) print at; at = $2 + $3 }
        END { for (; at < total; at++) print at }' dump | sort | comm -23 - free | wc -l)
}

dumpe2fs_ranges() {
    # Of clusters it names the first block only.
    dumpe2fs "$1" 2>/dev/null | sed -n 's/^  Free blocks: //p' | tr -d ' ' | tr ',' '\n' |
        awk -F - -v more="$2" 'NF { print $1, (NF > 1 ? $2 : $1) + more }'
}

# ext4 NAME SIZE BLOCK-BYTES OPTIONS…
ext4() {
    which=$1 size=$2 bytes=$3
    shift 3
    image disk "$size"
    mkfs.ext4 -q -F -b "$bytes" -d files "$@" disk
    dump disk
    expect_true "${which}_is_understood" test "$found" = ext4 -a "$note" = ""
    expect_true "${which}_no_block_with_content_is_left_out" test "$missing" -eq 0
    dumpe2fs_ranges disk $((${clusters:-$bytes} / bytes - 1)) | free_blocks "$bytes"
    compare $(($(stat -c %s disk) / 524288))
    expect_true "${which}_all_that_is_not_called_used_is_free" test "$unknown" -eq 0
    expect_true "${which}_little_that_is_free_is_called_used" test "$wasted" -le 12
}

if needs mkfs.ext4 e2fsprogs; then
    ext4 ext4 300M 4096
    ext4 ext4_of_1_kib_blocks 200M 1024
    ext4 ext4_without_64bit 300M 4096 -O ^64bit,^metadata_csum
    ext4 ext4_without_flex_bg 300M 1024 -O ^flex_bg,^metadata_csum,^uninit_bg
    ext4 ext4_with_gdt_checksums 300M 4096 -O ^metadata_csum,uninit_bg
    ext4 ext4_with_meta_bg 600M 4096 -O meta_bg,^resize_inode -g 4096
    ext4 ext4_with_sparse_super2 600M 2048 -O sparse_super2,^resize_inode
    ext4 ext4_without_sparse_super 300M 1024 -O ^sparse_super,^resize_inode
    ext4 ext4_without_a_journal 300M 4096 -O ^has_journal
    ext4 ext3_like 300M 4096 -O ^extents,^64bit,^flex_bg
    ext4 ext4_with_lazy_tables 2G 4096 -E lazy_itable_init=1,packed_meta_blocks=1
    clusters=65536
    ext4 ext4_with_bigalloc 600M 4096 -O bigalloc -C $clusters
    clusters=16384
    ext4 ext4_with_small_clusters 300M 1024 -O bigalloc -C $clusters

    image disk 300M
    mkfs.ext4 -q -F -d files disk
    for field in 'state 0' 'feature_incompat 0x40000000' 'blocks_count 99999999'; do
        cp disk other
        debugfs -w -R "set_super_value $field" other >/dev/null 2>&1
        dump other
        expect_true "ext4_is_not_believed_with_${field%% *}" test "$found" = "" -a "$note" != "" -a "$count" -eq 600
    done
    debugfs -w -R 'set_block_group 1 free_blocks_count 7' disk >/dev/null 2>&1
    dump disk
    expect_true ext4_is_not_believed_where_counts_disagree test "$found" = "" -a "$count" -eq 600 -a "$note" = \
        "device: ext4: a bitmap and its count of free blocks disagree"
fi

# A copy of a mounted file system is what a snapshot of a running instance's volume holds.
if [ "$(id -u)" -ne 0 ]; then
    echo "skip snapshots of mounted file systems: not root"
elif needs mkfs.ext4 e2fsprogs; then
    image disk 400M
    mkfs.ext4 -q -F -b 4096 disk
    if mount -o loop disk mount 2>/dev/null; then
        mounted=yes
        cp files/* mount
        sync -f mount
        for i in 1 2 3 4 5 6 7 8 9 10; do
            head -c 3000000 /dev/urandom >mount/g$i
            sync mount/g$i
        done
        rm mount/g3 mount/g7
        sync mount
        cp --sparse=always disk snapshot
        umount mount
        mounted=
        dump snapshot
        expect_true the_journal_of_a_mounted_ext4_is_followed test "$found" = ext4 -a "$count" -lt 200
        cp snapshot replayed
        e2fsck -fy replayed >e2fsck.log 2>&1
        expect_true and_really_had_to_be_replayed grep -q 'recovering journal' e2fsck.log
        dumpe2fs_ranges replayed 0 | free_blocks 4096
        compare 800
        expect_true what_is_used_after_the_replay_was_called_used_before test "$unknown" -eq 0
    else
        echo "skip snapshots of mounted file systems: no loop device to be had"
    fi
fi

# xfs NAME SIZE BLOCK-BYTES OPTIONS…
xfs() {
    which=$1 size=$2 bytes=$3
    shift 3
    image disk "$size"
    mkfs.xfs -q -f -b size="$bytes" -p proto "$@" disk >/dev/null 2>&1
    check_xfs "$name" disk "$bytes"
}

check_xfs() {
    dump "$2"
    expect_true "${1}_is_understood" test "$found" = xfs -a "$note" = ""
    expect_true "${1}_no_block_with_content_is_left_out" test "$missing" -eq 0
    group_blocks=$(xfs_db -r -c 'sb 0' -c 'p agblocks' "$2" | sed 's/.*= //')
    xfs_db -r -c 'freesp -d' "$2" | awk -v each="$group_blocks" '
        /^ *[0-9]+ +[0-9]+ +[0-9]+ *$/ { print $1 * each + $2, $1 * each + $2 + $3 - 1 }' | free_blocks "$3"
    compare $(($(stat -c %s "$2") / 524288))
    expect_true "${1}_all_that_is_not_called_used_is_free" test "$unknown" -eq 0
    expect_true "${1}_little_that_is_free_is_called_used" test "$wasted" -le 12
}

if needs mkfs.xfs xfsprogs; then
    {
        printf '/dev/null\n0 0\nd--755 0 0\n'
        for file in files/*; do
            printf '%s ---644 0 0 %s\n' "${file#files/}" "$file"
        done
        printf '$\n'
    } >proto
    xfs xfs 600M 4096
    xfs xfs_of_1_kib_blocks_and_seven_groups 600M 1024 -d agcount=7
    xfs xfs_with_rmap_and_bigtime 600M 4096 -m rmapbt=1,bigtime=1,inobtcount=1
    xfs xfs_version_4 600M 4096 -m crc=0
    xfs xfs_of_4_kib_sectors 600M 4096 -s size=4096 -l su=32768
    image disk 600M
    mkfs.xfs -q -f -b size=1024 -d agcount=2 disk >/dev/null
    if [ "$(id -u)" -eq 0 ] && mount -o loop disk mount 2>/dev/null; then
        mounted=yes
        for i in $(seq 1200); do
            head -c 2000 files/f30 >mount/f"$i"
        done
        sync -f mount
        for i in $(seq 1 2 1200); do
            rm mount/f"$i"
        done
        cp --sparse=always disk snapshot
        umount mount
        mounted=
        expect_true its_tree_has_levels test "$(xfs_db -r -c 'agf 0' -c 'p bnolevel' disk | sed 's/.*= //')" -gt 1
        check_xfs a_fragmented_xfs disk 1024
        dump snapshot
        expect_true an_xfs_whose_log_must_be_replayed_is_not_believed test "$found" = "" -a "$count" -eq 1200 \
            -a "$note" = "device: xfs: its log must be replayed"
    else
        echo "skip mounted xfs: not root, no loop device or no xfs in this kernel"
    fi
fi

# ntfs NAME SIZE OPTIONS…
ntfs() {
    which=$1 size=$2
    shift 2
    image disk "$size"
    mkntfs -q -f -F "$@" disk >/dev/null 2>&1
    dump disk
    before=$count
    for file in files/*; do
        ntfscp -q disk "$file" "${file#files/}"
    done
    dump disk
    expect_true "${which}_is_understood" test "$found" = ntfs -a "$note" = ""
    expect_true "${which}_no_block_with_content_is_left_out" test "$missing" -eq 0
    expect_true "${which}_its_free_space_is_left_out" test "$before" -lt 32 -a "$count" -le $((before + 30))
}

if needs mkntfs ntfs-3g && needs ntfscp ntfs-3g; then
    ntfs ntfs 300M
    ntfs ntfs_of_64_kib_clusters 300M -c 65536
    ntfs ntfs_of_512_byte_clusters 100M -c 512
fi

# A device with partitions: three file systems, a logical partition, one of unknown content, space outside.
if needs sfdisk fdisk && [ -n "$(command -v mkfs.ext4)" ]; then
    for label in gpt dos; do
        image disk 1G
        {
            echo "label: $label"
            printf 'start=2048, size=204800\nstart=206848, size=204800\n'
            [ "$label" = gpt ] || printf 'start=411648, size=614400, type=5\n'
            printf 'start=413696, size=102400\n'
        } | sfdisk -q disk
        image part 100M
        mkfs.ext4 -q -F -d files part
        dd if=part of=disk bs=1M seek=1 conv=notrunc,sparse status=none
        printf 'something else' | dd of=disk bs=1M seek=150 conv=notrunc status=none
        dd if=part of=disk bs=1M count=50 seek=202 conv=notrunc,sparse status=none
        dump disk
        expect_true "a_${label}_table_is_followed" test "$found" = ext4 -a "$missing" -eq 0
        # The third holds the first half of a file system, which cannot be believed.
        expect_true "${label}_partitions_that_are_not_understood_count_whole" test "$count" -ge $((200 + 100)) \
            -a "$count" -lt 450
        expect_true "${label}_the_note_says_which" test "$note" = \
            "partition at 105906176: no file system that is known here; partition at 211812352: ext4: it is larger than what holds it"
    done
fi

image disk 64M
dump disk
expect_true an_empty_device_counts_whole test "$count" -eq 128 -a "$note" = "device: no file system that is known here"
