#!/bin/sh
# `warmer apply --compare`: every block is read first, and only what differs is loaded and written.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

volume=vol-0123456789abcdef0
python3 -c 'import random
block, draw = 524288, random.Random(32)
new = bytearray(draw.randbytes(block * 128 + 8192))
new[block * 60 : block * 64] = bytes(block * 4)
new[block * 100 : block * 120] = bytes(block * 20)
old = bytearray(new)
for number in (3, 4, 31, 62, 90, 110, 128):
    old[number * block : number * block + 4096] = draw.randbytes(4096)
open("new", "wb").write(new)
open("old", "wb").write(old)' || exit 1
python3 "$here/delta.py" old new d $volume snap-0123456789abcdef0 whole=1 samples=0 pack=32

# apply OPTIONS…: on a fresh copy of the old image, with a fresh state.
apply() {
    cp old disk
    rm -f state state.taken
    run "$WARMER" apply disk --image --volume $volume --state state --compare "$@"
}

for engine in threads auto; do
    apply --manifest d/manifest --engine $engine
    expect_true "the_image_becomes_the_snapshot_by_$engine" cmp disk new
    expect_true "only_what_differs_is_written_by_$engine" test "$status" -eq 0 -a "$(field blocksCompared)" -eq 129 \
        -a "$(field blocksEqual)" -eq 122 -a "$(field blocksWritten)" -eq 7 -a "$(field blocksDone)" -eq 129 \
        -a "$(field bytesDone)" -eq "$(wc -c <new)" -a "$(field bytesCompared)" -eq "$(wc -c <new)"
    # Of five packs the indexes, what begins with them at most, and five frames with small gaps between.
    expect_true "only_frames_that_differ_are_loaded_by_$engine" test "$(field bytesFetched)" -lt 8000000
done
run "$WARMER" apply disk --image --volume $volume --state state --compare --manifest d/manifest
expect_true nothing_differs_the_second_time test "$status" -eq 0 -a "$(field blocksEqual)" -eq 129 \
    -a "$(field blocksWritten)" -eq 0 -a "$(field bytesFetched)" -lt 100000 -a "$(field blocksResumed)" -eq 0
printf damaged | dd of=disk bs=1 seek=1000000 conv=notrunc 2>/dev/null
run "$WARMER" apply disk --image --volume $volume --state state --compare --manifest d/manifest
expect_true what_an_earlier_run_has_done_is_not_trusted sh -c "test $status -eq 0 && cmp disk new"

apply --manifest d/manifest --max-mib-s 16
expect_true a_rate_limit_holds_for_what_is_compared sh -c "test $status -eq 0 && awk 'BEGIN {
    moved = $(field bytesWritten) + $(field bytesReadBack) + $(field bytesCompared)
    exit !(moved <= 16 * 1048576 * 1.02 * ($(field elapsedSeconds) + 1)) }'"

# Interrupted in the middle, it has compared some and says so.
cp old disk
rm -f state state.taken
: >out
"$WARMER" apply disk --image --volume $volume --state state --compare --manifest d/manifest --max-mib-s 1 \
    --progress json >out 2>err &
pid=$!
until grep -q '"blocksDone":[1-9]' out || ! kill -0 $pid; do sleep 0.05; done
kill -INT $pid
finish
expect_true it_can_be_interrupted test "$status" -eq 4 -a "$(field verdict)" = interrupted -a "$(field blocksCompared)" -lt 120

# A server that answers a range with the whole file, and one that knows ranges.
mkdir store
for ranges in no yes; do
    rm -f store/*
    python3 "$here/undo_store.py" store ranges=$ranges &
    server=$!
    trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
    until [ -e store/address ]; do sleep 0.1; done
    python3 "$here/delta.py" old new store $volume snap-0123456789abcdef0 whole=1 samples=0 pack=64 \
        base="$(cat store/address)"
    apply --manifest "$(cat store/address)/manifest"
    expect_true "what_differs_is_loaded_from_a_server_with_ranges_$ranges" sh -c "test $status -eq 0 && cmp disk new"
    expect_true "and_is_counted_with_ranges_$ranges" test "$(field blocksWritten)" -eq 7
    kill "$server"
    wait "$server" 2>/dev/null
done
expect_true ranges_leave_out_much test "$(field bytesFetched)" -lt 12000000
