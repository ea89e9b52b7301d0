#!/bin/bash
# Makes the Python environment .build/test-venv for the tests' NTLM origin, generated client and examples, unless it exists.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.build/test-venv
wanted="pyspnego==0.12.4 standardwebhooks==1.1.0 openapi-python-client==0.29.1 jsonschema-rs==0.60.3 ruamel.yaml==0.19.1"

# The file is written last, so that an interrupted installation is repeated.
[ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
echo "$wanted" >"$venv/wanted"
