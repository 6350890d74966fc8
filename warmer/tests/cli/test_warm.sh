#!/bin/sh
# `warmer warm` from the outside: exact output, exit status, and what really reaches the device.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mib=1048576
truncate -s 64M disk
printf '0 3\n10 1\n100 28\n' >map

run "$WARMER" warm disk --map map --engine threads --depth 8
expect a_map_is_read_and_nothing_else 0 \
    "$(warm_result complete disk $((32 * mib / 2)) $((32 * mib / 2)) 32 32 32 0 '[]' null threads '' 8)" ''

run "$WARMER" warm disk --engine threads --depth 4
expect without_a_map_the_whole_device_is_read 0 \
    "$(warm_result complete disk $((64 * mib)) $((64 * mib)) 128 128 128 0 '[]' null threads '' 4)" ''

"$WARMER" warm disk --map - --engine threads --depth 4 <map >out 2>err
status=$?
expect a_map_may_come_on_standard_input 0 \
    "$(warm_result complete disk $((32 * mib / 2)) $((32 * mib / 2)) 32 32 32 0 '[]' null threads '' 4)" ''

: >empty
run "$WARMER" warm disk --map empty --engine threads --depth 4
expect an_empty_map_is_complete_at_once 0 \
    "$(warm_result complete disk 0 0 0 0 0 0 '[]' null threads '' 4)" ''

truncate -s $((mib + 777)) odd
run "$WARMER" warm odd --engine threads --depth 4
expect a_partial_last_block_counts_its_own_bytes 0 \
    "$(warm_result complete odd $((mib + 777)) $((mib + 777)) 3 3 3 0 '[]' null threads '' 4)" ''

run "$DENY" io_uring 38 "$WARMER" warm disk --map map --depth 4
if [ "$status" -eq 77 ]; then
    skip_refusals "refusals by the kernel"
else
    note='io_uring refused: Function not implemented'
    expect without_io_uring_threads_read_and_the_report_says_so 0 \
        "$(warm_result complete disk $((16 * mib)) $((16 * mib)) 32 32 32 0 '[]' null threads "$note" 4)" ''
    run "$DENY" io_uring 1 "$WARMER" warm disk --map map --depth 4
    note='io_uring refused: Operation not permitted'
    expect forbidden_io_uring_falls_back_too 0 \
        "$(warm_result complete disk $((16 * mib)) $((16 * mib)) 32 32 32 0 '[]' null threads "$note" 4)" ''
    run "$DENY" io_uring 1 "$WARMER" warm disk --engine io_uring
    expect_refused an_engine_asked_for_by_name_is_not_replaced 3 'cannot use engine io_uring: Operation not permitted'
    run "$DENY" direct "$WARMER" warm disk --map map --depth 4 --engine threads
    note='direct I/O refused (Invalid argument); reading through the page cache'
    expect without_direct_io_the_report_says_so 0 \
        "$(warm_result complete disk $((16 * mib)) $((16 * mib)) 32 32 32 0 '[]' null threads '' 4 false "$note")" ''
    run "$DENY" read-at $((101 * mib / 2)) "$WARMER" warm disk --map map --depth 4 --engine threads
    expect an_unreadable_block_is_listed_and_passed_over 1 \
        "$(warm_result incomplete disk $((31 * mib / 2)) $((16 * mib)) 31 32 31 1 '[[101,1]]' '"Input/output error"' threads '' 4)" \
        'warmer: blocks that could not be read: 1 (first error: Input/output error)'
fi

run "$WARMER" warm disk --map map --depth 4
if [ "$(field engine)" = io_uring ]; then
    expect io_uring_reads_the_map_and_nothing_else 0 \
        "$(warm_result complete disk $((16 * mib)) $((16 * mib)) 32 32 32 0 '[]' null io_uring '' 4 "$direct" \
            "$device_note" "$(field engineFeatures)")" ''
else
    echo "skip io_uring: $(field engineNote)"
fi

printf '0 3\n2 1\n' >bad
run "$WARMER" warm disk --map bad
expect_refused a_bad_map_is_refused_with_its_line 2 \
    'bad: line 2: block 2 comes before block 3, where the previous extent ends (extents must be ascending and disjoint)'

printf '127 2\n' >beyond
run "$WARMER" warm disk --map beyond
expect_refused a_map_beyond_the_device_is_refused 2 \
    'beyond: line 1: extent 127 2 reaches beyond the device, which has 128 blocks'

run "$WARMER" warm missing
expect_refused a_device_that_is_not_there_cannot_be_opened 3 'cannot open missing: No such file or directory'

run "$WARMER" warm disk --max-mib-s 16 --progress json --map map --first map
expect_true progress_starts_at_once grep -q '"event":"progress","bytesDone":0,"bytesTotal":16777216,' out
# How often is shown in virtual time (test_progress.c).
expect_true progress_comes_while_the_run_lasts test "$(grep -c '"event":"progress"' out)" -ge 2
expect_true a_rate_limit_holds sh -c "awk 'BEGIN { exit !($(field elapsedSeconds) > 0.9) }'"

# Block 10 is not in the map, and 1 is named twice.
printf '0 3\n100 28\n' >map
printf '126 2\n10 1\n0 2\n1 1\n' >first
run "$WARMER" warm disk --progress json --map map --first first --first-unlimited --polite-latency-ms 1000 --state state
expect_true what_comes_first_is_counted test "$status" -eq 0 -a "$(field firstBlocksTotal)" -eq 4 \
    -a "$(field firstBlocksDone)" -eq 4 -a "$(field blocksDone)" -eq 31
expect_true progress_counts_it_too grep -q '"event":"progress".*"firstBlocksDone":0,"firstBlocksTotal":4' out
expect_true its_end_is_told sh -c "grep -q '\"firstSeconds\":[0-9]' out &&
    awk 'BEGIN { exit !($(field firstSeconds) <= $(field elapsedSeconds)) }'"
run "$WARMER" warm disk --map map --first first --state state
expect_true what_an_earlier_run_read_of_it_counts test "$(field firstBlocksDone)" -eq 4 -a "$(field firstSeconds)" = 0.000 \
    -a "$(field reads)" -eq 0
run "$WARMER" warm disk --map map --first first --first-most 3
expect_true of_what_comes_first_only_blocks_of_the_map_count test "$(field firstBlocksTotal)" -eq 3 \
    -a "$(field firstBlocksDone)" -eq 3 -a "$(field blocksDone)" -eq 31
run "$WARMER" warm disk --map map --first first --first-most 0
expect_true nothing_comes_first_where_nothing_may test "$(field firstBlocksTotal)" -eq 0 -a "$(field blocksDone)" -eq 31
awk 'BEGIN { for (i = 0; i < 300000; i++) print (i % 2 ? "127 1" : "0 128") }' >first
run "$WARMER" warm disk --map map --first first
expect_true a_long_list_of_the_same_blocks_is_read_once test "$status" -eq 0 -a "$(field reads)" -le 31 \
    -a "$(field firstBlocksDone)" -eq 31 -a "$(field blocksDone)" -eq 31
echo 127 2 >>first
run "$WARMER" warm disk --map map --first first
expect_refused a_long_list_is_checked_to_its_end 2 \
    'first: line 300001: extent 127 2 reaches beyond the device, which has 128 blocks'

run "$WARMER" warm disk --progress none --engine threads
expect_true without_progress_there_is_only_the_result test "$(wc -l <out)" -eq 1
run "$WARMER" warm disk --progress bar --engine threads
expect_true the_bar_goes_to_standard_error grep -q ETA err
expect_true and_only_the_result_to_standard_output test "$(wc -l <out)" -eq 1
