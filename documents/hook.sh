# Waits until the application answers; anything else that HookDocument does, the agent does, which start.sh calls
# behind this. The lines before this set action, url, check and limit. Exit status: 1 the application is not back,
# 75 refused.
# shellcheck shell=sh disable=SC2154
set -u
MOST_BLOCKS=2048 # of 512 bytes, that a check may print
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
give_up() { # STATUS REASON
  printf 'rewarm: %s\n' "$2" >&2
  exit "$1"
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

check_it() {
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
  exit 0
}

[ "$action" != check ] || check_it
