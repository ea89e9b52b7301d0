#!/bin/bash
# Installs the missing Debian packages of the named groups, and the Python packages of the tests.
# usage: install-packages.sh build|demo|test|faults|race|get|cost|venv|clients|dist|deploy ...
set -euo pipefail

declare -A groups=(
  [build]="libcurl4-openssl-dev libmicrohttpd-dev libsqlite3-dev libssl-dev libkrb5-dev libpsl-dev \
    zlib1g-dev libbrotli-dev libzstd-dev pkg-config git"
  [demo]="nginx-light curl python3 ca-certificates"
  [test]="sqlite3 aria2 openssl procps apache2 libapache2-mod-auth-gssapi krb5-kdc krb5-admin-server krb5-user squid \
    microsocks python3-venv iproute2 strace systemd node-typescript curl jq chromium fonts-dejavu-core haproxy caddy golang-go"
  [faults]="python3 mount nginx-light"
  [race]="aria2 rclone curl gcc libc6-dev libcurl4-openssl-dev nginx-light libnginx-mod-nchan python3 python3-venv"
  [get]="aria2 wget2 nginx-light python3"
  [cost]="valgrind binutils nginx-light python3"
  [venv]="python3-venv"
  [clients]="python3-venv nodejs node-typescript golang-go"
  [dist]="debhelper dpkg-dev binutils python3 lintian mandoc"
  [deploy]="python3 python3-venv python3-yaml mmdebstrap debian-archive-keyring distro-info-data mount util-linux git golang-go \
    podman runc iptables containernetworking-plugins binutils golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev shellcheck"
)
# The fault test sets the clock with a C program, which Swift's own clang compiles if it is in the path.
command -v clang >/dev/null || command -v cc >/dev/null || groups[faults]+=" gcc libc6-dev"


missing=()
for group in "$@"; do
  for package in ${groups[$group]}; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
done
if [ ${#missing[@]} -gt 0 ]; then
  run=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install these Debian packages first: ${missing[*]}" >&2; exit 1; }
    run=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${run[@]}" apt-get update -qq
  "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

case " $* " in *" test "*) "$(dirname "$0")/test-venv.sh" ;; esac
