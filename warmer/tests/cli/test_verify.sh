#!/bin/sh
# `warmer verify` and `warmer inspect`: verdicts, exit status, exact output.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

truncate -s 64M disk
printf '0 3\n100 1\n' >map

run "$WARMER" verify disk --samples 50 --max-p99-ms 10000
expect_true a_quick_device_is_fast test "$status" -eq 0 -a "$(field verdict)" = fast -a "$(field samples)" -eq 50
expect_true the_histogram_holds_every_sample sh -c \
    "sed -E 's/.*\"histogram\":\[([^]]*)\].*/\1/' out | grep -o '\"count\":[0-9]*' | awk -F: '{ n += \$2 } END { exit n != 50 }'"

run "$WARMER" verify disk --samples 20 --max-p99-ms 0.000001
expect_true a_limit_that_no_device_meets_means_slow test "$status" -eq 1 -a "$(field verdict)" = slow

run "$DENY" direct /bin/true
if [ "$status" -ne 77 ]; then
    run "$DENY" direct "$WARMER" verify disk --samples 20 --max-p99-ms 10000
    expect_true without_direct_io_verify_says_so test "$(field directIo)" = false -a "$status" -eq 0
else
    skip_refusals "verify without direct I/O"
fi

truncate -s 4096 tiny
run "$DENY" read-at 0 /bin/true
if [ "$status" -ne 77 ]; then
    run "$DENY" read-at 0 "$WARMER" verify tiny --samples 4
    expect_true an_unreadable_sample_is_never_fast test "$status" -eq 1 -a "$(field verdict)" = unreadable -a "$(field errors)" -eq 4
else
    skip_refusals "samples that cannot be read"
fi

run "$WARMER" verify disk --samples 5 --seed 7 --map map --max-p99-ms 10000
expect_true more_samples_than_blocks_are_allowed test "$(field samples)" -eq 5 -a "$status" -eq 0

: >empty
run "$WARMER" verify disk --map empty
expect a_map_of_nothing_cannot_be_verified 2 \
    '{"event":"result","command":"verify","verdict":"refused","error":"empty holds no blocks: there is nothing to verify"}' \
    'warmer: empty holds no blocks: there is nothing to verify'

run "$DENY" io_uring 38 "$WARMER" inspect disk
if [ "$status" -ne 77 ]; then
    expected='{"event":"result","command":"inspect","verdict":"ok","device":"disk","type":"file","sizeBytes":67108864,'
    expected="$expected\"blocks\":128,\"blockBytes\":524288,\"realPath\":\"$(pwd -P)/disk\",\"volumeId\":null,\"name\":null,"
    expected="$expected\"model\":null,\"serial\":null,\"maxRequestBytes\":null,\"readAheadBytes\":null,\"queueDepth\":null,"
    expected="$expected\"logicalBlockBytes\":null,\"physicalBlockBytes\":null,\"readOnly\":false,"
    expected="$expected\"directIo\":$direct,\"deviceNote\":\"$device_note\","
    expected="$expected\"engines\":[{\"name\":\"io_uring\",\"description\":\"Linux's submission and completion rings\",\"usable\":false,"
    expected="$expected\"note\":\"Function not implemented\"},{\"name\":\"threads\","
    expected="$expected\"description\":\"a pool of threads with one blocking read each\",\"usable\":true,\"note\":\"\"}],\"nvmeStatistics\":null}"
    expect inspect_says_what_it_is_and_what_works 0 "$expected" ''
else
    skip_refusals "inspect without io_uring"
fi

ln -s disk nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0
run "$WARMER" inspect nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0
expect_true the_volume_is_known_by_the_name_that_ec2_gives_it test "$(field volumeId)" = vol-0123456789abcdef0

run "$WARMER" --version
expect_true the_version_is_printed grep -qx 'warmer [0-9]*\.[0-9]*\.[0-9]*' out
run "$WARMER" --help
expect_true the_help_is_printed sh -c "test $status -eq 0 && grep -q 'warmer warm DEVICE' out"
run "$WARMER"
expect without_a_command_it_says_what_to_try 2 \
    '{"event":"result","command":"help","verdict":"refused","error":"no command: try warmer --help"}' \
    'warmer: no command: try warmer --help'

# A name with a volume's id stands for a disk here: an image has no serial number.
cp disk vol-0123456789abcdef0 2>/dev/null || truncate -s 1M vol-0123456789abcdef0
for command in verify warm; do
    run "$WARMER" $command vol-0123456789abcdef0 --volume vol-0fedcba9876543210
    expect_true "${command}_refuses_another_volume_than_the_one_named" sh -c \
        "test $status -eq 81 && grep -q 'is vol-0123456789abcdef0 and not vol-0fedcba9876543210' err"
    run "$WARMER" $command vol-0123456789abcdef0 --volume vol-0123456789abcdef0
    expect_true "${command}_takes_the_volume_that_is_named" test "$status" -lt 2
done
