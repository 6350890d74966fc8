#!/bin/sh
# fio on folders and volumes. tests/contract/stack/test_benchmark_documents.py has the rest, with a fio that it wrote.
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
. "$here/lib.sh"

run "$WARMER" bench --file=a --folder=b
expect_true copies_are_for_windows test "$status" -eq 2 -a "$(field verdict)" = refused
if ! command -v python3 >/dev/null 2>&1 || ! command -v curl >/dev/null 2>&1 || ! command -v fio >/dev/null 2>&1; then
    echo "skip warmer bench: no python3, curl or fio here"
    exit 0
fi
mkdir store data
python3 "$here/store.py" store &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
until [ -e store/address ]; do sleep 0.1; done
REWARM_RESULT_URL="$(cat store/address)/result"
export REWARM_RESULT_URL

run "$WARMER" bench --home=home --targets="$(pwd)/data $(pwd)/gone vol-0000000000000dead" --limit-seconds=60 \
    --jobs='read 1 --rw=read --bs=4k --size=1M / write 999999999 --rw=write --bs=4k --size=1M'
expect_true each_pattern_runs_on_each_target sh -c \
    "test $status -eq 0 && tail -n 1 out | grep -qx '{\"event\":\"result\",\"command\":\"benchmark\",\"runs\":6,\"failed\":5}'"
expect_true what_fio_says_is_uploaded grep -q '"fio version"' store/put-1
expect_true the_folder_is_described grep -qE "^#run target=.*/data pattern=read fileSystem=[a-z0-9]+ source=[^ ]+ serial=" store/put-1
expect_true a_folder_that_is_missing_is_said_so grep -q '^#note there is no folder .*/gone$' store/put-1
expect_true and_one_that_is_full grep -q '^#note .*/data has [0-9]* MiB free, the scratch files need 999999999 MiB$' store/put-1
expect_true and_a_volume_that_is_not_here grep -q '^#note there is no disk with the serial number vol0000000000000dead$' store/put-1
expect_true which_has_no_number grep -qx '#run target=vol-0000000000000dead pattern=read fileSystem= source=.* serial=' store/put-1
expect_true no_scratch_file_stays test -z "$(ls -A data)"

if is_emulated; then
    echo "skip the name of fio's processes: an emulated program's children are its emulator's"
    exit 0
fi
# first_child PROCESS: one that it has started.
first_child() {
    cut -d ' ' -f 1 "/proc/$1/task/$1/children"
}

"$WARMER" bench --home=home --targets="$(pwd)/data" --limit-seconds=60 \
    --jobs='read 1 --rw=read --bs=4k --size=1M --time_based --runtime=3' >out 2>err &
pid=$!
fio='' job=''
until [ -n "$job" ] || ! kill -0 "$pid" 2>/dev/null; do
    sleep 0.05
    fio=$(first_child "$pid")
    job=${fio:+$(first_child "$fio" 2>/dev/null)}
done
expect_true who_observes_can_tell_fios_reads_from_an_applications test \
    "$(cat "/proc/$fio/comm" "/proc/$job/comm" | xargs)" = 'warmer-fio warmer-fio'
finish
