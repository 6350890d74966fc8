#!/bin/sh
# Runs every test program and script given as an argument, shows what failed, and ends with the one line
# "N passed, N failed". A program that dies counts as one failure. Exit status 0 only when none failed.
passed=0
failed=0
for test in "$@"; do
    name=$(basename "$test")
    output=$("$test" 2>&1)
    status=$?
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
