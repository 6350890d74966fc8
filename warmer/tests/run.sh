#!/bin/sh
# Runs every test program and script given as an argument, shows what failed, and ends with the one line
# "N passed, N failed". A program that dies counts as one failure. Exit status 0 only when none failed.
# JOBS of them run at a time: four, because most of them wait rather than work.
outputs=$(mktemp -d "${TMPDIR:-/tmp}/warmer-tests-XXXXXX")
trap 'rm -rf "$outputs"' EXIT
# shellcheck disable=SC2016  # the inner shell expands these
printf '%s\n' "$@" | xargs -P "${JOBS:-4}" -I '{}' sh -c '
    output=$1/$(basename "$2")
    "$2" >"$output" 2>&1
    echo $? >"$output.status"' run "$outputs" '{}'

passed=0
failed=0
for test in "$@"; do
    name=$(basename "$test")
    output=$(cat "$outputs/$name")
    status=$(cat "$outputs/$name.status")
    ok=$(printf '%s\n' "$output" | grep -c '^ok ')
    not_ok=$(printf '%s\n' "$output" | grep -c '^not ok ')
    if [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
        not_ok=1
        output="$output
# $name ended with status $status"
    fi
    if [ "$not_ok" -gt 0 ]; then
        printf '%s\n' "$output" | sed "s/^/$name: /"
    else
        printf '%s\n' "$output" | grep '^skip ' | sed "s/^/$name: /"
    fi
    passed=$((passed + ok))
    failed=$((failed + not_ok))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
