#!/bin/sh
# `warmer apply` with an undo log: the old bytes of what a line overwrites are durable before its first write.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

volume=vol-0123456789abcdef0
python3 -c 'import random
block, draw = 524288, random.Random(32)
old = bytearray(draw.randbytes(block * 40 + 8192))
old[block * 10 : block * 12] = bytes(block * 2)
new = bytearray(old)
for number in (3, 4, 5, 10, 11, 20, 40):
    new[number * block : number * block + 4096] = draw.randbytes(4096)
for number in (6, 7):
    new[number * block : (number + 1) * block] = bytes(block)
open("old", "wb").write(old)
open("new", "wb").write(new)' || exit 1

# delta FOLDER KEY=VALUE…: with a log in the folder `log`, which is empty.
delta() {
    rm -rf "$1" log
    mkdir log
    folder=$1
    shift
    python3 "$here/delta.py" old new "$folder" $volume snap-0123456789abcdef0 samples=0 undo="file://$(pwd)/log" "$@"
}

# apply OPTIONS…: on a fresh copy of the old image, with a fresh state.
apply() {
    cp old disk
    rm -f state state.taken
    run "$WARMER" apply disk --image --volume $volume --state state --patience-seconds 2 "$@"
}

delta d pack=3
apply --manifest d/manifest
if grep -q 'an undo log cannot be kept on this system' err; then
    expect_true where_no_log_can_be_kept_nothing_is_written sh -c "test $status -eq 93 && cmp disk old"
    exit 0
fi
expect_true the_image_becomes_the_snapshot sh -c "test $status -eq 0 && cmp disk new"
expect_true what_is_overwritten_is_kept test "$(field undoBlocks)" -eq 9 -a "$(field blocksWritten)" -eq 9 \
    -a "$(field undoPacks)" -eq "$(find log -type f | wc -l)" -a "$(field undoBytes)" -eq "$(cat log/* | wc -c)"
if command -v zstd >/dev/null; then
    # The line of zeros is the first one.
    zstd -qdc <log/undo-0 >unpacked
    dd if=old bs=524288 skip=6 count=2 2>/dev/null >wanted
    expect_true zstd_unpacks_a_log cmp unpacked wanted
fi
run "$WARMER" apply disk --image --volume $volume --state state --manifest d/manifest
expect_true it_is_not_resumed sh -c "test $status -eq 92 && grep -q 'with an undo log it is not resumed' err"
expect_true and_is_refused_without_an_account sh -c "test $(field verdict) = refused && ! grep -q blocksWritten out"

apply --manifest d/manifest
expect_true a_log_of_another_run_is_not_replaced sh -c "test $status -eq 92 && cmp disk old && ! grep -q '\"written\"' out"
delta w pack=3 whole=1
apply --manifest w/manifest --compare
expect_true with_a_comparison_only_what_differs_is_kept sh -c "test $status -eq 0 && cmp disk new"
expect_true and_lines_without_a_difference_have_no_log test "$(field undoBlocks)" -eq 9 -a "$(field blocksEqual)" -eq 32 \
    -a "$(field undoPacks)" -eq "$(find log -type f | wc -l)" -a "$(field undoPacks)" -lt 10

delta m pack=3
python3 -c 'import hashlib, json
lines = open("m/manifest").read().splitlines(keepends=True)
one = json.loads(lines[2])
del one["undo"]
lines[2] = json.dumps(one) + "\n"
end = json.loads(lines[-1])
end["sha256"] = hashlib.sha256("".join(lines[:-1]).encode()).hexdigest()
open("m/manifest", "w").write("".join(lines[:-1]) + json.dumps(end) + "\n")'
apply --manifest m/manifest
expect_true a_line_without_a_way_back_beside_others_is_refused sh -c \
    "test $status -eq 89 && grep -q 'some of its packs and zeros have undo, and others have not' err"

delta f pack=3
rmdir log
apply --manifest f/manifest
expect_true where_nothing_can_be_kept_nothing_is_written sh -c "test $status -eq 93 && cmp disk old"
expect_true and_the_account_says_so test "$(field verdict)" = failed -a "$(field blocksWritten)" -eq 0

# Nobody listens at first, and what is sent then is small; later another run's log is there.
if command -v curl >/dev/null; then
    python3 -c 'import http.server, socket, time
class Store(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(412)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Store, bind_and_activate=False)
server.server_bind()
open("port.new", "w").write(str(server.server_port))
__import__("os").rename("port.new", "port")
time.sleep(1)
server.server_activate()
server.serve_forever()' &
    store=$!
    until [ -e port ] || ! kill -0 $store; do sleep 0.05; done
    head -c 1048576 /dev/zero >old-zeros
    mv old old-kept && mv old-zeros old && cp new new-kept && head -c 1048576 new-kept >new
    delta a pack=1 undo="http://127.0.0.1:$(cat port)"
    apply --manifest a/manifest --patience-seconds 10
    expect_true what_is_there_after_a_try_that_nobody_answered_is_not_taken_for_ours sh -c "test $status -eq 92 && cmp disk old"
    let_go $store
    mv old-kept old && mv new-kept new
fi

# Somebody else writes to a block between the two times that it is read.
delta s pack=16
cp old disk
rm -f state state.taken
python3 -c 'import os, time
disk = os.open("disk", os.O_WRONLY)
while True:
    os.pwrite(disk, os.urandom(4096), 40 * 524288)
    open("is-written", "w").close()
    time.sleep(0.01)' &
holder=$!
until [ -e is-written ] || ! kill -0 $holder; do sleep 0.05; done
run "$WARMER" apply disk --image --volume $volume --state state --manifest s/manifest --max-mib-s 2
let_go $holder
expect_true who_writes_beside_it_is_noticed sh -c "test $status -eq 88 && grep -q 'block 40 changed while' err"
expect_true and_it_is_said_to_be_disturbed test "$(field verdict)" = disturbed

if ! is_emulated && "$WARMER" run --action=apply 2>/dev/null | grep -q 'needs --volume' && command -v curl >/dev/null; then
    delta r pack=3
    cp old disk
    REWARM_MANIFEST_URL="$(pwd)/r/manifest" "$WARMER" run disk --action=apply --volume=$volume --home=home \
        --attempt=one-1 --arguments='--image --max-mib-s 0.1' >out 2>err &
    pid=$!
    child=
    until [ -n "$child" ] && tr '\0' ' ' <"/proc/$child/cmdline" | grep -q ' apply ' &&
        [ -e home/state/$volume.one-1.taken ]; do
        child=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
        kill -0 $pid || break
        sleep 0.05
    done
    sleep 1
    kill -KILL "$child"
    finish
    expect_true a_run_with_a_log_is_not_started_for_a_second_time sh -c "test $status -eq 92"
    expect_true and_its_refusal_comes_through test "$(field verdict)" = refused
fi

mkdir cases
cd cases || exit 1
python3 "$here/undo_apply.py" "$WARMER" "${UNDO_CASES:-24}" "${UNDO_SEED:-32}" >../out 2>../err
status=$?
cd ..
expect_true whatever_happens_the_old_image_comes_back test "$status" -eq 0
grep -q ' cases' out && sed 's/^/# /' out
