#!/bin/bash
# Checks that the packages that were resolved are those of packages.lock: each one's version, and git's checksum of its whole source
# tree, which is the same in every copy of it. With --update it writes that file.
# usage: check-packages.sh [--update]
set -euo pipefail
cd "$(dirname "$0")/.."

lock=packages.lock
# Package.resolved names versions; the checkouts have what is compiled.
place=$(scripts/release-place.sh)
swift package --quiet --scratch-path "$place" resolve
resolved=$(
  sed -n 's/^ *"\(identity\|location\|version\)" : "\(.*\)",\?$/\2/p' Package.resolved | paste - - - | sort |
    while read -r identity location version; do
      url=${location%.git}
      checkout=$place/checkouts/${url##*/}
      tree=$(git -C "$checkout" rev-parse 'HEAD^{tree}')
      # What somebody changed there is compiled, too.
      [ -z "$(git -C "$checkout" status --porcelain)" ] || tree=changed
      echo "$identity $version $tree $url"
    done
)
lines=$(printf '%s\n' '# Each package that Ferry is built with: its version, the id of its git tree, where it comes from. scripts/check-packages.sh checks it.' "$resolved")
if [ "${1:-}" = --update ]; then echo "$lines" >$lock; exit; fi
if ! difference=$(diff <(cat $lock) <(echo "$lines")); then
  echo "what was resolved is not what packages.lock says; see Package.swift, or scripts/check-packages.sh --update" >&2
  echo "$difference" >&2
  exit 1
fi
