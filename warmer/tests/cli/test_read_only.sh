#!/bin/sh
# The promise: the device is opened for reading only, nothing is written to it, and each block is read once.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

truncate -s 64M disk
printf '0 3\n10 1\n100 28\n' >map
sum=$(cksum <disk)

begin '[0-9]' disk --map map --max-mib-s 1
checked=0
writable=0
for link in "/proc/$pid/fd/"*; do
    if [ "$(readlink "$link")" = "$(pwd -P)/disk" ]; then
        checked=$((checked + 1))
        # The last octal digit of the flags is the access mode: 0 is read-only.
        grep -q '^flags:.*0$' "/proc/$pid/fdinfo/${link##*/}" || writable=$((writable + 1))
    fi
done
kill -TERM "$pid"
finish
expect_true the_device_is_open_once_and_for_reading_only test "$checked" -eq 1 -a "$writable" -eq 0
expect_true not_a_byte_of_it_changes test "$(cksum <disk)" = "$sum"

if ! command -v strace >/dev/null 2>&1; then
    echo "skip system call traces: no strace here"
    exit 0
fi

# Under a tracer the leak check cannot run.
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
strace -f -y -o trace "$WARMER" warm disk --map map --engine threads --depth 4 >out 2>err
# A read that another thread's line cuts in two ends on a "resumed" line, with the same end.
grep -oE 'pread64.*, 524288, [0-9]+\) += 524288$' trace | sed -E 's/.*, ([0-9]+)\) += 524288$/\1/' | sort -n >offsets
awk '{ for (i = $1; i < $1 + $2; i++) print i * 524288 }' map >expected
expect_true each_block_of_the_map_is_read_whole_and_exactly_once cmp -s offsets expected
# To see what comes first, the beginnings of partitions are looked at; of these blocks, too, all are in the map.
grep -oE 'pread64.*, [0-9]+, [0-9]+\) += [0-9]+$' trace | sed -nE 's/.*, ([0-9]+), ([0-9]+)\) += [0-9]+$/\1 \2/p' |
    awk '$1 != 524288 && $2 != 64 { print int($2 / 524288) * 524288 }' | sort -nu >looked
expect_true nothing_else_of_the_device_is_read sh -c "sort expected >e && sort looked | comm -23 - e | wc -l | grep -qx 0"
expect_true every_open_of_the_device_is_read_only sh -c \
    "grep -E 'open(at)?\(.*\"disk\"' trace | grep -q O_RDONLY && ! grep -E 'open(at)?\(.*\"disk\"' trace | grep -qE 'O_RDWR|O_WRONLY|O_CREAT|O_TRUNC'"
expect_true no_system_call_writes_to_the_device sh -c \
    "! grep -E '^[0-9]+ +(p?write|writev|pwritev|pwrite64|pwritev2|ftruncate|fallocate|ioctl|fsync|mmap)\([^)]*/disk>' trace"
