#!/bin/bash
# Copies the released program without what only its makers use: symbols, and hashes of what the compiler was given, which differ from
# place to place.
# usage: strip.sh PROGRAM COPY
set -euo pipefail
strip --strip-all --remove-section=.comment --remove-section=.swift_modhash --remove-section=.note.gnu.build-id -o "$2" "$1"
chmod 0755 "$2"
