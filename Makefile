# The two commands of the README are `make demo` and `make test`. Each installs the Debian packages that it needs.
SHELL := /bin/bash
SWIFT_FLAGS ?=
# The released program: Swift's libraries are in it, and it looks for no library beside itself. The linker drops every function that
# nothing calls; what is left depends on no path of the place of its build.
RELEASE_PLACE = $(shell scripts/release-place.sh)
RELEASE_FLAGS = -c release --scratch-path $(RELEASE_PLACE) --static-swift-stdlib --disable-local-rpath -Xswiftc -Xfrontend -Xswiftc -function-sections \
	-Xcc -ffunction-sections -Xcc -fdata-sections \
	-Xcc -ffile-prefix-map=$(CURDIR)=. -Xcc -ffile-prefix-map=$(RELEASE_PLACE)=.build

.PHONY: demo test gates check build release dist image-test package-test debian13-test packages demo-packages test-packages format format-check prose race side-by-side cost load kill takeover idle faults cache uptime fairness growth fuzz parsers fuzz-parsers simulate clients schemathesis clean

demo: demo-packages release
	@scripts/demo.py $(if $(URL),--url '$(URL)')

test: test-packages
	swift build --build-tests $(SWIFT_FLAGS)
	scripts/test.sh $(SWIFT_FLAGS)

# All that .ci/run leaves out: it takes more than an hour, some of it wants the superuser, and a rate may be wrong on a busy machine.
gates:
	scripts/gates.sh

build: packages
	swift build $(SWIFT_FLAGS)

# What builds the binary, and nothing more.
release: packages
	@scripts/stamp.sh
	@scripts/check-packages.sh
	swift build --product ferry $(RELEASE_FLAGS)
	ln -sfn $(notdir $(RELEASE_PLACE))/release .build/release

# What is installed: a tarball, a Debian package, an SBOM, in .build/dist.
dist: release
	@scripts/install-packages.sh dist
	scripts/dist.sh

# Tries what is installed: what they make, they make in roots of their own. For the superuser.
image-test:
	scripts/image-test.py

package-test: dist
	scripts/package-test.py

# `make test` has built the tests.
debian13-test: dist
	scripts/debian13-test.py

packages:
	@scripts/install-packages.sh build

demo-packages:
	@scripts/install-packages.sh build demo

test-packages:
	@scripts/install-packages.sh build demo test

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks/peers/Package.swift Benchmarks/peers/Sources

format-check:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks/peers/Package.swift Benchmarks/peers/Sources

# The English of the tree, and the subjects of new commits. WRITE=1 records counts that fell; ALL=1 lists every hit, of RULE in the paths IN.
prose:
	@scripts/prose/test_prose.py
	@scripts/prose.py $(if $(ALL),--list '$(or $(RULE),all)' $(IN),$(if $(WRITE),--write))

check: format-check
	scripts/check.sh

# Beside every peer. ROUNDS, ONLY (works) and PEERS may be given, with commas between names.
race: demo-packages release
	@scripts/install-packages.sh race
	scripts/race-peers.sh
	Benchmarks/measuring/race.py $(or $(ROUNDS),5) $(if $(ONLY),--only=$(ONLY)) $(if $(PEERS),--peers=$(PEERS))

# Beside another build of Ferry: WITH is its binary.
side-by-side: demo-packages release
	Benchmarks/measuring/side_by_side.py $(WITH)

# What a task costs, beside what is recorded. WRITE=1 records it; PROFILE names a work and shows where its instructions go.
cost: demo-packages release
	@scripts/install-packages.sh cost
	Benchmarks/measuring/cost.py $(if $(WRITE),--write) $(if $(PROFILE),--profile $(PROFILE))

load: demo-packages release
	Benchmarks/measuring/load.py

kill: demo-packages release
	Benchmarks/chaos/kill.py

# Two services on one directory, of which now one, now the other is ended.
takeover: demo-packages release
	Benchmarks/chaos/takeover.py

faults: release
	@scripts/install-packages.sh faults
	Benchmarks/chaos/faults.py

idle: demo-packages release
	Benchmarks/measuring/idle.py

cache: demo-packages release
	Benchmarks/measuring/cache.py

uptime: demo-packages release
	Benchmarks/measuring/uptime.py $(TASKS)

# What one tenant or one server costs the others.
fairness: demo-packages release
	Benchmarks/measuring/fairness.py

# What requests and starts cost with 100, 10,000 and 1,000,000 tasks. SIZES may be given, with commas between them.
growth: demo-packages release
	Benchmarks/measuring/growth.py $(SIZES)

# SECONDS and SEED may be given.
fuzz: demo-packages
	swift build --product ferry --sanitize=address --scratch-path .build/asan
	Fuzz/fuzz.py $(or $(SECONDS),120) $(SEED)

# Instructions of each parser for a byte.
parsers: packages
	@scripts/install-packages.sh cost
	swift build --product probe $(RELEASE_FLAGS)
	ln -sfn $(notdir $(RELEASE_PLACE))/release .build/release
	Benchmarks/measuring/parsers.py

# libFuzzer for each parser. SECONDS for each, and PARSERS, with blanks between names, may be given.
fuzz-parsers: packages
	scripts/fuzz-parsers.sh $(or $(SECONDS),20) $(PARSERS)

# Whole worlds of a service and a worker in one thread. SECONDS and FROM, the first seed, may be given; SEED runs one world, with its trace.
simulate: packages
	swift build --product simulate $(RELEASE_FLAGS)
	SWIFT_DETERMINISTIC_HASHING=1 $(RELEASE_PLACE)/release/simulate $(if $(SERVICES),--services $(SERVICES)) $(if $(WORLDS),--worlds $(WORLDS)) $(if $(SEED),--seed $(SEED),$(if $(FROM),--from $(FROM)) --seconds $(or $(SECONDS),120))

clients: release
	scripts/clients.sh

# SEED and EXAMPLES (of each operation) may be given.
schemathesis: release
	scripts/schemathesis.sh $(or $(SEED),1) $(or $(EXAMPLES),10)

clean:
	rm -rf .build
