#!/bin/sh
# Order: where file systems keep their own structures comes before the rest, as the tools that made them say.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
MKE2FS_SYNC=0
export PATH MKE2FS_SYNC

# needs TOOL PACKAGE: say what to install where a tool is missing.
needs() {
    command -v "$1" >/dev/null && return 0
    echo "skip file systems that $1 makes: install the Debian package $2"
    return 1
}

image() {
    rm -f disk
    truncate -s "$1" disk
}

# first_blocks: the blocks that come first, one a line; expected_blocks BYTES: those of `first last` ranges on input.
first_blocks() {
    "$USED_DUMP" disk >dump
    awk '$1 == "first" { for (i = $2; i < $2 + $3; i++) print i }' dump | sort >first
    first_found=$(sed -n 's/^first_found //p' dump)
}
expected_blocks() {
    awk -v size="$1" 'NF { for (b = int($1 * size / 524288); b <= int((($2 + 1) * size - 1) / 524288); b++) print b }' |
        sort -u >expected
}

# expect_first NAME FILE-SYSTEM BYTES: all of the ranges in ./ranges come first, and the report says so.
expect_first() {
    expected_blocks "$3" <ranges
    if [ -n "$USED_DUMP" ]; then
        first_blocks
        expect_true "$1_is_understood" test "$first_found" = "$2"
        expect_true "$1_all_that_its_tools_name_comes_first" test "$(comm -23 expected first | wc -l)" -eq 0
        expect_true "$1_little_else_does" test "$(comm -13 expected first | wc -l)" -le "${4:-2}"
    fi
    # With a limit, however high, reads wait until it is known what comes first.
    run "$WARMER" warm disk --max-mib-s 100000
    expect_true "$1_the_report_counts_it" grep -qE "\"metadataFirst\":\\{\"fileSystem\":\"$2\",\"blocks\":[1-9][0-9]*\\}" out
    [ -z "$tracer" ] && return
    # Without the search for files, which reads whole blocks as well.
    $tracer -f -o trace "$WARMER" warm disk --engine threads --depth 1 --max-mib-s 100000 --order structures >out 2>err
    grep -oE 'pread64.*, 524288, [0-9]+\) += 524288$' trace | sed -E 's/.*, ([0-9]+)\) += 524288$/\1/' |
        awk '{ print $1 / 524288 }' | head -n "$(sed -E 's/.*"fileSystem":"[^"]*","blocks":([0-9]+).*/\1/' out)" | sort >begun
    expect_true "$1_it_is_read_before_the_rest" test "$(comm -23 expected begun | wc -l)" -eq 0
}

tracer=
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null && [ -n "$USED_DUMP" ]; then
    tracer=strace
    # Under a tracer the leak check cannot run.
    ASAN_OPTIONS=detect_leaks=0
    export ASAN_OPTIONS
else
    echo "skip the order of reads: no strace here, or not this machine's program"
fi

# What dumpe2fs and debugfs say: bitmaps, the beginnings of inode tables, the journal.
ext4_ranges() {
    echo 0 1
    dumpe2fs disk 2>/dev/null | sed -nE -e 's/.*(Block|Inode) bitmap at ([0-9]+).*/\2 \2/p' \
        -e 's/^  Inode table at ([0-9]+)-.*/\1 \1/p' -e 's/.*Primary.*Group descriptors at ([0-9]+)-([0-9]+).*/\1 \2/p'
    debugfs -R 'blocks <8>' disk 2>/dev/null | tr ' ' '\n' | awk 'NF { print $1, $1 }'
}

if needs mkfs.ext4 e2fsprogs; then
    for kind in '' '-O meta_bg,^resize_inode -g 4096' '-O ^flex_bg' '-b 1024 -O ^64bit' '-O bigalloc -C 65536'; do
        image 700M
        # shellcheck disable=SC2086  # options
        mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0 -O ^uninit_bg,^metadata_csum $kind disk
        bytes=$(dumpe2fs -h disk 2>/dev/null | sed -n 's/^Block size: *//p')
        ext4_ranges >ranges
        # Whole inode tables come first, of which the tools name the beginning.
        expect_first "ext4$(printf %s "$kind" | tr -c 'a-z0-9\n' _)" ext4 "$bytes" 400
    done
    debugfs -w -R 'set_super_value state 0' disk >/dev/null 2>&1
    run "$WARMER" warm disk
    expect_true a_damaged_file_system_changes_nothing test "$status" -eq 0 -a "$(field blocksDone)" -eq 1400
    expect_true and_nothing_comes_first grep -q '"metadataFirst":null' out
fi

if needs mkfs.xfs xfsprogs; then
    for kind in '-m crc=1' '-m crc=0' '-b size=1024 -d agcount=9'; do
        image 700M
        # shellcheck disable=SC2086  # options
        mkfs.xfs -q -f $kind disk >/dev/null 2>&1
        say() { xfs_db -r -c "$1" -c "p $2" disk | sed 's/.*= //'; }
        each=$(say 'sb 0' agblocks)
        start=$(xfs_db -r -c 'sb 0' -c "convert fsb $(say 'sb 0' logstart) daddr" disk | sed -E 's/.*\(([0-9]+)\).*/\1/')
        bytes=$(say 'sb 0' blocksize)
        {
            group=0
            while [ $group -lt "$(say 'sb 0' agcount)" ]; do
                echo $((group * each)) $((group * each))
                root=$(say "agi $group" root)
                echo $((group * each + root)) $((group * each + root))
                group=$((group + 1))
            done
            echo $((start * 512 / bytes)) $((start * 512 / bytes + $(say 'sb 0' logblocks) - 1))
            xfs_db -r -c 'sb 0' -c "convert ino $(say 'sb 0' rootino) fsblock" disk |
                sed -E 's/.*\(([0-9]+)\).*/\1 \1/'
        } >ranges
        expect_first "xfs$(printf %s "$kind" | tr -c 'a-z0-9\n' _)" xfs "$bytes" 10
    done
fi

if needs mkntfs ntfs-3g && needs ntfsinfo ntfs-3g; then
    image 300M
    mkntfs -q -f -F disk >/dev/null 2>&1
    {
        echo 0 1
        for record in 0 1 2 6; do
            ntfsinfo -i $record -v disk 2>/dev/null | awk '/attribute \$DATA|Dumping attribute \$DATA/ { data = 1 }
                /Dumping attribute/ && !/\$DATA/ { data = 0 }
                data && $1 ~ /^0x/ && NF >= 3 { print $1, $2, $3 }'
        done | while read -r _ place length; do
            echo $((place)) $((place + length - 1))
        done
    } >ranges
    expect_true ntfs_its_tools_name_four_files test "$(wc -l <ranges)" -ge 5
    expect_first ntfs ntfs 4096
fi

# A partition's file system, with the table itself; only what the map has is looked at.
if command -v sfdisk >/dev/null && needs mkfs.ext4 e2fsprogs; then
    image 200M
    printf 'label: gpt\nstart=4096, size=204800\n' | sfdisk -q disk
    truncate -s 100M part
    mkfs.ext4 -q -F part
    dd if=part of=disk bs=1M seek=2 conv=notrunc,sparse status=none
    run "$WARMER" warm disk --max-mib-s 100000
    expect_true a_partition_is_looked_into grep -q '"metadataFirst":{"fileSystem":"ext4"' out
    printf '1 399\n' >map
    run "$WARMER" warm disk --map map
    expect_true what_is_not_in_the_map_is_not_looked_at test "$(field metadataReads)" -eq 0
    expect_true so_it_puts_nothing_first grep -q '"metadataFirst":null' out
fi

# What an earlier run read may be looked at: the order is the same when the same command goes on.
if needs mkfs.ext4 e2fsprogs; then
    image 64M
    mkfs.ext4 -q -F disk
    rm -f state
    begin_slowly disk --state state
    kill -INT "$pid"
    finish
    run "$WARMER" warm disk --state state --max-mib-s 100000
    expect_true a_run_that_goes_on_knows_the_order_too test "$status" -eq 0 -a "$(field verdict)" = complete \
        -a "$(field bytesResumed)" -gt 0 -a "$(field metadataReads)" -gt 0
    expect_true and_says_so grep -q '"metadataFirst":{"fileSystem":"ext4"' out
    run "$WARMER" warm disk --state state
    expect_true with_nothing_to_read_nothing_is_looked_at test "$(field metadataReads)" -eq 0 -a "$(field reads)" -eq 0
fi
