#!/bin/bash
# Runs the tests that are built. What fails is said again at the end; all that the runner printed is in .build/test.log.
# usage: test.sh [options of swift test]
set -uo pipefail
cd "$(dirname "$0")/.."
log=.build/test.log

swift test --skip-build "$@" 2>&1 | tee "$log" | grep --line-buffered -v '^◇ '
status=${PIPESTATUS[0]}
[ "$status" = 0 ] || grep '^✘ ' "$log"
exit "$status"
