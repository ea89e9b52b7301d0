#!/bin/bash
# Makes the Python environment of the tests' NTLM origin, generated client and examples, .build/test-venv, unless it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.build/test-venv
wanted="pyspnego==0.12.4 openapi-python-client==0.29.1 jsonschema-rs==0.60.3 ruamel.yaml==0.19.1"

# The file is written last: what was interrupted is made again.
[ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
echo "$wanted" >"$venv/wanted"
