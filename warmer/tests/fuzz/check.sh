#!/bin/sh
# Replays the committed corpus of each fuzz target; FUZZ_PROGRAMS are the replay_NAME programs.
corpus=$(cd "$(dirname "$0")" && pwd)/corpus
status=0
for program in $FUZZ_PROGRAMS; do
    "$program" "$corpus/${program##*/replay_}"/* || status=1
done
exit $status
