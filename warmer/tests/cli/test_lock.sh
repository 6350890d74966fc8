#!/bin/sh
# The lock of a device: nobody but its user can hold it, wherever its folder is. The folders here are this script's own.
if [ -z "$OWN_MOUNTS" ]; then
    if [ "$(id -u)" -ne 0 ] || ! unshare --mount --propagation private true 2>/dev/null ||
        ! command -v setpriv >/dev/null; then
        echo "skip locks of devices: no mount namespace to be had, or no setpriv"
        exit 0
    fi
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
mount -t tmpfs none /run
truncate -s 1M disk
chmod 755 .
key=$(python3 -c 'import os
found = os.stat("disk")
print(f"file-{os.major(found.st_dev)}:{os.minor(found.st_dev)}-{found.st_ino}")')
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# refused NAME: a warm-up is refused, and says why.
refused() {
    run "$WARMER" warm disk
    expect_true "$1" sh -c "test $status -eq 3 && grep -q \"somebody else's, or others can write to it\" err"
}

run "$WARMER" warm disk
expect_true a_folder_of_locks_is_made_for_root_alone test "$status" -eq 0 -a "$(stat -c '%U %a %F' /run/rewarm)" = "root 700 directory"
expect_true it_has_a_file_for_the_device test "$(stat -c '%U %a %s' "/run/rewarm/$key.lock")" = "root 600 0"

# Whoever binds it: nobody else may be able to run this Python.
python3 -c 'import socket, sys, time
name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name.bind("\0rewarm-warmer-" + sys.argv[1])
print("bound", flush=True)
time.sleep(600)' "$key" >bound &
holder=$!
until [ -s bound ] || ! kill -0 $holder; do sleep 0.05; done
run "$WARMER" warm disk
expect_true a_name_that_anybody_can_bind_locks_nothing test "$status" -eq 0 -a -s bound
let_go $holder
expect_true others_cannot_open_the_lock sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups cat '/run/rewarm/$key.lock' 2>/dev/null"

sh -c 'exec 9<"$1" && flock 9 && exec sleep 600' sh "/run/rewarm/$key.lock" &
holder=$!
until_runs $holder sleep
run "$WARMER" warm disk
expect_true who_has_the_lock_keeps_others_out sh -c "test $status -eq 3 && grep -q 'another warmer is reading it' err"
let_go $holder

rm "/run/rewarm/$key.lock"
ln -s /etc/hostname "/run/rewarm/$key.lock"
refused a_link_in_the_place_of_the_lock_is_refused
rm "/run/rewarm/$key.lock"
: >"/run/rewarm/$key.lock"
chown 65534 "/run/rewarm/$key.lock"
refused a_file_of_somebody_else_is_refused
rm -r /run/rewarm
mkdir -m 777 /run/rewarm
refused a_folder_that_others_can_write_to_is_refused
rmdir /run/rewarm
mkdir /run/rewarm && chown 65534 /run/rewarm
refused a_folder_of_somebody_else_is_refused
rmdir /run/rewarm
mkdir /run/elsewhere
ln -s elsewhere /run/rewarm
refused a_link_in_the_place_of_the_folder_is_refused
rm /run/rewarm

mount -o remount,ro /run
mount -t tmpfs none /var/lib
run "$WARMER" warm disk
expect_true without_a_run_that_can_be_written_it_is_in_var_lib test "$status" -eq 0 -a -e "/var/lib/rewarm/$key.lock"
mount -t tmpfs -o ro none /var/lib
run "$WARMER" warm disk
expect_true without_a_place_for_it_nothing_is_read sh -c "test $status -eq 3 && grep -q 'by a file in /var/lib/rewarm: Read-only' err"

exec 3<"$WARMER" # it may lie below /tmp itself
mount -t tmpfs -o mode=1777 none /tmp
mkdir /tmp/own
cat <&3 >/tmp/own/warmer && chmod 755 /tmp/own /tmp/own/warmer
truncate -s 1M /tmp/own/disk
run as_nobody env -u XDG_RUNTIME_DIR /tmp/own/warmer warm /tmp/own/disk
expect_true others_have_a_folder_of_their_own test "$status" -eq 0 -a "$(stat -c '%u %a' /tmp/rewarm-65534)" = "65534 700"
