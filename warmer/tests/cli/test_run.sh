#!/bin/sh
# What a document of Systems Manager starts: downloads, progress, what is kept, and the agent started again.
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
. "$here/lib.sh"

if ! command -v python3 >/dev/null 2>&1 || ! command -v curl >/dev/null 2>&1; then
    echo "skip warmer run: no python3 or no curl here"
    exit 0
fi
if is_emulated; then
    echo "skip warmer run: an emulated program cannot start itself"
    exit 0
fi
mib=1048576
volume=vol-0123456789abcdef0
truncate -s 64M disk
mkdir store tmp
printf '0 3\n10 1\n100 28\n' >store/map
printf '10 1\n' >store/first
python3 "$here/store.py" store &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
until [ -e store/address ]; do sleep 0.1; done
address=$(cat store/address)
state=home/state/$volume
REWARM_MAP_URL="$address/map?X-Amz-Signature=secret" REWARM_PROGRESS_URL="$address/progress" TMPDIR=$(pwd)/tmp
export REWARM_MAP_URL REWARM_PROGRESS_URL TMPDIR

# agent ARGUMENTS…: `warmer run` of a warm-up of the disk.
agent() {
    run "$WARMER" run disk --action=warm --volume=$volume --home=home "$@"
}

# begin_run ARGUMENTS…: the same in the background; it is $pid, and the agent that it has started is $child.
begin_run() {
    "$WARMER" run disk --action=warm --volume=$volume --home=home "$@" >out 2>err &
    pid=$!
    find_child
}

find_child() {
    old=${child-}
    child=''
    until [ -n "$child" ] && [ "$child" != "$old" ]; do
        child=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
        [ -z "$child" ] || tr "\\0" " " 2>/dev/null <"/proc/$child/cmdline" | grep -q "progress json" || child=''
        kill -0 "$pid" || return
        sleep 0.05
    done
}

# until_caught PROCESS: until it catches SIGTERM, whose bit is the third from the right of the fourth digit, or has ended.
until_caught() {
    until grep -qE '^SigCgt:.*[4-7c-f]...$' "/proc/$1/status" || ! kill -0 "$1"; do sleep 0.05; done
}

# until_uploaded PATTERN: until a line of progress has it, or the program has ended.
until_uploaded() {
    until grep -qsE "$1" store/put-* || ! kill -0 "$pid"; do sleep 0.1; done
}

agent --arguments="--depth auto"
expect_true a_warm_up_ends_with_the_result_alone test "$status" -eq 0 -a "$(field verdict)" = complete \
    -a "$(field bytesRead)" -eq $((16 * mib)) -a "$(wc -l <out)" -eq 1 -a ! -s err
expect_true the_last_upload_is_the_result cmp -s out "store/put-$(find store -name 'put-*' | wc -l)"
expect_true nothing_is_left_behind test -z "$(ls tmp)" -a -z "$(ls home/state)"

agent --cold-arguments='--samples 3 --max-p99-ms 10000'
expect_true the_cold_volume_is_measured_first sh -c \
    'head -n 1 out | grep -q "^{\"event\":\"before\",\"command\":\"verify\",\"verdict\":\"fast\".*\"samples\":3,"'
expect_true then_it_is_warmed test "$(wc -l <out)" -eq 2 -a "$(field command)" = warm -a -z "$(ls home/state)"

mkdir -p home/state
touch -d '8 days ago' home/state/vol-old
touch -d '1 day ago' home/state/vol-new
rm store/put-*
begin_run --arguments='--max-mib-s 1' --cold-arguments='--samples 3 --max-p99-ms 10000'
until_uploaded '"event":"progress".*"blocksDone":[1-9]'
kill -KILL "$child"
find_child
expect_true an_agent_that_is_killed_is_started_again grep -qx \
    'warmer: the agent was ended by signal 9 and is started again' err
expect_true progress_is_uploaded_meanwhile sh -c 'grep -q "\"event\":\"progress\"" store/put-*'
until_caught "$child"
kill -TERM "$pid"
finish
expect_true a_signal_ends_both_in_order test "$status" -eq 4 -a "$(field verdict)" = interrupted -a ! -e "/proc/$child"
expect_true what_is_read_is_kept test -s $state -a -s $state.before -a "$(field bytesResumed)" -gt 0
expect_true states_that_nobody_came_back_for_go test ! -e home/state/vol-old -a -e home/state/vol-new
agent --cold-arguments='--samples 3 --max-p99-ms 10000'
expect_true the_same_command_goes_on test "$status" -eq 0 -a "$(field bytesResumed)" -gt 0 -a ! -e $state
expect_true and_tells_what_was_measured_before grep -q '^{"event":"before"' out

begin_run --arguments='--max-mib-s 1'
for _ in 1 2 3; do
    kill -KILL "$child"
    find_child
done
kill -KILL "$child"
finish
expect_true it_is_not_started_for_ever sh -c "test $status -eq 70 && tail -n 1 err | grep -qx \
    'warmer: the agent was ended by signal 9 and is not started again'"

begin_run --arguments='--max-mib-s 1'
kill -KILL "$pid"
finish
for _ in $(seq 100); do
    [ -e "/proc/$child" ] || break
    sleep 0.1
done
expect_true no_agent_outlives_who_started_it test ! -e "/proc/$child"

left=$(ls tmp)
rm -rf home/state
begin_run --arguments='--max-mib-s 1'
beside=$pid own=$(ls tmp)
expect_true the_folder_of_a_killed_run_goes_with_the_next_one test -n "$left" -a "$(echo "$own" | wc -w)" -eq 1 -a "$own" != "$left"
run "$WARMER" run disk --action=verify --volume=$volume --home=home --arguments='--samples 2 --max-p99-ms 10000'
expect_true the_folder_of_one_that_runs_stays test "$status" -eq 0 -a "$(ls tmp)" = "$own"
pid=$beside
kill -TERM "$pid"
finish
expect_true and_goes_at_its_end test -z "$(ls tmp)"
rm -rf home/state

sh -c "echo \$\$ >parent; '$WARMER' run disk --action=warm --volume=$volume --home=home --arguments='--max-mib-s 1'; :" >out 2>err &
until [ -s parent ]; do sleep 0.1; done
pid=''
until [ -n "$pid" ]; do pid=$(tr -d ' ' <"/proc/$(cat parent)/task/$(cat parent)/children"); done
find_child
until_caught "$child"
kill -TERM "$(cat parent)"
for _ in $(seq 100); do
    [ -e "/proc/$pid" ] || break
    sleep 0.1
done
expect_true it_ends_with_the_script_that_started_it test ! -e "/proc/$pid"
expect_true and_says_that_it_was_interrupted test "$(field verdict)" = interrupted

begin_slowly disk
beside=$pid
"$WARMER" run disk --action=warm --volume=$volume --home=home >second 2>err &
second=$!
sleep 1
kill -TERM "$beside"
pid=$second
finish
cp second out
expect_true a_second_agent_goes_after_the_first test "$status" -eq 0 -a "$(field verdict)" = complete

echo garbage >$state
agent
expect_true a_state_that_cannot_be_used_stops_nothing sh -c \
    "test $status -eq 0 && grep -q 'warmer: the warm-up goes on without a state: warmer: cannot use state file' err"
: >file
run "$WARMER" run disk --action=warm --volume=$volume --home=file/home
expect_true nor_does_a_disk_that_takes_none sh -c "test $status -eq 0 && grep -q 'without a state: cannot make file/home' err"

REWARM_FIRST_URL="$address/first" agent --arguments='--scope used'
expect_true what_comes_first_is_handed_on test "$status" -eq 0 -a "$(grep -c '^/first' store/gets)" -eq 1
REWARM_MAP_URL="$address/gone?X-Amz-Signature=secret" agent --patience-seconds=20
expect_true a_download_that_fails_is_named sh -c \
    "test $status -eq 69 && grep -q 'could not download the file of REWARM_MAP_URL: .*403' err && ! grep -q secret out err"
REWARM_MAP_URL=none agent --arguments='--scope whole'
expect_true without_a_map_every_block_is_read test "$(field bytesDone)" -eq $((64 * mib))

# The disk's path is a regular file, so --image stands for what a device would show.
python3 -c 'block = 524288
old = bytearray(block * 64)
open("old", "wb").write(old)
for number in range(8, 24):
    old[number * block : (number + 1) * block] = bytes([number]) * block
open("new", "wb").write(old)'
python3 "$here/delta.py" old new store $volume snap-0123456789abcdef0 pack=4 base="$address"
mv store/manifest store/later
cp old disk
REWARM_MAP_URL=none
rm -f store/put-*
REWARM_MANIFEST_URL="$address/manifest?X-Amz-Signature=secret" "$WARMER" run disk --action=apply --volume=$volume \
    --home=home --attempt=first-1 --arguments='--image --wait-seconds 60 --max-mib-s 1' >out 2>err &
pid=$!
until_uploaded '"event":"armed"'
expect_true nothing_is_written_before_there_is_a_manifest cmp disk old
find_child
mv store/later store/manifest
until_uploaded '"event":"progress".*"blocksDone":[1-9]'
kill -KILL "$child"
finish
expect_true an_application_that_is_killed_is_started_again test "$status" -eq 0 -a "$(field verdict)" = applied \
    -a "$(field blocksResumed)" -gt 0 -a "$(field blocksDone)" -eq 16
expect_true and_ends_as_the_snapshot sh -c 'cmp disk new && ! grep -q secret out err'
REWARM_MANIFEST_URL="$address/manifest" run "$WARMER" run disk --action=apply --volume=$volume --home=home \
    --attempt=first-1 --arguments='--image'
expect_true the_same_command_again_writes_nothing test "$status" -eq 0 -a "$(field blocksWritten)" -eq 0
cp old disk
REWARM_MANIFEST_URL="$address/manifest" run "$WARMER" run disk --action=apply --volume=$volume --home=home \
    --attempt=second-1 --arguments='--image'
expect_true another_attempt_trusts_no_state_before_it test "$(field blocksWritten)" -eq 16
expect_true so_it_writes_what_was_damaged_since cmp disk new
REWARM_MANIFEST_URL="$address/manifest" run "$WARMER" run disk --action=apply --volume=$volume --home=file/home \
    --attempt=third-1 --arguments='--image'
expect_true without_room_for_a_state_nothing_is_written sh -c "test $status -eq 3 && grep -q 'cannot make file/home' err"
run "$WARMER" run disk --action=apply --volume=$volume --home=home
expect_true an_attempt_must_have_a_name sh -c "test $status -eq 2 && grep -q 'needs --attempt' err"
run "$WARMER" run disk --action=apply --volume=$volume --home=home --attempt=../../etc
expect_true and_the_name_stays_in_its_folder sh -c "test $status -eq 2 && grep -q 'at most 80 of a-z' err"

run "$WARMER" run disk --action=verify --volume=$volume --home=home --arguments='--samples 4 --max-p99-ms 0.000001'
expect_true a_measurement_has_its_own_status test "$status" -eq 1 -a "$(field verdict)" = slow -a "$(field samples)" -eq 4

"$WARMER" run --action=warm --volume=vol-0000000000000dead >out 2>err &
pid=$!
until_caught "$pid"
kill -TERM "$pid"
finish
expect_true a_device_is_waited_for_until_somebody_interrupts test "$status" -eq 70
expect_true and_named_by_its_serial_number grep -q \
    'interrupted before there was a disk with the serial number vol0000000000000dead' err
