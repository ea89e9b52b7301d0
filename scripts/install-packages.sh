#!/bin/bash
# Installs the Debian packages of the named groups, those that are missing only.
# usage: install-packages.sh build|demo|test ...
set -euo pipefail

declare -A groups=(
  [build]="libcurl4-openssl-dev libmicrohttpd-dev libsqlite3-dev libssl-dev libkrb5-dev pkg-config git"
  [demo]="nginx-light curl python3 ca-certificates"
  [test]="sqlite3 aria2 openssl procps"
)

missing=()
for group in "$@"; do
  for package in ${groups[$group]}; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
done
[ ${#missing[@]} -gt 0 ] || exit 0

run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install these Debian packages first: ${missing[*]}" >&2; exit 1; }
  run=(sudo)
fi
echo "installing: ${missing[*]}"
"${run[@]}" apt-get update -qq
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
