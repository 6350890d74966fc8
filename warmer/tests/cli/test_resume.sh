#!/bin/sh
# Interruption, resumption, locking: a warm-up of 2 MiB/s is stopped in different ways.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

truncate -s 128M disk
total=134217728

begin_slowly disk --engine threads --state state
kill -INT "$pid"
finish
done_first=$(field bytesDone)
expect_true an_interruption_ends_with_status_4 test "$status" -eq 4
expect_true its_verdict_is_interrupted test "$(field verdict)" = interrupted
expect_true it_says_how_to_go_on grep -qx 'warmer: interrupted; the state is saved, the same command goes on' err
expect_true completed_bytes_are_reported test "$done_first" -gt 0 -a "$done_first" -lt $total

run "$WARMER" warm disk --state state --engine threads
expect_true the_same_command_goes_on test "$status" -eq 0 -a "$(field verdict)" = complete
expect_true what_was_read_is_not_read_again test "$(field bytesResumed)" -eq "$done_first" \
    -a "$(field bytesRead)" -eq $((total - done_first))
expect_true the_total_counts_both_runs test "$(field bytesDone)" -eq $total

run "$WARMER" warm disk --state state --engine threads
expect_true a_third_run_reads_nothing test "$status" -eq 0 -a "$(field bytesRead)" -eq 0 -a "$(field blocksDone)" -eq 256

printf '\377\377\377\377\377\377\377\377' | dd of=state bs=1 seek=$((4096 + 8 * 2)) conv=notrunc 2>/dev/null
run "$WARMER" warm disk --state state --engine threads
expect_true the_blocks_of_a_damaged_part_are_read_again test "$status" -eq 0 -a "$(field bytesRead)" -eq $((32 * 524288))
expect_true damage_is_told grep -qx \
    'warmer: damaged parts of the state file state: 1; their blocks are read again' err

rm state
begin_slowly disk --engine threads --state state
kill -KILL "$pid"
finish
expect_true a_kill_leaves_no_result test "$status" -eq 137
seen=$(tail -n 1 out | sed -E 's/.*"bytesDone":([0-9]+).*/\1/')
run "$WARMER" warm disk --state state --engine threads
expect_true a_kill_loses_nothing_that_was_reported test "$(field bytesResumed)" -ge "$seen" -a "$(field bytesDone)" -eq $total

begin_slowly disk --engine threads
run "$WARMER" warm disk
expect_refused a_second_start_on_the_same_device_is_refused 3 'cannot lock disk: another warmer is reading it'
ln -s disk other-name
run "$WARMER" warm other-name
expect_true under_another_name_too test "$status" -eq 3
run "$WARMER" verify disk --samples 3 --max-p99-ms 10000
expect_true verify_may_run_beside_it test "$status" -eq 0
kill -TERM "$pid"
finish
expect_true sigterm_ends_with_status_4 test "$status" -eq 4
expect_true the_lock_is_gone_with_its_holder "$WARMER" warm disk --engine threads

truncate -s 33M grown
printf '0 1\n' >map
run "$WARMER" warm grown --state state --map map
expect_true a_state_of_another_device_is_refused sh -c \
    'test '"$status"' -eq 3 && grep -qx "warmer: cannot use state file state: it belongs to another device" err'
