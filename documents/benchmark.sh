#!/bin/sh
# Runs each pattern of fio on each target, and uploads what fio says: a line for each run, then its JSON.
# A run that fails is one without figures, and the others go on.
# Exit status: 0, or 67 no fio, 68 another benchmark is running, 69 the upload failed or no folder, 70 a signal.
set -fu
umask 077

targets='{{ targets }}'
jobs='{{ jobs }}'
limit_seconds='{{ limitSeconds }}'
install_fio='{{ installFio }}'
result_url='{{ resultUrl }}'

home=/var/lib/rewarm
work=''
scratch=''
fio_pid=''
runs=0
failed=0

remove_scratch() {
  if [ -n "$scratch" ]; then
    rm -rf "$scratch"
    scratch=''
  fi
}

# shellcheck disable=SC2317,SC2329  # called by the traps
finish() {
  status=$?
  trap - EXIT HUP INT TERM
  if [ -n "$fio_pid" ]; then
    kill -TERM "$fio_pid" 2>/dev/null
    wait "$fio_pid" 2>/dev/null
  fi
  remove_scratch
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

has() {
  command -v "$1" >/dev/null 2>&1
}

require_fio() {
  ! has fio || return 0
  [ "$install_fio" = yes ] || fail 67 'fio is not installed; with installFio in the request it may be'
  if has apt-get; then
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends fio >&2
  elif has dnf; then
    dnf install -y -q fio >&2
  elif has yum; then
    yum install -y -q fio >&2
  elif has zypper; then
    zypper --quiet --non-interactive install fio >&2
  fi
  has fio || fail 67 'fio could not be installed'
}

plain() { # of a line, what fits between blanks
  tr -cd 'A-Za-z0-9._:/=-'
}

# What is mounted there; the serial number of a disk says which EBS volume it is.
describe() { # FOLDER
  source=$(findmnt -nro SOURCE --target "$1" 2>/dev/null | tail -n 1 | plain)
  file_system=$(findmnt -nro FSTYPE --target "$1" 2>/dev/null | tail -n 1 | plain)
  serial=''
  if [ -b "$source" ]; then
    serial=$(lsblk -nrso SERIAL "$source" 2>/dev/null | grep -m 1 '^vol' | plain)
  fi
}

note() { # TEXT
  printf '#note %s\n' "$(printf '%s' "$1" | tr '\n' ' ' | tail -c 400)" >>"$work/result"
}

# A folder of its own for each run; one that an earlier run left when it was killed goes first. Another
# instance may be at work on the same share, so the name has this one's in it.
prepare_folder() { # FOLDER MIB
  mine=".rewarm-benchmark-$(cat /etc/machine-id 2>/dev/null || hostname)"
  if [ ! -d "$1" ]; then
    note "there is no folder $1"
    return 1
  fi
  find "$1" -mindepth 1 -maxdepth 1 -type d -name "$mine.*" -exec rm -rf {} + 2>/dev/null
  free=$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }')
  if [ "${free:-0}" -lt "$2" ]; then
    note "$1 has $free MiB free, the scratch files need $2 MiB"
    return 1
  fi
  scratch=$(mktemp -d "$1/$mine.XXXXXX" 2>"$work/errors") || {
    scratch=''
    note "$(cat "$work/errors")"
    return 1
  }
}

run_fio() { # FLAGS
  : >"$work/fio.json"
  timeout -k 30 "$limit_seconds" fio --output-format=json --output="$work/fio.json" "$@" >"$work/errors" 2>&1 &
  fio_pid=$!
  wait "$fio_pid"
  result=$?
  fio_pid=''
}

run_on_folder() { # FOLDER MIB NAME FLAGS
  describe "$1"
  result=75
  begin="target=$1 pattern=$3 fileSystem=$file_system source=$source serial=$serial"
  printf '#run %s\n' "$begin" >>"$work/result"
  prepare_folder "$1" "$2" || return 0
  name=$3
  shift 3
  run_fio --name="$name" --directory="$scratch" "$@"
  remove_scratch
}

# Nothing ever writes to a device: fio itself refuses it where it is told --readonly.
run_on_device() { # VOLUME MIB NAME FLAGS
  device="/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${1#vol-}"
  result=75
  printf '#run target=%s pattern=%s fileSystem= source=%s serial=\n' "$1" "$3" "$device" >>"$work/result"
  if [ ! -e "$device" ]; then
    note "there is no $device"
    return 0
  fi
  name=$3
  shift 3
  # The whole device, not the size of a scratch file.
  for flag; do
    shift
    case $flag in --size=*) ;; *) set -- "$@" "$flag" ;; esac
  done
  run_fio --readonly --name="$name" --filename="$device" "$@"
}

run_one() { # TARGET NAME MIB FLAGS
  where=$1 pattern=$2 mib=$3
  shift 3
  : >"$work/fio.json"
  : >"$work/errors"
  case $where in
    vol-*) run_on_device "$where" "$mib" "$pattern" "$@" ;;
    *) run_on_folder "$where" "$mib" "$pattern" "$@" ;;
  esac
  runs=$((runs + 1))
  printf '#status %s\n' "$result" >>"$work/result"
  if [ "$result" -ne 0 ]; then
    failed=$((failed + 1))
    [ ! -s "$work/errors" ] || note "$(cat "$work/errors")"
  fi
  cat "$work/fio.json" >>"$work/result"
  printf '\n' >>"$work/result"
}

run_pattern() { # NAME MIB FLAGS
  for target in $targets; do
    run_one "$target" "$@"
  done
}

mkdir -p "$home" || fail 69 "could not make $home"
exec 9>"$home/benchmark.lock"
flock -n 9 || fail 68 'another benchmark is running on this instance'
work=$(mktemp -d) || fail 69 'could not make a temporary directory'
require_fio

# Meant to be split: the document refuses anything but names, numbers and these flags.
# shellcheck disable=SC2086
set -- $jobs /
while [ "$#" -gt 0 ]; do
  one=''
  while [ "$1" != / ]; do
    one="$one $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  run_pattern $one
done

said=$(curl --fail --silent --show-error --retry 5 --retry-delay 1 --connect-timeout 10 --max-time 120 \
  --upload-file "$work/result" "$result_url" 2>&1 >/dev/null) || fail 69 "could not upload the result: $said"
printf '{"event":"result","command":"benchmark","runs":%s,"failed":%s}\n' "$runs" "$failed"
