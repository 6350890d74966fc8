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
