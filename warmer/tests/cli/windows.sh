#!/bin/sh
# The Windows binary from outside, on files: wine shows that it is right, not how fast it is (wine reads one block
# of a file after the other), and it has no disks to open.
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
. "$here/lib.sh"

mib=1048576
truncate -s 64M disk
printf '0 3\n10 1\n100 28\n' >map

run "$WARMER" --version
expect_true the_version_is_printed grep -qx 'warmer [0-9]*\.[0-9]*\.[0-9]*' out
expect_true lines_end_as_on_every_system sh -c "! grep -q \"\$(printf '\\r')\" out"

run "$WARMER" inspect disk
expect_true a_file_is_inspected test "$status" -eq 0 -a "$(field type)" = file -a "$(field sizeBytes)" -eq 67108864 \
    -a "$(field directIo)" = true
expect_true the_engines_are_overlapped_and_threads sh -c \
    "grep -o '\"name\":\"[a-z_]*\",\"description\":\"[^\"]*\",\"usable\":true' out | cut -d '\"' -f 4 | xargs | grep -qx 'overlapped threads'"
expect_true its_whole_path_is_known grep -qF 'disk","volumeId":null' out

for engine in overlapped threads; do
    run "$WARMER" warm disk --map map --engine $engine --depth 8
    expect_true "a_map_is_read_and_nothing_else_by_$engine" test "$status" -eq 0 -a "$(field verdict)" = complete \
        -a "$(field bytesRead)" -eq $((16 * mib)) -a "$(field reads)" -eq 32 -a "$(field engine)" = $engine
    truncate -s $((mib + 777)) odd
    run "$WARMER" warm odd --engine $engine
    expect_true "a_partial_last_block_counts_its_own_bytes_by_$engine" test "$status" -eq 0 \
        -a "$(field bytesDone)" -eq $((mib + 777)) -a "$(field blocksDone)" -eq 3
done

run "$WARMER" warm disk
expect_true without_a_map_the_whole_device_is_read_by_the_best_engine test "$status" -eq 0 \
    -a "$(field bytesRead)" -eq $((64 * mib)) -a "$(field engine)" = overlapped -a "$(field engineNote)" = ''

"$WARMER" warm disk --map - <map >out 2>err
status=$?
expect_true a_map_may_come_on_standard_input test "$status" -eq 0 -a "$(field blocksDone)" -eq 32

cp map 'Größe 1.map'
cp disk 'Gerät'
run "$WARMER" warm 'Gerät' --map 'Größe 1.map' --state 'Züge'
expect_true names_of_files_are_utf_8 test "$status" -eq 0 -a "$(field blocksDone)" -eq 32 -a -e 'Züge'

ln -s disk nvme-vol0123456789abcdef0
run "$WARMER" inspect nvme-vol0123456789abcdef0
expect_true the_volume_is_known_by_its_name test "$(field volumeId)" = vol-0123456789abcdef0

run "$WARMER" warm missing
expect_refused a_device_that_is_not_there_cannot_be_opened 3 'cannot open missing: No such file or directory'

printf '127 2\n' >beyond
run "$WARMER" warm disk --map beyond
expect_refused a_map_beyond_the_device_is_refused 2 \
    'beyond: line 1: extent 127 2 reaches beyond the device, which has 128 blocks'

run "$WARMER" verify disk --samples 50 --max-p99-ms 10000
expect_true a_quick_device_is_fast test "$status" -eq 0 -a "$(field verdict)" = fast -a "$(field samples)" -eq 50
run "$WARMER" verify disk --samples 20 --max-p99-ms 0.000001
expect_true a_limit_that_no_device_meets_means_slow test "$status" -eq 1 -a "$(field verdict)" = slow

begin_slowly disk --state state
run_beside() {
    "$WARMER" "$@" >beside 2>&1
    beside=$?
}
run_beside warm disk
expect_true a_second_start_on_the_same_device_is_refused sh -c "test $beside -eq 3 && grep -q 'another warmer is reading it' beside"
cp disk other
run_beside warm other --state state
expect_true a_state_that_is_in_use_is_refused sh -c "test $beside -eq 3 && grep -q 'another warmer is using it' beside"
kill -INT "$pid"
finish
done_first=$(field bytesDone)
expect_true ctrl_c_ends_with_status_4_and_what_was_read test "$status" -eq 4 -a "$(field verdict)" = interrupted \
    -a "$done_first" -gt 0 -a "$done_first" -lt $((64 * mib))
run "$WARMER" warm disk --state state
expect_true the_same_command_goes_on test "$status" -eq 0 -a "$(field bytesResumed)" -eq "$done_first" \
    -a "$(field bytesRead)" -eq $((64 * mib - done_first))

rm state
begin_slowly disk --state state
kill -KILL "$pid"
finish
seen=$(tail -n 1 out | sed -E 's/.*"bytesDone":([0-9]+).*/\1/')
run "$WARMER" warm disk --state state
expect_true a_kill_loses_nothing_that_was_reported test "$status" -eq 0 -a "$(field bytesResumed)" -ge "$seen" \
    -a "$(field bytesDone)" -eq $((64 * mib))

truncate -s 33M grown
run "$WARMER" warm grown --state state
expect_true a_state_of_another_device_is_refused sh -c \
    'test '"$status"' -eq 3 && grep -q "it belongs to another device" err'

if ! command -v python3 >/dev/null 2>&1; then
    echo "skip warmer run: no python3 here"
    exit 0
fi
volume=vol-0123456789abcdef0
mkdir store
cp map store/map
python3 "$here/store.py" store &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
until [ -e store/address ]; do sleep 0.1; done
address=$(cat store/address)
REWARM_MAP_URL="$address/map?X-Amz-Signature=a%2Fb" REWARM_PROGRESS_URL="$address/progress"
export REWARM_MAP_URL REWARM_PROGRESS_URL

run "$WARMER" run disk --action=warm --volume=$volume --home='Program Files' \
    --arguments='--max-mib-s 4' --cold-arguments='--samples 3 --max-p99-ms 10000'
expect_true a_run_downloads_the_map_measures_and_warms sh -c \
    'head -n 1 out | grep -q "^{\"event\":\"before\",\"command\":\"verify\",\"verdict\":\"fast\""'
expect_true and_reads_what_the_map_names test "$status" -eq 0 -a "$(field verdict)" = complete \
    -a "$(field bytesRead)" -eq $((16 * mib)) -a "$(wc -l <out)" -eq 2
expect_true the_address_arrives_as_it_is grep -qxF '/map?X-Amz-Signature=a%2Fb' store/gets
tail -n 1 out >last
expect_true progress_is_uploaded sh -c 'grep -l "\"event\":\"progress\"" store/put-* | grep -q .'
expect_true and_the_result cmp -s last "store/put-$(find store -name 'put-*' | wc -l)"
expect_true nothing_is_left_behind test "$(ls 'Program Files')" = state -a -z "$(ls 'Program Files/state')"

REWARM_MAP_URL="$address/gone?X-Amz-Signature=secret" run "$WARMER" run disk --action=verify --volume=$volume
expect_true a_download_that_fails_is_named sh -c \
    "test $status -eq 69 && grep -q 'could not download the file of REWARM_MAP_URL: the server answered 403' err && ! grep -q secret out err"

# begin_run: a slow warm-up in the background; it is $pid, and the program that it has started is $agent.
begin_run() {
    "$WARMER" run disk --action=warm --volume=$volume --home=kept-$$ --arguments='--max-mib-s 1' >out 2>err &
    pid=$!
    until agent=$(pgrep -n -f " warm disk .*kept-$$.*progress json --max-mib-s 1") && [ -s kept-$$/state/$volume ]; do
        kill -0 "$pid" || break
        sleep 0.1
    done
}

begin_run
sleep 3
kill -KILL "$agent"
finish
expect_true an_agent_that_is_killed_is_started_again \
    grep -qE 'warmer: the agent was ended with status [0-9]+ and is started again' err
expect_true and_goes_on test "$status" -eq 0 -a "$(field verdict)" = complete -a "$(field bytesResumed)" -gt 0

begin_run
kill -KILL "$pid"
finish
for _ in $(seq 100); do
    kill -0 "$agent" 2>/dev/null || break
    sleep 0.1
done
expect_true no_agent_outlives_who_started_it sh -c "! kill -0 $agent 2>/dev/null"

run "$WARMER" device-use --action=check --volume=$volume
expect_true a_disk_that_is_not_there_is_not_free sh -c \
    "test $status -eq 66 && grep -q 'no disk with the serial number of $volume' err"

run "$WARMER" device-use --action=online --volume=$volume
expect_true nor_can_it_come_online sh -c \
    "test $status -eq 66 && grep -q 'no disk with the serial number of $volume' err"
cp disk before
run "$WARMER" device-use disk --action=online --volume=$volume --mount='E:\data'
expect_true what_is_no_disk_is_not_brought_online sh -c \
    "test $status -eq 3 && grep -q 'cannot bring disk online: ' err && cmp -s disk before"

run "$WARMER" device-use --action=online --volume=$volume --mount=/data
expect_true a_place_that_windows_does_not_have_is_refused sh -c \
    "test $status -eq 2 && grep -q 'mount /data: allowed is a drive letter' err"

mkdir target
run "$WARMER" bench --file=disk --folder=target
expect_true a_file_is_copied_twice test "$status" -eq 0 -a "$(field command)" = copy \
    -a "$(field sizeBytes)" -eq $((64 * mib)) -a -z "$(ls target)"
expect_true both_times_are_reported grep -qE '"firstSeconds":[0-9.]*[1-9][0-9]*,"secondSeconds":[0-9.]*[1-9][0-9]*}' out
run "$WARMER" bench --file=missing --folder=target
expect_true a_file_that_is_missing_is_named sh -c "test $status -eq 66 && grep -q 'there is no file missing' err"
run "$WARMER" bench --file=disk --folder=missing
expect_true and_a_folder sh -c "test $status -eq 66 && grep -q 'there is no folder missing' err"

run "$WARMER" mount --volume=vol-0123456789abcdef0
expect_true windows_mounts_what_comes_online sh -c "test $status -eq 2 && grep -q 'Windows mounts a volume when' err"

run "$WARMER" observe disk
expect_true windows_cannot_be_observed sh -c \
    "test $status -eq 3 && grep -q 'cannot observe: only Linux tells which blocks are read' err"
