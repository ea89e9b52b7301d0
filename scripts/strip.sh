#!/bin/bash
# Copies the released program without its symbols and without the hashes of the compiler's input, which differ from place to
# place. The section of the hashes is filled with zeros, because removing it would move the segments that are made read-only.
# usage: strip.sh PROGRAM COPY
set -euo pipefail
zeros=$(mktemp)
trap 'rm -f "$zeros"' EXIT
size=$(readelf -SW "$1" | sed -n 's/.* \.swift_modhash *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p')
head -c $((16#$size)) /dev/zero >"$zeros"
objcopy --strip-all --remove-section=.comment --update-section ".swift_modhash=$zeros" "$1" "$2"
chmod 0755 "$2"
