#!/bin/sh
# make fuzz: libFuzzer over every target, or those that are named, FUZZ_SECONDS each; what is new is kept in target/fuzz/.
# With --keep, no search: the corpus becomes the fewest inputs that reach what was reached so far.
#
# Coverage comes from the sanitizer pass of the stable compiler; no sanitizer is linked, so no nightly one is needed.
# What is found stands in fuzz/found/TARGET-..., and ends this.
set -eu
cd "$(dirname "$0")/.."
keep=
if [ "${1:-}" = --keep ]; then
	keep=1
	shift
fi
seconds=${FUZZ_SECONDS:-60}
host=$(rustc -vV | sed -n 's/^host: //p')
sancov='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-pc-table'
sancov="$sancov -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-trace-compares"
# Inputs are packed, a file for each target; libFuzzer reads folders.
cargo build --quiet --locked --package voxpath-fuzz --bin corpus
corpus=target/debug/corpus
# With a target platform named, programs that only build others are not instrumented.
RUSTFLAGS="$sancov" cargo build --quiet --locked --package voxpath-fuzz --bin fuzz --features libfuzzer \
	--profile fuzz --target "$host" --target-dir target/fuzz
mkdir -p fuzz/found
for name in ${*:-$("$corpus" targets)}; do
	new=target/fuzz/corpus/$name
	old=target/fuzz/packed/$name
	log=target/fuzz/$name.log
	mkdir -p "$new"
	"$corpus" unpack "$name" "$old"
	export VOXPATH_FUZZ="$name" RUST_BACKTRACE=1
	if [ "$keep" ]; then
		fewest=target/fuzz/fewest/$name
		rm -rf "$fewest" && mkdir -p "$fewest"
		"target/fuzz/$host/fuzz/fuzz" -set_cover_merge=1 -use_counters=0 -max_len=4096 "$fewest" "$new" "$old" >"$log" 2>&1
		"$corpus" keep "$name" "$fewest"
		continue
	fi
	echo "fuzz: $name for $seconds s"
	if ! "target/fuzz/$host/fuzz/fuzz" "$new" "$old" -max_total_time="$seconds" -max_len=4096 -len_control=20 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="fuzz/found/$name-" >"$log" 2>&1; then
		sed -n '/panicked\|ERROR/,$p' "$log" | cut -c -1500 | head -n 40
		found=$(ls -t fuzz/found/"$name"-* | head -n 1)
		echo "fuzz: $name does not hold: what was given to it is in $found; see fuzz/README.md. To add it to the corpus:"
		echo "fuzz:   $corpus add $name NAME-THAT-SAYS-WHAT-WAS-WRONG $found"
		exit 1
	fi
	grep '^#.*DONE' "$log" | sed 's/^/fuzz:   /'
done
