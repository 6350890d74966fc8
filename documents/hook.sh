# Mounts a volume, waits until the application answers, or unmounts a drill's volume. The lines before this set action, volume, path, options,
# url, check and limit. Exit status: 1 the application is not back, 66 no device, 69 a tool failed, 75 refused.
# It never formats and never repairs.
# shellcheck shell=sh disable=SC2154
set -u
MOST_BLOCKS=2048 # of 512 bytes, that a check may print
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
give_up() { # STATUS REASON
  printf 'rewarm: %s\n' "$2" >&2
  exit "$1"
}
tag() { blkid -p -o value -s "$1" "$2" 2>/dev/null; } # TAG DEVICE
number() { lsblk -dnro MAJ:MIN "$1" 2>/dev/null; }    # DEVICE

find_disk() {
  link=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${volume#vol-}
  tries=0
  until [ -e "$link" ]; do
    [ $((tries += 1)) -le 60 ] || give_up 66 "no $link after 60 s"
    sleep 1
  done
  disk=$(readlink -f "$link")
}

find_file_system() { # the disk itself, or its only partition that has one
  fs=$disk
  type=$(tag TYPE "$fs")
  if [ -z "$type" ]; then
    found=''
    for part in $(lsblk -nrpo NAME,TYPE "$disk" | sed -n 's/ part$//p'); do
      [ -z "$(tag TYPE "$part")" ] || found="$found $part"
    done
    # shellcheck disable=SC2086
    set -- $found
    [ $# -le 1 ] || give_up 75 "$volume has several partitions ($*); mount them with a document of yours"
    [ $# -eq 1 ] || give_up 75 "$volume has no file system that blkid knows; mount it with a document of yours"
    fs=$1
    type=$(tag TYPE "$fs")
  fi
  case $type in
    crypto_LUKS) give_up 75 "$volume is encrypted with LUKS; open and mount it with a document of yours" ;;
    LVM2_member) give_up 75 "$volume belongs to LVM; activate and mount it with a document of yours" ;;
    ext[234] | xfs | btrfs) ;;
    *) give_up 75 "$volume is $type; mount it with a document of yours" ;;
  esac
  uuid=$(tag UUID "$fs")
  [ "$type" != btrfs ] || [ "$(blkid -t UUID="$uuid" -o device | wc -l)" -eq 1 ] ||
    give_up 75 "btrfs $uuid of $volume is on several devices; mount it with a document of yours"
  label=$(tag LABEL "$fs")
}

find_place() { # fstab's line for the folder, or else for the file system; its options count for more
  line=''
  [ -z "$path" ] || line=$(awk -v at="$path" '$1 !~ /^#/ && $2 == at { print $1, $2, $4; exit }' /etc/fstab)
  [ -n "$line" ] || line=$(awk -v uuid="UUID=$uuid" -v label="LABEL=$label" '
    { gsub(/"/, "", $1) } ($1 == uuid || label != "LABEL=" && $1 == label) && $2 ~ /^\// { print $1, $2, $4; exit }
  ' /etc/fstab)
  # shellcheck disable=SC2086
  set -- $line
  [ -n "${path:=${2:-}}" ] || give_up 75 "fstab has no line for UUID=$uuid of $volume; name the folder in the request"
  if [ "${2:-}" = "$path" ]; then
    source=$(printf %s "$1" | tr -d '"')
    case $source in
      "UUID=$uuid") ;;
      LABEL=?*) [ "$source" = "LABEL=$label" ] || give_up 75 "fstab has $source at $path, and $volume has LABEL=$label" ;;
      *) give_up 75 "fstab has $source at $path, and $volume has UUID=$uuid" ;;
    esac
    options=${options:+$options,}${3:-defaults}
    case $path in
      *\\* | / | /bin* | /boot* | /dev* | /etc* | /lib* | /proc* | /root* | /run* | /sbin* | /sys* | /usr* | /var)
        give_up 75 "$path belongs to the system; mount it with a document of yours" ;;
    esac
  else
    case $path in
      /data | /data/* | /media/* | /mnt/* | /srv/*) ;;
      *) give_up 75 "$path is not in fstab, and without a line there only folders below /data, /media, /mnt and /srv are taken" ;;
    esac
    case $path in */.*) give_up 75 "$path has a hidden folder or is no plain path" ;; esac
  fi
  case ,$options, in *,suid,* | *,dev,*) ;; *) options=$options,nosuid,nodev ;; esac
  options=${options#,}
  [ "$(readlink -m "$path")" = "$path" ] || give_up 75 "$path leads to another folder by a symbolic link"
  above=$path
  until [ "$above" = / ]; do
    above=$(dirname "$above")
    [ ! -e "$above" ] || [ -n "$(find "$above" -maxdepth 0 -type d -user 0 ! -perm /022)" ] ||
      give_up 75 "$above is not a folder that only root can write"
  done
}

holder_of() { findmnt -nvro SOURCE --mountpoint "$1" | tail -n 1; } # FOLDER

check_mounted() { # a name may have become another volume's, and systemd may unmount at once, or mount over it
  holder=$(holder_of "$path")
  [ -n "$holder" ] || give_up 69 "$path was unmounted as soon as $fs was mounted there: see fstab and systemctl status"
  [ "$(number "$holder")" = "$(number "$fs")" ] || give_up 69 "$holder was mounted at $path over $volume: see fstab and systemctl status"
  serial=$(lsblk -snro SERIAL "$holder" 2>/dev/null | grep . | tail -n 1)
  [ "${serial:-vol${volume#vol-}}" != "vol${volume#vol-}" ] || [ "$(readlink -f "$link")" != "$disk" ] || return 0
  umount "$path" || give_up 69 "$holder at $path is not $volume any more (serial ${serial:-unknown}), and could not be unmounted"
  give_up 69 "$holder at $path is not $volume any more (serial ${serial:-unknown}), so it is unmounted again"
}

mount_it() {
  holder=$(holder_of "$path")
  if [ -n "$holder" ]; then
    [ -b "$holder" ] && [ "$(number "$holder")" = "$(number "$fs")" ] || give_up 75 "$path has $holder mounted"
    echo "$fs was mounted at $path already"
    exit 0
  fi
  [ -z "$(ls -A "$path" 2>/dev/null)" ] || give_up 75 "$path is not empty"
  if [ "$type" = xfs ]; then
    for other in $(findmnt -nro SOURCE -t xfs); do
      [ "$(tag UUID "$other")" = "$uuid" ] && [ "$(number "$other")" != "$(number "$fs")" ] || continue
      echo "$other has the same UUID and is mounted, so nouuid is added"
      options=$options,nouuid
      break
    done
  fi
  mkdir -p "$path" || give_up 69 "could not make $path"
  mount -t "$type" -o "$options" "$fs" "$path" || give_up 69 "could not mount $fs ($type) at $path"
  check_mounted
  sleep 1 # systemd acts on a new mount within that time
  check_mounted
  echo "$fs ($type, UUID=$uuid) is mounted at $path with $options"
}

unmount_it() { # whatever uses it is ended: first asked for 30 s, then made
  tries=0
  for part in $(lsblk -nrpo NAME "$disk"); do
    while place=$(findmnt -nvro TARGET --source "$part" | tail -n 1) && [ -n "$place" ]; do
      umount "$place" 2>/dev/null && echo "$place is unmounted" && continue
      [ $((tries += 1)) -le 60 ] || give_up 1 "$place is in use and could not be unmounted"
      signal=TERM
      [ "$tries" -le 30 ] || signal=KILL
      find /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/exe /proc/[0-9]*/fd -maxdepth 1 \
        \( -lname "$place" -o -lname "$place/*" \) 2>/dev/null | cut -d / -f 3 | sort -u |
        xargs -r kill "-$signal" 2>/dev/null # some have ended meanwhile
      sleep 1
    done
  done
}

ask() { # says in `said` what came of it
  if [ -n "$url" ]; then
    code=$(curl --silent --output /dev/null --write-out '%{http_code}' --noproxy '*' --max-time 10 "$url")
    said="$url answered $code"
    [ "$code" != 000 ] || said="$url did not answer"
    case $code in 2?? | 3??) return 0 ;; *) return 1 ;; esac
  fi
  # shellcheck disable=SC2086
  set -- $check
  program=/etc/rewarm/checks/$1
  shift
  [ "$(find /etc/rewarm /etc/rewarm/checks "$program" -maxdepth 0 -user 0 ! -perm /022 2>/dev/null | wc -l)" -eq 3 ] ||
    give_up 75 "$program is not there, or others than root can write it or a folder above it"
  (ulimit -f "$MOST_BLOCKS" && exec timeout -k 5 30 "$program" "$@" >"$output" 2>&1)
  status=$?
  said="$program ended with the status $status"
  return "$status"
}

if [ "$action" = mount ]; then
  find_disk
  find_file_system
  find_place
  mount_it
  exit 0
fi
if [ "$action" = unmount ]; then
  find_disk
  unmount_it
  exit 0
fi
began=$(date +%s)
output=$(TMPDIR=/tmp mktemp) # there nobody else can change its name
trap 'rm -f "$output"' EXIT
until ask; do
  if [ $(($(date +%s) - began + 5)) -ge "$limit" ]; then
    tail -c 2048 "$output"
    give_up 1 "$said, for $limit s"
  fi
  sleep 5
done
tail -c 2048 "$output"
echo "$said"
