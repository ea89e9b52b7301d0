#!/bin/bash
# Runs the built tests. Failures are repeated at the end. The whole output is in .build/test.log. The run has its own
# directories for temporary files, and remaining files are an error.
# usage: test.sh [options of swift test]
set -uo pipefail
cd "$(dirname "$0")/.."
log=.build/test.log

own=$(mktemp -d) && memory=$(mktemp -d -p /dev/shm) || exit 1
trap 'rm -rf "$own" "$memory"' EXIT
mkdir -m 1777 "$own/tmp" "$own/var"
chmod 1777 "$memory"
if [ "$(id -u)" = 0 ] && [[ $PWD/ != /tmp/* && $PWD/ != /var/tmp/* ]]; then
  # The mounts also affect programs that ignore TMPDIR. /tmp is mounted last, because it contains $own.
  enter=(unshare --mount sh -c 'mount --bind "$1" /dev/shm && mount --bind "$0/var" /var/tmp && mount --bind "$0/tmp" /tmp && shift && exec "$@"'
    "$own" "$memory" env -u TMPDIR)
else
  enter=(env "TMPDIR=$own/tmp")
fi

# Swift Testing starts all tests at once. Tests with long computations would take the thread pool from the others.
"${enter[@]}" swift test --skip-build --experimental-maximum-parallelization-width 48 "$@" 2>&1 | tee "$log" | grep --line-buffered -v '^◇ '
status=${PIPESTATUS[0]}
[ "$status" = 0 ] || grep '^✘ ' "$log"

# Ignores SwiftPM's own files.
left=$(find "$own/tmp" "$own/var" "$memory" -mindepth 1 -maxdepth 1 ! -name '_*.lock' ! -name 'TemporaryDirectory.*' | sort)
if [ -n "$left" ]; then
  echo "✘ the tests have left files behind:"
  sed "s|^$own/tmp|/tmp|; s|^$own/var|/var/tmp|; s|^$memory|/dev/shm|" <<<"$left"
  [ "$status" != 0 ] || status=1
fi
exit "$status"
