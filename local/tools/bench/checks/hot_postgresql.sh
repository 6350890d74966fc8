# PostgreSQL with pgbench, which reads most from a few of forty partitions.
#   hot_postgresql.sh build DEVICE                   makes a file system with the database on DEVICE
#   hot_postgresql.sh run DEVICE SEED SECONDS FOLDER starts the database and reads rows; pgbench's logs go to FOLDER
# `unshare --mount --pid --fork --kill-child` runs it, so that none of its mounts and processes outlives it.
# shellcheck shell=bash
set -euo pipefail
readonly ACTION=$1 DEVICE=$2
readonly PARTITIONS=40 ROWS_OF_A_SCALE=100000 SKEW=60 CLIENTS=4
readonly BIN=/usr/lib/postgresql/15/bin MOUNT=/srv/data DATA=/srv/data/postgresql LOGS=/srv/logs
export PGUSER=postgres
readonly ROWS=$((HOT_SCALE * ROWS_OF_A_SCALE / PARTITIONS))

as_postgres() { runuser -u nobody -- "$@"; }

query() { as_postgres psql --quiet --tuples-only --no-align --dbname orders --command "$1"; }

# The partition that is the so-many-th most read, from 0. Neighbours on the volume are not neighbours in use.
partition_of() { echo $((($1 * 17 + 11) % PARTITIONS)); }

start() { # OPTION...: no parallel readers, so that each row is read by its own query
  as_postgres $BIN/pg_ctl start --silent --wait --timeout=600 --pgdata=$DATA --log=$DATA/start.log \
    --options="-c listen_addresses= -c shared_buffers=256MB -c max_parallel_workers_per_gather=0 -c jit=off $*"
}

stop() { # MODE
  as_postgres $BIN/pg_ctl stop --silent --mode="$1" --pgdata=$DATA
}

read_rows() { # SEED SECONDS: each transaction reads one row, and has a line in the log
  cat >/srv/workload <<END
\set partition mod((random_exponential(1, $PARTITIONS, $SKEW) - 1) * 17 + 11, $PARTITIONS)
\set aid :partition * $ROWS + random(1, $ROWS)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
END
  install -d -o nobody $LOGS
  (cd $LOGS && as_postgres pgbench --no-vacuum --protocol=prepared --file=/srv/workload --client=$CLIENTS \
    --random-seed="$1" --time="$2" --log orders >/dev/null)
}

build() {
  mkfs.ext4 -q -E nodiscard "$DEVICE"
  mount -o noatime "$DEVICE" $MOUNT
  install -d -o nobody -m 700 $DATA
  as_postgres $BIN/initdb --username=postgres --auth=trust --no-sync --pgdata=$DATA >/dev/null
  start -c fsync=off -c max_wal_size=256MB
  as_postgres createdb orders
  as_postgres pgbench --quiet --initialize --init-steps=dtGvp --scale="$HOT_SCALE" --partitions=$PARTITIONS \
    --partition-method=range orders
  query 'vacuum freeze analyze'
  query 'create extension pg_prewarm'
  stop fast
  # An archive that nobody reads fills the rest of the volume.
  dd if=/dev/urandom of=$MOUNT/archive bs=1M count="$HOT_ARCHIVE_MIB" status=none
  # What is not read much was not written of late either.
  find $MOUNT/archive $DATA/base -type f -exec touch --date='9 days ago' {} +
  start -c shared_preload_libraries=pg_prewarm -c pg_prewarm.autoprewarm_interval=0
  for rank in 0 1 2; do
    partition=$(($(partition_of $rank) + 1))
    query "update pgbench_accounts_$partition set abalance = 1 where aid % 10000 = 0"
  done
  query checkpoint
  read_rows 1 20
  query 'select autoprewarm_dump_now()' >/dev/null
  sync -f $MOUNT
  # As a snapshot of a running server is.
  stop immediate
  umount $MOUNT
}

run() { # SEED SECONDS FOLDER
  mount -o noatime "$DEVICE" $MOUNT
  start
  read_rows "$1" "$2"
  cp $LOGS/* "$3"
}

mount --make-rprivate /
mount -t proc proc /proc
[ -x $BIN/postgres ] || mount -t overlay -o "lowerdir=$HOT_POSTGRESQL/usr:/usr" none /usr
for folder in /srv /dev/shm /run; do
  mount -t tmpfs none $folder
done
mkdir $MOUNT
install -d -o nobody -m 700 /run/postgresql
cd /
shift 2
"$ACTION" "$@"
