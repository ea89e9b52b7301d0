#!/bin/bash
# Runs unit and wrapper tests under AddressSanitizer. use-after-return is off, because the sanitizer does not know of the stacks
# that Swift's coroutines switch. Leaks are not checked, because the Swift runtime has some.
set -euo pipefail
cd "$(dirname "$0")/.."
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0
filter='HTTPCookiesTests|HTTPCacheTests|BlobStoreTests|JSONTests|AddressesTests|HTTPFieldsTests|TransferModelTests|EventLoopTests|ProcessesTests|CurlTests|HTTPServerTests|LedgerTests|SQLiteLedgerTests|MemoryLedgerTests|TransferEngineTests|WebhooksTests|TransferAPITests'
swift build --build-tests --sanitize=address --scratch-path .build/asan
scripts/test.sh --sanitize=address --scratch-path .build/asan --filter "$filter"
