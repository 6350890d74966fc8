# Writes random data to a new and empty volume, or times reads of one. The lines before this set volume,
# bytes, action and plan. Exit status: 66 no device, 69 a tool failed, 75 not the volume, or not empty.
# shellcheck shell=sh disable=SC2016,SC2154
set -u
export LC_ALL=C
BY_ID=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_
name=vol${volume#vol-}
give_up() { # STATUS REASON
  printf 'rewarm: %s\n' "$2" >&2
  exit "$1"
}
now() { date +%s%3N; }
serial_of() { { tr -d ' ' <"/sys/block/$1/device/serial"; } 2>/dev/null; } # NAME OF A DISK
find_device() { # by the disk's serial number, or else by a name of udev's that leads to a disk without one
  for folder in /sys/block/*; do
    real=/dev/${folder##*/}
    [ "$(serial_of "${folder##*/}")" != "$name" ] || [ ! -b "$real" ] || return 0
  done
  for link in "$BY_ID$name" "$BY_ID$name"[_-][1n]*; do
    real=$(readlink -f "$link")
    [ ! -e "$link" ] || [ -e "/sys/block/${real##*/}/device/serial" ] || return 0
  done
  return 1
}
tries=0
until find_device; do
  [ $((tries += 1)) -le 60 ] || give_up 66 "no disk with the serial number $name after 60 s"
  sleep 1
done
found=$(blockdev --getsize64 "$real" 2>/dev/null || stat -c %s "$real")
[ "$found" = "$bytes" ] || give_up 75 "$real has $found bytes, not $bytes"
if [ "$action" = write ]; then
  used=$(cat /proc/mounts /proc/swaps) || give_up 75 "nobody knows whether $real is in use"
  holders=$(ls "/sys/block/${real##*/}/holders" 2>/dev/null; printf '%s\n' "$used" | grep "^$real")
  [ -z "$holders" ] || give_up 75 "$real is in use"
  [ "$(dd if="$real" bs=1M count=64 status=none | tr -d '\000' | wc -c)" = 0 ] || give_up 75 "$real is not empty"
  now
  dd if=/dev/urandom of="$real" bs=1M count="$plan" iflag=fullblock oflag=direct conv=fsync,nocreat,notrunc \
    status=none || give_up 69 "could not write to $real"
fi
one='dd if=$0 of=/dev/null bs=4096 iflag=direct skip=$1 count=$2 2>&1 | sed -n "s/.*copied, \([^ ]*\) s.*/\1/p"'
[ "$action" = write ] || for phase in $plan; do # NAME:DEPTH:FIRST:STEP:COUNT:MODULUS:PAGES, in pages of 4 KiB
  IFS=: read -r name depth first step count modulus pages <<END
$phase
END
  printf 'phase %s %s\n' "$name" "$(now)"
  seq 0 $((count - 1)) | while read -r index; do echo $(((first + index * step) % modulus)); done | if [ "$depth" = 1 ]; then
    while read -r place; do echo "$(now) $(sh -c "$one" "$real" "$place" "$pages")"; done
  else xargs -P "$depth" -I{} sh -c "$one" "$real" {} "$pages" >/dev/null; fi
  now
done
