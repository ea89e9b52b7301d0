#!/bin/bash
# Runs all checks of Schemathesis against the binary. A seed determines the requests. No origin is reached.
# usage: schemathesis.sh [SEED] [EXAMPLES of each operation]    The report is .build/schemathesis/report.
set -euo pipefail
cd "$(dirname "$0")/.."
ferry=${BINARY:-.build/release/ferry}
place=$PWD/.build/schemathesis
wanted="schemathesis==4.32.5"

scripts/install-packages.sh venv
if [ "$(cat "$place/venv/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$place/venv"
  /usr/bin/python3 -m venv "$place/venv"
  "$place/venv/bin/pip" install --quiet --disable-pip-version-check "$wanted"
  echo "$wanted" >"$place/venv/wanted"
fi

rm -rf "$place/data"
: >"$place/service.log"
"$ferry" serve --listen 127.0.0.1:0 --data-directory "$place/data" >"$place/service.log" &
service=$!
trap 'kill $service; wait' EXIT
until grep -q '"listening"' "$place/service.log"; do
  kill -0 $service
  sleep 0.1
done
port=$(sed -n 's/.*"address":"[^"]*:\([0-9]*\)".*/\1/p' "$place/service.log" | head -1)

# The hooks replace its check of valid requests, because they know rules that a schema cannot express.
status=0
root=$PWD
# Schemathesis remembers failures in its working directory, and each run has to start without them.
rm -rf "$place/.schemathesis"
cd "$place"
SCHEMATHESIS_HOOKS=$root/Tests/Clients/schemathesis_hooks.py \
  "$place/venv/bin/schemathesis" --config-file "$root/Tests/Clients/schemathesis.toml" run "$root/openapi.yaml" \
  --url "http://127.0.0.1:$port" --checks all --exclude-checks positive_data_acceptance --continue-on-failure \
  --seed "${1:-1}" --max-examples "${2:-10}" --generation-database none --request-timeout 10 --no-color \
  >"$place/report" 2>&1 || status=$?
[ "$status" = 0 ] || cat "$place/report"
tail -1 "$place/report"
exit "$status"
