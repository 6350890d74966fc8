#!/bin/sh
# `warmer apply` on an image: a delta of several packs and parts makes it equal to a snapshot, whatever comes between.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

volume=vol-0123456789abcdef0
snapshot=snap-0123456789abcdef0
python3 -c 'import random
block, draw = 524288, random.Random(15)
old = bytearray(draw.randbytes(block * 96 + 8192))
new = bytearray(old)
for number in draw.sample(range(96), 30):
    new[number * block : (number + 1) * block] = draw.randbytes(512) * 1024
for number in (90, 91, 95):
    new[number * block : (number + 1) * block] = bytes(block)
new[-8192:] = draw.randbytes(8192)
open("old", "wb").write(old)
open("new", "wb").write(new)' || exit 1
changed=$(python3 -c 'block = 524288
old, new = open("old", "rb").read(), open("new", "rb").read()
print(sum(old[at : at + block] != new[at : at + block] for at in range(0, len(new), block)))')

# delta FOLDER KEY=VALUE…
delta() {
    rm -rf "$1"
    folder=$1
    shift
    python3 "$here/delta.py" old new "$folder" $volume $snapshot "$@"
}

# apply OPTIONS…: on a fresh copy of the old image, with a fresh state.
apply() {
    cp old disk
    rm -f state state.taken
    run "$WARMER" apply disk --image --volume $volume --state state "$@"
}

delta d pack=4 part=5
for engine in threads auto; do
    apply --manifest d/manifest --engine $engine
    expect_true "the_image_becomes_the_snapshot_by_$engine" cmp disk new
    expect_true "every_byte_is_accounted_for_by_$engine" test "$status" -eq 0 -a "$(field verdict)" = applied \
        -a "$(field blocksWritten)" -eq "$changed" -a "$(field blocksDone)" -eq "$changed" \
        -a "$(field bytesWritten)" -eq "$(field bytesDone)" -a "$(field samplesDiffering)" -eq 0 \
        -a "$(field bytesFetched)" -eq "$(cat d/pack-* | wc -c)" -a "$(field samples)" -ge 8 \
        -a "$(field takenBefore)" = false
done
expect_true what_was_written_is_listed python3 -c 'import json
block = 524288
old, new = open("old", "rb").read(), open("new", "rb").read()
result = json.loads(open("out").read().splitlines()[-1])
listed = [number for first, count in result["written"] for number in range(first, first + count)]
differing = [at // block for at in range(0, len(new), block) if old[at : at + block] != new[at : at + block]]
assert listed == differing and result["writtenTruncated"] is False
assert result["writeCount"] is None and len(result["bootId"]) in (0, 36)'
run "$WARMER" apply disk --image --volume $volume --state state --manifest d/manifest
expect_true the_same_again_writes_nothing test "$status" -eq 0 -a "$(field bytesWritten)" -eq 0 \
    -a "$(field blocksResumed)" -eq "$changed"
delta n pack=4 part=5 first=3
apply --manifest n/manifest
expect_true the_parts_of_a_further_attempt_count_on test "$status" -eq 0 -a "$(field blocksWritten)" -eq "$changed"
expect_true and_they_make_the_same cmp disk new
if command -v zstd >/dev/null; then
    delta z pack=64 compress=1
    apply --manifest z/manifest
    expect_true what_zstd_compressed_is_decoded test "$status" -eq 0 -a "$(field bytesFetched)" -lt 10000000
    expect_true and_makes_the_same cmp disk new
fi

# refused NAME STATUS REASON OPTIONS…: refused before a byte is written.
refused() {
    label=$1 wanted=$2 reason=$3
    shift 3
    apply "$@"
    expect_true "$label" grep -qF "warmer: $reason" err
    expect_true "${label}_with_a_status_of_its_own" test "$status" -eq "$wanted"
    expect_true "${label}_and_nothing_is_written" cmp disk old
}

refused a_missing_manifest 87 'the manifest did not appear' --manifest none
delta e
sed -i 's/"blocks"/"Blocks"/' e/manifest
refused a_damaged_manifest 89 'the manifest cannot be used: part 0, line 0: its checksum is wrong' --manifest e/manifest
python3 "$here/delta.py" old new e vol-0000000000000dead $snapshot
refused a_manifest_of_another_volume 81 'the manifest is for vol-0000000000000dead and not for' --manifest e/manifest
truncate -s 60M larger
python3 "$here/delta.py" old larger e $volume $snapshot
refused a_manifest_of_another_size 82 'disk has 50339840 bytes, and the manifest is for a volume of 62914560' \
    --manifest e/manifest
run "$WARMER" apply disk --volume $volume --state state --manifest d/manifest
expect_true a_file_is_no_device test "$status" -eq 80
run "$WARMER" apply /dev/null --image --volume $volume --state state --manifest d/manifest
expect_true a_device_is_no_image test "$status" -ge 3 -a "$status" -ne 66
run "$WARMER" apply missing --image --volume $volume --state state --manifest d/manifest
expect_true an_image_that_is_missing_is_said_to_be sh -c \
    "test $status -eq 3 && grep -qF 'cannot take missing: No such file or directory' err"
run "$WARMER" apply disk --manifest d/manifest --state state
expect_true the_volume_has_to_be_named test "$status" -eq 2

delta w pack=2
printf '\377' | dd of=w/pack-3 bs=1 seek=$(($(wc -c <w/pack-3) - 9)) conv=notrunc 2>/dev/null
apply --manifest w/manifest
expect_true a_block_with_a_wrong_checksum_is_not_written test "$status" -eq 90 -a "$(field verdict)" = failed
expect_true and_the_reason_is_told grep -qE 'a pack cannot be used: block [0-9]+ has another SHA-256' err
expect_true and_no_block_is_neither_old_nor_new python3 -c 'import sys
block = 524288
old, new, disk = (open(name, "rb").read() for name in ("old", "new", "disk"))
places = [slice(at, at + block) for at in range(0, len(disk), block)]
sys.exit(any(disk[at] not in (old[at], new[at]) for at in places))'
delta w pack=2
run "$WARMER" apply disk --image --volume $volume --state state --manifest w/manifest
expect_true once_it_is_right_the_rest_is_written cmp disk new

delta s samples=20
same=$(grep -c unchanged s/manifest)
cp old clean
block=$(sed -n 's/.*"unchanged": \([0-9]*\).*/\1/p' s/manifest | head -n 1)
printf x | dd of=old bs=1 seek=$((524288 * block)) conv=notrunc 2>/dev/null
apply --manifest s/manifest
expect_true a_sample_that_differs_is_told test "$status" -eq 91 -a "$(field samplesDiffering)" -ge 1 \
    -a "$(field samples)" -eq "$same" -a "$(field verdict)" = differs
mv clean old

# Armed, it waits for the manifest, and for each part of it.
delta late pack=4 part=4
mv late/manifest late/manifest.soon
mv late/part-1 late/part-1.soon
cp old disk
rm -f state
: >out
"$WARMER" apply disk --image --volume $volume --state state --manifest late/manifest --wait-seconds 30 >out 2>err &
pid=$!
until grep -q '"event":"armed"' out || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
sleep 0.2
expect_true armed_it_waits kill -0 $pid
"$WARMER" apply disk --image --volume $volume --state other --manifest d/manifest >out2 2>err2
expect_true nobody_else_takes_the_device grep -qE 'cannot (lock disk: another warmer|take disk: something else)' err2
mv late/manifest.soon late/manifest
sleep 1.2
mv late/part-1.soon late/part-1
finish
expect_true parts_that_appear_later_are_applied sh -c "test $status -eq 0 && cmp -s disk new"
expect_true it_said_first_that_it_was_armed sh -c "head -n 1 out | grep -q '\"event\":\"armed\"'"

# A part that does not appear after blocks were written is no refusal.
mv late/part-1 late/part-1.soon
apply --manifest late/manifest --wait-seconds 6
expect_true a_part_that_is_missing_after_a_write_is_a_failure test "$status" -eq 69 -a "$(field verdict)" = failed \
    -a "$(field blocksWritten)" -gt 0
mv late/part-1.soon late/part-1

# Who is killed before it has written anything has given the device away for a while, and says so.
mv late/manifest late/manifest.soon
cp old disk
rm -f state state.taken
: >out
"$WARMER" apply disk --image --volume $volume --state state --manifest late/manifest --wait-seconds 30 >out 2>err &
pid=$!
until grep -q '"event":"armed"' out || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -9 $pid
wait $pid 2>/dev/null
mv late/manifest.soon late/manifest
run "$WARMER" apply disk --image --volume $volume --state state --manifest late/manifest
expect_true a_device_that_was_taken_before_is_told test "$status" -eq 0 -a "$(field takenBefore)" = true \
    -a "$(field blocksResumed)" -eq 0

# Writes, reads back and samples count together; beyond the limit, a second's worth is in flight at most.
apply --manifest d/manifest --max-mib-s 8
expect_true a_rate_limit_is_kept sh -c "test $status -eq 0 && awk 'BEGIN {
    exit !($(field bytesWritten) + $(field bytesReadBack) <= 8 * 1048576 * 1.02 * ($(field elapsedSeconds) + 1)) }'"

# The largest gp3 and io2 volumes: a manifest that speaks of the first and the last block of 64 TiB.
huge=$(mktemp -d /dev/shm/warmer-cli-XXXXXX 2>/dev/null)
trap 'rm -rf "$work" "$huge"' EXIT
if [ -n "$huge" ] && truncate -s 64T "$huge/disk" 2>/dev/null; then
    python3 -c 'import hashlib, json
def line(**value):
    return json.dumps(value) + "\n"
text = line(format="rewarm-delta-1", part=0, volumeId="vol-0123456789abcdef0", snapshotId="snap-0123456789abcdef0",
            volumeBytes=2**46, blockBytes=524288, blocksTotal=4)
text += line(zeros=0, count=2) + line(zeros=2**27 - 2, count=2)
text += line(unchanged=2**26, sha256=hashlib.sha256(bytes(524288)).hexdigest())
digest = hashlib.sha256(text.encode()).hexdigest()
print(text + json.dumps(dict(end=True, packs=0, blocks=4, sha256=digest, next=None)))' >huge-manifest
    printf damaged | dd of="$huge/disk" bs=1 seek=$((70368744177664 - 100)) conv=notrunc 2>/dev/null
    run "$WARMER" apply "$huge/disk" --image --volume $volume --state "$huge/state" --manifest huge-manifest
    expect_true the_largest_volume_is_written_to_its_last_block test "$status" -eq 0 -a "$(field blocksDone)" -eq 4 \
        -a "$(field samples)" -eq 1 -a -z "$(tail -c 200 "$huge/disk" | tr -d '\0')"
else
    echo "skip apply to 64 TiB: /dev/shm holds no file of this size"
fi
rm -rf "$huge"

# From addresses, by children of curl. The manifest appears later, and the store answers 403 until then, as S3 does.
mkdir store
python3 "$here/store.py" store &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
until [ -e store/address ]; do sleep 0.1; done
address=$(cat store/address)
delta remote pack=4 part=5 base="$address"
cp remote/pack-* remote/part-* store
cp old disk
rm -f state
"$WARMER" apply disk --image --volume $volume --state state --wait-seconds 30 \
    --manifest "$address/manifest?X-Amz-Signature=secret" >out 2>err &
pid=$!
until grep -q manifest store/gets 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
cp remote/manifest store/manifest.new && mv store/manifest.new store/manifest
finish
expect_true what_is_loaded_from_addresses_is_applied sh -c "test $status -eq 0 && cmp -s disk new"
expect_true each_byte_of_it_is_counted test "$(field bytesFetched)" -eq "$(cat remote/pack-* | wc -c)"
expect_true no_address_is_printed sh -c '! grep -q "secret\|127.0.0.1" out err'
rm -f store/pack-3
apply --manifest "$address/manifest?X-Amz-Signature=secret" --patience-seconds 20
expect_true a_pack_that_is_gone_ends_it test "$status" -eq 69 -a "$(field verdict)" = failed
expect_true and_says_why grep -qE 'a pack cannot be loaded: (curl: \(22\)|the server answered 4)' err
kill "$server"

if "$DENY" write-at $((524288 * 90)) true 2>/dev/null; then
    cp old disk
    rm -f state
    run "$DENY" write-at $((524288 * 90)) "$WARMER" apply disk --image --volume $volume --state state \
        --manifest late/manifest --engine threads
    expect_true a_write_that_fails_ends_it test "$status" -eq 1 -a "$(field verdict)" = failed
    expect_true and_names_the_block grep -q 'block 90 cannot be written: ' err
    run "$WARMER" apply disk --image --volume $volume --state state --manifest late/manifest
    expect_true the_next_run_goes_on sh -c "test $status -eq 0 && cmp -s disk new"
    expect_true what_was_written_is_not_written_again test "$(field blocksWrittenAgain)" -le 1
fi

delta k pack=8
expect_true a_kill_at_any_moment_is_made_good python3 "$here/kill_apply.py" "$WARMER" old new k 5 15 0.3
if [ -n "$LONG_TESTS" ]; then
    # 1 GiB of blocks of one byte each: what is in flight at a kill is less than 2 % of them.
    mv new small
    mv old small-old
    truncate -s 1G old
    python3 -c 'with open("new", "wb") as stream:
    for number in range(2048):
        stream.write(bytes([1 + number % 255]) * 524288)'
    delta g pack=64 samples=0
    expect_true 100_kills_are_made_good_and_2_percent_written_twice python3 "$here/kill_apply.py" "$WARMER" old new g \
        "${KILLS:-100}" 15 2
    rm -f new old killed
    mv small new
    mv small-old old
fi

# An emulator, which a script starts, takes more than the program; so does a sanitizer.
if ! is_emulated && ! grep -qE '__(asan|tsan)_init' "$WARMER"; then
    cp old disk
    rm -f state
    run python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$WARMER" apply disk --image --volume $volume --state state --manifest k/manifest
    expect_true it_takes_less_than_64_mib test "$status" -eq 0 -a "$(cat out)" -lt 65536
fi
