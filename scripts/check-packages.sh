#!/bin/bash
# Checks that the resolved packages equal packages.lock: their versions, and the ids of their git trees, which are equal in
# every copy. With --update it writes that file.
# usage: check-packages.sh [--update]
set -euo pipefail
cd "$(dirname "$0")/.."

lock=packages.lock
# Package.resolved contains versions. The checkouts contain the code that is compiled.
place=$(scripts/release-place.sh)
swift package --quiet --scratch-path "$place" resolve
resolved=$(
  sed -n 's/^ *"\(identity\|location\|version\)" : "\(.*\)",\?$/\2/p' Package.resolved | paste - - - | sort |
    while read -r identity location version; do
      url=${location%.git}
      checkout=$place/checkouts/${url##*/}
      tree=$(git -C "$checkout" rev-parse 'HEAD^{tree}')
      # Local changes in a checkout would be compiled too.
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
