#!/bin/bash
# Builds the peers of `make race` that Debian does not package: loops around libraries, and the Python environment of
# the home-made service. The output is in .build/peers.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=.build/peers
wanted="fastapi==0.165.0 aiohttp==3.14.5 pydantic==2.14.4 uvicorn==0.54.0 uvloop==0.23.0 httptools==0.9.0"

mkdir -p $peers
if [ ! -e $peers/libcurl-loop ] || [ Benchmarks/peers/libcurl_loop.c -nt $peers/libcurl-loop ]; then
  cc -O2 -Wall -Wextra -Werror -o $peers/libcurl-loop Benchmarks/peers/libcurl_loop.c -lcurl
fi

swift build -c release --package-path Benchmarks/peers --scratch-path $peers/swift

# The file is written last, so that an interrupted installation is repeated.
if [ "$(cat $peers/venv/wanted 2>/dev/null)" != "$wanted" ]; then
  rm -rf $peers/venv
  /usr/bin/python3 -m venv $peers/venv
  $peers/venv/bin/pip install --quiet --disable-pip-version-check $wanted
  echo "$wanted" >$peers/venv/wanted
fi
