#!/bin/sh
# make fast: trained.sh engine builds the engine again, laid out after what it does in training runs (profile-guided optimisation), and
# installs it; trained.sh wheel FOLDER writes a wheel with it instead; trained.sh dumbbell does so with the benchmarks' program and prints
# its path.
#
# The engine is trained by every scenario in scenarios/ that can be simulated, the dumbbell by dumbbells that the benchmarks do not
# measure. What counts stands apart, in target/trained, so that an interruption leaves the installed engine as it was. What the training
# runs found is held against the trained engine's, byte by byte.
set -eu
what=$1
wheels=
if [ "$what" = wheel ]; then
	mkdir -p "$2"
	wheels=$(cd "$2" && pwd)
	what=engine
fi
cd "$(dirname "$0")/.."
folder=$PWD/target/trained/$what
host=$(rustc -vV | sed -n 's/^host: //p')
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
if ! [ -x "$profdata" ]; then
	echo 'fast: adding llvm-tools to the Rust toolchain, which turns counts into a profile' >&2
	rustup component add llvm-tools >&2
fi

# With a target platform named, programs that only build others are left as they are.
options="--release --locked --quiet --target $host --target-dir $folder/build"
dumbbell() {
	cargo build $options --package voxpath-sim --example dumbbell
}
program=$folder/build/$host/release/examples/dumbbell
simulate_all() { # INTO
	for scenario in scenarios/*.toml; do
		grep -q '^run = ' "$scenario" && continue # programs, of which the simulator has no model
		python -m voxpath run "$scenario" --backend sim --replications 1 --out "$1" >/dev/null
	done
}

# A profile is of these sources in these runs.
profile=$folder/$(cat Cargo.lock $(find crates scenarios -type f | sort) | sha256sum | cut -c 1-16).profdata
if ! [ -e "$profile" ]; then
	echo "fast: the $what that counts what it does (a minute or two), and its training" >&2
	rm -rf "$folder"/*.profdata "$folder/counts" "$folder/wheel" "$folder/python" "$folder/runs"
	export RUSTFLAGS="-Cprofile-generate=$folder/counts"
	case $what in
	engine)
		PIP_QUIET=1 maturin build $options --out "$folder/wheel" >&2
		pip install --quiet --disable-pip-version-check --no-deps --target "$folder/python" "$folder"/wheel/*.whl
		(export PYTHONPATH="$folder/python" && simulate_all "$folder/runs")
		;;
	dumbbell)
		dumbbell
		"$program" --flows 3 --rate-mbps 20 --duration-s 40 >/dev/null
		"$program" --flows 40 --rate-mbps 300 --duration-s 4 >/dev/null
		;;
	esac
	"$profdata" merge --output "$profile" "$folder/counts"
fi
export RUSTFLAGS="-Cprofile-use=$profile"
case $what in
engine)
	echo 'fast: the engine after it' >&2
	rm -rf "$folder/again"
	if [ "$wheels" ]; then
		rm -rf "$folder/python"
		PIP_QUIET=1 maturin build $options --strip --out "$wheels" >&2
		pip install --quiet --disable-pip-version-check --no-deps --target "$folder/python" "$wheels"/*.whl
		(export PYTHONPATH="$folder/python" && simulate_all "$folder/again")
	else
		PIP_QUIET=1 maturin develop $options >&2
		simulate_all "$folder/again"
	fi
	for table in $(cd "$folder/runs" && find . -name '*.parquet'); do
		cmp "$folder/runs/$table" "$folder/again/$table"
	done
	echo "fast: $(find "$folder/again" -name '*.parquet' | wc -l) tables of results are the same to the byte" >&2
	;;
dumbbell)
	dumbbell
	echo "$program"
	;;
esac
