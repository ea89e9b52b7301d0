#!/bin/bash
# Prints the directory of a release build: a folder under .build whose path has 128 characters, wherever the source tree is.
# Swift writes the lengths of package paths into code, so paths of different lengths would lead to different bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/.build/release-
missing=$((128 - ${#place}))
# If the tree's own path is too long, the build works, but its bytes differ.
[ "$missing" -gt 0 ] || missing=1
printf '%s%0*d\n' "$place" "$missing" 0
