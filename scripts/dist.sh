#!/bin/bash
# Makes the files for installation in .build/dist: a tarball, a Debian package, the SBOM, and their checksums. `make release`
# has built the program. Two places make the same bytes from one commit.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(.build/release/ferry --version | sed -n 's/^ferry //p')
architecture=$(dpkg --print-architecture)
# The commit's time is the time of every file. A source tree without git has the time of the changelog.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022

out=$PWD/.build/dist
place=$out/ferry-$version
rm -rf "$out"
mkdir -p "$place"/{man,etc,completions/{bash,zsh,fish}} "$place/docs"

scripts/strip.sh .build/release/ferry "$place/ferry"
packaging/check-binary.sh "$place/ferry"
packaging/manual.py "$place/ferry" "$place/man"
"$place/ferry" --generate-completion-script bash | sed 1d >"$place/completions/bash/ferry"
"$place/ferry" --generate-completion-script zsh >"$place/completions/zsh/_ferry"
"$place/ferry" --generate-completion-script fish >"$place/completions/fish/ferry.fish"
packaging/describe.py "$place" "$version" "$SOURCE_DATE_EPOCH"
cp packaging/ferry.env "$place/etc/"
cp README.md CHANGELOG.md LICENSE "$place/"
cp docs/*.md "$place/docs/"
cp -r deploy examples "$place/"
rm -rf "$place"/examples/typescript/{dist,node_modules}

# The files are sorted, belong to user 0, and have the commit's time.
pack() {
  find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --format=ustar --mtime="@$SOURCE_DATE_EPOCH" \
    -C "$(dirname "$1")" -cf - "$(basename "$1")" | gzip -n -9
}
pack "$place" >"$out/ferry-$version-linux-$(uname -m).tar.gz"
cp "$place/sbom.cdx.json" "$out/ferry-$version.sbom.cdx.json"

# Debian's copyright file replaces the licenses.
rm -r "$place/licenses"
cp -r packaging/debian "$place/"
cp "$place/copyright" "$place/debian/copyright"
cp deploy/ferry.service deploy/ferry.socket "$place/debian/"
cat >"$place/debian/changelog" <<END
ferry ($version) stable; urgency=medium

  * See /usr/share/doc/ferry/CHANGELOG.md.gz.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(date -R -d "@$SOURCE_DATE_EPOCH")
END
(cd "$place" && dpkg-buildpackage --build=binary --no-sign --no-check-builddeps) >"$out/deb.log" 2>&1 || { cat "$out/deb.log" >&2; exit 1; }
rm -rf "$place" "$out"/*.buildinfo "$out"/*.changes
mv "$out/ferry_${version}_$architecture.deb" "$out/.deb" && mv "$out/.deb" "$out/ferry_${version}_$architecture.deb"
rm "$out/deb.log"
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
