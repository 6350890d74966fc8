#!/bin/sh
# A result that nobody could get is no success, and a stream that is closed gives its place to no device.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
if [ ! -c /dev/full ]; then
    echo "skip results that cannot be written: no /dev/full"
    exit 0
fi

volume=vol-0123456789abcdef0
truncate -s 1M disk
cp disk before
python3 "$here/delta.py" disk disk d $volume snap-0123456789abcdef0 samples=1 || exit 1

# unheard NAME ARGUMENTS…: neither with a full nor with a closed standard output it is a success.
unheard() {
    what=$1
    shift
    "$WARMER" "$@" >/dev/full 2>err
    expect_true "${what}_with_a_full_output_says_so" test $? -eq 74 -a "$(grep -c 'could not be written to standard output' err)" -eq 1
    "$WARMER" "$@" >&- 2>err
    expect_true "${what}_with_a_closed_output_says_so" test $? -eq 74 -a "$(grep -c 'could not be written to standard output' err)" -eq 1
    "$WARMER" "$@" >&- 2>&- <&-
    expect_true "${what}_without_any_stream_fails" test $? -eq 74
    expect_true "${what}_writes_to_no_device" cmp disk before
}

unheard warm warm disk
unheard verify verify disk --max-p99-ms 10000
unheard inspect inspect disk
printf x >written && sync written
unheard extents extents written
unheard device_use device-use disk --action=check --volume=$volume
unheard version --version
unheard help --help
unheard apply apply disk --image --volume $volume --manifest d/manifest --state state
expect_true nobody_was_told_that_it_is_taken sh -c '! [ -s state ]'
"$WARMER" apply disk --image --volume $volume --manifest none --state state >/dev/full 2>err
expect_true nothing_is_begun_that_nobody_knows_of grep -q 'nobody can be told that disk is taken' err
"$WARMER" warm nothing >/dev/full 2>err
expect_true a_refusal_keeps_its_own_status test $? -eq 3
