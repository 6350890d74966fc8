#!/bin/sh
# What the agent reads of fstab is what libmount reads: a table of nasty lines, with findmnt as the judge.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

if [ -z "$FSTAB_DUMP" ] || ! command -v findmnt >/dev/null; then
    echo "skip fstab: it needs findmnt, and is tested natively"
    exit 0
fi
run python3 "$here/fstab.py" "$FSTAB_DUMP" "$([ -n "$LONG_TESTS" ] && echo 5000 || echo 200)"
expect_true lines_are_read_as_libmount_reads_them test "$status" -eq 0
expect_true enough_of_them_are_lines_at_all test "$(cat out)" -ge 40
