# `make demo` and `make test` are the two commands of the README. Each installs the Debian packages that it needs.
SHELL := /bin/bash
SWIFT_FLAGS ?=
# The released program contains Swift's libraries and searches for no library in its own directory. The linker removes unused
# functions. The remaining bytes do not depend on the path of the build.
RELEASE_PLACE = $(shell scripts/release-place.sh)
RELEASE_FLAGS = -c release --scratch-path $(RELEASE_PLACE) --static-swift-stdlib --disable-local-rpath -Xswiftc -Xfrontend -Xswiftc -function-sections \
	-Xcc -ffunction-sections -Xcc -fdata-sections \
	-Xcc -ffile-prefix-map=$(CURDIR)=. -Xcc -ffile-prefix-map=$(RELEASE_PLACE)=.build

.PHONY: demo test gates check build release dist image-test package-test debian13-test packages demo-packages test-packages format format-check prose race side-by-side cost load kill deliveries group-completion takeover idle faults cache uptime fairness dead-endpoints get growth fuzz parsers fuzz-parsers simulate clients generate-clients schemathesis swift-examples clean

demo: demo-packages release
	@scripts/demo.py $(if $(URL),--url '$(URL)')

test: test-packages
	swift build --build-tests $(SWIFT_FLAGS)
	scripts/test.sh $(SWIFT_FLAGS)

# The gates that .ci/run omits: they take more than an hour, some need root, and busy machines distort measured rates.
gates:
	scripts/gates.sh

build: packages
	swift build $(SWIFT_FLAGS)

# Builds the binary only.
release: packages
	@scripts/stamp.sh
	@scripts/check-packages.sh
	swift build --product ferry $(RELEASE_FLAGS)
	ln -sfn $(notdir $(RELEASE_PLACE))/release .build/release

# Makes the files for installation in .build/dist: a tarball, a Debian package and an SBOM.
dist: release
	@scripts/install-packages.sh dist
	scripts/dist.sh

# Tests the container image and the package, in root directories of their own. Needs root.
image-test:
	scripts/image-test.py

package-test: dist
	scripts/package-test.py

# Needs the tests that `make test` has built.
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

# Checks the English of the tree and the subjects of new commits. WRITE=1 records counts that fell. ALL=1 lists every hit of
# RULE in the paths IN.
prose:
	@scripts/prose/test_prose.py
	@scripts/prose.py $(if $(ALL),--list '$(or $(RULE),all)' $(IN),$(if $(WRITE),--write))

check: format-check
	scripts/check.sh

# Compares Ferry with its peers. ROUNDS, ONLY (works) and PEERS are optional, with commas between names.
race: demo-packages release
	@scripts/install-packages.sh race
	scripts/race-peers.sh
	Benchmarks/measuring/race.py $(or $(ROUNDS),5) $(if $(ONLY),--only=$(ONLY)) $(if $(PEERS),--peers=$(PEERS))

# Compares Ferry with another build of Ferry, whose binary is WITH.
side-by-side: demo-packages release
	Benchmarks/measuring/side_by_side.py $(WITH)

# Compares the cost of a task with the recorded cost. WRITE=1 records it. PROFILE names a work and prints where its instructions
# are spent.
cost: demo-packages release
	@scripts/install-packages.sh cost
	Benchmarks/measuring/cost.py $(if $(WRITE),--write) $(if $(PROFILE),--profile $(PROFILE))

load: demo-packages release
	Benchmarks/measuring/load.py

kill: demo-packages release
	Benchmarks/chaos/kill.py

# Delivers messages to receivers that fail 30 % of the attempts, and kills the service meanwhile. DELIVERIES is optional.
deliveries: demo-packages release
	Benchmarks/chaos/deliveries.py $(DELIVERIES)

# Ends a group of 10,000 tasks while the service is killed. ROUNDS is optional.
group-completion: demo-packages release
	Benchmarks/chaos/group.py $(ROUNDS)

# Kills two services of one data directory in turn.
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

# Measures how much a tenant or a server slows down the others.
fairness: demo-packages release
	Benchmarks/measuring/fairness.py

# Measures how much 1,000 dead webhook destinations delay a good one.
dead-endpoints: demo-packages release
	Benchmarks/measuring/dead_endpoints.py

# Compares `ferry get` with aria2c and wget2, and kills it in the middle. FILES is optional.
get: demo-packages release
	@scripts/install-packages.sh get
	Benchmarks/measuring/get.py $(FILES)

# Measures requests and starts with 100, 10,000 and 1,000,000 tasks. SIZES is optional, with commas between numbers.
growth: demo-packages release
	Benchmarks/measuring/growth.py $(SIZES)

# SECONDS and SEED are optional.
fuzz: demo-packages
	swift build --product ferry --sanitize=address --scratch-path .build/asan
	Fuzz/fuzz.py $(or $(SECONDS),120) $(SEED)

# Counts the instructions of each parser per byte.
parsers: packages
	@scripts/install-packages.sh cost
	swift build --product probe $(RELEASE_FLAGS)
	ln -sfn $(notdir $(RELEASE_PLACE))/release .build/release
	Benchmarks/measuring/parsers.py

# Runs libFuzzer on each parser. SECONDS for each, and PARSERS, with spaces between names, are optional.
fuzz-parsers: packages
	scripts/fuzz-parsers.sh $(or $(SECONDS),20) $(PARSERS)

# Simulates services, workers and clients in one thread. SECONDS and FROM, the first seed, are optional. SEED runs one world and
# prints its trace.
simulate: packages
	swift build --product simulate $(RELEASE_FLAGS)
	SWIFT_DETERMINISTIC_HASHING=1 $(RELEASE_PLACE)/release/simulate $(if $(SERVICES),--services $(SERVICES)) $(if $(WORLDS),--worlds $(WORLDS)) $(if $(SEED),--seed $(SEED),$(if $(FROM),--from $(FROM)) --seconds $(or $(SECONDS),120))

clients: release
	scripts/clients.sh

# Writes the generated files of clients/ from openapi.yaml.
generate-clients:
	@scripts/install-packages.sh venv
	@scripts/test-venv.sh
	.build/test-venv/bin/python clients/generate.py

# Builds and runs the programs of examples/swift, which use FerryClient from another package.
swift-examples: release
	scripts/swift-examples.py

# SEED and EXAMPLES (of each operation) are optional.
schemathesis: release
	scripts/schemathesis.sh $(or $(SEED),1) $(or $(EXAMPLES),10)

clean:
	rm -rf .build
