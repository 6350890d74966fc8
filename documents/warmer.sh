#!/bin/sh
# Runs Rewarm's warm-up agent on one EBS volume, and prints the agent's final JSON line. Before it stands what a
# warm-up measured of the cold volume, if that was wanted.
# Exit status: the agent's own (0 to 4), or 65 wrong checksum, 66 no such device, 69 a download failed, 70 a signal
# ended the agent or this script. Never above 128: the SSM agent takes 137 for the end of its own time limit.
set -fu
umask 077

action='{{ action }}'
volume_id='{{ volumeId }}'
agent_url='{{ agentUrl }}'
agent_sha256='{{ agentSha256 }}'
map_url='{{ mapUrl }}'
first_url='{{ firstUrl }}'
progress_url='{{ progressUrl }}'
arguments='{{ arguments }}'
cold_arguments='{{ coldArguments }}'

device="/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${volume_id#vol-}"
home="/var/lib/rewarm/$agent_sha256"
agent="$home/warmer"
states=/var/lib/rewarm/state
state=''
cold=''
agent_pid=''
work=''

# shellcheck disable=SC2317,SC2329  # called by the traps
finish() {
  status=$?
  trap - EXIT HUP INT TERM
  if [ -n "$agent_pid" ]; then
    kill -TERM "$agent_pid" 2>/dev/null
    wait "$agent_pid" 2>/dev/null
  fi
  if [ -n "$work" ]; then
    rm -rf "$work"
  fi
  exit "$status"
}
trap finish EXIT
trap 'exit 70' HUP INT TERM

say() {
  printf 'rewarm: %s\n' "$1" >&2
}

fail() {
  say "$2"
  exit "$1"
}

fetch() { # URL FILE WHAT; the URL holds a signature, so it is never printed
  curl --fail --silent --show-error --location --retry 5 --retry-delay 1 --connect-timeout 10 --max-time 300 \
    --output "$2" "$1" || fail 69 "could not download $3"
}

checksum_fits() { # FILE
  printf '%s  %s\n' "$agent_sha256" "$1" | sha256sum -c - >/dev/null 2>&1
}

wait_for_device() {
  seconds=0
  while [ ! -e "$device" ]; do
    [ "$seconds" -lt 60 ] || fail 66 "no $device after 60 s"
    sleep 1
    seconds=$((seconds + 1))
  done
}

install_agent() {
  if [ -x "$agent" ] && checksum_fits "$agent"; then
    return
  fi
  fetch "$agent_url" "$work/warmer" 'the warm-up agent'
  checksum_fits "$work/warmer" || fail 65 "the agent's checksum is not $agent_sha256"
  chmod 0700 "$work/warmer"
  # A rename within one file system, so that a command running beside this one never sees half a file.
  if ! { mkdir -p "$home" && cp "$work/warmer" "$home/warmer.$$" && mv -f "$home/warmer.$$" "$agent"; } 2>"$work/errors"
  then
    say "could not keep $agent, so it runs from where it was downloaded: $(tail -n 1 "$work/errors")"
    rm -f "$home/warmer.$$" 2>/dev/null
    agent="$work/warmer"
  fi
}

# Which blocks are read: the same command, sent again after a kill or a restart, goes on there. One file for each
# volume; it goes when all is read, and those that nobody came back for go after a week.
keep_state() {
  [ "$action" = warm ] || return 0
  if mkdir -p "$states" 2>"$work/errors"; then
    state="$states/$volume_id"
    find "$states" -type f -mtime +7 ! -name "$volume_id" -exec rm -f {} + 2>/dev/null
  else
    say "the warm-up goes on without a state: $(tail -n 1 "$work/errors")"
  fi
}

publish_progress() {
  [ "$progress_url" != none ] || return 0
  # The very last line may still be growing; a complete one ends with a brace.
  tail -n 2 "$work/output" | grep '^{.*}$' | tail -n 1 >"$work/progress"
  [ -s "$work/progress" ] || return 0
  curl --fail --silent --max-time 5 --upload-file "$work/progress" "$progress_url" >/dev/null 2>&1 || :
}

# How slow the volume is before anything has read it. A warm-up that goes on finds the figure beside its state.
measure_cold() { # FLAG...
  if [ "$action" != warm ] || [ -z "$cold_arguments" ]; then
    return 0
  fi
  cold="${state:-$work/state}.before"
  if [ ! -e "$cold" ] && { [ -z "$state" ] || [ ! -e "$state" ]; }; then
    # shellcheck disable=SC2086
    "$agent" verify "$device" "$@" $cold_arguments >"$work/cold" 2>/dev/null &
    agent_pid=$!
    wait "$agent_pid"
    agent_pid=''
    grep '^{.*"event":"result".*}$' "$work/cold" | tail -n 1 | sed 's/"event":"result"/"event":"before"/' >"$cold"
  fi
  cat "$cold" 2>/dev/null
}

work=$(mktemp -d) || fail 69 'could not make a temporary directory'
wait_for_device
install_agent
keep_state
# What there is of both becomes flags of the agent.
set --
if [ "$map_url" != none ]; then
  fetch "$map_url" "$work/blocks.map" 'the block map'
  set -- --map "$work/blocks.map"
fi
measure_cold "$@"
if [ "$first_url" != none ]; then
  fetch "$first_url" "$work/first.map" 'the extents to read first'
  set -- "$@" --first "$work/first.map"
fi
: >"$work/output"

# How often the kernel has ended a process because memory ran out, since the machine started.
memory_kills() {
  sed -n 's/^oom_kill //p' /proc/vmstat 2>/dev/null
}

signal_in_words() {
  printf 'the agent was ended by signal %s' "$((result - 128))"
  [ "$(memory_kills)" = "$memory_kills_before" ] || printf ' when the instance ran out of memory'
}

run_agent() { # FLAG...
  memory_kills_before=$(memory_kills)
  # The arguments are plain flags (the document refuses anything else), meant to be split at spaces.
  if [ "$action" = warm ]; then
    if [ -n "$state" ]; then
      set -- "$@" --state "$state"
    fi
    # shellcheck disable=SC2086
    "$agent" warm "$device" "$@" --progress json $arguments \
      >"$work/output" 2>"$work/errors" &
  else
    # shellcheck disable=SC2086
    "$agent" verify "$device" "$@" $arguments >"$work/output" 2>"$work/errors" &
  fi
  agent_pid=$!
  if [ "$action" = warm ]; then
    while kill -0 "$agent_pid" 2>/dev/null; do
      sleep 2
      publish_progress
    done
  fi
  wait "$agent_pid"
  result=$?
  agent_pid=''
}

run_agent "$@"
restarts=0
while :; do
  if [ "$result" -eq 3 ] && grep -Eq 'another warmer is (reading|using) it' "$work/errors"; then
    # SendCommand has no client token: where its answer was lost, there are two commands, and only one of
    # them is known. It goes after the other one; what is warm by then is read in no time.
    sleep 5
  elif [ "$result" -eq 3 ] && [ -n "$state" ] && grep -q 'cannot use state file' "$work/errors"; then
    say "the warm-up goes on without a state: $(grep 'cannot use state file' "$work/errors" | tail -n 1)"
    rm -f "$state" 2>/dev/null
    state=''
  elif [ "$result" -gt 128 ] && [ "$restarts" -lt 3 ]; then
    restarts=$((restarts + 1))
    say "$(signal_in_words) and is started again"
  else
    break
  fi
  run_agent "$@"
done
if [ "$result" -eq 0 ]; then
  rm -f ${state:+"$state"} ${cold:+"$cold"}
fi

publish_progress
# Run Command keeps 24,000 characters of standard output and 8,000 of standard error.
tail -c 6000 "$work/errors" >&2
grep '^{.*}$' "$work/output" | tail -n 1
[ "$result" -le 128 ] || fail 70 "$(signal_in_words) and is not started again"
exit "$result"
