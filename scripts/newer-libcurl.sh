#!/bin/bash
# Compiles and tests with the libcurl of Debian's backports, which an administrator may install without a rebuild of Ferry. The
# packages are unpacked under .build and not installed. The script uses the build of make test.
# usage: newer-libcurl.sh
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/.build/newer-libcurl
expected=8.14
filter='CurlTests|TransferEngineTests|WebhooksTests|ConnectionTests|ContentEncodingTests|MalformedReplyTests|HTTP2Tests'
filter+='|InformationalTests|NTLMTests|ProxyTests|TLSConnectionTests|PausedHandshakeTests|UploadTests|WebhookTests'
filter+='|LoadedLibcurlTests|ReachabilityTests|HTTP2StreamTests|LostKeptConnectionTests|ClientCertificateTests|BodyAfterHandshakeTests'

scripts/install-packages.sh build demo test

codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' | awk -v release="$codename" '$2 == release && !found++ { print $1 }')
[ -n "$mirror" ] || { echo "apt knows no mirror of $codename" >&2; exit 1; }

rm -rf "$place"
mkdir -p "$place"/{lists,cache/archives}/partial "$place"/{packages,root}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $codename-backports main" \
  >"$place/sources.list"
# Uses package lists of its own, so that those of the machine stay unchanged.
options=(-qq -o "Dir::Etc::SourceList=$place/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$place/lists" -o "Dir::Cache=$place/cache" -o "APT::Sandbox::User=$(id -un)")
apt-get "${options[@]}" update
(cd "$place/packages" && apt-get "${options[@]}" download libcurl4 libcurl4-openssl-dev)
for package in "$place"/packages/*.deb; do dpkg-deb -x "$package" "$place/root"; done

pc=$(find "$place/root" -name libcurl.pc)
libraries=$(dirname "$(dirname "$pc")")
version=$(sed -n 's/^Version: //p' "$pc")
case $version in
  "$expected".*) ;;
  *) echo "the backports of $codename have libcurl $version, not $expected" >&2; exit 1 ;;
esac
# The newer library may need further libraries.
if ldd "$libraries/libcurl.so.4" | grep 'not found' >&2; then exit 1; fi

swift build --build-tests
echo "the wrapper, against the headers of libcurl $version"
# Repeats the compiler's command of the build without its outputs. The newer headers come first, and need a separate
# module cache, because the compiler identifies modules by name only.
python3 - .build/debug.yaml "$place/root/usr/include/$(basename "$libraries")" "$place/modules" <<'END'
import json, re, subprocess, sys
plan, headers, cache = sys.argv[1:]
found = re.search(r'args: (\[.*"-module-name","Curl",.*\])', open(plan).read())
words = iter(json.loads(found[1]))
command = [next(words), '-I', headers, '-module-cache-path', cache]
for word in words:
    if word in ('-emit-module-path', '-output-file-map', '-index-store-path', '-module-cache-path', '-emit-objc-header-path'): next(words)
    elif not re.match('-emit-|-incremental$|-c$|-serialize-|-parseable-', word): command.append(word)
sys.exit(subprocess.run(command + ['-typecheck']).returncode)
END

echo "the tests, with libcurl $version loaded"
# Child processes inherit both variables. A test fails if another version is loaded.
LD_LIBRARY_PATH=$libraries WANTED_LIBCURL=$version scripts/test.sh --filter "$filter"
echo "tested with libcurl $version"
