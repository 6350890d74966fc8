# Helpers of the command-line tests. WARMER and DENY name the programs; each script works in a folder of its own.
# shellcheck shell=sh
work=$(mktemp -d "${TMPDIR:-/tmp}/warmer-cli-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# What differs from run to run becomes N; C libraries word one error differently.
normalise() {
    sed -E -e 's,I/O error,Input/output error,' -e 's/"(elapsedSeconds|mibPerSecond|iops|p50|p90|p99|max|mean|etaSeconds|seed)":[0-9.]+/"\1":N/g' \
        -e 's/"scope":"(written|whole)"/"scope":"S"/' -e 's/"(metadataReads|metadataBytesRead)":[0-9]+/"\1":N/g'
}

# run COMMAND…: leaves its exit status in $status, its output in ./out and ./err.
run() {
    "$@" >out 2>err
    status=$?
}

# skip_refusals WHAT: after a run of deny that ended with 77, says what is skipped and why.
skip_refusals() {
    echo "skip $1: $(sed 's/^deny: //' err)"
}

# begin COUNT ARGUMENTS…: `warmer warm` in the background, until it has read blocks or has ended. COUNT is a regular
# expression for how many; the process is $pid, its output is in ./out and ./err.
begin() {
    blocks=$1
    shift
    # The output of the run before this one would answer at once.
    : >out
    "$WARMER" warm "$@" --progress json >out 2>err &
    pid=$!
    until grep -qE "\"blocksDone\":$blocks" out || ! kill -0 "$pid" 2>/dev/null; do
        sleep 0.1
    done
}

# begin_slowly ARGUMENTS…: the same at 2 MiB/s, until a block is read.
begin_slowly() {
    begin '[1-9]' "$@" --max-mib-s 2
}

# finish: wait for the process of begin; its exit status goes to $status.
finish() {
    wait "$pid" 2>/dev/null
    status=$?
}

# An emulated program cannot start itself; a script starts its emulator.
is_emulated() {
    [ "$(head -c 2 "$WARMER")" = '#!' ]
}

# until_runs PROCESS PROGRAM: until it has become this program, with what it was started with, or has ended.
until_runs() {
    until [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ] || ! kill -0 "$1" 2>/dev/null; do
        sleep 0.05
    done
}

# let_go PROCESS: end it, and wait until nothing of it is left.
let_go() {
    kill "$1"
    wait "$1" 2>/dev/null
}

# expect_refused NAME STATUS REASON: the last run was refused for this reason, on both streams.
expect_refused() {
    expect "$1" "$2" "{\"event\":\"result\",\"command\":\"warm\",\"verdict\":\"refused\",\"error\":\"$3\"}" "warmer: $3"
}

report() {
    if [ "$2" = "" ]; then
        echo "ok $1"
    else
        echo "not ok $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

# expect NAME STATUS OUT ERR: compare the last run's normalised last line of output, whole standard error, status.
expect() {
    problem=""
    actual=$(tail -n 1 out | normalise)
    [ "$status" -eq "$2" ] || problem="exit status is $status, not $2
"
    [ "$actual" = "$3" ] || problem="${problem}output is
  $actual
not
  $3
"
    [ "$(normalise <err)" = "$4" ] || problem="${problem}standard error is
  $(cat err)
not
  $4
"
    report "$1" "$problem"
}

# expect_true NAME CONDITION…: the condition is a command.
expect_true() {
    name=$1
    shift
    if "$@"; then
        report "$name" ""
    else
        report "$name" "false: $*; output was $(tail -n 1 out) $(cat err)"
    fi
}

# field NAME: a number, word or flag from the last line of output.
field() {
    tail -n 1 out | sed -E "s/.*\"$1\":\"?([^,\"}]*)[,\"}].*/\1/"
}

# Whether this folder's file system takes direct I/O decides what every result says.
printf x >probe
run "$WARMER" inspect probe
direct=$(field directIo)
device_note=$(field deviceNote)

latency='"latencyMs":{"p50":N,"p90":N,"p99":N,"max":N,"mean":N}'

# warm_result VERDICT DEVICE DONE TOTAL BLOCKS_DONE BLOCKS_TOTAL READS FAILED LIST ERROR ENGINE NOTE
#             DEPTH [DIRECT DEVICE_NOTE FEATURES]
warm_result() {
    printf '{"event":"result","command":"warm","verdict":"%s","device":"%s","volumeId":null,' "$1" "$2"
    printf '"bytesDone":%s,"bytesTotal":%s,"blocksDone":%s,"blocksTotal":%s,' "$3" "$4" "$5" "$6"
    printf '"firstBlocksDone":0,"firstBlocksTotal":0,"firstSeconds":null,'
    printf '"bytesResumed":0,"bytesRead":%s,"reads":%s,"shortReads":0,"retries":0,' "$3" "$7"
    printf '"elapsedSeconds":N,"mibPerSecond":N,"depth":%s,"errors":%s,' "${13}" "$8"
    printf '"failedBlockCount":%s,"failedBlocks":%s,"failedBlocksTruncated":false,"error":%s,' "$8" "$9" "${10}"
    printf '"engine":"%s","engineNote":"%s","engineFeatures":"%s","directIo":%s,"deviceNote":"%s",%s,' "${11}" "${12}" \
        "${16-}" "${14:-$direct}" "${15-$device_note}" "$latency"
    printf '"probeReads":0,"probeLatencyMs":{"p50":N,"p90":N,"p99":N,"max":N,"mean":N},'
    printf '"scope":"S","scopeNote":"","fileSystems":null,"metadataReads":N,"metadataBytesRead":N,'
    printf '"metadataFirst":null,"order":[],"touch":null}\n'
}
