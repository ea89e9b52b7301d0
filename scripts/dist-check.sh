#!/bin/bash
# Checks the output of `make dist`: Debian's rules for packages, the manual pages, and the schema of the SBOM. The
# script also checks that two places build the same bytes of a commit. The program from the container of the image
# test must equal this program. A clone in another directory must make the same files from that program.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
dist=$here/.build/dist
wanted="cyclonedx-python-lib[json-validation]==11.12.0"

lintian --allow-root --fail-on error,warning "$dist"/*.deb

other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT
mkdir "$other/unpacked"
tar -xzf "$dist"/*.tar.gz -C "$other/unpacked" --strip-components=1
# References to other systems' manual pages cannot be resolved here.
mandoc -T lint -W warning "$other"/unpacked/man/*.1

venv=.build/dist-venv
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$wanted"
  echo "$wanted" >"$venv/wanted"
fi
"$venv/bin/python" - "$dist"/*.sbom.cdx.json <<'END'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
if fault := JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read()): sys.exit(f"{sys.argv[1]}: {fault}")
END

git clone --quiet . "$other/ferry"
mkdir -p "$other/ferry/.build/image/release"
cp .build/image-test/ferry "$other/ferry/.build/image/release/"
cp -r "$(scripts/release-place.sh)/checkouts" "$other/ferry/.build/"
ln -s image/release "$other/ferry/.build/release"
(cd "$other/ferry" && scripts/dist.sh >/dev/null)
for file in "$dist"/*; do
  cmp "$file" "$other/ferry/.build/dist/$(basename "$file")"
done
echo "two places make the same bytes"
