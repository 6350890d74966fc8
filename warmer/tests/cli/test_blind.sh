#!/bin/sh
# Where not everything can be looked at: a device is refused, or the answer is right. Without a capability, without
# room for open files, in a namespace of process ids, without /proc, and where /proc hides processes. BLIND_FILES
# names other numbers of open files.
if [ -z "$OWN_MOUNTS" ]; then
    if [ "$(id -u)" -ne 0 ] || ! unshare --mount --propagation private true 2>/dev/null || [ ! -d /proc/2/ns ] ||
        ! command -v setpriv >/dev/null; then
        echo "skip looks that fail: no mount namespace, no process 2, or no setpriv"
        exit 0
    fi
    OWN_MOUNTS=yes exec unshare --mount --propagation private "$0"
fi
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
PATH=$PATH:/usr/sbin:/sbin

volume=vol-0123456789abcdef0
head -c 2097152 /dev/urandom >old
head -c 2097152 /dev/urandom >new
python3 "$here/delta.py" old new d $volume snap-0123456789abcdef0 samples=0
cp old image
if ! loop=$(losetup --find --show image 2>/dev/null); then
    echo "skip looks that fail: no loop device to be had"
    exit 0
fi
trap 'kill $holder 2>/dev/null; losetup --detach "$loop"; rm -rf "$work"' EXIT
mount -t tmpfs none /dev/disk 2>/dev/null || { mkdir -p /dev/disk && mount -t tmpfs none /dev/disk; }
mkdir /dev/disk/by-id
ln -s "$loop" /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0

# How a command is run, each as a word of the shell.
plainly() { "$@"; }
without_ptrace() { setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$@"; }
with_files() {
    limit=$1
    shift
    prlimit --nofile="$limit" "$@"
}
in_pid_namespace() { unshare --pid --fork --mount-proc "$@"; }
in_pid_namespace_with_the_machines_proc() { unshare --pid --fork "$@"; }
without_proc() { unshare --mount sh -c 'umount -l /proc && exec "$@"' sh "$@"; }
with_hidden_processes() { unshare --mount sh -c 'mount -o remount,hidepid=2 /proc && exec "$@"' sh "$@"; }
with_all_hidden() {
    unshare --mount sh -c 'mount -t proc -o hidepid=2 none /proc && exec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$@"' sh "$@"
}
with_an_empty_proc() { unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }

# answers NAME HOW…: what `device-use` and `apply` say and do with and without a writer.
answers() {
    what=$1
    shift
    for who in nobody writer; do
        dd if=old of="$loop" bs=1M conv=fsync status=none
        holder=
        if [ $who = writer ]; then
            sleep 600 3<>"$loop" &
            holder=$!
            until_runs $holder sleep
        fi
        run "$@" "$WARMER" device-use "$loop" --action=check --volume=$volume
        use=$(tail -n 1 out)
        rm -f state state.taken
        run "$@" "$WARMER" apply "$loop" --volume $volume --manifest d/manifest --state state
        is_free=no
        case $use in *'"mounts":[],"others":[]}') is_free=yes ;; esac
        sync "$loop"
        now=neither
        cmp -s image old && now=old
        cmp -s image new && now=new
        echo "# $what, $who: free $is_free, apply $status, $(tail -n 1 err | cut -c 1-150)"
        if [ $who = writer ]; then
            expect_true "${what}_a_writer_is_never_missed" test $is_free = no -a "$status" -ne 0 -a $now = old
        else
            expect_true "${what}_a_free_device_is_written_or_refused" test \
                \( $is_free = yes -a "$status" -eq 0 -a $now = new \) -o \( "$status" -ne 0 -a $now = old \)
        fi
        [ -z "$holder" ] || let_go "$holder"
        holder= # also so that the end of it is not the end of this script
    done
}

answers with_everything plainly
answers without_ptrace without_ptrace
expect_true without_ptrace_it_says_why grep -q "open files cannot be seen\|this one cannot see" err
for files in ${BLIND_FILES:-5 8 20}; do
    answers "with_${files}_files" with_files "$files"
done
answers in_a_pid_namespace in_pid_namespace
answers with_the_machines_proc in_pid_namespace_with_the_machines_proc
answers without_proc without_proc
answers with_an_empty_proc with_an_empty_proc
answers with_hidden_processes with_hidden_processes
answers with_all_hidden with_all_hidden
