#!/bin/bash
# Sets the commit ($COMMIT, or that of git) and the Swift version for the next build. The file changes only if they do.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=Sources/CProcess/stamp.h
commit=${COMMIT:-}
if [ -z "$commit" ] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  commit=$(git rev-parse --short=12 HEAD)
  git diff --quiet HEAD -- || commit+=+
fi
[[ ${commit:=unknown} =~ ^([0-9a-f]{7,40}\+?|unknown)$ ]] || { echo "COMMIT: '$commit' is not a commit's digits" >&2; exit 1; }
swift=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' | head -1)
lines=$(printf '#define FERRY_COMMIT "%s"\n#define FERRY_SWIFT "%s"' "$commit" "${swift:-unknown}")
if [ "$(cat $stamp 2>/dev/null)" != "$lines" ]; then
  echo "$lines" >$stamp
  # The build does not track a file that did not exist, so it has to see a change of build.c.
  touch Sources/CProcess/build.c
fi
