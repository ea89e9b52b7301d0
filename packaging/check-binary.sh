#!/bin/bash
# Checks the properties of a program for installation: it needs only Debian's libraries, and does not contain the path of its
# build. Its imports are bound and made read-only before it runs.
# usage: check-binary.sh PROGRAM
set -euo pipefail
program=$1
largest=$((48 << 20))
fail() { echo "$program: $1" >&2; exit 1; }

dynamic=$(readelf -dW "$program")
segments=$(readelf -lW "$program")
grep -q '(FLAGS_1).*NOW.*PIE' <<<"$dynamic" || fail "it is not bound at its start (BIND_NOW), or no PIE"
grep -q GNU_RELRO <<<"$segments" || fail "it has no RELRO"
! grep -q 'GNU_STACK .* RWE ' <<<"$segments" || fail "its stack can be executed"
! grep -qE 'RUNPATH|RPATH|TEXTREL' <<<"$dynamic" || fail "it has a path of libraries, or relocations in its text"
! grep -a -q -F "$PWD" "$program" || fail "the place of its build is in it"
[ "$(stat -c %s "$program")" -le $largest ] || fail "it is larger than $largest bytes"
sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic" | while read -r library; do
  dpkg-query -S "*/$library" >/dev/null 2>&1 || fail "it needs $library, which no Debian package here has"
done
