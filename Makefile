# The two commands of the README are `make demo` and `make test`. Each installs the Debian packages that it needs.
SHELL := /bin/bash
SWIFT_FLAGS ?=

.PHONY: demo test check build release packages test-packages format format-check race load kill idle faults cache clean

demo: packages release
	@scripts/demo.py $(if $(URL),--url '$(URL)')

test: test-packages
	swift build --build-tests $(SWIFT_FLAGS)
	swift test --skip-build $(SWIFT_FLAGS)

build: packages
	swift build $(SWIFT_FLAGS)

release: packages
	swift build -c release --product ferry

packages:
	@scripts/install-packages.sh build demo

test-packages:
	@scripts/install-packages.sh build demo test

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests

format-check:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests

check: format-check
	scripts/check.sh

race: release
	Benchmarks/race.py

load: release
	Benchmarks/load.py

kill: release
	Benchmarks/kill.py

faults: release
	@scripts/install-packages.sh faults
	Benchmarks/faults.py

idle: release
	Benchmarks/idle.py

cache: release
	Benchmarks/cache.py

clean:
	rm -rf .build
