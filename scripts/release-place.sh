#!/bin/bash
# Prints where a release is built: a folder under .build whose path has 128 characters, wherever the source tree is. Swift writes the
# lengths of the packages' paths into code, so places with paths of different lengths would make different bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/.build/release-
missing=$((128 - ${#place}))
# A tree this deep is built all the same, to bytes of its own.
[ "$missing" -gt 0 ] || missing=1
printf '%s%0*d\n' "$place" "$missing" 0
