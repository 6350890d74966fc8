#!/bin/sh
# What uses a device. Mounts, and what is made of disks, are looked at in tests/local/aws/machines/test_device_use.py.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

volume=vol-0123456789abcdef0
truncate -s 1M disk

run "$WARMER" device-use disk --action=check --volume=$volume
expect a_device_that_nobody_uses_is_free 0 "{\"event\":\"use\",\"volumeId\":\"$volume\",\"mounts\":[],\"others\":[]}" ''

sleep 600 3<disk &
holder=$!
until_runs $holder sleep
run "$WARMER" device-use disk --action=check --volume=$volume
expect_true a_process_that_has_it_open_is_named grep -qF "\"others\":[\"process $holder (sleep)\"]" out
let_go $holder

python3 -c 'import ctypes, os, threading, time
def hold():
    ctypes.CDLL(None).unshare(0x400)  # CLONE_FILES
    os.open("disk", os.O_RDWR)
    open("is-held", "w").close()
    time.sleep(600)
threading.Thread(target=hold).start()' &
holder=$!
until [ -e is-held ] || ! kill -0 $holder; do sleep 0.05; done
run "$WARMER" device-use disk --action=check --volume=$volume
expect_true a_thread_that_has_it_open_alone_is_named grep -qF "\"others\":[\"process $holder (python3), which has" out
let_go $holder

sleep 0.5 3<disk &
run "$WARMER" device-use disk --action=check --volume=$volume
expect_true one_that_has_it_open_for_a_moment_is_not grep -qF '"others":[]' out

run "$WARMER" device-use --action=unmount --volume=vol-0000000000000dead
expect_true what_is_not_there_is_not_free test "$status" -eq 66 -a "$(field verdict)" = refused
run "$WARMER" device-use disk --action=warm --volume=$volume
expect_true it_only_looks_or_unmounts test "$status" -eq 2
run "$WARMER" device-use disk --action=online --volume=$volume
expect_true only_windows_has_disks_that_are_offline sh -c \
    "test $status -eq 2 && grep -q 'disk: only disks of Windows are brought online' err"
