#!/bin/sh
# A real block device: a loop device over a file, made read-only. Needs root; skipped where there is none.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mib=1048576
# Two blocks and one sector: the last block is a part of one.
truncate -s $((mib + 512)) image
if ! loop=$(losetup --find --show --read-only image 2>/dev/null); then
    echo "skip block devices: no loop device to be had"
    exit 0
fi
trap 'losetup --detach "$loop"; rm -rf "$work"' EXIT

run "$WARMER" inspect "$loop"
expect_true a_block_device_is_known_as_one test "$(field type)" = block -a "$(field sizeBytes)" -eq $((mib + 512)) \
    -a "$(field logicalBlockBytes)" -eq 512 -a "$(field readOnly)" = true

expect_true the_kernels_name_of_the_disk_is_given grep -q "\"name\":\"${loop#/dev/}\"" out

for engine in threads auto; do
    run "$WARMER" warm "$loop" --engine $engine
    expect_true "a_block_device_is_read_to_its_last_sector_by_$engine" test "$status" -eq 0 \
        -a "$(field bytesRead)" -eq $((mib + 512)) -a "$(field reads)" -eq 3 -a "$(field verdict)" = complete
done

# Beyond what the kernel keeps in flight for the disk, reads would not even be in order.
limit=/sys/block/${loop#/dev/}/queue/nr_requests
before=$(cat "$limit")
echo 4 >"$limit" 2>/dev/null
queue=$(cat "$limit")
run "$WARMER" warm "$loop"
echo "$before" >"$limit" 2>/dev/null # the next one to use this loop device would inherit it
expect_true the_depth_stays_within_the_queue test "$status" -eq 0 -a "$(field depth)" -le "$queue"

run "$WARMER" verify "$loop" --samples 30 --max-p99-ms 10000
expect_true a_block_device_is_verified test "$status" -eq 0 -a "$(field verdict)" = fast

ln -s "$loop" nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0
run "$WARMER" warm nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0 --state state
expect_true the_state_belongs_to_the_volume_id sh -c \
    'test '"$status"' -eq 0 && grep -aq vol-0123456789abcdef0 state'

# The kernel says which blocks are read: somebody else reads the second block and the sector behind it.
trap 'losetup --detach "$loop"; losetup --detach "$disk" 2>/dev/null; rm -rf "$work"' EXIT
truncate -s 64M larger
disk=$(losetup --find --show larger)
"$WARMER" observe "$disk" --seconds 60 --output recording --progress json --source events >seen 2>err &
observer=$!
until grep -q progress seen || ! kill -0 $observer 2>/dev/null; do
    sleep 0.1
done
if ! grep -q progress seen; then
    echo "skip observing a block device: $(cat err)"
    exit 0
fi
run "$WARMER" observe "$disk"
expect_true a_second_observer_is_refused test "$status" -eq 3 -a "$(field error)" = \
    'cannot observe: another warmer is observing this device'
for place in /sys/kernel/tracing /sys/kernel/debug/tracing; do
    if [ -d $place/instances ]; then
        echo "skip a kernel without tracefs: it is mounted at $place"
        place=''
        break
    fi
done
if [ -n "$place" ] && ! is_emulated && "$DENY" fsopen 19 /bin/true 2>/dev/null; then
    run "$DENY" fsopen 19 "$WARMER" observe "$disk"
    expect_true without_tracefs_nothing_is_observed test "$status" -eq 3 -a "$(field error)" = \
        'cannot observe: the kernel has no tracefs'
    run "$DENY" fsopen 38 "$WARMER" observe "$disk"
    expect_true nor_where_it_is_mounted_nowhere_and_cannot_be grep -qx \
        'warmer: cannot observe: nobody has mounted tracefs, and it cannot be had otherwise: Function not implemented' err
fi
dd if="$disk" of=/dev/null iflag=direct bs=4096 skip=1279 count=2 2>copied
"$WARMER" warm "$disk" >/dev/null
kill -TERM $observer
wait $observer
status=$?
cp seen out
expect_true an_observer_that_is_interrupted_writes_what_it_knows test "$status" -eq 4 -a "$(field verdict)" = interrupted \
    -a "$(field blocks)" -eq 2 -a "$(tail -n 2 recording | cut -d ' ' -f 1,2 | xargs)" = '9 1 10 1'

if is_emulated; then
    echo "skip a run that observes: an emulated program cannot start itself"
    exit 0
fi
# A warm-up of the volume has read the first 64 blocks, and somebody reads block 5 and block 100.
mkdir -p home/state
echo '0 64' >read_already
"$WARMER" warm "$disk" --map read_already --state home/state/vol-0123456789abcdef0 >/dev/null
(while [ ! -e ended ]; do
    dd if="$disk" of=/dev/null iflag=direct bs=4096 skip=640 count=1
    dd if="$disk" of=/dev/null iflag=direct bs=4096 skip=12800 count=1
    sleep 0.1
done 2>/dev/null) &
reader=$!
REWARM_PROGRESS_URL=file:///dev/null "$WARMER" run "$disk" --action=observe --volume=vol-0123456789abcdef0 --home=home \
    --arguments='--seconds 1 --source events' >out 2>err
status=$?
expect_true a_run_records_and_says_so test "$status" -eq 0 -a "$(field verdict)" = recorded \
    -a "$(field volumeId)" = vol-0123456789abcdef0
touch ended
wait $reader
expect_true what_the_warm_up_had_not_read_counts_as_cold test "$(field blocks)" -eq 2 -a "$(field coldBlocks)" -eq 1 \
    -a -s home/state/vol-0123456789abcdef0
mkdir tmp
TMPDIR=$(pwd)/tmp REWARM_PROGRESS_URL=file://$(pwd)/uploaded "$WARMER" run "$disk" --action=observe --home=home \
    --volume=vol-0123456789abcdef0 --arguments='--source events' >out 2>err &
pid=$!
until grep -qs '^{' tmp/*/progress || ! kill -0 $pid 2>/dev/null; do
    sleep 0.1
done
dd if="$disk" of=/dev/null iflag=direct bs=4096 skip=1280 count=1 2>copied
kill -TERM $pid
finish
expect_true a_run_that_is_interrupted_uploads_what_it_knows sh -c \
    "test $status -eq 4 && grep -q '^10 1 ' uploaded && ! test -s err && test -z \"\$(ls tmp)\""
run "$WARMER" observe image
expect_true a_file_cannot_be_observed test "$status" -eq 3 -a "$(field error)" = \
    'cannot observe image: it is not a block device'
