#!/bin/bash
# Runs the gates that .ci/run omits, and the tests again. Prints the failed gates at the end.
# usage: gates.sh [GATE ...]    The output of each gate is in .build/gates/GATE.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build/gates

declare -A gates=(
  [deploy]="scripts/deploy-check.sh"
  [release]="make release"
  [race]="Benchmarks/measuring/race.py 5 --only=batch --peers=aria2 --at-least=0.8"
  [load]="Benchmarks/measuring/load.py --quick"
  [kill]="Benchmarks/chaos/kill.py 5"
  [deliveries]="Benchmarks/chaos/deliveries.py"
  [group-completion]="Benchmarks/chaos/group.py 1"
  [takeover]="Benchmarks/chaos/takeover.py 12"
  [faults]="Benchmarks/chaos/faults.py 12 --tasks=200"
  [idle]="Benchmarks/measuring/idle.py --quick"
  [uptime]="Benchmarks/measuring/uptime.py 8000"
  [fairness]="Benchmarks/measuring/fairness.py"
  [dead-endpoints]="Benchmarks/measuring/dead_endpoints.py"
  [get]="Benchmarks/measuring/get.py"
  [parsers]="make parsers"
  [fuzz-parsers]="make fuzz-parsers SECONDS=20"
  [clients]="scripts/clients.sh"
  [schemathesis]="scripts/schemathesis.sh"
  [check]="make check"
  [fuzz]="make fuzz SECONDS=60 SEED=1"
  [image]="make image-test"
  [dist]="scripts/dist-check.sh"
  [package]="make package-test"
  [tests]="make test"
  [newer-libcurl]="scripts/newer-libcurl.sh"
  [debian13]="make debian13-test"
)
# The binary is built before the gates that run it, and the tests before the gates that run them elsewhere.
order=(deploy release race load kill deliveries group-completion takeover faults idle uptime fairness dead-endpoints get parsers clients schemathesis check fuzz fuzz-parsers image
  package dist tests newer-libcurl debian13)
[ $# = 0 ] || order=("$@")

scripts/install-packages.sh build demo test faults cost get
failed=()
for gate in "${order[@]}"; do
  [ -n "${gates[$gate]:-}" ] || { echo "no gate is called $gate" >&2; exit 64; }
  begun=$SECONDS
  if ${gates[$gate]} >".build/gates/$gate" 2>&1; then outcome=passed; else outcome=FAILED failed+=("$gate"); fi
  printf '%-16s %s in %d s\n' "$gate" "$outcome" $((SECONDS - begun))
  [ "$outcome" = passed ] || tail -20 ".build/gates/$gate"
done
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
