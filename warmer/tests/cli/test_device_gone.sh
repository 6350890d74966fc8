#!/bin/sh
# The device disappears or shrinks in the middle of a warm-up of 2 MiB/s.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mib=1048576
total=$((128 * mib))

# expect_gone NAME WHY FAILED: the run that was started ends soon, counts what it did not read, and lists at most
# FAILED blocks of it.
expect_gone() {
    finish
    done_first=$(field bytesDone)
    expect_true "$1_the_run_is_incomplete" test "$status" -eq 1 -a "$(field verdict)" = incomplete
    expect_true "$1_the_error_says_so" grep -q "\"error\":\"the device disappeared: $2\"" out
    expect_true "$1_what_was_not_read_is_not_listed" test "$(field failedBlockCount)" -le "$3" \
        -a "$done_first" -gt 0 -a "$done_first" -lt $total
    left=$(((total - done_first + 524287) / 524288))
    expect_true "$1_a_person_is_told" grep -qx \
        "warmer: the device disappeared: $2; blocks not read: $left; the state is saved, the same command goes on" err
}

# expect_resumed NAME DEVICE: with the device back, the same command goes on.
expect_resumed() {
    run "$WARMER" warm "$2" --state state
    expect_true "$1_the_same_command_goes_on" test "$status" -eq 0 -a "$(field verdict)" = complete \
        -a "$(field bytesResumed)" -eq "$done_first" -a "$(field bytesRead)" -eq $((total - done_first))
    rm -f state
}

for engine in threads auto; do
    truncate -s $total disk
    begin_slowly disk --engine $engine --state state
    truncate -s $mib disk
    expect_gone "a_file_cut_short_under_$engine" 'it is smaller than when it was opened' 0
    truncate -s $total disk
    expect_resumed "a_file_made_whole_again_under_$engine" disk
done

if ! loop=$(losetup --find --show --read-only disk 2>/dev/null); then
    echo "skip block devices that disappear: no loop device to be had"
    exit 0
fi
trap 'losetup --detach "$loop"; rm -rf "$work"' EXIT
# A loop device is detached only when its last user closes it. Its size follows its file when it is told so, for
# which the warm-up stands still: a block that is read in between has failed by itself.
for size in 0 $mib; do
    begin_slowly "$loop" --state state
    kill -STOP "$pid"
    truncate -s "$size" disk
    losetup --set-capacity "$loop"
    kill -CONT "$pid"
    if [ "$size" -eq 0 ]; then
        expect_gone a_block_device_without_a_size 'it has no size any more' 4
    else
        expect_gone a_block_device_that_shrank 'it is smaller than when it was opened' 4
    fi
    truncate -s $total disk
    losetup --set-capacity "$loop"
    expect_resumed "a_block_device_of_${size}_bytes_that_is_back" "$loop"
done
