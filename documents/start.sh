# Downloads Rewarm's agent unless it is here, checks its SHA-256 and starts it. The lines before this name the
# address, the SHA-256 and the agent's arguments.
# Exit status: the agent's own, or 65 wrong checksum, 69 the download failed, 70 a signal ended the agent. Never
# above 128: the SSM agent takes 137 to mean that its own time limit ended the script.
# shellcheck shell=sh
set -u
umask 077
agent_url=$1
agent_sha256=$2
shift 2
home=/var/lib/rewarm/$agent_sha256
agent=$home/warmer
temporary=''

say() {
  printf 'rewarm: %s\n' "$1" >&2
}

give_up() { # STATUS REASON
  rm -rf ${temporary:+"$temporary"}
  say "$2"
  exit "$1"
}

checksum_fits() { # FILE
  printf '%s  %s\n' "$agent_sha256" "$1" | sha256sum -c - >/dev/null 2>&1
}

if ! checksum_fits "$agent"; then
  # There nobody else can change its name; TMPDIR may be a folder of anybody's.
  temporary=$(TMPDIR=/tmp mktemp -d) || give_up 69 'could not make a temporary directory'
  # The address holds a signature, so no command line and no message shows it.
  printf 'url = "%s"\n' "$agent_url" | curl --fail --silent --show-error --location --retry 5 --retry-delay 1 \
    --connect-timeout 10 --max-time 300 --output "$temporary/warmer" --config - ||
    give_up 69 'could not download the warm-up agent'
  checksum_fits "$temporary/warmer" || give_up 65 "the agent's checksum is not $agent_sha256"
  chmod 0700 "$temporary/warmer"
  # A rename within one file system, so that a command beside this one never sees half a file.
  if ! reason=$({ mkdir -p "$home" && cp "$temporary/warmer" "$agent.$$" && mv -f "$agent.$$" "$agent"; } 2>&1); then
    say "could not keep $agent, so it runs from where it was downloaded: $reason"
    rm -f "$agent.$$" 2>/dev/null
    exec 3<"$temporary/warmer"
    agent=/proc/self/fd/3
  fi
  # Before the agent starts, because this script may be killed any time. A file that is open runs without its name.
  rm -rf "$temporary"
fi

"$agent" "$@"
status=$?
if [ "$status" -gt 128 ]; then
  say "the agent was ended by signal $((status - 128))"
  exit 70
fi
exit "$status"
