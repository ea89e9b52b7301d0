#!/bin/bash
# Runs libFuzzer on each parser of text from clients and servers. A parser fails if an input crashes it or needs more
# than 1 GiB. The time limits are a second of CPU time and 30 seconds in all. The input is kept in .build/fuzz/found.
# usage: fuzz-parsers.sh [SECONDS [PARSER...]]    20 seconds for each parser by default
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
[ $# = 0 ] || shift

place=.build/fuzz
# With Swift's option, libFuzzer brings its own `main`. The probe has a `main`, so it links the library without one.
resources=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/clang
libraries=("$resources"/*/lib/linux/libclang_rt.fuzzer_no_main-"$(uname -m)".a)
swift build --product probe -c release --sanitize=address --scratch-path $place -debug-info-format none \
  -Xswiftc -sanitize-coverage=edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table -Xswiftc -DFUZZING \
  -Xlinker "${libraries[0]}" -Xlinker -lstdc++
mkdir -p $place/found
probe=$place/release/probe
[ $# -gt 0 ] || mapfile -t parsers < <($probe list)
[ $# = 0 ] || parsers=("$@")

export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:disable_coredump=1
failed=()
for parser in "${parsers[@]}"; do
  # The corpus starts with the shapes of `make parsers`, and keeps the inputs of earlier runs.
  corpus=$place/corpus/$parser
  mkdir -p "$corpus"
  Benchmarks/measuring/parsers.py --write="$corpus" "$parser"
  if $probe fuzz "$parser" -max_total_time="$seconds" -max_len=16384 -timeout=30 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$place/found/$parser-" "$corpus" >"$place/$parser.log" 2>&1; then
    echo "$parser: $(sed -n 's/^stat::number_of_executed_units: *//p' "$place/$parser.log") inputs in $seconds s"
  else
    failed+=("$parser")
    tail -40 "$place/$parser.log"
  fi
done
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}; the inputs are in $place/found" >&2; exit 1; }
