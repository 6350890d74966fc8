#!/bin/sh
# How much memory a warm-up of the largest volume there is takes, 64 TiB, and a rewind with a log.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

if grep -qE '__(asan|tsan)_init' "$WARMER"; then
    echo "skip memory: a sanitizer takes more than the program"
    exit 0
fi
disk=disk
shared=
if ! truncate -s 64T disk 2>/dev/null; then
    # Many file systems end at 16 TiB; one in memory does not, and a file of holes takes none.
    shared=$(mktemp -d /dev/shm/warmer-cli-XXXXXX 2>/dev/null)
    trap 'rm -rf "$work" "$shared"' EXIT
    disk=$shared/disk
    if [ -z "$shared" ] || ! truncate -s 64T "$disk" 2>/dev/null; then
        echo "skip memory: no file system here holds a file of 64 TiB"
        exit 0
    fi
fi

# peak_of MAP OPTIONS…: the highest memory in KiB, once some blocks have been read; 0 under an emulator.
peak_of() {
    begin '[0-9]{4}' "$disk" --map "$@"
    peak=0
    if [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$WARMER")" ]; then
        peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
    fi
    kill -INT "$pid"
    finish
}

printf '0 134217728\n' >map
peak_of map --state state
expect_true one_extent_of_64_tib_with_a_state_takes_little_memory test "$status" -eq 4 -a "$peak" -lt 12288 \
    -a "$(field bytesTotal)" -eq 70368744177664
# One block in every 512: the costliest map for its number of extents.
awk 'BEGIN { for (i = 0; i < 134217728; i += 512) print i, 1 }' >map
rm -f state
peak_of map --state state
expect_true a_quarter_million_extents_take_32_mib_and_4_bytes_each test "$status" -eq 4 -a "$peak" -lt $((32768 + 1024)) \
    -a "$(field blocksTotal)" -eq 262144

awk 'BEGIN { for (i = 0; i < 300000; i++) print 134217216 - i % 262144 * 512, 512 }' >first
rm -f state
peak_of map --state state --first first --first-unlimited
expect_true a_list_of_what_comes_first_takes_at_most_30_mib_more test "$status" -eq 4 -a "$peak" -lt $((32768 + 1024 + 30720)) \
    -a "$(field firstBlocksTotal)" -eq 262144

# apply with a comparison and a log: one line of 64 MiB, of which each block is read, kept and written.
[ "$peak" -gt 0 ] || exit 0
python3 -c 'import random
draw = random.Random(32)
for name in ("old", "new"):
    open(name, "wb").write(draw.randbytes(64 << 20))'
mkdir log
python3 "$here/delta.py" old new d vol-0123456789abcdef0 snap-0123456789abcdef0 samples=0 pack=128 whole=1 \
    undo="file://$(pwd)/log"
# The program's own peak, and no less than Python's: 14 MiB.
peak=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$WARMER" apply old --image --manifest d/manifest \
    --volume vol-0123456789abcdef0 --state applied --compare)
expect_true a_log_and_a_comparison_take_at_most_36_mib sh -c "test $peak -gt 0 && test $peak -lt 36864 && cmp old new"
