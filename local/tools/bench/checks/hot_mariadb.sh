# MariaDB with sysbench, which reads most from 2 % of the rows of each of ten tables.
#   hot_mariadb.sh build DEVICE                   makes a file system with the database on DEVICE
#   hot_mariadb.sh run DEVICE SEED SECONDS FOLDER starts the database and reads rows; a log as pgbench's goes to FOLDER
# `unshare --mount --pid --fork --kill-child` runs it, so that none of its mounts and processes outlives it.
# shellcheck shell=bash
set -euo pipefail
readonly ACTION=$1 DEVICE=$2
readonly MOUNT=/srv/data DATA=/srv/data/mariadb SOCKET=/srv/socket/mariadb CLIENTS=4

bench() { # WORD...: sysbench; of the so-called special rows, which lie together, come 97 % of the reads
  sysbench oltp_point_select --db-driver=mysql --mysql-socket=$SOCKET --mysql-user=root --mysql-db=orders --tables=10 \
    --table-size="$HOT_ROWS" --create-secondary=off --rand-type=special --rand-spec-pct=2 --rand-spec-res=97 "$@"
}

start() { # OPTION...
  runuser -u nobody -- mariadbd --no-defaults --datadir=$DATA --socket=$SOCKET --skip-networking --skip-grant-tables \
    --innodb-buffer-pool-load-at-startup=OFF --innodb-buffer-pool-dump-pct=100 --pid-file=$SOCKET.pid \
    --init-file=/srv/first.sql "$@" >/srv/mariadb.log 2>&1 &
  server=$!
  for _ in {1..600}; do
    [ ! -S $SOCKET ] || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat /srv/mariadb.log >&2
  return 1
}

stop() { # a clean end, which writes the list of the buffer pool
  kill -TERM "$(cat "$SOCKET.pid")"
  wait "$server"
}

build() {
  mkfs.ext4 -q -E nodiscard "$DEVICE"
  mount -o noatime "$DEVICE" $MOUNT
  install -d -o nobody -m 700 $DATA
  # mariadb-install-db would need another package.
  { printf '%s\n' 'create database mysql;' 'use mysql;' && cat /usr/share/mysql/mysql_system_tables.sql; } |
    runuser -u nobody -- mariadbd --no-defaults --datadir=$DATA --bootstrap --skip-grant-tables >/srv/mariadb.log 2>&1 ||
    { cat /srv/mariadb.log >&2 && return 1; }
  start --innodb-buffer-pool-size=512M --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=OFF
  bench --threads=4 prepare >/dev/null
  stop
  # An archive that nobody reads fills the rest of the volume.
  dd if=/dev/urandom of=$MOUNT/archive bs=1M count="$HOT_ARCHIVE_MIB" status=none
  # The list is of what was read since this start.
  start --innodb-buffer-pool-size=192M
  bench --threads=$CLIENTS --rand-seed=1 --time=30 run >/dev/null
  stop
  umount $MOUNT
}

run() { # SEED SECONDS FOLDER
  mount -o noatime "$DEVICE" $MOUNT
  local began line
  start --innodb-buffer-pool-size=64M
  began=$(date +%s)
  # A line of sysbench's is of one second: "[ 3s ] thds: 4 tps: … lat (ms,95%): 1.64 …".
  bench --threads=$CLIENTS --rand-seed="$1" --time="$2" --report-interval=1 run >/srv/lines
  while read -r line; do
    [[ $line =~ ^\[\ ([0-9]+)s\ \].*\ tps:\ ([0-9]+)\..*lat\ \(ms,95%\):\ ([0-9]+)\.([0-9]+) ]] || continue
    # A second in which nothing was read has a latency of 0.
    [ "${BASH_REMATCH[2]}" -gt 0 ] || continue
    echo "0 0 ${BASH_REMATCH[3]}${BASH_REMATCH[4]}0 0 $((began + BASH_REMATCH[1] - 1)) 0"
  done </srv/lines >"$3/sysbench.log"
}

mount --make-rprivate /
mount -t proc proc /proc
for folder in /srv /dev/shm /run; do
  mount -t tmpfs none $folder
done
install -d -o nobody -m 700 $MOUNT /srv/socket
echo 'create database if not exists orders;' >/srv/first.sql
cd /
shift 2
"$ACTION" "$@"
