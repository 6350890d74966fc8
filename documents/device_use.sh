#!/bin/sh
# Says as one JSON line what uses an EBS volume: mount points, and what cannot be unmounted.
# Exit status: 0 whatever was found, or 66 no such device, 69 it could not be looked at, 70 a signal ended it.
set -u

action='{{ action }}'
volume_id='{{ volumeId }}'

device="/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${volume_id#vol-}"
work=''

# shellcheck disable=SC2317,SC2329  # called by the traps
finish() {
  status=$?
  trap - EXIT HUP INT TERM
  if [ -n "$work" ]; then
    rm -rf "$work"
  fi
  exit "$status"
}
trap finish EXIT
trap 'exit 70' HUP INT TERM

fail() {
  printf 'rewarm: %s\n' "$2" >&2
  exit "$1"
}

# In the order of mounting, of every process: a container has mounts of its own. A file system over several
# devices shows a number of its own, so its source counts too. \040 stands for a blank.
mounts() {
  cat /proc/[0-9]*/mountinfo 2>/dev/null | awk '
    NR == FNR { wanted[$1]; wanted[$3]; next }
    {
      source = ""
      for (i = 7; i < NF - 1; i++) if ($i == "-") { source = $(i + 2); break }
      if ((($3 in wanted) || (source in wanted)) && !seen[$5]++) print $5
    }' "$work/devices" -
}

processes() { # that have the device itself open
  while read -r name _; do
    find /proc/[0-9]*/fd -lname "$name" 2>/dev/null
  done <"$work/devices" | awk -F / '!seen[$3]++ { print $3 }' | head -n 5 | while read -r pid; do
    printf 'process %s (%s)\n' "$pid" "$(tr -cd 'A-Za-z0-9._:/-' <"/proc/$pid/comm" 2>/dev/null)"
  done
}

others() {
  awk 'NR == FNR { wanted[$1]; next } FNR > 1 && ($1 in wanted) { print "swap on " $1 }' \
    "$work/devices" /proc/swaps
  # What is made of the disk or its partitions: LVM, RAID, encryption, several paths.
  awk '$2 != "disk" && $2 != "part" && $2 != "loop" { print $2 " " $1 }' "$work/devices"
  # Whoever looks for new devices opens them all for a moment; three looks tell them from the others.
  for look in 1 2 3; do
    processes >"$work/processes"
    [ -s "$work/processes" ] && [ "$look" -lt 3 ] || break
    sleep 1
  done
  cat "$work/processes"
}

strings() { # lines as strings of a JSON array
  head -n 50 | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/"/' | paste -s -d , -
}

unmount_all() { # the last one that was mounted first
  mounts | tac | while read -r point; do
    umount -- "$(printf '%b' "$(printf '%s' "$point" | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')")" >&2
  done
}

[ -e "$device" ] || fail 66 "no $device"
work=$(mktemp -d) || fail 69 'could not make a temporary directory'
node=$(readlink -f "$device")
# The disk, its partitions and what is made of them: name, type, number.
printf '%s disk -\n' "$node" >"$work/devices"
lsblk -nrpo NAME,TYPE,MAJ:MIN "$node" 2>/dev/null | grep -v "^$node " >>"$work/devices"
lsblk -nrpdo NAME,TYPE,MAJ:MIN "$node" 2>/dev/null >>"$work/devices"
[ "$action" = check ] || unmount_all
printf '{"event":"use","volumeId":"%s","mounts":[%s],"others":[%s]}\n' \
  "$volume_id" "$(mounts | strings)" "$(others | strings)"
