# Mounts a volume, or waits until the application answers. The lines before this set action, volume, path, options,
# url, check and limit. Exit status: 1 the application is not back, 66 no device, 69 a tool failed, 75 refused.
# It never formats and never repairs.
# shellcheck shell=sh disable=SC2154
set -u
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
give_up() { # STATUS REASON
  printf 'rewarm: %s\n' "$2" >&2
  exit "$1"
}
tag() { blkid -p -o value -s "$1" "$2" 2>/dev/null; } # TAG DEVICE
number() { lsblk -dnro MAJ:MIN "$1" 2>/dev/null; }    # DEVICE

find_disk() {
  disk=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${volume#vol-}
  tries=0
  until [ -e "$disk" ]; do
    [ $((tries += 1)) -le 60 ] || give_up 66 "no $disk after 60 s"
    sleep 1
  done
  disk=$(readlink -f "$disk")
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
    *_member | bcache | swap) give_up 75 "$volume is $type; mount it with a document of yours" ;;
  esac
  uuid=$(tag UUID "$fs")
  label=$(tag LABEL "$fs")
}

find_place() { # fstab's line for the folder, or else for the file system
  line=''
  [ -z "$path" ] || line=$(awk -v at="$path" '$1 !~ /^#/ && $2 == at { print $1, $2, $4; exit }' /etc/fstab)
  [ -n "$line" ] || line=$(awk -v uuid="UUID=$uuid" -v label="LABEL=$label" '
    { gsub(/"/, "", $1) } ($1 == uuid || label != "LABEL=" && $1 == label) && $2 ~ /^\// { print $1, $2, $4; exit }
  ' /etc/fstab)
  # shellcheck disable=SC2086
  set -- $line
  [ -n "${path:=${2:-}}" ] || give_up 75 "fstab has no line for UUID=$uuid of $volume; name the folder in the request"
  if [ "${2:-}" = "$path" ]; then
    case $1 in
      UUID=* | \"UUID=*) [ "${1#*UUID=}" = "$uuid" ] || [ "${1#*UUID=}" = "$uuid\"" ] ||
        give_up 75 "fstab has $1 at $path, and $volume has UUID=$uuid" ;;
    esac
    options=${3:-defaults}${options:+,$options}
    return
  fi
  case $path in
    /data | /data/* | /home/* | /media/* | /mnt/* | /opt/* | /srv/* | /var/lib/*) ;;
    *) give_up 75 "$path is not in fstab, and without a line there only folders below /data, /home, /media, /mnt, /opt, /srv and /var/lib are taken" ;;
  esac
  case /$path/ in */../* | */./*) give_up 75 "$path is no plain path" ;; esac
  [ "$(readlink -m "$path")" = "$path" ] || give_up 75 "$path leads to another folder by a symbolic link"
  options=${options:+$options,}nosuid,nodev
}

mount_it() {
  holder=$(findmnt -nro MAJ:MIN --mountpoint "$path" | tail -n 1)
  if [ -n "$holder" ]; then
    [ "$holder" = "$(number "$fs")" ] || give_up 75 "$path has $(findmnt -nro SOURCE --mountpoint "$path" | tail -n 1) mounted"
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
  echo "$fs ($type, UUID=$uuid) is mounted at $path with $options"
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
  [ -n "$(find "$program" -maxdepth 0 -type f -user 0 ! -perm /022 2>/dev/null)" ] ||
    give_up 75 "$program is not there, or is not a file that only root can write"
  output=$(timeout 30 "$program" "$@" 2>&1)
  status=$?
  printf '%s\n' "$output" | tail -c 2048
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
began=$(date +%s)
until ask; do
  [ $(($(date +%s) - began + 5)) -lt "$limit" ] || give_up 1 "$said, for $limit s"
  sleep 5
done
echo "$said"
