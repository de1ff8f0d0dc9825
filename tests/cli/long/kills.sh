#!/bin/sh
# Kills in every phase of a run of a GAN and of a classifier, until it ends: the same weights, log and files. KILLS:
# their number (80); SEED: of their times.
. "$(dirname "$0")/../kit"
export PRELOADS="${PRELOADS:-$root/build/tests/preload}"
DCGAN=$program python3 tests/torture/torture.py kills --kills "${KILLS:-80}" --seed "${SEED:-1}" > "$dir/said"
fact $? "$(head -n 20 "$dir/said")"
tail -n 1 "$dir/said"
finish
