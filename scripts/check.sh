#!/bin/bash
# Units and wrappers under AddressSanitizer. The library that swaps stacks for Swift's coroutines is not told of them,
# so use-after-return is off; leaks of the runtime's own are not ours to judge.
set -euo pipefail
cd "$(dirname "$0")/.."
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0
filter='HTTPCookiesTests|HTTPCacheTests|BlobStoreTests|JSONTests|AddressesTests|TransferModelTests|EventLoopTests|ProcessesTests|CurlTests|HTTPServerTests|LedgerTests|SQLiteLedgerTests|MemoryLedgerTests|TransferEngineTests|WebhooksTests|TransferAPITests'
swift build --build-tests --sanitize=address --scratch-path .build/asan
scripts/test.sh --sanitize=address --scratch-path .build/asan --filter "$filter"
