#!/bin/sh
# The largest volume there is, 64 TiB: how much memory a warm-up of it takes.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

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
